"""Attribution: detectors first, then proof by re-running without the suspects, then the verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simharness.blame.ablation import closed_loop, goal_score, takeover
from simharness.blame.verdict import Arm, Class, Proof, Verdict
from simharness.findings.detect import harness_findings, model_findings
from simharness.findings.finding import Confidence, Effect, Finding
from simharness.findings.story import Story, StepSpan, tell
from simharness.kernel.journal import Decoder

if TYPE_CHECKING:
    from simharness.episode.episode import Episode
    from simharness.product.policy import Policy

ORDER_OF_TIES = ("H112", "H111", "H113", "H110")


def story_of(episode: Episode) -> Story:
    """Give an episode to the detectors: its rows and steps, and nothing of its faults or config."""
    spans = [
        StepSpan(
            record.input.step,
            record.rows[0],
            record.reward,
            ended=record.terminated or record.truncated,
            aborted=episode.aborted is not None and record is episode.steps[-1],
            pass_mark=episode.scenario.pass_mark,
        )
        for record in episode.steps
    ]
    return tell(list(Decoder().decode_all(episode.world.rows)), spans)


def judge(episode: Episode, policy: Policy | None = None, reference: Policy | None = None) -> Verdict:
    """Judge a finished episode.

    `policy` is what played, where it can be asked again; `reference` takes over from the first tainted observation where
    it can't.
    """
    goal = None if goal_score(episode) is None else episode.passed
    # An episode that was cut short has steps worth 0 and no reward: nobody judged it.
    score = None if goal is None else episode.reward
    if clean(episode):
        return Verdict(
            kind=Class.OK, primary="", proof=Proof.NONE, valid=True, score=score, goal=goal, findings=(),
            sentence="the goal is met and nothing was out of contract",
        )
    story = story_of(episode)
    found = harness_findings(story)
    arms: list[Arm] = []
    suspects = frozenset(f.mechanism for f in found if f.mechanism.startswith("cache:"))
    if episode.aborted is None and suspects and goal is not None:
        found, arms = proved(episode, found, suspects, policy, reference)
    decisive = [f for f in found if f.effect is not Effect.NONE]
    valid = not found
    if decisive:
        primary = min(decisive, key=priority)
        proof = arms[-1].proof if arms and primary.confidence is Confidence.PROVED else Proof.NONE
        models = [f for f in model_findings(story) if f.code.startswith("M2")]
        return Verdict(
            kind=Class.HARNESS, primary=primary.code, proof=proof, valid=valid, score=score, goal=goal,
            findings=(*found, *models), arms=tuple(arms), sentence=primary.explanation,
        )
    if goal:
        return Verdict(
            kind=Class.OK, primary="", proof=Proof.NONE, valid=valid, score=score, goal=goal,
            findings=tuple(found), arms=tuple(arms),
            sentence="the goal is met" + (", with reads out of contract that did not matter" if found else ""),
        )
    models = model_findings(story)
    if models and goal is not None:
        # Of what went wrong on the model's side, the ending explains the outcome; bad calls stand beside it.
        primary = next((f for f in models if not f.code.startswith("M2")), models[0])
        return Verdict(
            kind=Class.MODEL, primary=primary.code, proof=Proof.NONE, valid=valid, score=score, goal=goal,
            findings=(*found, *models), arms=tuple(arms), sentence=primary.explanation,
        )
    code = "A170" if found else "A190"
    return Verdict(
        kind=Class.AMBIGUOUS, primary=code, proof=Proof.NONE, valid=valid, score=score, goal=goal,
        findings=tuple(found), arms=tuple(arms), sentence="nothing that was found explains the outcome",
    )


def clean(episode: Episode) -> bool:
    """Tell, from what the live check noted, whether there is nothing to look for: no breach, goal met, paid so."""
    return (
        episode.aborted is None
        and not episode.breaches
        and episode.passed
        and episode.reward is not None
        and episode.reward >= episode.scenario.pass_mark
        and not episode.bad_calls
    )


def priority(finding: Finding) -> tuple[int, int, str]:
    """Order decisive findings: a wrong reward and a failure of the harness aside, the earliest, then by cause."""
    tie = ORDER_OF_TIES.index(finding.code) if finding.code in ORDER_OF_TIES else len(ORDER_OF_TIES)
    return finding.t, tie, finding.code


def proved(
    episode: Episode,
    found: list[Finding],
    suspects: frozenset[str],
    policy: Policy | None,
    reference: Policy | None,
) -> tuple[list[Finding], list[Arm]]:
    """Re-run with all suspects telling the truth; a flip makes their findings decisive."""
    before = goal_score(episode)
    arms: list[Arm] = []
    if policy is not None:
        arm = closed_loop(episode.plan, policy, suspects, before)
        arms.append(arm)
        if not arm.flips:
            return found, arms
        return [decided(f, arm, suspects) for f in found], arms
    if reference is None:
        return found, arms
    tainted = min(f.step for f in found if f.mechanism in suspects)
    taken = takeover(episode.plan, episode.inputs, tainted, suspects, reference)
    if taken is None:
        return found, arms
    arm, actual = taken
    arms.append(arm)
    # What the reference comes to in this world says something of an agent only if the agent came to the same.
    if not arm.flips or arm.score_before != before:
        return found, arms
    if not arm.score_before:
        first = next(f for f in found if f.mechanism in suspects)
        found = [
            *found,
            replace(
                first,
                code="H610",
                explanation=f"from step {tainted} on the reference fails in this world and passes in the repaired one",
                confidence=Confidence.PROVED,
            ),
        ]
    # That proves the world unsolvable from there, not what cost this agent its reward: it also has to have done what
    # the reference does there. Often that is nothing but waiting and then handing over, so the ending counts as well.
    if agent_writes(actual) <= agent_writes(episode) and ending_of(actual) == ending_of(episode):
        found = [decided(f, arm, suspects) if f.mechanism in suspects else f for f in found]
    return found, arms


def ending_of(episode: Episode) -> tuple[str, bool]:
    """Give the outcome that the agent ended with (empty where it didn't say) and whether it ran out of budget."""
    ending = episode.product.ending
    return ending.outcome if ending is not None else "", episode.steps[-1].truncated


def decided(finding: Finding, arm: Arm, suspects: frozenset[str]) -> Finding:
    """Mark a suspect's finding as proved, with its effect."""
    if finding.mechanism not in suspects:
        return finding
    helped = (arm.score or 0) < (arm.score_before or 0)
    return replace(
        finding, effect=Effect.HELPED if helped else Effect.HINDERED, confidence=Confidence.PROVED
    )


def agent_writes(episode: Episode) -> set[tuple[str, int, tuple[str, ...]]]:
    """Give what the agent committed: table, row and columns (new rows count as one)."""
    out: set[tuple[str, int, tuple[str, ...]]] = set()
    for name, store in episode.product.stores.items():
        names = store.table.row_type.names
        for change in store.table.changes:
            if change.owner != episode.agent.name:
                continue
            if change.old is None or change.new is None:
                out.add((name, 0, ()))
                continue
            old = store.table.row_type.values(change.old)
            new = store.table.row_type.values(change.new)
            changed = tuple(n for n, a, b in zip(names, old, new, strict=True) if a != b and n not in STAMPS)
            out.add((name, change.key, changed))
    return out


STAMPS = ("version", "updated_at")
