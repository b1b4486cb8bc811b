"""What was paid against what was done, what raised, and how the agent ended: H510, H511, H810, M210, M510, M513, M514."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.findings.finding import Effect, Finding
from simharness.findings.story import AGENT, Story

if TYPE_CHECKING:
    from collections.abc import Iterator


def harness_failures(story: Story) -> Iterator[Finding]:
    """Find handlers that raised and episodes that the harness could not finish."""
    raised = [row for row in story.rows if row.kind == "RAISED"]
    aborted = [span for span in story.steps if span.aborted]
    if raised:
        row = raised[0]
        yield Finding(
            code="H810",
            step=story.step_of(row.index),
            t=row.t,
            keys=(),
            evidence={"operation": f"{row.values['owner']}#{row.values['n']}", "type": row.values["type"]},
            events=(row.index,),
            explanation=f"the handler of {row.values['owner']}#{row.values['n']} raised {row.values['type']}",
            effect=Effect.HINDERED,
        )
    elif aborted:
        last = story.rows[-1] if story.rows else None
        yield Finding(
            code="H810",
            step=aborted[0].step,
            t=last.t if last else 0,
            keys=(),
            explanation="the harness failed within this step, so there is no reward",
            effect=Effect.HINDERED,
        )


def wrong_reward(story: Story) -> Iterator[Finding]:
    """Hold the reward that was paid against the goal's predicates, on passing and on failing episodes."""
    grades = story.grades()
    last = story.steps[-1] if story.steps else None
    if not grades or last is None or last.reward is None:
        return
    done = all(row.values["holds"] for row in grades)
    paid = last.reward >= last.pass_mark
    if done == paid:
        return
    failed = [row for row in grades if not row.values["holds"]]
    shown = failed[0] if failed else grades[0]
    yield Finding(
        code="H511" if paid else "H510",
        step=last.step,
        t=shown.t,
        keys=(),
        evidence={"reward": last.reward, "goal": done, "predicate": shown.values["predicate"]},
        events=(shown.index,),
        explanation=(
            f"reward {last.reward / 1_000_000:g} was paid although the goal is {'met' if done else 'not met'}: "
            f"{shown.values['predicate']} ({shown.values['evidence']})"
        ),
        mechanism="reward",
        effect=Effect.HELPED if paid else Effect.HINDERED,
    )


def bad_calls(story: Story) -> Iterator[Finding]:
    """Find calls that no schema allows."""
    for row in story.rows:
        if row.kind == "BADCALL" and row.values["owner"] == AGENT:
            yield Finding(
                code="M210",
                step=story.step_of(row.index),
                t=row.t,
                keys=(),
                evidence={"tool": row.values["tool"], "reason": row.values["reason"]},
                events=(row.index,),
                explanation=f"the call of {row.values['tool']!r} was refused as {row.values['reason']}",
            )


def failed_ending(story: Story) -> Iterator[Finding]:
    """Say how an agent ended that did not reach the goal."""
    ends = [row for row in story.rows if row.kind == "END"]
    grades = story.grades()
    if not ends or not grades or all(row.values["holds"] for row in grades):
        return
    end = ends[0]
    failed = next(row for row in grades if not row.values["holds"])
    lacking = f"{failed.values['predicate']}: {failed.values['evidence']}"
    reason, outcome = end.values["reason"], end.values["outcome"]
    if reason == "budget":
        code, how = "M513", "the budget ran out"
    elif outcome in ("refused", "handed_over", "impossible"):
        code, how = "M514", f"the agent ended with outcome {outcome}"
    else:
        code, how = "M510", "the agent stopped"
    yield Finding(
        code=code,
        step=story.steps[-1].step if story.steps else 0,
        t=end.t,
        keys=(),
        evidence={"reason": reason, "outcome": outcome, "predicate": failed.values["predicate"]},
        events=(end.index, failed.index),
        explanation=f"{how} with the goal not met ({lacking})",
    )
