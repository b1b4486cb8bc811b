"""Whether sound worlds are silent: every harness detector over recordings without a fault.

    python -m benchmarks.sound [--scenarios crm/negotiation,marketplace] [--episodes 5000]
        [--load 8] [--policies expert,random] [--workers 2]

A product stands for all its scenarios; the episodes are shared by policies and scenarios, each from
seed 0 on. Prints one JSON line for each, with the cost of looking as shares of the CPU time of
simulating, and one line for each finding and each broken invariant, of which there should be none.
Exits with 1 when there are any.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product, repeat
from typing import TYPE_CHECKING

from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.findings.detect import harness_findings
from simharness.findings.story import story_of_record, tell
from simharness.product.registry import load_product
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog
from simharness.rollout.collector import seldom_collected

if TYPE_CHECKING:
    from collections.abc import Sequence

SCENARIO = "crm/negotiation"
CHUNK = 25


@dataclass
class Tally:
    """What came of some episodes."""

    episodes: int = 0
    rows: int = 0
    steps: int = 0
    codes: Counter[str] = field(default_factory=Counter[str])
    broken: int = 0
    """Invariants that the state breaks at the end."""
    found: list[str] = field(default_factory=list[str])
    simulate_ns: int = 0
    read_ns: int = 0
    """Reading and decoding the recording."""
    tell_ns: int = 0
    """Building the look-ups."""
    detect_ns: int = 0

    def add(self, other: Tally) -> None:
        """Add the tally of other episodes."""
        self.episodes += other.episodes
        self.rows += other.rows
        self.steps += other.steps
        self.codes.update(other.codes)
        self.broken += other.broken
        self.found += other.found
        self.simulate_ns += other.simulate_ns
        self.read_ns += other.read_ns
        self.tell_ns += other.tell_ns
        self.detect_ns += other.detect_ns


def look(scenario: str, policy: str, load: str, seeds: range) -> Tally:
    """Run and judge the episodes of some seeds."""
    tally = Tally()
    now = time.process_time_ns
    for seed in seeds:
        start = now()
        episode = Episode(make_plan(scenario, seed, load))
        play = scripted(policy, episode.scenario)
        assert play is not None
        drive(episode, play)
        played = now()
        assert isinstance(episode.sink, FrameLog)
        (record,) = parse(episode.sink.to_bytes())
        story = story_of_record(record, type(episode.product), episode.scenario.pass_mark)
        decoded = now()
        story = tell(story.rows, story.steps, story.surface)
        told = now()
        findings = harness_findings(story)
        tally.detect_ns += now() - told
        tally.tell_ns += told - decoded
        # Decoding has told the story once already.
        tally.read_ns += decoded - played - (told - decoded)
        tally.simulate_ns += played - start
        tally.episodes += 1
        tally.rows += len(story.rows)
        tally.steps += len(story.steps)
        tally.codes.update(f.code for f in findings)
        name = f"{scenario} {policy} {seed}"
        tally.found += [f"{name}: {f.code} {f.explanation}" for f in findings]
        broken = episode.product.invariants()
        tally.broken += len(broken)
        tally.found += [f"{name}: broken: {text}" for text in broken]
    return tally


def report(scenario: str, policy: str, load: str, tally: Tally, seconds: float) -> None:
    """Print the line of one policy in one scenario."""
    simulate = tally.simulate_ns
    line = {
        "case": "sound",
        "scenario": scenario,
        "policy": policy,
        "load": load,
        "episodes": tally.episodes,
        "findings": dict(tally.codes),
        "broken_invariants": tally.broken,
        "rows_an_episode": tally.rows // tally.episodes,
        "steps_an_episode": round(tally.steps / tally.episodes, 1),
        "simulate_ms": round(simulate / tally.episodes / 1e6, 2),
        "read_share": round(tally.read_ns / simulate, 3),
        "tell_share": round(tally.tell_ns / simulate, 3),
        "detect_share": round(tally.detect_ns / simulate, 3),
        "seconds": round(seconds, 1),
    }
    print(json.dumps(line), flush=True)
    for text in tally.found[:20]:
        print(text, flush=True)


def scenarios_of(names: str) -> list[str]:
    """Read scenarios, and products for all of theirs."""
    out: list[str] = []
    for name in names.split(","):
        out += [name] if "/" in name else [s.id for s in load_product(name).scenarios]
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Run the episodes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--scenarios", default=SCENARIO, help="scenarios, and products for all")
    parser.add_argument("--episodes", type=int, default=5000, help="in all")
    parser.add_argument("--load", default="8")
    parser.add_argument("--policies", default="expert,random")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(argv)
    policies = options.policies.split(",")
    scenarios = scenarios_of(options.scenarios)
    each = max(1, options.episodes // (len(policies) * len(scenarios)))
    found = 0
    with ProcessPoolExecutor(options.workers) as pool:
        for scenario, policy in product(scenarios, policies):
            start = time.perf_counter()
            tally = Tally()
            chunks = [range(i, min(i + CHUNK, each)) for i in range(0, each, CHUNK)]
            same = repeat(scenario), repeat(policy), repeat(options.load)
            for part in pool.map(look, *same, chunks):
                tally.add(part)
            report(scenario, policy, options.load, tally, time.perf_counter() - start)
            found += sum(tally.codes.values()) + tally.broken
    return 1 if found else 0


if __name__ == "__main__":
    # Worker processes are forks, and take it over.
    with seldom_collected():
        sys.exit(main())
