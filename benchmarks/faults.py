"""Do the auditor's verdicts name the fault wherever it decided? Every fault against its sound twin.

    python -m benchmarks.faults [--seeds 200] [--loads 3,4,8] [--json]

Each seed is played by the expert with a fault and without. The fault *manifests* where the two
journals differ in a row that the agent's observations, commits or grade rest on; it *decided* where
the sound twin reaches the goal and the faulty one doesn't. Wherever it decided, the class must be
harness, and the primary code one that the fault can cause.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from simharness.blame.verdict import Class
from simharness.env import run
from simharness.kernel.journal import Decoder

if TYPE_CHECKING:
    from simharness.episode.episode import Episode

SCENARIO = "crm/negotiation"
EXPECTED = {"crm.invalidation-lost": ("H112", "H111"), "crm.no-fence": ("H110", "H111")}
"""Fault to the codes that name it: a lost own write shows as H111 beside either."""
RESTS_ON = ("READ", "LIST", "COMMIT", "GRADE")


def essence(episode: Episode) -> list[tuple[Any, ...]]:
    """Give what the agent's observations, its commits and its grade rest on, without instants."""
    out: list[tuple[Any, ...]] = []
    for row in Decoder().decode_all(episode.world.rows):
        v = row.values
        if row.kind == "GRADE" or (row.kind in RESTS_ON and v["owner"] == "agent"):
            kept = {k: x for k, x in v.items() if k not in ("age", "order", "source")}
            out.append((row.kind, str(kept)))
    return out


def measure(fault: str, load: str, seeds: int) -> dict[str, Any]:
    """Play one fault at one load."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    primaries: Counter[str] = Counter()
    for seed in range(seeds):
        sound = run(SCENARIO, seed=seed, load=load)
        faulty = run(SCENARIO, seed=seed, load=load, faults=[fault])
        counts["sound with findings"] += any(f.code[0] == "H" for f in sound.verdict.findings)
        if essence(sound.episode) == essence(faulty.episode):
            # Not manifest: the auditor may not find anything either.
            counts["silent but judged harness"] += faulty.verdict.kind is Class.HARNESS
            continue
        counts["manifest"] += 1
        if not sound.episode.passed or faulty.episode.passed:
            continue
        counts["decided"] += 1
        primaries[faulty.verdict.primary] += 1
        harness = faulty.verdict.kind is Class.HARNESS
        named = faulty.verdict.primary in EXPECTED[fault]
        counts["class harness"] += harness
        counts["right primary"] += named
        counts["invalid"] += not faulty.verdict.valid
        if not (harness and named):
            wrong.append(f"seed {seed}: {faulty.verdict.headline}")
    return {
        "fault": fault,
        "load": load,
        "seeds": seeds,
        **dict(sorted(counts.items())),
        "primaries": dict(sorted(primaries.items())),
        "wrong": wrong,
    }


def main(argv: list[str] | None = None) -> int:
    """Measure all faults at all loads; exit 1 where a verdict is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--loads", default="4")
    args = parser.parse_args(argv)
    failed = 0
    for fault in EXPECTED:
        for load in args.loads.split(","):
            result = measure(fault, load, args.seeds)
            print(json.dumps(result), flush=True)
            failed += len(result["wrong"]) + result.get("sound with findings", 0)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
