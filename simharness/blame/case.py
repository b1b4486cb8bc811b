"""A case: what attribution looks at, whether the episode is still in memory or was read from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.episode.inputs import read_inputs
from simharness.episode.policies import scripted
from simharness.episode.replay import plan_of
from simharness.findings.story import AGENT, StepSpan, Story, tell
from simharness.kernel.journal import Decoder
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.episode.episode import Episode, Input
    from simharness.episode.plan import Plan
    from simharness.product.policy import Policy
    from simharness.recording.reader import EpisodeRecord

Write = tuple[str, int, tuple[int, ...]]
"""A write: table, row (0 for a new one), columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One finished episode before its judges."""

    plan: Plan
    inputs: Sequence[Input]
    story: Story
    score: int | None
    """The reward that was paid, in millionths; None where the harness couldn't tell."""
    goal: bool | None
    """Whether the goal held; None where it was never judged."""
    aborted: bool
    policy: Policy | None
    """What played, where it can be asked again."""
    reference: Policy | None
    """The scenario's reference policy."""

    @property
    def ending(self) -> tuple[str, str]:
        """How it ended: finish, stop or budget, and the outcome that the agent named; empty where it never did."""
        for row in reversed(self.story.rows):
            if row.kind == "END":
                return row.values["reason"], row.values["outcome"]
        return "", ""

    @property
    def goal_score(self) -> int | None:
        """The goal's score in millionths, whatever was paid."""
        return None if self.goal is None else 1_000_000 * self.goal


def case_of(episode: Episode, policy: Policy | None = None, reference: Policy | None = None) -> Case:
    """Make the case of an episode in memory. `policy` is what played, where it can be asked again."""
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
    story = tell(list(Decoder().decode_all(episode.world.rows)), spans)
    judged = episode.aborted is None and bool(episode.criteria)
    return Case(
        plan=episode.plan,
        inputs=episode.inputs,
        story=story,
        # An episode that was cut short has steps worth 0 and no reward: nobody judged it.
        score=episode.reward if judged else None,
        goal=episode.passed if judged else None,
        aborted=episode.aborted is not None,
        policy=policy,
        reference=reference,
    )


def case_of_record(record: EpisodeRecord) -> Case:
    """Make the case of a recording. Raises DamagedRecording or VersionError."""
    plan = plan_of(record)
    _, scenario = load_scenario(plan.scenario)
    rows = read_rows(record)
    spans = [
        StepSpan(
            told.step,
            told.first,
            told.reward,
            ended=told.terminated or told.truncated,
            aborted=told.aborted,
            pass_mark=scenario.pass_mark,
        )
        for told in rows.steps
    ]
    story = tell(rows.rows, spans)
    grades = story.grades()
    aborted = bool(spans) and spans[-1].aborted
    judged = bool(grades) and not aborted
    return Case(
        plan=plan,
        inputs=read_inputs(record),
        story=story,
        score=spans[-1].reward if judged else None,
        goal=all(row.values["holds"] for row in grades) if judged else None,
        aborted=aborted,
        policy=scripted(str(record.info.get("policy", "")), scenario),
        reference=scenario.policies.get("expert"),
    )


def writes_of(story: Story) -> set[Write]:
    """Give what the agent committed."""
    out: set[Write] = set()
    for row in story.rows:
        if row.kind == "COMMIT" and row.values["owner"] == AGENT:
            v: dict[str, Any] = row.values
            if v["before"] == 0 or v["after"] < 0:
                out.add((v["table"], 0, ()))
            else:
                out.add((v["table"], v["key"], tuple(v["delta"][::2])))
    return out
