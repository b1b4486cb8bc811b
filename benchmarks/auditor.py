"""How good is the auditor? What was planted, against what it says of it.

    python -m benchmarks.auditor [--faults 40] [--mutations 8] [--defects 8] [--conditions 8]
        [--clean 2000] [--products crm,...] [--loads 4,8,1] [--only TEXT] [--workers 2]
        [--add FILE.json]... [--json] [--plot FILE.png]

Five groups of episodes, each with what is known of it from outside:

- every fault, at several loads, in all scenarios of its product, with the reference and the policy
  that it seduces, from the start or from a minute on. It counts where it shows by the world's own
  books (`witnesses`), and decided an outcome where the same episode without it ends otherwise;
- mutations: defects of parts, products and graders that no fault has (`mutations`);
- defects of the agent, planted in the references of all scenarios (`planted_defects`,
  `general_defects`); the world is sound;
- conditions: what is honest trouble of the faults, such as slow databases and late answers;
- clean worlds, with reference, random, spamming and coping policies.

The numbers are episodes of each fault, mutation, defect and condition, and of clean ones in all.
All detectors look at every episode, as an audit of its recording would let them. `--plot` needs the
extra `plot`. A long measurement may be made in parts, of other seeds, loads or groups each, and
`--add` adds what others wrote with `--json`. Exits with 1 where something is never found, or a
sound world is accused.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle, islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from benchmarks.faults import EXPECTED, SEDUCED, TWIN
from benchmarks.general_defects import GENERAL
from benchmarks.matrix import Judged, Matrix
from benchmarks.model_defects import SCENARIO, outcome_of
from benchmarks.mutations import MUTATIONS
from benchmarks.planted_defects import DEFECTS
from benchmarks.plays import played
from benchmarks.witnesses import seen
from simharness.blame.attribution import judge_case
from simharness.blame.case import case_of
from simharness.blame.verdict import Class
from simharness.cli.output import ProgressLine
from simharness.env import make_plan
from simharness.episode.episode import Episode
from simharness.episode.play import drive
from simharness.episode.policies import scripted
from simharness.errors import HarnessError
from simharness.product.registry import load_product, load_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.blame.verdict import Verdict
    from simharness.product.policy import Policy

PRODUCTS = "crm,marketplace,helpdesk,ide"
LATER = "@from=60s"
"""A trigger: the fault comes a minute after the start."""
CHUNK = 8
"""Episodes that one worker judges at a time."""


class Planned(NamedTuple):
    """One episode to play."""

    group: str
    case: str
    scenario: str
    load: str
    policy: str
    seed: int
    trigger: str = ""

    @property
    def name(self) -> str:
        """Say how to play it again."""
        what = f"{self.case}{self.trigger} in " if self.group != "clean" else ""
        return f"{what}{self.scenario}:{self.seed} load {self.load} {self.policy}".rstrip()


# --- what is played ------------------------------------------------------------------------------


def planned(args: argparse.Namespace) -> Iterator[Planned]:
    """List the episodes that are asked for."""
    products, loads = args.products.split(","), args.loads.split(",")
    for name in products:
        yield from faulty(name, loads, args.faults, args.first)
        yield from conditioned(name, loads, args.conditions, args.first)
    for mutation in MUTATIONS if args.mutations else ():
        if mutation.scenario.partition("/")[0] in products:
            where = mutation.scenario, str(mutation.load), mutation.policy
            # The seed stands for all of them, up to the first in which it is found.
            yield Planned("mutation", mutation.name, *where, args.mutations)
    yield from spoiled(products, loads, args.defects, args.first)
    yield from clean(products, loads, args.clean, args.first)


def scenarios_of(name: str) -> list[str]:
    """List the scenarios of a product."""
    return [scenario.id for scenario in load_product(name).scenarios]


def faulty(name: str, loads: Sequence[str], count: int, first: int) -> Iterator[Planned]:
    """Share the episodes of each fault among scenarios, policies, loads and triggers.

    By turns that move on by one from round to round, so that each meets each; every third one comes
    later. The
    policy that a fault seduces doesn't fit every scenario: in others the reference plays.
    """
    for fault in load_product(name).faults:
        where = list(product(loads, scenarios_of(name)))
        turns = islice(cycle(where), count)
        for i, (load, scenario) in enumerate(turns):
            fits = scripted(fault.seduces, load_scenario(scenario)[1]) is not None
            turn = i // len(where) + i % len(where)
            policy = ("expert", SEDUCED)[turn % 2] if fits else "expert"
            trigger = LATER if turn % 3 == 2 and not constant(fault.knobs) else ""
            yield Planned("fault", fault.id, scenario, load, policy, first + i, trigger)


def constant(knobs: Mapping[str, object]) -> bool:
    """Tell whether a fault is there from the start or not at all: how rewards are paid is."""
    return any(key.startswith(("reward.", "zones")) for key in knobs)


def conditioned(name: str, loads: Sequence[str], count: int, first: int) -> Iterator[Planned]:
    """Share the episodes of each honest trouble among scenarios and loads."""
    for fault in TWIN:
        if fault.partition(".")[0] == name:
            where = islice(cycle(product(loads, scenarios_of(name))), count)
            for i, (load, scenario) in enumerate(where):
                yield Planned("condition", fault, scenario, load, "expert", first + i)


def spoiled(
    products: Sequence[str], loads: Sequence[str], count: int, first: int
) -> Iterator[Planned]:
    """Share the episodes of each defect of the agent among scenarios and loads."""
    for defect in DEFECTS if "crm" in products else ():
        for i, load in enumerate(islice(cycle(loads), count)):
            yield Planned("defect", defect, SCENARIO, load, "", first + i)
    for name, defect in product(products, GENERAL):
        for i, (load, where) in enumerate(islice(cycle(product(loads, scenarios_of(name))), count)):
            yield Planned("defect", defect, where, load, "", first + i)


def clean(
    products: Sequence[str], loads: Sequence[str], count: int, first: int
) -> Iterator[Planned]:
    """Share clean episodes among all scenarios, their policies, and the loads."""
    where = [
        (scenario.id, load, policy)
        for load in loads
        for name in products
        for scenario in load_product(name).scenarios
        for policy in ("expert", "random", *sorted(set(scenario.policies) - {"expert"}))
    ]
    for i, (scenario_id, load, policy) in enumerate(islice(cycle(where), count)):
        yield Planned("clean", policy, scenario_id, load, policy, first + i // len(where))


# --- playing and judging -------------------------------------------------------------------------


def judge_all(batch: Sequence[Planned]) -> list[Judged]:
    """Play and judge some episodes."""
    judge = {
        "fault": judge_fault,
        "mutation": judge_mutation,
        "defect": judge_defect,
        "condition": judge_sound,
        "clean": judge_sound,
    }
    return [judged for one in batch for judged in judge[one.group](one)]


def play(
    one: Planned, policy: Policy, faults: Sequence[str] = (), config: Mapping[str, object] = {}
) -> tuple[Episode, Verdict]:
    """Play an episode, and let all detectors look at it, whatever its tripwires say."""
    plan = make_plan(one.scenario, one.seed, one.load, faults, config=config)
    episode = Episode(plan)
    try:
        drive(episode, policy)
    except HarnessError:
        assert episode.aborted is not None
    return episode, audited(episode, policy)


def audited(episode: Episode, policy: Policy | None) -> Verdict:
    """Judge an episode as an audit of its recording would."""
    reference = episode.scenario.policies.get("expert")
    return judge_case(case_of(episode, policy, reference))


def policy_of(scenario: str, name: str) -> Policy:
    """Give a scripted policy."""
    policy = scripted(name, load_scenario(scenario)[1])
    assert policy is not None
    return policy


def said(
    one: Planned,
    verdict: Verdict,
    truth: Class | None,
    due: tuple[str, ...] = (),
    fitting: tuple[str, ...] = (),
    group: str = "",
) -> Judged:
    """Put down what the auditor said."""
    return Judged(
        group=group or one.group,
        case=one.case,
        name=one.name,
        truth=truth,
        due=due,
        fitting=fitting,
        kind=verdict.kind,
        primary=verdict.primary,
        codes=frozenset(verdict.codes),
        headline=f"{verdict.headline}; {', '.join(verdict.codes)}",
    )


def outcome_in_sound(episode: Episode) -> Class:
    """Say who answers for an outcome in a sound world."""
    return Class.OK if episode.passed else Class.MODEL


def judge_fault(one: Planned) -> Iterator[Judged]:
    """Judge an episode with a fault, if it shows, and the same without it."""
    fault = next(f for f in load_product(one.case.partition(".")[0]).faults if f.id == one.case)
    name = fault.seduces if one.policy == SEDUCED else one.policy
    policy, due = policy_of(one.scenario, name), EXPECTED[one.case]
    episode, verdict = play(one, policy, [one.case + one.trigger])
    if not seen(episode):
        return
    twin, sound = play(one, policy, config=TWIN.get(one.case, {}))
    yield said(one, sound, outcome_in_sound(twin), group="twin")
    wrongly_paid = episode.reward is not None and bool(episode.reward) is not episode.passed
    decided = (twin.passed and not episode.passed) or wrongly_paid
    yield said(one, verdict, Class.HARNESS if decided else None, due, due if decided else ())


def judge_mutation(one: Planned) -> Iterator[Judged]:
    """Judge episodes with a mutation until it is found; whether it shows in one, nobody knows."""
    mutation = next(m for m in MUTATIONS if m.name == one.case)
    how = mutation.policy, mutation.load, mutation.config
    due = tuple(sorted(mutation.codes))
    for seed in range(min(one.seed, mutation.seeds)):
        with pytest.MonkeyPatch.context() as patch:
            mutation.plant(patch)
            episode = played(seed, *how, scenario=mutation.scenario)
            # Nobody is asked again: a re-run would repair the parts that the plant has changed.
            verdict = judge_case(case_of(episode))
        judged = replace(said(one._replace(seed=seed), verdict, None, due), shows=False)
        yield judged
        if judged.found:
            return


def judge_defect(one: Planned) -> Iterator[Judged]:
    """Judge an episode with a defect of the agent, if it happens."""
    own = DEFECTS.get(one.case)
    planted = own() if own is not None else GENERAL[one.case]()
    outcome = outcome_of(one.seed, one.load, planted, one.scenario)
    if not outcome.happened:
        return
    verdict = audited(outcome.episode, None)
    codes = (planted.code, *planted.also)
    # Some do no harm, and then nothing needs to explain the outcome.
    due = () if outcome.passed else codes
    fitting = () if planted.advisory else due
    yield said(one, verdict, outcome_in_sound(outcome.episode), due, fitting)


def judge_sound(one: Planned) -> Iterator[Judged]:
    """Judge an episode of a sound world."""
    config = TWIN[one.case] if one.group == "condition" else {}
    episode, verdict = play(one, policy_of(one.scenario, one.policy), config=config)
    yield said(one, verdict, outcome_in_sound(episode))


# --- the command ---------------------------------------------------------------------------------


def measure(args: argparse.Namespace) -> Matrix:
    """Play all that is asked for; how far it has come is told on stderr."""
    episodes = [one for one in planned(args) if args.only in one.case]
    batches = [episodes[i : i + CHUNK] for i in range(0, len(episodes), CHUNK)]
    matrix, progress = Matrix(), ProgressLine("batches")
    with nullcontext() if args.workers == 1 else ProcessPoolExecutor(args.workers) as pool:
        judged = (map if pool is None else pool.map)(judge_all, batches)
        for done, found in enumerate(judged, 1):
            matrix.add_all(found)
            progress.update(done, len(batches))
    progress.close()
    return matrix


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the matrix."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=40, help="episodes of each fault")
    parser.add_argument(
        "--mutations", type=int, default=8, help="episodes of each mutation at most"
    )
    parser.add_argument("--defects", type=int, default=8, help="episodes of each defect")
    parser.add_argument("--conditions", type=int, default=8, help="episodes of each condition")
    parser.add_argument("--clean", type=int, default=2000, help="clean episodes in all")
    parser.add_argument("--products", default=PRODUCTS)
    parser.add_argument("--loads", default="4,8,1", help="by turns, in this order")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--add", type=Path, action="append", default=[], help="add what --json has printed"
    )
    parser.add_argument("--json", action="store_true", help="print the matrix as JSON")
    parser.add_argument("--plot", type=Path, help="draw it into a .png or .svg as well")
    args = parser.parse_args(argv)
    matrix = measure(args)
    for path in args.add:
        matrix.take(json.loads(path.read_text(encoding="utf-8")))
    if args.json:
        print(json.dumps(matrix.record(), indent=2))
    else:
        print("\n".join(matrix.text()))
    if args.plot is not None:
        from benchmarks.plots import plot

        plot(matrix, args.plot)
    accused = matrix.sound.right < matrix.sound.of
    return int(accused or bool(matrix.undetected))


if __name__ == "__main__":
    sys.exit(main())
