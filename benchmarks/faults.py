"""Does the auditor find each fault wherever it shows, and nothing in the sound twin?

    python -m benchmarks.faults [--scenarios crm/negotiation,...] [--seeds 200] [--loads 3,4,8]

Each seed is played by the expert and by the policy that the fault seduces, with the fault and
without. Whether a fault *shows* is read off the world itself and not from any detector: views that
noted a breach, a reward that isn't the goal's, a call answered by default, a column of somebody's
that a write took back without meaning to. Wherever it shows, a finding of one of its codes is due;
in the twin none of any code is. Where it *decided* (the twin reaches the goal, the faulty form
doesn't), the class must be harness and the primary one of those codes.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from simharness.blame.case import story_of_episode
from simharness.blame.verdict import Class
from simharness.env import run
from simharness.findings.detect import harness_findings
from simharness.kernel.journal import Decoder
from simharness.product.registry import load_product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.env import Outcome
    from simharness.episode.episode import Episode
    from simharness.product.fault import Fault

EXPECTED = {
    "crm.invalidation-lost": ("H112", "H111"),
    "crm.no-fence": ("H110", "H111"),
    "crm.stale-index": ("H110", "H111"),
    "crm.lost-update": ("H310",),
    "crm.replica-reads": ("H110", "H111", "H113"),
    "crm.list-cache": ("H112", "H111"),
    "crm.negative-cache": ("H110", "H111"),
    "crm.sliding-ttl": ("H112", "H111"),
    "crm.activity-reward": ("H510", "H511", "H516"),
    "crm.silent-default": ("H120",),
}
"""Fault to the codes that name it: a lost own write shows as H111 beside a stale read, and two
views behind by different lags disagree, H113."""


TWIN: dict[str, dict[str, Any]] = {
    "crm.silent-default": {"api.timeout": "1s", "db.latency": ["5ms", "1100ms"]},
}
"""What of a fault is honest trouble, which its sound twin has as well: as slow, and told so."""


def shows(episode: Episode) -> bool:
    """Tell whether anything of the agent's went wrong, by the world's own books."""
    paid = episode.reward
    if episode.breaches or paid != (1_000_000 if episode.passed else 0):
        return True
    writer: dict[tuple[str, int, int], str] = {}
    for row in Decoder().decode_all(episode.world.rows):
        v = row.values
        if row.kind == "TIMEOUT" and v["answer"] == "default":
            return True
        if row.kind == "COMMIT":
            place = v["table"], v["key"]
            for column in v["delta"][::2]:
                if column in v["unmeant"] and writer.get((*place, column), "") not in (
                    "",
                    v["owner"],
                ):
                    return True
                writer[*place, column] = v["owner"]
    return False


def codes_of(outcome: Outcome) -> set[str]:
    """Run every detector of the harness's side, whatever the live verdict looked for."""
    return {finding.code for finding in harness_findings(story_of_episode(outcome.episode))}


def measure(fault: Fault, scenario: str, load: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Play one fault in one scenario at one load."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    primaries: Counter[str] = Counter()
    due = EXPECTED[fault.id]
    for seed in seeds:
        for policy in ("expert", fault.seduces):
            twin = TWIN.get(fault.id)
            sound = run(scenario, seed=seed, load=load, policy=policy, config=twin)
            faulty = run(scenario, seed=seed, load=load, policy=policy, faults=[fault.id])
            counts["episodes"] += 1
            if against := {code for code in codes_of(sound) if code.startswith("H")}:
                counts["sound with findings"] += 1
                wrong.append(f"seed {seed}, {policy}: sound, and found {sorted(against)}")
            if not shows(faulty.episode):
                continue
            counts["shows"] += 1
            found = bool(codes_of(faulty) & set(due))
            counts["found"] += found
            decided = sound.episode.passed and not faulty.episode.passed
            counts["decided"] += decided
            named = faulty.verdict.kind is Class.HARNESS and faulty.verdict.primary in due
            if decided:
                primaries[faulty.verdict.primary] += 1
                counts["decided and named"] += named
            if not found or (decided and not named):
                wrong.append(f"seed {seed}, {policy}: {faulty.verdict.headline}")
    return {
        "fault": fault.id,
        "scenario": scenario,
        "load": load,
        **dict(sorted(counts.items())),
        "primaries": dict(sorted(primaries.items())),
        "wrong": wrong,
    }


def main(argv: list[str] | None = None) -> int:
    """Measure all faults at all loads; exit 1 where anything is wrong."""
    product = load_product("crm")
    every = ",".join(scenario.id for scenario in product.scenarios)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--loads", default="4")
    parser.add_argument("--scenarios", default=every)
    parser.add_argument("--faults", default=",".join(EXPECTED))
    args = parser.parse_args(argv)
    failed = 0
    chosen = args.faults.split(",")
    for fault in (fault for fault in product.faults if fault.id in chosen):
        for scenario in args.scenarios.split(","):
            for load in args.loads.split(","):
                result = measure(fault, scenario, load, range(args.seeds))
                print(json.dumps(result), flush=True)
                failed += len(result["wrong"])
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
