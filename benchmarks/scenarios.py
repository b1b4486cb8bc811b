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
from typing import TYPE_CHECKING, Any

from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import policy_names, scripted
from simharness.errors import SimharnessError
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario
from simharness.rollout.collector import seldom_collected
from simharness.rollout.request import parse_seeds
from simharness.validate.measured import Measured, measured
from simharness.validate.measures import (
    REPLAY,
    TAKEOVER,
    Measure,
    baseline,
    contended,
    crowd,
    routes_used,
    solved,
    splits,
    varied,
    world,
)
from simharness.validate.plays import replayed, taking_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from simharness.product.policy import Policy

CHUNK = 20
SHAPE_SEEDS = 500
"""Episodes at the first load that shapes are counted in."""
DONORS = 3
"""Episodes of the commonest shape that are replayed blindly."""


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


def jobs(
    scenario: str, load: str, seeds: Sequence[int], policy: str = "expert", **rest: Any
) -> list[Job]:
    """Cut seeds into jobs."""
    return [
        Job(scenario=scenario, load=load, seeds=tuple(seeds[i : i + CHUNK]), policy=policy, **rest)
        for i in range(0, len(seeds), CHUNK)
    ]


# --- one scenario ---------------------------------------------------------------------------------


def lines_of(
    name: str, seeds: range, loads: Sequence[str], baselines: range, pool: Pool
) -> Iterator[Measure]:
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
    yield crowd(episodes[loads[0]])
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
        # On its own seed it is no blind replay.
        strange = [seed for seed in baselines if seed != donor.seed]
        others[f"{REPLAY} of seed {donor.seed}"] = jobs(
            name, loads[0], strange, REPLAY, calls=donor.calls, brief=brief
        )
    for what, found in pool.run(scores, others).items():
        yield baseline(what, found, scenario.honest)


# --- the command ----------------------------------------------------------------------------------


def show(scenario: str, lines: Sequence[Measure], seconds: float, *, as_json: bool) -> None:
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
