"""What many episodes of a scenario come to: numbers, each held against a limit where it has one."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.blame.statistics import ONE_SIDED, wilson
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.product.goal import MILLION
from simharness.product.registry import load_scenario
from simharness.validate.measured import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simharness.validate.measured import Measured

USERS_MIN = 20
SHAPES_MIN = 12
TOP_SHARE_MAX = 0.3
CALLS_MIN = 6
CONTENTION_MIN = 0.3
ATTEMPT_MAX = 0.5
HIT_RATE_MIN = 0.3
TOLD = 5
"""Episodes that are named for each thing that is wrong."""
REPLAY_MAX = 0.3
REPLAY, TAKEOVER = "replay", "takeover"
"""How the names of these plays begin, where policies are told by name."""
ENOUGH = 200
"""Episodes from which a share is taken as it is; of fewer, only what a 95 % bound refutes fails."""


class Measure(NamedTuple):
    """One number and its limit."""

    name: str
    value: Any
    """Text, number, or JSON."""
    ok: bool | None
    """None for what is only told."""
    limit: str = ""


def at_most(count: int, of: int, limit: float) -> bool:
    """Tell whether a share lies below a limit, or could."""
    return count <= limit * of or (of < ENOUGH and wilson(count, of, ONE_SIDED)[0] <= limit)


def at_least(count: int, of: int, limit: float) -> bool:
    """Tell whether a share lies above a limit, or could."""
    return at_most(of - count, of, 1 - limit)


def shapes_needed(episodes: int) -> int:
    """Give how many shapes some episodes must have: 12, and fewer where there are few episodes."""
    return min(SHAPES_MIN, max(1, episodes // 4))


def splits(name: str) -> Measure:
    """Say what the splits are."""
    scenario = load_scenario(name)[1]
    train, judged = scenario.seeds_of("train"), scenario.seeds_of("eval")
    told = f"train {train.start}:{train.stop}, eval {judged.start}:{judged.stop}"
    return Measure("splits have no seed in common", told, ok=True)


def solved(at: str, found: Sequence[Measured]) -> Iterator[Measure]:
    """Say whether the reference gets there, what the detectors say of it, and what it costs."""
    yield from reached(at, found)
    yield from faultless(at, found)
    yield length(at, found)
    yield budget(at, found)
    yield wall_time(at, found)


def reached(at: str, found: Sequence[Measured]) -> Iterator[Measure]:
    """Say whether the reference gets full reward everywhere."""
    low = [e for e in found if e.score < MILLION]
    least = min(e.score for e in found) / MILLION
    mean = sum(e.score for e in found) / len(found) / MILLION
    yield Measure(f"{at}: expert score min / mean", f"{least:g} / {mean:.4f}", not low, "1 / 1")
    for e in low[:TOLD]:
        yield Measure(f"  seed {e.seed}", "; ".join(e.unmet)[:160], ok=False)


def faultless(at: str, found: Sequence[Measured]) -> Iterator[Measure]:
    """Say whether anything is found against the harness, live or by all detectors."""
    kinds = Counter(e.kind for e in found)
    yield Measure(f"{at}: verdicts", dict(kinds), set(kinds) == {"ok"}, "ok alone")
    against = [(e.seed, text) for e in found for text in e.found]
    yield Measure(f"{at}: findings against the harness", len(against), not against, "0")
    for seed, text in against[:TOLD]:
        yield Measure(f"  seed {seed}", text[:160], ok=False)


def length(at: str, found: Sequence[Measured]) -> Measure:
    """Say how many calls the reference makes."""
    calls = median(len(e.calls) for e in found)
    return Measure(f"{at}: calls, median", calls, calls >= CALLS_MIN, f">= {CALLS_MIN}")


def budget(at: str, found: Sequence[Measured]) -> Measure:
    """Say how much of its steps and its time the reference uses at most."""
    steps, ticks = max(e.steps for e in found), max(e.ticks for e in found)
    told = f"{steps / 10:.0f} % / {ticks / 10:.0f} %"
    fits = max(steps, ticks) < 1000
    return Measure(f"{at}: most of the budget used, steps / time", told, fits, "< 100 %")


def wall_time(at: str, found: Sequence[Measured]) -> Measure:
    """Say how long an episode takes on this machine."""
    wall = 1000 * sum(e.seconds for e in found) / len(found)
    return Measure(f"{at}: wall time of an episode", f"{wall:.0f} ms", ok=None)


def routes_used(scenario: str) -> set[str]:
    """Give the routes that the scenario's profile sends reads by."""
    settings = Episode(make_plan(scenario)).product.settings.values
    return {str(value) for key, value in settings.items() if key.endswith(".route")}


def unused(what: str, routes: set[str]) -> bool:
    """Tell whether something can't occur, because the profile reads by no such route."""
    if what == COUNTED["replica"]:
        return not routes & {"replica", "sticky"}
    return what == COUNTED["index"] and "index" not in routes


def world(
    at: str, found: Sequence[Measured], routes: set[str], *, all_occur: bool
) -> Iterator[Measure]:
    """Say what the world was like that the reference played in.

    Where little goes on, not all is bound to occur.
    """
    hits = sum(e.hits for e in found) / max(1, sum(e.cached for e in found))
    yield Measure(
        f"{at}: hit rate of caches", f"{hits:.3f}", hits >= HIT_RATE_MIN, f">= {HIT_RATE_MIN}"
    )
    for what in COUNTED.values():
        count = sum(e.counts[what] for e in found)
        told = f"{count / len(found):.2f}"
        if all_occur and not unused(what, routes):
            # What happens in one episode of twenty may not happen in a few.
            ok = True if count else None if len(found) < ENOUGH else False
            yield Measure(f"{at}: {what} an episode", told, ok, "> 0")
        else:
            yield Measure(f"{at}: {what} an episode", told, ok=None)


def crowd(found: Sequence[Measured]) -> Measure:
    """Say how many people call beside the agent."""
    most = max(e.users for e in found)
    return Measure("users at the first load", most, most >= USERS_MIN, f">= {USERS_MIN}")


def contended(at: str, found: Sequence[Measured]) -> Iterator[Measure]:
    """Say how often somebody got in the way of the reference's writes."""
    episodes = sum(e.met > 0 for e in found)
    yield Measure(
        f"{at}: episodes with contention",
        f"{episodes / len(found):.3f}",
        at_least(episodes, len(found), CONTENTION_MIN),
        f">= {CONTENTION_MIN}",
    )
    met, attempts = sum(e.met for e in found), max(1, sum(e.attempts for e in found))
    yield Measure(
        f"{at}: contention of an attempt",
        f"{met / attempts:.3f}",
        at_most(met, attempts, ATTEMPT_MAX),
        f"<= {ATTEMPT_MAX}",
    )


def varied(found: Sequence[Measured]) -> Iterator[Measure]:
    """Say how many ways there are to play."""
    of = len(found)
    shapes, need = Counter(e.shape for e in found), shapes_needed(of)
    yield Measure(f"shapes in {of} episodes", len(shapes), len(shapes) >= need, f">= {need}")
    top, count = shapes.most_common(1)[0]
    most = at_most(count, of, TOP_SHARE_MAX)
    yield Measure("share of the commonest", f"{count / of:.3f}", most, f"<= {TOP_SHARE_MAX}")
    yield Measure("the commonest", " ".join(top), ok=None)
    folded = Counter(tuple(fold(e.shape)) for e in found)
    share = folded.most_common(1)[0][1] / of
    yield Measure(
        "with repeats and waits left out", f"{len(folded)} shapes, top share {share:.3f}", ok=None
    )


def fold(shape: Sequence[str]) -> Iterator[str]:
    """Leave out waits, and calls that repeat the one before."""
    last = ""
    for call in shape:
        if call != last and call != "wait":
            yield call
            last = call


def baseline(what: str, found: Sequence[tuple[int, int]], honest: Sequence[str] = ()) -> Measure:
    """Judge the scores of a policy that has to fail, unless it is honest, or to take over."""
    mean = sum(score for _, score in found) / len(found) / MILLION
    if what.startswith(REPLAY):
        return Measure(f"{what}: mean", f"{mean:.3f}", mean < REPLAY_MAX, f"< {REPLAY_MAX}")
    if what.startswith(TAKEOVER):
        lost = [seed for seed, score in found if score < MILLION]
        told = f"{min(score for _, score in found) / MILLION:g}" + (
            f" (seeds {lost[:8]})" if lost else ""
        )
        return Measure(f"expert takes over, {what.partition(' ')[2]}: min", told, not lost, "1")
    most = max(found, key=lambda pair: pair[1])
    told = f"{most[1] / MILLION:g}" + (f" (seed {most[0]}; mean {mean:.3f})" if most[1] else "")
    free = what.partition(" ")[0] in honest
    return Measure(f"{what}: max", told, None if free else most[1] <= 0, "0")
