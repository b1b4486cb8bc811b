"""Chat messages in JSON Lines: OpenAI's shape to the letter, and that of TRL with columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from simharness.chat.messages import functions
from simharness.episode.transcript import parse_arguments
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_line, json_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from simharness.exporters.trajectory import Trajectory

TIMES = "instants of steps"
LABELS = "rewards, verdicts and names of episodes"
RAW = "calls whose arguments are no JSON object, kept as text"
RESPELLED = "calls whose arguments are spelled anew (spaces, forms of numbers)"


def openai(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> OpenAI:
    """Make the exporter of OpenAI's shape."""
    return OpenAI(file, loss)


def trl(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> TRL:
    """Make the exporter of TRL's shape."""
    return TRL(file, loss, with_truth=TRUTH in include)


class OpenAI:
    """A line an episode, with the keys that fine-tuning knows and no others."""

    def __init__(self, file: BinaryIO, loss: Loss) -> None:
        self._file = file
        self._loss = loss

    def add(self, trajectory: Trajectory) -> None:
        """Write one line."""
        line = {
            "messages": trajectory.messages,
            "tools": functions(trajectory.tools),
            "parallel_tool_calls": True,
        }
        self._loss.dropped[LABELS] += 1
        self._loss.dropped[TIMES] += len(trajectory.turns)
        self._file.write(json_line(line, self._loss))

    def close(self) -> None:
        """There is nothing behind the last line."""

    def abandon(self) -> None:
        """There is nothing to let go of."""


class TRL:
    """A line an episode: arguments as objects, the tool's name in its answer, columns beside it."""

    def __init__(self, file: BinaryIO, loss: Loss, *, with_truth: bool) -> None:
        self._file = file
        self._loss = loss
        self._with_truth = with_truth

    def add(self, trajectory: Trajectory) -> None:
        """Write one line."""
        line = {
            "messages": [self._message(m) for m in named(trajectory.messages)],
            # As text, which trainers decode: as objects, a table would give every tool the
            # parameters of all the others, as nulls.
            "tools": json_text(functions(trajectory.tools), self._loss),
            **trajectory.labels(),
        }
        if self._with_truth:
            told = {**trajectory.truth(self._loss), "steps": trajectory.truth_in_steps()}
            line["truth"] = json_text(told, self._loss)
        self._loss.dropped[TIMES] += len(trajectory.turns)
        self._file.write(json_line(line, self._loss))

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        if "tool_calls" not in message:
            return message
        return {**message, "tool_calls": [self._call(c) for c in message["tool_calls"]]}

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        function = call["function"]
        arguments, problem = parse_arguments(function["arguments"])
        count_spelling(function["arguments"], arguments, problem, self._loss)
        given = function["arguments"] if arguments is None else arguments
        return {**call, "function": {**function, "arguments": given}}

    def close(self) -> None:
        """There is nothing behind the last line."""

    def abandon(self) -> None:
        """There is nothing to let go of."""


def count_spelling(raw: str, arguments: dict[str, object] | None, problem: str, loss: Loss) -> bool:
    """Count arguments that a parsed object doesn't give back; tells whether it does."""
    if problem:
        loss.changed[RAW] += 1
    elif not spelled_alike(raw, arguments):
        loss.changed[RESPELLED] += 1
    else:
        return True
    return False


def spelled_alike(raw: str, arguments: object) -> bool:
    """Tell whether a text is one of the two spellings that JSON writers give an object."""
    return raw in (json.dumps(arguments, separators=(",", ":")), json.dumps(arguments))


def named(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give tools' answers with the name of the tool: that of the call they stand for, by place."""
    out: list[dict[str, Any]] = []
    asked: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            message = {**message, "name": asked.pop(0)}
        else:
            asked = [call["function"]["name"] for call in message.get("tool_calls", ())]
        out.append(message)
    return out
