"""What the guard costs, as the ratio of episodes with it and without it, in one run.

Prints one JSON line a case.

    python -m benchmarks.guard [--rounds 15] [--episodes 20] [--load 4] [--profile]

Rounds with and without the guard alternate in pairs, each pair begun by the other side than the
last, and the median is taken of the ratio within each pair. Time is the processor's, of this
process: others on the machine then count less. A round of each side is played before the clock
starts, since the first calls after the guard is armed are those that it has yet to judge.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from typing import TYPE_CHECKING, Any

from benchmarks.costs import play
from simharness.env import make_plan
from simharness.kernel.guard import GUARD, guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.episode.plan import Plan

SCENARIO = "crm/negotiation"


def seconds(plans: list[Plan], mode: str) -> float:
    """Play episodes under a mode of the guard and give the processor's time in seconds."""
    with guarded(mode):
        play(plans[:1], [])
        start = time.process_time()
        play(plans, [])
        return time.process_time() - start


def case(mode: str, rounds: int, plans: list[Plan]) -> dict[str, Any]:
    """Compare a mode of the guard with none."""
    with guarded(mode):
        lookout = type(GUARD.lookout).__name__.lower()
    play(plans, [])
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        if number % 2:
            on, off = seconds(plans, mode), seconds(plans, "off")
        else:
            off, on = seconds(plans, "off"), seconds(plans, mode)
        pairs.append((on, off))
    ratios = sorted(on / off for on, off in pairs)
    return {
        "case": "guard",
        "mode": mode,
        "lookout": lookout,
        "python": platform.python_version(),
        "ms_an_episode": round(1000 * statistics.median(p[1] for p in pairs) / len(plans), 2),
        "guarded_unguarded": round(statistics.median(ratios), 3),
        "quartiles": [round(ratios[len(ratios) * k // 4], 3) for k in (1, 3)],
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each mode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--load", default="4")
    parser.add_argument("--profile", action="store_true", help="measure sys.setprofile too")
    given = parser.parse_args(argv)
    plans = [make_plan(SCENARIO, seed, given.load) for seed in range(given.episodes)]
    for mode in ("on", "profile") if given.profile else ("on",):
        print(json.dumps(case(mode, given.rounds, plans)))


if __name__ == "__main__":
    main()
