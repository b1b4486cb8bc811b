"""Attribution: detectors first, then proof by re-running without the suspects, then the verdict.

A live episode that its tripwires call clean is not searched further: that keeps a verdict at a
fraction of the cost of the episode. An audit of a recording always runs every detector.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simharness.blame.case import Case, case_of, case_of_record, model_findings, unexplained
from simharness.blame.planned import failing_reference, undeclared_faults
from simharness.blame.proof import prove
from simharness.blame.verdict import Class, Proof, Verdict
from simharness.findings.detect import harness_findings
from simharness.findings.finding import Confidence, Effect, Finding, packable
from simharness.findings.model import primary_of
from simharness.product.goal import MILLION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.blame.proof import Proved
    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy
    from simharness.recording.reader import EpisodeRecord

ORDER_OF_TIES = ("H112", "H111", "H113", "H110")
CONTRACT = ("H110", "H111", "H112", "H113", "H114")
BESIDE_HARNESS = ("M2", "M710", "M711")
"""Model codes that stand beside a decisive harness finding; the others need a cleared
environment."""


def judge(
    episode: Episode, policy: Policy | None = None, reference: Policy | None = None
) -> Verdict:
    """Judge a finished episode.

    `policy` is what played, where it can be asked again; `reference` takes over from the first
    tainted observation where it can't.
    """
    if clean(episode):
        return Verdict(
            kind=Class.OK,
            primary="",
            proof=Proof.NONE,
            valid=True,
            score=episode.reward,
            goal=True,
            findings=(),
            sentence="the goal is met and nothing was out of contract",
        )
    judged = judge_case(case_of(episode, policy, reference))
    if episode.aborted is not None:
        # The journal holds no texts of exceptions, which differ between builds; the verdict may.
        return replace(judged, sentence=episode.aborted.message)
    return judged


def judge_record(record: EpisodeRecord) -> Verdict:
    """Judge a recording from its rows, re-running only what a proof needs.

    Raises DamagedRecording or VersionError for one that can't be read here.
    """
    return judge_case(case_of_record(record))


def judge_case(case: Case) -> Verdict:
    """Run the detectors, prove, decide."""
    if case.external is not None:
        return external(case, *case.external)
    proved = prove(case, [*undeclared_faults(case), *harness_findings(case.story)])
    found = proved.findings
    against = [f for f in found if f.code.startswith("H")]
    decisive = [f for f in against if f.effect is not Effect.NONE]
    if decisive:
        primary = min(decisive, key=priority)
        proof = proved.proof if primary.confidence is Confidence.PROVED else Proof.NONE
        beside = besides(case, proved if proof is not Proof.NONE else None)
        return verdict(
            case, proved, Class.HARNESS, primary.code, (*found, *beside), primary.explanation, proof
        )
    if case.goal is None and against:
        # Cut at a breach: nobody judged the outcome, and the harness is why.
        breach = min((f for f in against if f.code in CONTRACT), key=priority, default=against[0])
        return verdict(case, proved, Class.HARNESS, breach.code, found, breach.explanation)
    models = model_findings(case)
    if case.goal:
        notes = tuple(f for f in models if f.code.startswith(BESIDE_HARNESS))
        sentence = "the goal is met" + (
            ", with findings against the harness that did not matter" if against else ""
        )
        return verdict(case, proved, Class.OK, "", (*found, *notes), sentence)
    failing = failing_reference(case)
    if failing is not None:
        beside = [f for f in models if f.code.startswith(BESIDE_HARNESS)]
        every = (*found, failing, *beside)
        return verdict(case, proved, Class.HARNESS, failing.code, every, failing.explanation)
    explains = primary_of(models) if case.goal is not None or case.ungraded else None
    if explains is not None:
        sentence = explains.explanation
        if against:
            sentence += (
                f"; {against[0].code} was present, not decisive: the episode is not for training"
            )
        return verdict(case, proved, Class.MODEL, explains.code, (*found, *models), sentence)
    if case.ungraded:
        sentence = "there is no goal, and nothing was found that counts"
        return verdict(case, proved, Class.OK, "", (*found, *models), sentence)
    code = "A170" if against else unexplained(case)
    return verdict(
        case,
        proved,
        Class.AMBIGUOUS,
        code,
        (*found, *models),
        "nothing found explains the outcome",
    )


def besides(case: Case, proved: Proved | None) -> list[Finding]:
    """Give what stands of the model beside a failure of the harness, which may be `proved`.

    Where the repaired world reached the goal, what the goal lacked is no wrong act of the agent's.
    """
    mended = proved is not None and any(arm.flips and arm.score == MILLION for arm in proved.arms)
    return [
        f
        for f in model_findings(case)
        if f.code.startswith(BESIDE_HARNESS)
        and not (mended and f.code.startswith("M2") and f.effect is not Effect.NONE)
    ]


def external(case: Case, code: str, cause: str) -> Verdict:
    """Judge an episode that ended from outside: nobody's fault here, and no number.

    What was found against the harness up to there is told beside it, and decides nothing.
    """
    last = len(case.inputs)
    ended = Finding(
        code=code,
        step=last,
        t=case.story.rows[-1].t if case.story.rows else 0,
        keys=(),
        explanation=cause,
        effect=Effect.HINDERED,
    )
    found = [replace(f, effect=Effect.NONE) for f in harness_findings(case.story)]
    return Verdict(
        kind=Class.EXTERNAL,
        primary=code,
        proof=Proof.NONE,
        valid=False,
        score=None,
        goal=None,
        findings=(ended, *found),
        sentence=str(packable(cause)),
    )


def verdict(
    case: Case,
    proved: Proved,
    kind: Class,
    primary: str,
    findings: Sequence[Finding],
    sentence: str,
    proof: Proof = Proof.NONE,
) -> Verdict:
    """Put a verdict together."""
    return Verdict(
        kind=kind,
        primary=primary,
        proof=proof,
        valid=not any(f.code.startswith("H") for f in findings),
        score=case.score,
        goal=case.goal,
        findings=tuple(findings),
        arms=proved.arms,
        sentence=sentence,
    )


def clean(episode: Episode) -> bool:
    """Tell, from what the live check noted, whether there is nothing to look for.

    No alarm, goal met, paid so.
    """
    return (
        episode.aborted is None
        and not episode.breaches
        and not episode.world.alarms
        and episode.passed
        and episode.reward is not None
        and episode.reward >= episode.scenario.pass_mark
        and not episode.bad_calls
    )


def priority(finding: Finding) -> tuple[bool, int, int, str]:
    """Order decisive findings: those of the episode itself, the earliest, then by cause."""
    tie = ORDER_OF_TIES.index(finding.code) if finding.code in ORDER_OF_TIES else len(ORDER_OF_TIES)
    return not finding.events, finding.t, tie, finding.code
