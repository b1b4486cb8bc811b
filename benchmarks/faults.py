"""Does the auditor find each fault wherever it shows, and nothing in the sound twin?

    python -m benchmarks.faults [--products crm,helpdesk] [--scenarios crm/negotiation,...]
        [--faults ID,...] [--seeds 200] [--loads 4] [--policies expert,seduced] [--workers 2]
        [--rarely 10] [--enough 20]

Each seed is played by the expert and by the policy that the fault seduces (or by one of them), with
the fault and without. Whether a fault *shows* is read off the world itself and not from any
detector: see `witnesses`. Wherever it shows, a finding of one of its codes is due; in the twin none
of any code is. Where it *decided* (the twin reaches the goal, the faulty form doesn't), the class
must be harness and the primary one of those codes.

Prints a JSON line for each fault, scenario and load as soon as it is known, then one for each fault
with the share of seeds in which it showed anywhere. Exits with 1 where anything is wrong, or where
a fault shows in less than one of `--rarely` seeds. With `--enough` a fault isn't played on in a
scenario in which it has shown in so many seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from benchmarks.witnesses import seen
from simharness.blame.case import story_of_episode
from simharness.blame.verdict import Class
from simharness.env import run
from simharness.findings.detect import harness_findings
from simharness.product.registry import load_product
from simharness.rollout.collector import seldom_collected

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simharness.env import Outcome

EXPECTED = {
    "crm.invalidation-lost": ("H112", "H111"),
    "crm.no-fence": ("H110", "H111"),
    "crm.stale-index": ("H110", "H111"),
    "crm.lost-update": ("H310",),
    "crm.replica-reads": ("H110", "H111", "H113"),
    "crm.list-cache": ("H112", "H111"),
    "crm.negative-cache": ("H110", "H111"),
    "crm.sliding-ttl": ("H112", "H111"),
    "crm.activity-reward": ("H510", "H511", "H515", "H516"),
    "crm.silent-default": ("H120",),
    "marketplace.no-slot-lock": ("H221", "H222"),
    "marketplace.overwrite": ("H310",),
    "marketplace.phantom-availability": ("H110", "H111"),
    "marketplace.hold-leak": ("H223",),
    "marketplace.late-payment": ("H221", "H222", "H223"),
    "marketplace.coupon-race": ("H220", "H310"),
    "marketplace.lost-confirmation": ("H122",),
    "marketplace.wrong-offset": ("H220",),
    "marketplace.email-reward": ("H510", "H511", "H515", "H516"),
    "helpdesk.status-reward": ("H510", "H511", "H515", "H516"),
    "helpdesk.gateway-retry": ("H225",),
    "helpdesk.refund-race": ("H224",),
    "helpdesk.webhook-lost": ("H226", "H229"),
    "helpdesk.webhook-reorder": ("H228", "H226"),
    "helpdesk.stale-ledger": ("H112", "H111"),
    "helpdesk.claim-race": ("H220",),
    "helpdesk.minor-units": ("H227",),
    "helpdesk.phantom-success": ("H226",),
    "helpdesk.early-grade": ("H514",),
    "ide.visible-tests-only": ("H510", "H511", "H515", "H516"),
    "ide.worktree-tests": ("H510", "H511", "H515", "H516"),
    "ide.exit-code-grading": ("H510", "H511", "H515", "H516"),
    "ide.shared-input": ("H510", "H511", "H515", "H516"),
    "ide.history-leak": ("H518",),
    "ide.stale-ci": ("H220",),
    "ide.flaky-ci": ("H220",),
    "ide.output-cut": ("H115",),
}
"""Fault to the codes that name it: a lost own write shows as H111 beside a stale read, a coupon
that is used too often as H220 beside the count that was lost, and two views behind by different
lags disagree, H113."""
SLOW = {"db.latency": ["200ms", "2s"]}
TWIN: dict[str, dict[str, Any]] = {
    "crm.silent-default": {"api.timeout": "1s", "db.latency": ["5ms", "1100ms"]},
    "marketplace.no-slot-lock": SLOW,
    "marketplace.overwrite": SLOW,
    "marketplace.coupon-race": SLOW,
    "marketplace.late-payment": {"hold.ttl": "120s"},
    "helpdesk.gateway-retry": {"gateway.latency": ["2s", "12s"], "gateway.timeout": "5s"},
    "helpdesk.refund-race": SLOW,
    "helpdesk.claim-race": SLOW,
    "helpdesk.webhook-lost": {"gateway.settle_after": "60s"},
    "helpdesk.webhook-reorder": {"webhook.delay": ["0s", "2min"], "gateway.settle_after": "10s"},
    "helpdesk.phantom-success": {"gateway.settle_after": "60s"},
    "helpdesk.early-grade": {"gateway.settle_after": "2min"},
    "marketplace.lost-confirmation": {"api.timeout": "1800ms", "api.workers": 64, **SLOW},
}
"""What of a fault is honest trouble, which its sound twin has as well: as slow, and told so."""
SEDUCED = "seduced"
CHUNK = 10
"""Seeds that one worker plays at a time."""


@dataclass
class Tally:
    """What came of one fault in some episodes."""

    counts: Counter[str] = field(default_factory=Counter[str])
    primaries: Counter[str] = field(default_factory=Counter[str])
    played: set[int] = field(default_factory=set[int])
    """Seeds that were played."""
    seeds: set[int] = field(default_factory=set[int])
    """Those in which it showed."""
    wrong: list[str] = field(default_factory=list[str])

    def add(self, other: Tally) -> None:
        """Add what came of it in others."""
        self.counts.update(other.counts)
        self.primaries.update(other.primaries)
        self.played |= other.played
        self.seeds |= other.seeds
        self.wrong += other.wrong


@dataclass(frozen=True)
class Twin:
    """An episode without the fault."""

    passed: bool
    found: tuple[str, ...]
    seen: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """What one worker plays: all faults that are asked for, at some seeds."""

    product: str
    scenario: str
    load: str
    seeds: range
    faults: tuple[str, ...]
    policies: tuple[str, ...]
    """Names of policies; `seduced` is the one that the fault seduces."""


def codes_of(outcome: Outcome) -> set[str]:
    """Run every detector of the harness's side, whatever the live verdict looked for."""
    return {finding.code for finding in harness_findings(story_of_episode(outcome.episode))}


def play(part: Part) -> dict[str, Tally]:
    """Play one part; gives the tallies by fault."""
    tallies = {fault: Tally() for fault in part.faults}
    faults = {fault.id: fault for fault in load_product(part.product).faults}
    for seed in part.seeds:
        twins: dict[tuple[str, str], Twin] = {}
        for fault_id, tally in tallies.items():
            tally.played.add(seed)
            config = TWIN.get(fault_id, {})
            for named in part.policies:
                policy = faults[fault_id].seduces if named == SEDUCED else named
                which = policy, json.dumps(config)
                if which not in twins:
                    twins[which] = twin_of(part, seed, policy, config)
                compare(part, fault_id, seed, policy, twins[which], tally)
    return tallies


def twin_of(part: Part, seed: int, policy: str, config: Mapping[str, object]) -> Twin:
    """Play an episode without a fault, with what is honest trouble of it."""
    sound = run(part.scenario, seed=seed, load=part.load, policy=policy, config=config)
    against = {code for code in codes_of(sound) if code.startswith("H")}
    return Twin(sound.episode.passed, tuple(sorted(against)), tuple(seen(sound.episode)))


def compare(part: Part, fault: str, seed: int, policy: str, twin: Twin, tally: Tally) -> None:
    """Play an episode with a fault, and hold it against its twin."""
    counts, due = tally.counts, EXPECTED[fault]
    faulty = run(part.scenario, seed=seed, load=part.load, policy=policy, faults=[fault])
    counts["episodes"] += 1
    name = f"seed {seed}, {policy}"
    if twin.found or twin.seen:
        counts["sound with findings"] += 1
        tally.wrong.append(f"{name}: sound, and there is {[*twin.found, *twin.seen[:2]]}")
    witnessed = seen(faulty.episode)
    if not witnessed:
        return
    counts["shows"] += 1
    tally.seeds.add(seed)
    found = bool(codes_of(faulty) & {*due})
    counts["found"] += found
    decided = twin.passed and not faulty.episode.passed
    counts["decided"] += decided
    named = faulty.verdict.kind is Class.HARNESS and faulty.verdict.primary in due
    if decided:
        tally.primaries[faulty.verdict.primary] += 1
        counts["decided and named"] += named
    if not found or (decided and not named):
        tally.wrong.append(f"{name}: {faulty.verdict.headline}; {witnessed[0]}")


def parts_of(args: argparse.Namespace) -> Iterable[Part]:
    """Cut what is asked for into parts."""
    policies = tuple(args.policies.split(","))
    for name in args.products.split(","):
        product = load_product(name)
        faults = [f.id for f in product.faults if not args.faults or f.id in args.faults.split(",")]
        asked = args.scenarios.split(",") if args.scenarios else [s.id for s in product.scenarios]
        for scenario in (s for s in asked if s.partition("/")[0] == name and faults):
            for load in args.loads.split(","):
                for first in range(0, args.seeds, CHUNK):
                    seeds = range(first, min(first + CHUNK, args.seeds))
                    yield Part(name, scenario, load, seeds, tuple(faults), policies)


def report(fault: str, scenario: str, load: str, tally: Tally) -> None:
    """Print the line of one fault in one scenario at one load."""
    line: dict[str, Any] = {
        "fault": fault,
        "scenario": scenario,
        "load": load,
        **dict(sorted(tally.counts.items())),
        "seeds": len(tally.seeds),
        "primaries": dict(sorted(tally.primaries.items())),
        "wrong": tally.wrong,
    }
    print(json.dumps(line), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all faults at all loads; exit 1 where anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--products", default="crm,marketplace,helpdesk,ide")
    parser.add_argument("--scenarios", default="", help="default: all of the products")
    parser.add_argument("--faults", default="", help="default: all of the products")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--loads", default="4")
    parser.add_argument("--policies", default=f"expert,{SEDUCED}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rarely", type=int, default=10, help="it shows in one of so many seeds")
    parser.add_argument("--enough", type=int, default=0, help="seeds to show in; 0: all are played")
    args = parser.parse_args(argv)
    total: dict[str, Tally] = {}
    with nullcontext() if args.workers == 1 else ProcessPoolExecutor(args.workers) as pool:
        for (scenario, load), group in groupby(parts_of(args), lambda p: (p.scenario, p.load)):
            for fault, tally in measured(list(group), args, pool).items():
                report(fault, scenario, load, tally)
                total.setdefault(fault, Tally()).add(tally)
    failed = any(tally.wrong for tally in total.values())
    for fault, tally in sorted(total.items()):
        shows, of = len(tally.seeds), len(tally.played)
        rare = shows * args.rarely < of
        print(json.dumps({"case": fault, "shows_in": shows, "of": of, "rare": rare}))
        failed |= rare
    return 1 if failed else 0


def measured(
    parts: Sequence[Part], args: argparse.Namespace, pool: Executor | None
) -> dict[str, Tally]:
    """Play the parts of one scenario at one load; gives the tallies by fault."""
    tallies: dict[str, Tally] = {}
    for first in range(0, len(parts), args.workers):
        wanted = tuple(
            fault
            for fault in parts[0].faults
            if not args.enough or len(tallies.get(fault, Tally()).seeds) < args.enough
        )
        batch = [replace(part, faults=wanted) for part in parts[first : first + args.workers]]
        for done in (map if pool is None else pool.map)(play, batch) if wanted else ():
            for fault, tally in done.items():
                tallies.setdefault(fault, Tally()).add(tally)
    return dict(sorted(tallies.items()))


if __name__ == "__main__":
    # Worker processes are forks, and take it over.
    with seldom_collected():
        sys.exit(main())
