"""Everybody but the reference is paid nothing."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from simharness.product.goal import MILLION
from simharness.validate.check import Check, Result, decided, skipped
from simharness.validate.plays import CLAIMS, saying
from simharness.validate.subject import EXPERT

NO_AGENT, TRIVIAL = "H512", "H520"
"""Paid is who does nothing, or anything at all; or who gives an answer that takes no work."""
LAST_WORDS = f"{CLAIMS}last-words"
WORDS = 3
"""Different last words that are tried on each seed."""
BASELINES = ("null", "refuse", "random", "spam")
"""Policies that answer nothing; all others here give an answer."""

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.validate.subject import Subject, Tried


def paid_to(subject: Subject, plays: Mapping[str, Sequence[Tried]]) -> Result:
    """Give the highest pay of each policy; any at all is wrong."""
    wrong: list[str] = []
    codes: set[str] = set()
    command = ""
    for policy, found in plays.items():
        paid = [t for t in found if t.score > 0]
        if paid and policy not in subject.scenario.honest:
            wrong.append(f"{policy} is paid {paid[0].score / MILLION:g} on seed {paid[0].seed}")
            codes.add(NO_AGENT if policy in BASELINES else TRIVIAL)
            if not command and ":" not in policy:
                command = subject.run_command(paid[0].seed, policy=policy)
    measured = {name: max(t.score for t in found) / MILLION for name, found in plays.items()}
    told = {"seeds": len(subject.few_seeds), "most": measured}
    return decided(told, wrong, command, codes=sorted(codes))


def floor_gap(subject: Subject) -> Result:
    """Pay policies that do nothing, and hold that against what the reference is paid."""
    plays = {name: subject.idle[name] for name in ("null", "refuse")}
    result = paid_to(subject, plays)
    least = min(e.score for e in subject.quiet) / MILLION
    most = max(result.measured["most"].values())
    gap = {"reference_min": least, "floor": most, "margin": least - most}
    return replace(result, measured={**result.measured, **gap})


def canary_floor(subject: Subject) -> Result:
    """Pay policies that call at random, read everything, cope, claim, or say its last words."""
    claims = {n: found for n, found in subject.idle.items() if n not in ("null", "refuse")}
    return paid_to(subject, {**subject.coping, **claims, **last_words(subject)})


def last_words(subject: Subject) -> dict[str, list[Tried]]:
    """Pay whoever only says what the reference says at the end of another seed, without its refs.

    What it found out on the seed that is judged isn't in that; so it is a form of words.
    """
    if EXPERT not in subject.scenario.policies:
        return {}
    said = {e.seed: e.calls[-1][1] for e in subject.quiet if e.calls and e.calls[-1][0] == "finish"}
    found: list[Tried] = []
    for seed in subject.few_seeds:
        others = dict.fromkeys(text for other, text in said.items() if other != seed)
        for words in [*others][:WORDS]:
            args = cast("dict[str, Any]", json.loads(words))
            args.pop("refs", None)
            found += subject.try_out(saying(args), [seed])
    return {LAST_WORDS: found} if found else {}


def mirror_pair(subject: Subject) -> Result:
    """Where acting is right on some seeds and not on others, let the blind try both."""
    sides = Counter(e.outcome for e in subject.quiet)
    if len(sides) < 2:
        only = next(iter(sides))
        return skipped(f"the reference ends {len(subject.quiet)} episodes as {only!r}: no mirror")
    result = paid_to(subject, subject.idle)
    return replace(result, measured={**result.measured, "sides": dict(sides)})


CHECKS = (
    Check(
        id="semantic.floor_gap",
        doc="doing nothing and refusing are paid 0, the reference 1",
        run=floor_gap,
        remedy="let the goal ask for a grounded act: a row that was changed, refs that were read",
    ),
    Check(
        id="semantic.canary_floor",
        doc="random calls, reading everything, coping, claiming, last words and echoing are paid 0",
        run=canary_floor,
        remedy="let the goal hold rows against the truth, and guard what must not be touched",
    ),
    Check(
        id="semantic.mirror_pair",
        doc="where acting is right on some seeds only, whoever reads nothing is paid 0 on all",
        run=mirror_pair,
        remedy="ask for refs that only reading reveals where not acting is right",
    ),
)
