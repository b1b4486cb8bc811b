"""Whether a scenario is worth training on: solvable, contended, varied, and paid for work alone.

    python -m benchmarks.scenarios crm/negotiation [--seeds 0:1000] [--loads 1,8]
        [--baseline-seeds 200] [--workers 2] [--json]

The reference plays every seed at every load, in sound worlds, and all harness detectors look at
each episode. The other scripted policies, a blind replay and the reference after a random prefix
play the first of the seeds. Prints a table with ok or FAIL a line, or with `--json` one JSON line
a scenario. Exits with 1 when a line fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.scenario_episode import COUNTED, Measured, measured
from benchmarks.scenario_plays import replayed, taking_over
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import policy_names, scripted
from simharness.errors import SimharnessError
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario
from simharness.rollout.collector import seldom_collected
from simharness.rollout.request import parse_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from simharness.product.policy import Policy

CHUNK = 20
FULL = 1_000_000
SHAPE_SEEDS = 500
"""Episodes at the first load that shapes are counted in."""
DONORS = 3
"""Episodes of the commonest shape that are replayed blindly."""
REPLAY, TAKEOVER = "replay", "takeover"

USERS_MIN = 20
SHAPES_MIN = 12
TOP_SHARE_MAX = 0.3
CALLS_MIN = 6
CONTENTION_MIN = 0.3
ATTEMPT_MAX = 0.5
HIT_RATE_MIN = 0.3
REPLAY_MAX = 0.3


class Line(NamedTuple):
    """One line of the table."""

    name: str
    value: Any
    """Text, number, or JSON."""
    ok: bool | None
    """None for what is only told."""
    limit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Episodes to be played in another process."""

    scenario: str
    load: str
    seeds: tuple[int, ...]
    policy: str = "expert"
    calls: tuple[tuple[str, str], ...] = ()
    """Of the episode that `replay` sends again."""
    brief: tuple[tuple[str, Any], ...] = ()

    def play(self) -> Policy:
        """Give what plays."""
        scenario = load_scenario(self.scenario)[1]
        if self.policy == REPLAY:
            return replayed(self.calls, dict(self.brief))
        found = scripted("expert" if self.policy == TAKEOVER else self.policy, scenario)
        assert found is not None
        return taking_over(found) if self.policy == TAKEOVER else found


def look(job: Job) -> list[Measured]:
    """Play the reference."""
    policy = job.play()
    return [
        measured(Episode(make_plan(job.scenario, seed, job.load)), policy) for seed in job.seeds
    ]


def scores(job: Job) -> list[tuple[int, int]]:
    """Play another policy; gives seed and score in millionths."""
    policy = job.play()
    out: list[tuple[int, int]] = []
    for seed in job.seeds:
        episode = Episode(make_plan(job.scenario, seed, job.load))
        drive(episode, policy)
        out.append((seed, episode.reward or 0))
    return out


class Pool:
    """Plays episodes, some at a time."""

    def __init__(self, workers: int) -> None:
        self._pool = ProcessPoolExecutor(workers) if workers > 1 else None

    def run(
        self, what: Callable[[Job], list[Any]], jobs: Mapping[str, list[Job]]
    ) -> dict[str, list[Any]]:
        """Give the answers to the jobs of each name, in their order."""
        if self._pool is None:
            return {name: list(chain.from_iterable(map(what, each))) for name, each in jobs.items()}
        under_way: dict[str, list[Future[list[Any]]]] = {
            name: [self._pool.submit(what, job) for job in each] for name, each in jobs.items()
        }
        return {
            name: list(chain.from_iterable(future.result() for future in futures))
            for name, futures in under_way.items()
        }

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def jobs(scenario: str, load: str, seeds: range, policy: str = "expert", **rest: Any) -> list[Job]:
    """Cut seeds into jobs."""
    return [
        Job(scenario=scenario, load=load, seeds=tuple(seeds[i : i + CHUNK]), policy=policy, **rest)
        for i in range(0, len(seeds), CHUNK)
    ]


# --- one scenario ---------------------------------------------------------------------------------


def lines_of(
    name: str, seeds: range, loads: Sequence[str], baselines: range, pool: Pool
) -> Iterator[Line]:
    """Measure a scenario, line by line."""
    _, scenario = load_scenario(name)
    yield splits(name)
    episodes = pool.run(look, {load: jobs(name, load, seeds) for load in loads})
    for load in loads:
        yield from solved(f"load {load}", episodes[load])
    for load in loads:
        yield from world(
            f"load {load}", episodes[load], routes_used(name), all_occur=load == loads[-1]
        )
    yield Line(
        "users at the first load",
        most := max(e.users for e in episodes[loads[0]]),
        most >= USERS_MIN,
        f">= {USERS_MIN}",
    )
    yield from contended(f"load {loads[-1]}", episodes[loads[-1]])
    yield from varied(first := episodes[loads[0]][:SHAPE_SEEDS])
    policies = [p for p in policy_names(scenario) if p != "expert"]
    others = {
        f"{policy} at load {load}": jobs(name, load, baselines, policy)
        for policy in (*policies, TAKEOVER)
        for load in loads
    }
    top = Counter(e.shape for e in first).most_common(1)[0][0]
    for donor in [e for e in first if e.shape == top][:DONORS]:
        told = Episode(make_plan(name, donor.seed, loads[0]))
        brief = tuple(told.scenario.brief(told.instance).items())
        others[f"{REPLAY} of seed {donor.seed}"] = jobs(
            name, loads[0], baselines, REPLAY, calls=donor.calls, brief=brief
        )
    for what, found in pool.run(scores, others).items():
        yield baseline(what, found)


def splits(name: str) -> Line:
    """Say what the splits are."""
    scenario = load_scenario(name)[1]
    train, judged = scenario.seeds_of("train"), scenario.seeds_of("eval")
    told = f"train {train.start}:{train.stop}, eval {judged.start}:{judged.stop}"
    return Line("splits have no seed in common", told, ok=True)


def solved(at: str, found: Sequence[Measured]) -> Iterator[Line]:
    """Say whether the reference gets there, and what the detectors say of it."""
    low = [e for e in found if e.score < FULL]
    least = min(e.score for e in found) / FULL
    mean = sum(e.score for e in found) / len(found) / FULL
    yield Line(f"{at}: expert score min / mean", f"{least:g} / {mean:.4f}", not low, "1 / 1")
    for e in low[:5]:
        yield Line(f"  seed {e.seed}", "; ".join(e.unmet)[:160], ok=False)
    kinds = Counter(e.kind for e in found)
    yield Line(f"{at}: verdicts", dict(kinds), set(kinds) == {"ok"}, "ok alone")
    against = [(e.seed, text) for e in found for text in e.found]
    yield Line(f"{at}: findings against the harness", len(against), not against, "0")
    for seed, text in against[:5]:
        yield Line(f"  seed {seed}", text[:160], ok=False)
    calls = median(len(e.calls) for e in found)
    yield Line(f"{at}: calls, median", calls, calls >= CALLS_MIN, f">= {CALLS_MIN}")
    steps, ticks = max(e.steps for e in found), max(e.ticks for e in found)
    yield Line(
        f"{at}: most of the budget used, steps / time",
        f"{steps / 10:.0f} % / {ticks / 10:.0f} %",
        max(steps, ticks) < 1000,
        "< 100 %",
    )
    wall = 1000 * sum(e.seconds for e in found) / len(found)
    yield Line(f"{at}: wall time of an episode", f"{wall:.0f} ms", ok=None)


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
) -> Iterator[Line]:
    """Say what the world was like that the reference played in; where little goes on, not all is
    bound to occur."""
    hits = sum(e.hits for e in found) / max(1, sum(e.cached for e in found))
    yield Line(
        f"{at}: hit rate of caches", f"{hits:.3f}", hits >= HIT_RATE_MIN, f">= {HIT_RATE_MIN}"
    )
    for what in COUNTED.values():
        count = sum(e.counts[what] for e in found)
        told = f"{count / len(found):.2f}"
        if all_occur and not unused(what, routes):
            yield Line(f"{at}: {what} an episode", told, count > 0, "> 0")
        else:
            yield Line(f"{at}: {what} an episode", told, ok=None)


def contended(at: str, found: Sequence[Measured]) -> Iterator[Line]:
    """Say how often somebody got in the way of the reference's writes."""
    share = sum(e.met > 0 for e in found) / len(found)
    yield Line(
        f"{at}: episodes with contention",
        f"{share:.3f}",
        share >= CONTENTION_MIN,
        f">= {CONTENTION_MIN}",
    )
    rate = sum(e.met for e in found) / max(1, sum(e.attempts for e in found))
    yield Line(
        f"{at}: contention of an attempt", f"{rate:.3f}", rate <= ATTEMPT_MAX, f"<= {ATTEMPT_MAX}"
    )


def varied(found: Sequence[Measured]) -> Iterator[Line]:
    """Say how many ways there are to play."""
    shapes = Counter(e.shape for e in found)
    yield Line(f"shapes in {len(found)} episodes", len(shapes), len(shapes) >= SHAPES_MIN, ">= 12")
    top, count = shapes.most_common(1)[0]
    share = count / len(found)
    yield Line(
        "share of the commonest", f"{share:.3f}", share <= TOP_SHARE_MAX, f"<= {TOP_SHARE_MAX}"
    )
    yield Line("the commonest", " ".join(top), ok=None)
    folded = Counter(tuple(fold(e.shape)) for e in found)
    most = folded.most_common(1)[0][1] / len(found)
    yield Line(
        "with repeats and waits left out", f"{len(folded)} shapes, top share {most:.3f}", ok=None
    )


def fold(shape: Sequence[str]) -> Iterator[str]:
    """Leave out waits, and calls that repeat the one before."""
    last = ""
    for call in shape:
        if call != last and call != "wait":
            yield call
            last = call


def baseline(what: str, found: Sequence[tuple[int, int]]) -> Line:
    """Judge the scores of a policy that has to fail, or to take over."""
    mean = sum(score for _, score in found) / len(found) / FULL
    if what.startswith(REPLAY):
        return Line(f"{what}: mean", f"{mean:.3f}", mean < REPLAY_MAX, f"< {REPLAY_MAX}")
    if what.startswith(TAKEOVER):
        lost = [seed for seed, score in found if score < FULL]
        told = f"{min(score for _, score in found) / FULL:g}" + (
            f" (seeds {lost[:8]})" if lost else ""
        )
        return Line(f"expert takes over, {what.partition(' ')[2]}: min", told, not lost, "1")
    most = max(found, key=lambda pair: pair[1])
    told = f"{most[1] / FULL:g}" + (f" (seed {most[0]}; mean {mean:.3f})" if most[1] else "")
    # A lazy policy may be lucky; all others must not be.
    return Line(f"{what}: max", told, None if what.startswith("lazy") else most[1] <= 0, "0")


# --- the command ----------------------------------------------------------------------------------


def show(scenario: str, lines: Sequence[Line], seconds: float, *, as_json: bool) -> None:
    """Print the table of a scenario."""
    failed = sum(line.ok is False for line in lines)
    if as_json:
        rows = [line._asdict() for line in lines]
        record = {"case": scenario, "failed": failed, "seconds": round(seconds, 1), "lines": rows}
        print(json.dumps(record), flush=True)
        return
    print(f"{scenario}: {failed} lines fail ({seconds:.0f} s)")
    width = max(len(line.name) for line in lines)
    for line in lines:
        mark = {True: "ok", False: "FAIL", None: ""}[line.ok]
        limit = f"  [{line.limit}]" if line.limit else ""
        print(f"  {mark:<4}  {line.name:<{width}}  {line.value}{limit}")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure scenarios: 0 when all is ok, 1 when a line fails, 2 for what can't be measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO")
    parser.add_argument("--seeds", default="0:1000", metavar="A:B", help="of the reference")
    parser.add_argument("--loads", default="1,8", help="in rising order, separated by commas")
    parser.add_argument("--baseline-seeds", type=int, default=200, metavar="N", help="of others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    options = parser.parse_args(argv)
    failed = False
    loads = options.loads.split(",")
    pool = Pool(options.workers)
    try:
        for load in loads:
            parse_load(load)
        for scenario in options.scenarios:
            seeds = parse_seeds(options.seeds, None, [scenario])
            start = time.perf_counter()
            baselines = seeds[: max(1, options.baseline_seeds)]
            lines = list(lines_of(scenario, seeds, loads, baselines, pool))
            show(scenario, lines, time.perf_counter() - start, as_json=options.json)
            failed = failed or any(line.ok is False for line in lines)
    except SimharnessError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    finally:
        pool.close()
    return int(failed)


if __name__ == "__main__":
    # Worker processes are forks, and take it over.
    with seldom_collected():
        sys.exit(main())
