"""What a recorded call costs, as ratios measured side by side in one run.

Prints one JSON line a case.

    python -m benchmarks.costs [--rounds 9] [--calls 400] [--episodes 60] [--load 1]

Rounds of the things compared alternate, and medians are taken of the ratio within each round: on a
noisy machine the two sides of a ratio then suffer alike. The idiomatic-SimPy twin (simpy_twin.py)
records nothing and proves nothing.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks import simpy_twin
from simharness.blame.attribution import judge
from simharness.env import finish, make_plan, new_episode
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import PolicySource
from simharness.episode.replay import replay
from simharness.episode.transcript import RawCall
from simharness.recording.reader import parse
from simharness.recording.recorder import Recorder
from simharness.recording.writer import FrameLog
from simharness.values import fast_packer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simharness.episode.plan import Plan
    from simharness.episode.step import Input
    from simharness.recording.reader import EpisodeRecord

SCENARIO = "crm/negotiation"
THINK = 5_000_000


class Silent(Recorder):
    """Takes what a recorder takes and writes none of it.

    The journal's rows are appended all the same.
    """

    def input(self, step: int, t: int, kind: str, calls: Sequence[object] | bytes) -> None:
        """Drop an input."""

    def step(
        self, step: int, t: int, results: Sequence[object], reward: int | None, flags: int
    ) -> None:
        """Drop a step."""

    def checkpoint(self, tables: Mapping[str, str]) -> None:
        """Drop a checkpoint."""


def mixed(seed: int, load: str, calls: int, *, recorded: bool = True) -> Episode:
    """Send the twin's mix of calls, one every five simulated seconds."""
    plan = make_plan(SCENARIO, seed, load)
    long = type(plan)(
        scenario=SCENARIO, seed=seed, load=plan.load, steps_max=calls + 1, ticks_max=10**14
    )
    episode = Episode(long)
    if not recorded:
        episode.recorder = Silent(episode.world, FrameLog())
    draw = random.Random(seed)  # noqa: S311  (a benchmark's own mix)
    world = episode.world
    for number in range(calls):
        deal = draw.randrange(1, 85)
        kind = number % 4
        if kind == 0:
            tool, text = "get_deal", f'{{"deal_id":{deal}}}'
        elif kind == 1:
            tool, text = "get_contact", f'{{"contact_id":{draw.randrange(1, 73)}}}'
        elif kind == 2:
            tool, text = "list_deals", '{"stage":"proposal"}'
        else:
            tool, text = (
                "update_deal",
                f'{{"deal_id":{deal},"fields":{{"next_step":"call"}},"if_version":1}}',
            )
        episode.call((RawCall(id="", tool=tool, arguments=text),), world.ticks + THINK)
    return episode


def microseconds(work: Callable[[], object], per: int) -> float:
    """Time one piece of work, in microseconds a unit."""
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1000 / per


def ratio(these: list[float], those: list[float]) -> float:
    """Give the median of the ratio within each round."""
    return statistics.median(a / b for a, b in zip(these, those, strict=True))


def play(plans: list[Plan], played: list[Episode]) -> None:
    """Let the expert play, with no verdict."""
    for plan in plans:
        episode = Episode(plan)
        drive(episode, episode.scenario.policies["expert"])
        played.append(episode)


def play_judged(plans: list[Plan], logs: list[bytes]) -> None:
    """Let the expert play, with a verdict, and keep the recordings."""
    for plan in plans:
        episode = new_episode(plan, "expert")
        source = PolicySource("expert", episode.scenario, 1)
        finish(episode, source.policy(0), askable=True)
        assert isinstance(episode.sink, FrameLog)
        logs.append(episode.sink.to_bytes())


def play_unrecorded(plans: list[Plan]) -> None:
    """Let the expert play and write nothing."""
    for plan in plans:
        episode = Episode(plan)
        episode.recorder = Silent(episode.world, FrameLog())
        drive(episode, episode.scenario.policies["expert"])


def send_all(episode: Episode, inputs: list[Input]) -> None:
    """Send recorded inputs again."""
    for given in inputs:
        episode.send(given)


def play_twins(seeds: range, load: str) -> None:
    """Let the twin's expert play."""
    for seed in seeds:
        simpy_twin.run_episode(seed, float(load))


def replay_all(records: list[EpisodeRecord]) -> None:
    """Replay recordings."""
    for record in records:
        replay(record)


def judge_all(episodes: list[Episode], *, asked: bool = False) -> None:
    """Judge episodes; `asked` lets proofs ask the expert again."""
    for episode in episodes:
        judge(episode, episode.scenario.policies["expert"] if asked else None)


def calls_case(rounds: int, calls: int, load: str) -> dict[str, Any]:
    """Cost of a mixed call: recorded, unrecorded, and in the twin."""
    on: list[float] = []
    off: list[float] = []
    twin: list[float] = []
    for r in range(rounds):
        on.append(microseconds(partial(mixed, r, load, calls), calls))
        off.append(microseconds(partial(mixed, r, load, calls, recorded=False), calls))
        twin.append(microseconds(partial(simpy_twin.mixed_calls, r, float(load), calls), calls))
    episode = mixed(0, load, calls)
    rows = episode.world.rows
    log = episode.sink
    assert isinstance(log, FrameLog)
    packer = fast_packer()
    row_bytes = sum(len(packer.pack((row[0], 0, *row[2:]))) for row in rows) / len(rows)
    return {
        "case": "call",
        "load": load,
        "us_recorded": round(statistics.median(on), 1),
        "us_unrecorded": round(statistics.median(off), 1),
        "us_twin": round(statistics.median(twin), 1),
        "recording_on_off": round(ratio(on, off), 3),
        "recorded_against_twin": round(ratio(on, twin), 2),
        "events_a_call": round(episode.world.scheduled / calls, 1),
        "rows_a_call": round(len(rows) / calls, 1),
        "bytes_a_row": round(row_bytes, 1),
        "bytes_a_call": round(sum(map(len, log.payloads)) / calls),
    }


def episodes_case(rounds: int, episodes: int, load: str) -> dict[str, Any]:
    """Cost of a whole expert episode with its verdict, of its replay, and of the twin's."""
    ours: list[float] = []
    bare: list[float] = []
    again: list[float] = []
    twin: list[float] = []
    verdict: list[float] = []
    steps = 0
    for r in range(rounds):
        seeds = range(r * episodes, (r + 1) * episodes)
        plans = [make_plan(SCENARIO, seed, load) for seed in seeds]
        logs: list[bytes] = []
        ours.append(microseconds(partial(play_judged, plans, logs), episodes))
        records = [record for data in logs for record in parse(data)]
        bare.append(microseconds(partial(play_unrecorded, plans), episodes))
        again.append(microseconds(partial(replay_all, records), episodes))
        twin.append(microseconds(partial(play_twins, seeds, load), episodes))
        done: list[Episode] = []
        play(plans, done)
        steps += sum(len(episode.steps) for episode in done)
        verdict.append(microseconds(partial(judge_all, done), episodes))
    return {
        "case": "episode",
        "load": load,
        "us": round(statistics.median(ours)),
        "steps": round(steps / rounds / episodes, 1),
        "us_unrecorded": round(statistics.median(bare)),
        "us_twin": round(statistics.median(twin)),
        "replay_against_unrecorded": round(ratio(again, bare), 2),
        "against_twin": round(ratio(ours, twin), 2),
        "verdict_share_clean": round(ratio(verdict, ours), 4),
    }


def tainted_case(rounds: int, episodes: int) -> dict[str, Any]:
    """Cost of a tainted episode with its proof, against the same episode without a verdict."""
    ratios: list[float] = []
    for r in range(rounds):
        seeds = range(r * episodes, (r + 1) * episodes)
        plans = [make_plan(SCENARIO, seed, "4", ("crm.invalidation-lost",)) for seed in seeds]
        played: list[Episode] = []
        alone = microseconds(partial(play, plans, played), episodes)
        proof = microseconds(partial(judge_all, played, asked=True), episodes)
        ratios.append((alone + proof) / alone)
    return {
        "case": "tainted",
        "load": "4",
        "with_verdict_against_without": round(statistics.median(ratios), 2),
    }


def reset_case(rounds: int) -> dict[str, Any]:
    """Cost of a reset, and of a branch against simulating the same steps."""
    resets = [
        microseconds(lambda: [Episode(make_plan(SCENARIO, s)) for s in range(50)], 50)
        for _ in range(rounds)
    ]
    branches: list[float] = []
    for r in range(rounds):
        episode = Episode(make_plan(SCENARIO, r))
        first = microseconds(partial(drive, episode, episode.scenario.policies["expert"]), 1)
        begun = time.perf_counter_ns()
        twin = Episode(make_plan(SCENARIO, r))
        made = (time.perf_counter_ns() - begun) / 1000
        second = microseconds(partial(send_all, twin, episode.inputs), 1)
        branches.append((made + second) / (made + first))
    users = sum(name.startswith("user/") for name in Episode(make_plan(SCENARIO, 0)).world.alive)
    return {
        "case": "reset",
        "users": users,
        "us": round(statistics.median(resets)),
        "branch_against_simulating": round(statistics.median(branches), 2),
    }


def main(argv: list[str] | None = None) -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--load", default="1")
    args = parser.parse_args(argv)
    print(
        json.dumps(
            {"case": "machine", "python": platform.python_version(), "cpu": platform.machine()}
        )
    )
    mixed(0, args.load, 20)  # templates and tables are built once a process
    print(json.dumps(calls_case(args.rounds, args.calls, args.load)), flush=True)
    print(json.dumps(episodes_case(args.rounds, args.episodes, args.load)), flush=True)
    print(json.dumps(tainted_case(args.rounds, max(2, args.episodes // 6))), flush=True)
    print(json.dumps(reset_case(args.rounds)), flush=True)


if __name__ == "__main__":
    main()
