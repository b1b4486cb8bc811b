"""ATIF v1.7, the Agent Trajectory Interchange Format of Harbor's RFC 0001.

Every model of it forbids fields of others, so what is ours stands under `extra.simharness`. It has
no reward: that stands in `final_metrics.extra`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from simharness.chat.messages import functions
from simharness.episode.transcript import parse_arguments
from simharness.errors import UsageError
from simharness.exporters.chat import spelled_alike
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_line
from simharness.exporters.trajectory import as_score

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from simharness.episode.messages import ChatTurn
    from simharness.exporters.trajectory import Trajectory

VERSION = "ATIF-v1.7"
"""v1.8 adds sound alone, and fewer readers know it."""
OURS = "simharness"


def exporter(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> Atif:
    """Make the exporter: a line an episode for `.jsonl`, else one document, of one episode."""
    return Atif(file, loss, lines=out.suffix == ".jsonl", with_truth=TRUTH in include)


class Atif:
    """Trajectories as ATIF documents."""

    def __init__(self, file: BinaryIO, loss: Loss, *, lines: bool, with_truth: bool) -> None:
        self._file = file
        self._loss = loss
        self._lines = lines
        self._with_truth = with_truth
        self._count = 0

    def add(self, trajectory: Trajectory) -> None:
        """Write one document. Raises UsageError for a second one where there can be only one."""
        self._count += 1
        if self._count > 1 and not self._lines:
            raise UsageError(
                "an ATIF document holds one episode, and there are more",
                "name one with --episode, or give -o a name that ends in .jsonl for one a line",
            )
        self._file.write(json_line(self.document(trajectory), self._loss))

    def close(self) -> None:
        """There is nothing behind the last document."""

    def abandon(self) -> None:
        """There is nothing to let go of."""

    def document(self, trajectory: Trajectory) -> dict[str, Any]:
        """Give one episode as a document."""
        prompt = {
            "source": "user",
            "message": trajectory.prompt["content"],
            "timestamp": trajectory.instant(0),
        }
        turns = (self.steps(trajectory, turn) for turn in trajectory.turns if turn.messages)
        steps = [prompt, *(step for turn in turns for step in turn)]
        extra = trajectory.labels()
        if self._with_truth:
            extra["truth"] = trajectory.truth(self._loss)
        return {
            "schema_version": VERSION,
            "session_id": trajectory.record.digest,
            "trajectory_id": trajectory.record.digest,
            "agent": {
                "name": trajectory.policy,
                "version": str(trajectory.record.info.get("simharness", "unknown")),
                "tool_definitions": functions(trajectory.tools),
            },
            "steps": [{"step_id": number, **step} for number, step in enumerate(steps, 1)],
            "final_metrics": {
                "total_steps": len(steps),
                "extra": {"reward": trajectory.reward},
            },
            "extra": {OURS: extra},
        }

    def steps(self, trajectory: Trajectory, turn: ChatTurn) -> Iterator[dict[str, Any]]:
        """Give one step of the agent, and one of the user who answers it, where one does."""
        given, told = turn.given, turn.told
        extra: dict[str, Any] = {"step": given.step}
        if told is not None:
            extra["answered"] = trajectory.instant(told.t)
            extra["reward"] = as_score(told.reward)
        if self._with_truth:
            extra["truth"] = trajectory.truth_of_step(given.step)
        asked = turn.messages[0]
        answers = [message for message in turn.messages if message["role"] == "tool"]
        step: dict[str, Any] = {
            "source": "agent",
            "timestamp": trajectory.instant(given.at),
            "message": asked["content"] or "",
            "extra": {OURS: extra},
        }
        if trajectory.is_scripted:
            step["llm_call_count"] = 0
        if "tool_calls" in asked:
            step["tool_calls"] = [call_of(call) for call in asked["tool_calls"]]
        if answers:
            step["observation"] = {
                "results": [
                    {"source_call_id": answer["tool_call_id"], "content": answer["content"]}
                    for answer in answers
                ]
            }
        yield step
        for message in turn.messages:
            if message["role"] == "user":
                when = trajectory.instant(given.at if told is None else told.t)
                yield {"source": "user", "message": message["content"], "timestamp": when}


def call_of(call: dict[str, Any]) -> dict[str, Any]:
    """Give one call; the text of its arguments comes along where the object isn't all of it."""
    raw = call["function"]["arguments"]
    arguments, problem = parse_arguments(raw)
    out: dict[str, Any] = {
        "tool_call_id": call["id"],
        "function_name": call["function"]["name"],
        "arguments": arguments or {},
    }
    if problem or not spelled_alike(raw, arguments):
        out["extra"] = {OURS: {"arguments": raw, **({"problem": problem} if problem else {})}}
    return out
