"""A case: what attribution looks at, from an episode in memory or read from a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.episode.info import EXTERNAL
from simharness.episode.inputs import read_inputs
from simharness.episode.policies import recorded_policy
from simharness.episode.replay import plan_of, start_of
from simharness.episode.step import TEXT
from simharness.findings.model import findings_of
from simharness.findings.story import AGENT, StepSpan, story_of_record, surface_of, tell
from simharness.findings.turns import Account
from simharness.kernel.journal import Decoder
from simharness.product.registry import load_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.episode.step import Input
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story
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
    external: tuple[str, str] | None = None
    """Code and cause of what ended it from outside, where anything did."""
    prompt: str = ""
    brief: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The facts of the prompt as data."""

    @property
    def ending(self) -> tuple[str, str]:
        """How it ended: finish, stop or budget, and the outcome that the agent named.

        Empty where it never did.
        """
        for row in reversed(self.story.rows):
            if row.kind == "END":
                return row.values["reason"], row.values["outcome"]
        return "", ""

    @property
    def ungraded(self) -> bool:
        """Whether it came to its end and nothing said what that was to be."""
        return self.goal is None and not self.aborted and bool(self.ending[0])

    @property
    def goal_score(self) -> int | None:
        """The goal's score in millionths, whatever was paid."""
        return None if self.goal is None else 1_000_000 * self.goal


def story_of_episode(episode: Episode) -> Story:
    """Tell the story of an episode in memory; `story_of_record` tells that of a recording."""
    spans = [
        StepSpan(
            record.input.step,
            record.rows[0],
            record.reward,
            ended=record.terminated or record.truncated,
            aborted=episode.aborted is not None and record is episode.steps[-1],
            pass_mark=episode.scenario.pass_mark,
            t=record.t,
            calls=tuple((call.tool, call.arguments) for call in record.input.calls),
            results=tuple((result.ok, result.value) for result in record.results),
        )
        for record in episode.steps
    ]
    rows = list(Decoder().decode_all(episode.world.rows))
    return tell(rows, spans, surface_of(episode.product))


def case_of(
    episode: Episode, policy: Policy | None = None, reference: Policy | None = None
) -> Case:
    """Make the case of an episode in memory; `policy` played it, where it can be asked again."""
    judged = episode.aborted is None and bool(episode.criteria)
    return Case(
        plan=episode.plan,
        inputs=episode.inputs,
        story=story_of_episode(episode),
        # An episode that was cut short has steps worth 0 and no reward: nobody judged it.
        score=episode.reward if judged else None,
        goal=episode.passed if judged else None,
        aborted=episode.aborted is not None,
        policy=policy,
        reference=reference,
        external=external_of(episode.notes),
        prompt=episode.prompt,
        brief=episode.scenario.brief(episode.instance),
    )


def case_of_record(record: EpisodeRecord) -> Case:
    """Make the case of a recording. Raises DamagedRecording or VersionError."""
    plan = plan_of(record)
    product, scenario = load_scenario(plan.scenario)
    story = story_of_record(record, product, scenario.pass_mark)
    grades = story.grades()
    last = story.steps[-1] if story.steps else None
    aborted = last is not None and last.aborted
    judged = bool(grades) and not aborted
    prompt, brief = start_of(scenario, plan)
    return Case(
        plan=plan,
        inputs=read_inputs(record),
        story=story,
        score=last.reward if judged and last is not None else None,
        goal=all(row.values["holds"] for row in grades) if judged else None,
        aborted=aborted,
        policy=recorded_policy(record, scenario),
        reference=scenario.policies.get("expert"),
        external=external_of(record.info),
        prompt=prompt,
        brief=brief,
    )


def external_of(info: Mapping[str, object]) -> tuple[str, str] | None:
    """Read from what is noted of an episode what ended it from outside, if anything did."""
    match info.get(EXTERNAL):
        case {"code": str(code), "cause": str(cause)}:
            return code, cause
        case _:
            return None


def account_of(case: Case) -> Account:
    """Give a case as its agent lived it."""
    said = {given.step: given.text for given in case.inputs if given.kind == TEXT}
    return Account(case.story, prompt=case.prompt, brief=case.brief, said=said)


def model_findings(case: Case) -> list[Finding]:
    """Run the detectors of the model's side on a case."""
    return findings_of(account_of(case))


def unexplained(case: Case) -> str:
    """Give the code of a failed outcome that neither side's findings explain.

    A110: somebody else changed the row between the agent's last look and its last write. A150: at
    least a fifth of the time went on waiting for answers. A190: nothing is known.
    """
    account = account_of(case)
    if account.writes and account.changed_unseen(account.writes[-1]):
        return "A110"
    for row in case.story.of("END"):
        if row.values["reason"] == "budget" and row.values["waited"] * 5 >= row.t:
            return "A150"
    return "A190"


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
