"""Does an ablation see only what it should? Repair the innocent and count what changes.

Failed episodes of models are sent again, call by call at the recorded instants, with one cache
telling the truth that had served nobody a wrong value. Nothing may change: no outcome and no
journal row. They are taken from a sound world, and from one in which another cache is guilty. The
same is done with replicas, indexes, feeds and exports; their control repairs one that lagged.

The first control repairs the guilty cache, which has to change rows. The second does what ablation
must not do: it takes the cache away (its TTL is 0) in a world that draws by position, from one
shared sequence, and asks the policy again: it has to see changed rows and flipped outcomes. Where
they don't, the zeros of the others mean nothing. Between the two stand the same policy asked again
under a repair by value, and a cache taken away where draws have addresses.

One JSON line a case: `python benchmarks/innocence.py --episodes 2000 --json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from simharness.blame.ablation import replayed
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.errors import UsageError
from simharness.findings.reads import mechanism_of
from simharness.kernel import world as kernel_world
from simharness.kernel.draws import Draws
from simharness.kernel.journal import Decoder
from simharness.product.policy import Action, Call, Observation, Policy, Task
from simharness.product.registry import load_scenario
from simharness.recording.rows import rows_digest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from simharness.episode.plan import Plan
    from simharness.kernel.journal import Row

SCENARIO = "crm/negotiation"
MODELS = ("random", "null", "spam", "nurture")
FAULT = "crm.invalidation-lost"
GUILTY = "deals.detail"
PARTS = ("replica:", "index:", "feed:", "export:")


# --- drawing by position -------------------------------------------------------------------------


class Tape(list[int]):
    """A block that takes the next word of the shared sequence whichever of its own is asked for."""

    def __init__(self, draws: Positional) -> None:
        super().__init__()
        self._draws = draws

    def __getitem__(self, index: Any) -> Any:
        return self._draws.following()


class Positional(Draws):
    """Draws that ignore who asks for what: the next word is the next word."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.position = 0

    def block(self, owner: str, n: int) -> list[int]:
        return Tape(self)

    def word(self, owner: str, n: int, purpose: str, k: int = 0, attempt: int = 0) -> int:
        return self.following()

    def following(self) -> int:
        self.position += 1
        return super().word("position", self.position, "position")


# --- policies ------------------------------------------------------------------------------------


def named(name: str) -> Policy:
    """Give a scripted policy of the scenario."""
    policy = scripted(name, load_scenario(SCENARIO)[1])
    if policy is None:
        raise UsageError(f"no policy {name!r}")
    return policy


def touchy(task: Task) -> Generator[Action, Observation, None]:
    """Play as the reference does and give up at the first refusal: others' timing decides it."""
    play = named("expert")(task)
    action = next(play)
    while True:
        told = yield action
        if told.error:
            yield Call("finish", {"message": "that was refused", "outcome": "handed_over"})
            return
        try:
            action = play.send(told)
        except StopIteration:
            return


def played(plan: Plan, policy: Policy, repair: frozenset[str] = frozenset()) -> Episode:
    """Play one episode to its end."""
    episode = Episode(plan, repair=repair)
    drive(episode, policy)
    return episode


# --- counting ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """What one arm changed."""

    episodes: int = 0
    flips: int = 0
    """Outcomes that changed between pass and fail."""
    changed: int = 0
    """Episodes with a journal row that differs."""
    rows: int = 0
    """Rows that differ, summed up."""
    misfits: int = 0
    """Episodes whose calls could not be sent again."""
    hits: int = 0
    """Answers that the ablated caches gave in the actual worlds."""
    caches: Counter[str] = field(default_factory=Counter[str])
    """Ablated caches, and how often each."""
    policies: Counter[str] = field(default_factory=Counter[str])

    def add(self, actual: Episode, again: Episode | None) -> None:
        """Count one episode and its re-run; None where the calls didn't fit."""
        self.episodes += 1
        if again is None:
            self.misfits += 1
            return
        self.flips += again.passed != actual.passed
        one, other = actual.world.rows, again.world.rows
        if rows_digest(one) != rows_digest(other):
            self.changed += 1
            self.rows += sum(a != b for a, b in zip(one, other, strict=False)) + abs(
                len(one) - len(other)
            )

    def record(self) -> dict[str, Any]:
        """Give the counts as JSON holds them."""
        return {
            "episodes": self.episodes,
            "flips": self.flips,
            "episodes_changed": self.changed,
            "rows_changed": self.rows,
            "misfits": self.misfits,
            "hits": self.hits,
            "caches": dict(sorted(self.caches.items())),
            "policies": dict(sorted(self.policies.items())),
        }


@dataclass(slots=True)
class Served:
    """What one cache served in one episode, to anybody."""

    hits: int = 0
    wrong: int = 0
    """Stale answers of its view."""


def served(episode: Episode) -> dict[str, Served]:
    """Read from the rows what each view with a cache served."""
    out = {name: Served() for name in episode.product.caches()}
    for row in Decoder().decode_all(episode.world.rows):
        if row.kind in ("READ", "LIST") and row.values["view"] in out:
            v = row.values
            view = out[v["view"]]
            view.hits += v["source"] == "cache"
            view.wrong += is_wrong(row)
    return out


def followed(episode: Episode) -> dict[str, Served]:
    """Read from the rows what each replica, index, feed and export served."""
    names = (name for name in episode.product.mechanisms() if name.startswith(PARTS))
    out = {name: Served() for name in names}
    for row in Decoder().decode_all(episode.world.rows):
        if row.kind not in ("READ", "LIST"):
            continue
        table, _, kind = row.values["view"].rpartition(".")
        # What a feed or an export passes over is its own, wherever it read.
        for name in {mechanism_of(row.values["view"], row.values["source"]), f"{kind}:{table}"}:
            if name in out:
                out[name].hits += 1
                out[name].wrong += is_wrong(row)
    return out


def is_wrong(row: Row) -> bool:
    """Tell whether a READ or LIST served anything that was out of date."""
    v = row.values
    return bool(v["wrong"]) if row.kind == "LIST" else v["served"] != v["true"]


def guilty_part(parts: dict[str, Served], turn: int) -> str | None:
    """Choose, in turns, a part that gave a wrong answer; None if there is none."""
    names = sorted(name for name, part in parts.items() if part.wrong)
    return names[turn % len(names)] if names else None


def innocent(views: dict[str, Served], turn: int) -> str | None:
    """Choose, in turns, a cache that gave answers and never a wrong one; None if there is none."""
    names = sorted(name for name, view in views.items() if view.hits and not view.wrong)
    return names[turn % len(names)] if names else None


# --- cases ---------------------------------------------------------------------------------------


def failed(load: str, faults: tuple[str, ...], seeds: int) -> Iterator[tuple[str, Episode]]:
    """Play models, seed by seed, and give the episodes that they fail."""
    for seed in range(seeds):
        for policy in MODELS:
            episode = played(make_plan(SCENARIO, seed, load, faults), named(policy))
            if not episode.passed:
                yield policy, episode


def by_value(
    episodes: int, load: str, faults: tuple[str, ...] = (), *, guilty: bool = False
) -> Tally:
    """Send the calls of failed episodes again with an innocent cache repaired, or the guilty one.

    Under a fault only episodes with a wrong answer of that one count; there may be fewer of them.
    """
    tally = Tally()
    # Few seeds more than that are needed, unless the load is too low for a wrong answer.
    for policy, actual in failed(load, faults, 2 * episodes):
        if tally.episodes == episodes:
            break
        views = served(actual)
        cache = GUILTY if guilty else innocent(views, tally.episodes)
        if cache is None or (faults and not views[GUILTY].wrong):
            continue
        tally.caches[cache] += 1
        tally.policies[policy] += 1
        tally.hits += views[cache].hits
        try:
            again = replayed(actual.plan, actual.inputs, frozenset({f"cache:{cache}"}))
        except UsageError:
            again = None
        tally.add(actual, again)
    return tally


def parts_by_value(episodes: int, load: str, *, guilty: bool = False) -> Tally:
    """Send the calls of failed episodes again with a replica, index, feed or export repaired.

    One that served nobody anything out of date; or else one that did, as its contract allows.
    """
    tally = Tally()
    choose = guilty_part if guilty else innocent
    for policy, actual in failed(load, (), 8 * episodes):
        if tally.episodes == episodes:
            break
        parts = followed(actual)
        part = choose(parts, tally.episodes)
        if part is None:
            continue
        tally.caches[part] += 1
        tally.policies[policy] += 1
        tally.hits += parts[part].hits
        try:
            again = replayed(actual.plan, actual.inputs, frozenset({part}))
        except UsageError:
            again = None
        tally.add(actual, again)
    return tally


def asked_again(episodes: int, load: str, *, remove: bool, position: bool) -> Tally:
    """Ask a policy again with an innocent cache taken away, or else repaired by value."""
    tally = Tally()
    draws = Positional if position else Draws
    with patch.object(kernel_world, "Draws", draws):
        for seed in range(episodes):
            plan = make_plan(SCENARIO, seed, load)
            actual = played(plan, touchy)
            views = served(actual)
            cache = innocent(views, seed)
            if cache is None:
                continue
            tally.caches[cache] += 1
            tally.policies["touchy"] += 1
            tally.hits += views[cache].hits
            if remove:
                again = played(replace(plan, config={f"{cache}.cache.ttl": "0s"}), touchy)
            else:
                again = played(plan, touchy, frozenset({f"cache:{cache}"}))
            tally.add(actual, again)
    return tally


def cases(episodes: int, load: str) -> Iterator[tuple[str, Tally]]:
    """Run all cases."""
    yield "repaired, sound world", by_value(episodes, load)
    yield f"repaired, {FAULT}", by_value(episodes, load, (FAULT,))
    yield (
        f"control: the guilty one repaired, {FAULT}",
        by_value(episodes, load, (FAULT,), guilty=True),
    )
    yield "repaired, other parts", parts_by_value(episodes, load)
    yield "control: other parts that lagged repaired", parts_by_value(episodes, load, guilty=True)
    yield "repaired, asked again", asked_again(episodes, load, remove=False, position=False)
    yield "removed, asked again", asked_again(episodes, load, remove=True, position=False)
    yield (
        "control: removed, asked again, drawn by position",
        asked_again(episodes, load, remove=True, position=True),
    )


def main(argv: list[str] | None = None) -> int:
    """Run all cases and print their counts; 1 if a repair changed anything or a control nothing."""
    parser = argparse.ArgumentParser(
        description="repair mechanisms that did nothing wrong, count what changes"
    )
    parser.add_argument("--episodes", type=int, default=200, help="episodes of each case")
    parser.add_argument("--load", default="8", help="load of the worlds")
    parser.add_argument("--json", action="store_true", help="print a JSON line a case")
    options = parser.parse_args(argv)
    sound = True
    start = time.perf_counter_ns()
    for name, tally in cases(options.episodes, options.load):
        seconds = (time.perf_counter_ns() - start) / 1e9
        record = {
            "case": name,
            "load": options.load,
            **tally.record(),
            "seconds": round(seconds, 1),
        }
        if options.json:
            print(json.dumps(record), flush=True)
        else:
            print(
                f"{name}: {tally.flips} flips and {tally.changed} episodes with changed rows "
                f"in {tally.episodes} ({seconds:.0f} s)",
                flush=True,
            )
        if name.startswith("repaired"):
            sound = sound and not (tally.flips or tally.changed or tally.misfits)
        elif name.startswith("control"):
            # Fixed calls can't flip; a policy that is asked again can.
            sound = sound and bool(tally.changed and (tally.flips or "asked" not in name))
        start = time.perf_counter_ns()
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
