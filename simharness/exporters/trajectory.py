"""One judged episode as exporters see it: the chat, how it ended, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simharness.blame.sightings import sightings
from simharness.episode.messages import chat_turns
from simharness.episode.plan import load_text
from simharness.episode.policies import scripted
from simharness.episode.replay import plan_of
from simharness.findings.story import AGENT, story_of_record
from simharness.kernel.calendar import format_instant
from simharness.product.goal import MILLION
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows
from simharness.review.episode import caused_by_agent, patch_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.blame.sightings import Sighting
    from simharness.episode.messages import ChatTurn
    from simharness.episode.plan import Plan
    from simharness.exporters.loss import Loss
    from simharness.findings.story import Story
    from simharness.parts.row import RowType
    from simharness.recording.reader import EpisodeRecord
    from simharness.rollout.audit import Item


UNTOLD = "rows of the journal that are no read of the agent, commit or grade"


def as_score(millionths: int | None) -> float | None:
    """Give a score as a float; None, which is no 0, where the harness can't tell."""
    return None if millionths is None else millionths / MILLION


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """A whole episode and its verdict. What exports leave out by default stands behind `truth`."""

    record: EpisodeRecord
    item: Item
    plan: Plan
    prompt: Mapping[str, Any]
    """The message that the episode began with."""
    turns: Sequence[ChatTurn]
    tools: Sequence[Mapping[str, Any]]
    """Name, description and JSON Schema of each tool."""
    epoch: int
    """The instant of tick 0, in microseconds."""
    types: Mapping[str, RowType[Any]] = field(repr=False)
    story: Story = field(repr=False)
    is_scripted: bool
    """Whether a script played: nobody called a language model."""

    @property
    def name(self) -> str:
        """Scenario and seed: the task."""
        return f"{self.plan.scenario}:{self.plan.seed}"

    @property
    def policy(self) -> str:
        """Who played."""
        return str(self.record.info.get("policy", "unknown"))

    @property
    def reward(self) -> float | None:
        """The reward that was paid; None where the harness can't tell."""
        return as_score(self.item.verdict.score)

    @property
    def aborted(self) -> bool:
        """Whether the harness failed in it."""
        return bool(self.turns and self.turns[-1].told and self.turns[-1].told.aborted)

    @property
    def ending(self) -> str:
        """How it ended: finish, stop or budget; empty where it never did."""
        ends = self.story.of("END")
        return str(ends[-1].values["reason"]) if ends else ""

    @property
    def duration(self) -> int:
        """Ticks from the start to the last row or answer."""
        told = [turn.told.t for turn in self.turns if turn.told is not None]
        return max([*told[-1:], self.story.rows[-1].t if self.story.rows else 0])

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat, as `simharness show --messages` prints it."""
        return [dict(self.prompt), *(m for turn in self.turns for m in turn.messages)]

    def instant(self, ticks: int) -> str:
        """Give the simulated time at a tick, in ISO 8601 and UTC."""
        return format_instant(self.epoch + ticks)

    def seconds(self, ticks: int) -> float:
        """Give the simulated time at a tick, in seconds since 1970."""
        return (self.epoch + ticks) / MILLION

    def labels(self) -> dict[str, Any]:
        """Give what describes the episode and gives nothing hidden away."""
        verdict = self.item.verdict
        return {
            "key": self.item.key,
            "scenario": self.plan.scenario,
            "seed": self.plan.seed,
            "policy": self.policy,
            "load": load_text(self.plan.load),
            "digest": self.record.digest,
            "reward": self.reward,
            "verdict": str(verdict.kind),
            "codes": list(verdict.codes),
            "valid": verdict.valid,
            "quarantined": self.item.quarantined,
            "ending": self.ending,
            "aborted": self.aborted,
        }

    @cached_property
    def seen(self) -> list[Sighting]:
        """What the agent read, beside what was true."""
        return sightings(read_rows(self.record), load_scenario(self.plan.scenario)[0])

    def truth(self, loss: Loss) -> dict[str, Any]:
        """Give what the agent could not see, of the episode as a whole; the rest is counted."""
        verdict = self.item.verdict
        loss.dropped[UNTOLD] += len(self.story.rows) - self.rows_in_truth
        return {
            "faults": list(self.plan.faults),
            "goal": verdict.goal,
            "sentence": verdict.sentence,
            "reason": self.item.reason,
            "grades": [
                {name: row.values[name] for name in ("role", "predicate", "holds", "evidence")}
                for row in self.story.of("GRADE")
            ],
        }

    @cached_property
    def _changes(self) -> dict[int, list[dict[str, Any]]]:
        """Commits by step, as JSON Patch; `side` is agent, caused or others."""
        caused = caused_by_agent(self.story)
        out: dict[int, list[dict[str, Any]]] = {}
        every = [commit for found in self.story.committed.values() for commit in found]
        for commit in sorted(every, key=lambda c: c.row):
            operation = (commit.owner, commit.n)
            mine = "agent" if commit.owner == AGENT else "caused"
            side = mine if commit.owner == AGENT or operation in caused else "others"
            patch = patch_of(self.story, commit, self.types[commit.table])
            change: dict[str, Any] = {
                "t": commit.t,
                "side": side,
                "by": commit.owner,
                "version": commit.after,
                "patch": [
                    {"op": op, "path": path, **({"value": value[0]} if value else {})}
                    for op, path, *value in patch
                ],
            }
            out.setdefault(max(1, self.story.step_of(commit.row)), []).append(change)
        return out

    def truth_in_steps(self) -> dict[str, Any]:
        """Give what was true at each step, by its number as text."""
        return {str(turn.given.step): self.truth_of_step(turn.given.step) for turn in self.turns}

    def truth_of_step(self, step: int) -> dict[str, Any]:
        """Give what was true at one step: the agent's reads, and all that was committed."""
        return {
            "reads": [s.record() for s in self.seen if s.step == step],
            "changes": self._changes.get(step, []),
        }

    @property
    def rows_in_truth(self) -> int:
        """How many journal rows `truth` and `truth_of_step` tell of."""
        commits = sum(map(len, self.story.committed.values()))
        reads = sum(1 for row in self.story.reads if not row.values["view"].endswith(".auth"))
        return commits + reads + len(self.story.of("GRADE"))


def trajectory_of(record: EpisodeRecord, item: Item) -> Trajectory:
    """Make the trajectory of a whole recording that was judged.

    Raises DamagedRecording, or VersionError for one that needs another build.
    """
    plan = plan_of(record)
    product, scenario = load_scenario(plan.scenario)
    prompt, turns = chat_turns(record)
    return Trajectory(
        record=record,
        item=item,
        plan=plan,
        prompt=prompt,
        turns=turns,
        tools=[tool.schema for tool in product.tools.values()],
        epoch=scenario.epoch,
        types={name: spec.row_type for name, spec in product.specs().items()},
        story=story_of_record(record, product, scenario.pass_mark),
        is_scripted=scripted(str(record.info.get("policy", "")), scenario) is not None,
    )
