"""Proof: re-run without the suspects.

All of them first, then the smallest set that still changes the outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simharness.blame.ablation import closed_loop, open_loop, takeover
from simharness.blame.case import case_of, writes_of
from simharness.blame.verdict import Arm, Proof
from simharness.episode.step import Placebo
from simharness.findings.detect import harness_findings
from simharness.findings.finding import Confidence, Effect, Finding
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.blame.case import Case
    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy

PLACEBOS = 16
"""Runs with delays and no repair that an ordering repair is held against."""
FLIPS_ALLOWED = 1
"""Placebos that may change the outcome before the confidence is capped."""


@dataclass(frozen=True, slots=True)
class Proved:
    """What re-running has shown."""

    findings: tuple[Finding, ...]
    """The findings, those decided by a re-run with their effect."""
    arms: tuple[Arm, ...]
    proof: Proof


def prove(case: Case, found: list[Finding]) -> Proved:
    """Re-run a case with its suspects telling the truth; a flip makes findings decisive."""
    found = [settled_by_grade(case, finding) for finding in found]
    suspects = frozenset(f.mechanism for f in found if f.mechanism and f.mechanism != "reward")
    arms = [reward_arm(case)] if any(f.mechanism == "reward" for f in found) else []
    if not suspects or case.aborted or case.goal is None:
        return Proved(tuple(found), tuple(arms), Proof.OPEN if arms else Proof.NONE)
    if case.policy is None and case.reference is not None:
        return by_takeover(case, found, suspects, arms)
    player = asked_again(case, case.policy) if case.policy is not None else verbatim(case)
    arm, repaired = player(suspects)
    arms.append(arm)
    masked: list[Finding] = []
    while not arm.flips and repaired is not None:
        # One defect can hide another: what the re-run meets counts as a suspect too.
        more = suspected_in(repaired, suspects)
        if not more:
            break
        masked += more
        suspects |= {f.mechanism for f in more}
        arm, repaired = player(suspects)
        arms.append(arm)
    if not arm.flips:
        return Proved(tuple(found), tuple(arms), Proof.NONE)
    minimal = smallest(suspects, lambda names: player(names)[0].flips)
    if minimal != suspects:
        arm, repaired = player(minimal)
        arms.append(arm)
    sure = held_against_placebos(case, minimal, repaired)
    marked = [decided(f, arm, minimal, sure) for f in [*found, *masked]]
    return Proved(tuple(marked), tuple(arms), arm.proof)


def suspected_in(episode: Episode, known: frozenset[str]) -> list[Finding]:
    """Find the first finding of each mechanism that a re-run met and nobody suspected yet."""
    out: dict[str, Finding] = {}
    repaired = ", ".join(sorted(known))
    for finding in harness_findings(case_of(episode).story):
        name = finding.mechanism
        if name and name != "reward" and name not in known and name not in out:
            text = f"once {repaired} told the truth: {finding.explanation}"
            out[name] = replace(finding, explanation=text, events=())
    return list(out.values())


def asked_again(
    case: Case, policy: Policy
) -> Callable[[frozenset[str]], tuple[Arm, Episode | None]]:
    """Play with the same policy."""

    def play(names: frozenset[str]) -> tuple[Arm, Episode | None]:
        return closed_loop(case.plan, policy, names, case.goal_score)

    return play


def verbatim(case: Case) -> Callable[[frozenset[str]], tuple[Arm, Episode | None]]:
    """Send the same calls."""

    def play(names: frozenset[str]) -> tuple[Arm, Episode | None]:
        arm = open_loop(case.plan, case.inputs, names, case.goal_score)
        if arm is None:
            before = case.goal_score
            arm = Arm(
                proof=Proof.OPEN,
                repaired=tuple(sorted(names)),
                score=before,
                score_before=before,
                digest="",
            )
        return arm, None

    return play


def smallest(suspects: frozenset[str], flips: Callable[[frozenset[str]], bool]) -> frozenset[str]:
    """Reduce a set that flips the outcome to one of which no part can be left out.

    The algorithm is ddmin (Zeller, Hildebrandt 2002).
    """
    current: list[str] = sorted(suspects)
    parts = 2
    while len(current) >= 2:
        size = -(-len(current) // parts)
        chunks = [current[i : i + size] for i in range(0, len(current), size)]
        smaller = next((c for c in chunks if flips(frozenset(c))), None)
        if smaller is not None:
            current, parts = smaller, 2
            continue
        rests = ([name for name in current if name not in c] for c in chunks)
        rest = next((r for r in rests if r and flips(frozenset(r))), None)
        if rest is not None:
            current, parts = rest, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(len(current), parts * 2)
    return frozenset(current)


def held_against_placebos(case: Case, minimal: frozenset[str], repaired: Episode | None) -> bool:
    """Tell whether an ordering repair is proof.

    The same delays without a repair change the outcome at most once.
    """
    tables = sorted({n.partition(":")[2] for n in minimal if n.startswith(("lock:", "lease:"))})
    if not tables or case.policy is None:
        return True
    longest = longest_wait(repaired)
    flips = 0
    for table in tables:
        for number in range(PLACEBOS):
            placebo = Placebo(table, longest, number)
            arm, _ = closed_loop(case.plan, case.policy, frozenset(), case.goal_score, placebo)
            flips += arm.flips
    return flips <= FLIPS_ALLOWED


def longest_wait(repaired: Episode | None) -> int:
    """Give the longest wait for a lock in the repaired world, at least a tenth of a second."""
    longest = SECOND // 10
    if repaired is None:
        return longest
    since: dict[tuple[str, int], int] = {}
    for row in case_of(repaired).story.rows:
        if row.kind == "LOCKWAIT":
            since[row.values["owner"], row.values["n"]] = row.t
        elif row.kind == "LOCK":
            begun = since.pop((row.values["owner"], row.values["n"]), row.t)
            longest = max(longest, row.t - begun)
    return longest


def by_takeover(
    case: Case, found: list[Finding], suspects: frozenset[str], arms: list[Arm]
) -> Proved:
    """Let the reference take over in both worlds, for a policy that can't be asked again.

    A flip proves the world unsolvable from there (H610), not what cost this agent its reward: that
    is decided only when the agent came to the same end and made the writes that the reference makes
    in the world as it was.
    """
    reference = case.reference
    if reference is None:
        return Proved(tuple(found), tuple(arms), Proof.NONE)
    tainted = min(f.step for f in found if f.mechanism in suspects)

    def play(names: frozenset[str]) -> Arm | None:
        taken = takeover(case.plan, case.inputs, tainted, names, reference)
        return taken[0] if taken is not None else None

    taken = takeover(case.plan, case.inputs, tainted, suspects, reference)
    if taken is None:
        return Proved(tuple(found), tuple(arms), Proof.NONE)
    arm, actual = taken
    arms.append(arm)
    if not arm.flips or arm.score_before != case.goal_score:
        return Proved(tuple(found), tuple(arms), Proof.NONE)

    def flips(names: frozenset[str]) -> bool:
        part = play(names)
        return part is not None and part.flips

    minimal = smallest(suspects, flips)
    if (
        writes_of(case_of(actual).story) <= writes_of(case.story)
        and ending_of(actual) == case.ending
    ):
        found = [decided(f, arm, minimal, sure=True) for f in found]
    if arm.score_before:
        return Proved(tuple(found), tuple(arms), Proof.UNSOLVABLE)
    first = next(f for f in found if f.mechanism in minimal)
    unsolvable = replace(
        first,
        code="H610",
        explanation=f"from step {tainted} on the reference fails here, "
        "and not in the repaired world",
        mechanism="",
        effect=Effect.NONE,
        confidence=Confidence.PROVED,
    )
    return Proved((*found, unsolvable), tuple(arms), Proof.UNSOLVABLE)


def ending_of(episode: Episode) -> tuple[str, str]:
    """Give how an episode ended: by whom or what, and with which outcome."""
    return case_of(episode).ending


def reward_arm(case: Case) -> Arm:
    """Give the arm of a wrong reward: the same episode, paid by its goal.

    Nothing has to run for that.
    """
    return Arm(
        proof=Proof.OPEN,
        repaired=("reward",),
        score=case.goal_score,
        score_before=case.score,
        digest="",
    )


def settled_by_grade(case: Case, finding: Finding) -> Finding:
    """A wrong reward is proved by the goal's own judgement of the same rows."""
    if (
        finding.mechanism == "reward"
        and finding.effect is not Effect.NONE
        and case.goal is not None
    ):
        return replace(finding, confidence=Confidence.PROVED)
    return finding


def decided(finding: Finding, arm: Arm, minimal: frozenset[str], sure: bool) -> Finding:
    """Mark a finding of a decisive mechanism with its effect."""
    if finding.mechanism not in minimal:
        return finding
    helped = (arm.score or 0) < (arm.score_before or 0)
    return replace(
        finding,
        effect=Effect.HELPED if helped else Effect.HINDERED,
        confidence=Confidence.PROVED if sure else Confidence.DETECTED,
    )
