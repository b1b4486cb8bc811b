"""Plants defects in the CRM's reference policy and counts which code explains what came of it.

Each defect wraps the expert: it drives the expert's generator and alters what it does. The product
is sound, so no finding may be the harness's. A seed counts where the defect manifested: where the
wrapper really did something else. `right` is the share of those in which `primary_of` names the
expected code; for an advisory code, in which it is found and nothing is primary.

The clean expert is the control: on episodes that pass, nothing but advisory findings.

    python -m benchmarks.model_defects [--seeds 200] [--first 0] [--clean 500] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchmarks.planted_defects import DEFECTS, Planted, Wrap, plain, spoiled
from simharness.blame.case import story_of_episode
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import observe, perform, task_of
from simharness.episode.step import TEXT
from simharness.findings.detect import harness_findings
from simharness.findings.finding import Confidence
from simharness.findings.model import findings_of, primary_of
from simharness.findings.turns import Account

if TYPE_CHECKING:
    from simharness.findings.finding import Finding

SCENARIO = "crm/negotiation"
LOADS = "1,8"
CLEAN_LOADS = ("1", "4", "8")

# --- playing and counting ------------------------------------------------------------------------


@dataclass
class Outcome:
    """One episode, judged by whoever asks: most in which the defect didn't happen are not."""

    happened: bool
    episode: Episode

    @property
    def passed(self) -> bool:
        return self.episode.passed

    @cached_property
    def account(self) -> Account:
        return account_of(self.episode)

    @cached_property
    def model(self) -> list[Finding]:
        return findings_of(self.account)

    @cached_property
    def harness(self) -> list[Finding]:
        return [f for f in harness_findings(self.account.story) if f.code.startswith("H")]

    @property
    def primary(self) -> str:
        found = primary_of(self.model)
        return found.code if found is not None else ""


def outcome_of(seed: int, load: str, planted: Planted, scenario: str = SCENARIO) -> Outcome:
    """Play an episode with a defect."""
    episode = Episode(make_plan(scenario, seed, load, config=planted.config))
    tools = episode.product.tools.values()
    wrap = Wrap(task_of(episode), writes=frozenset(tool.name for tool in tools if tool.writes))
    play = spoiled(wrap, planted.spoil, episode.scenario.policies["expert"](wrap.task))
    try:
        action = next(play)
        while True:
            pins = planted.pins(action)
            record = perform(episode, action, pins=(pins,) if pins else ())
            if episode.ended:
                break
            action = play.send(observe(episode, record))
    except StopIteration:
        episode.stop()
    return Outcome(bool(wrap.happened), episode)


def account_of(episode: Episode) -> Account:
    """Give an episode to the detectors of the model's side."""
    said = {r.input.step: r.input.text for r in episode.steps if r.input.kind == TEXT}
    brief = episode.scenario.brief(episode.instance)
    return Account(story_of_episode(episode), prompt=episode.prompt, brief=brief, said=said)


def measure(name: str, load: str, seeds: range) -> dict[str, Any]:
    """Count one defect at one load over seeds."""
    others: Counter[str] = Counter()
    manifested = failed = right = harness = 0
    code = DEFECTS[name]().code
    for seed in seeds:
        planted = DEFECTS[name]()
        outcome = outcome_of(seed, load, planted)
        if not outcome.happened:
            continue
        manifested += 1
        failed += not outcome.passed
        harness += bool(outcome.harness)
        if is_right(outcome, planted):
            right += 1
        else:
            others[outcome.primary or "none"] += 1
    return {
        "case": name,
        "expected": code,
        "load": load,
        "seeds": len(seeds),
        "manifested": manifested,
        "failed": failed,
        "right": right,
        "rate": round(right / manifested, 3) if manifested else None,
        "others": dict(others.most_common()),
        "harness": harness,
    }


def is_right(outcome: Outcome, planted: Planted) -> bool:
    """Tell whether the expected code explains the episode."""
    if planted.advisory:
        return outcome.primary == "" and planted.code in {f.code for f in outcome.model}
    return outcome.primary in (planted.code, *planted.also)


def clean(load: str, seeds: range) -> dict[str, Any]:
    """Count what is found against the expert itself."""
    passed = harness = 0
    passing: Counter[str] = Counter()
    failing: Counter[str] = Counter()
    advisory: Counter[str] = Counter()
    for seed in seeds:
        outcome = outcome_of(seed, load, Planted("", plain))
        passed += outcome.passed
        harness += bool(outcome.harness)
        found = {f.code for f in outcome.model if f.confidence is not Confidence.SUSPECTED}
        advisory.update({f.code for f in outcome.model} - found)
        (passing if outcome.passed else failing).update(found)
    return {
        "case": "clean expert",
        "load": load,
        "seeds": len(seeds),
        "passed": passed,
        "found_on_passing": dict(passing),
        "found_on_failing": dict(failing),
        "advisory": dict(advisory),
        "harness": harness,
    }


def table(lines: list[dict[str, Any]]) -> str:
    """Show the counts of defects as a table."""
    heads = (
        f"{'defect':28} {'code':5} {'load':>4} {'manif.':>7} {'failed':>6} {'right':>6} {'H':>3}"
    )
    out = [f"{heads}  others"]
    for line in lines:
        rate = f"{100 * line['rate']:.1f}%" if line["rate"] is not None else "-"
        others = ", ".join(f"{code} {count}" for code, count in line["others"].items())
        out.append(
            f"{line['case']:28} {line['expected']:5} {line['load']:>4} {line['manifested']:>7} "
            f"{line['failed']:>6} {rate:>6} {line['harness']:>3}  {others}"
        )
    return "\n".join(out)


def main(argv: list[str] | None = None) -> int:
    """Run all cases; 1 if a code is missed too often or anything is found that must not be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--clean", type=int, default=None, help="seeds of the control; as --seeds")
    parser.add_argument("--loads", default=LOADS)
    parser.add_argument("--only", default="", help="defects whose name holds this text")
    parser.add_argument(
        "--json", action="store_true", help="one JSON line a case instead of a table"
    )
    args = parser.parse_args(argv)
    names = [name for name in DEFECTS if args.only in name]
    seeds = range(args.first, args.first + args.seeds)
    control = seeds if args.clean is None else range(args.first, args.first + args.clean)
    lines = [measure(name, load, seeds) for name in names for load in args.loads.split(",")]
    controls = [clean(load, control) for load in CLEAN_LOADS] if control else []
    for line in [*lines, *controls] if args.json else controls:
        print(json.dumps(line))
    if not args.json:
        print(table(lines))
    bad = any(line["rate"] is not None and line["rate"] < 0.9 for line in lines)
    bad = bad or any(line["harness"] for line in (*lines, *controls))
    return int(bad or any(line["found_on_passing"] for line in controls))


if __name__ == "__main__":
    sys.exit(main())
