"""A Parquet table with a row a step, for dataframes and SQL."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from simharness import __version__
from simharness.chat.messages import functions
from simharness.errors import UsageError
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_text, sound
from simharness.exporters.trajectory import as_score

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from simharness.episode.messages import ChatTurn
    from simharness.exporters.trajectory import Trajectory


def imported(name: str) -> Any:
    """Import a module of pyarrow, which has no types. Raises UsageError where it is missing."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise UsageError(
            "parquet needs pyarrow, which isn't installed",
            "run: pip install 'simharness[parquet]'",
        ) from None


pa = imported("pyarrow")
pq = imported("pyarrow.parquet")

GROUP_ROWS = 20_000
"""Rows that are gathered before a group of them is written."""

LABELS = [
    ("key", pa.string()),
    ("scenario", pa.string()),
    ("seed", pa.uint64()),
    ("policy", pa.string()),
    ("load", pa.string()),
    ("digest", pa.string()),
    ("reward", pa.float64()),
    ("verdict", pa.string()),
    ("codes", pa.list_(pa.string())),
    ("valid", pa.bool_()),
    ("quarantined", pa.bool_()),
    ("ending", pa.string()),
    ("aborted", pa.bool_()),
]
"""Columns that are the same in all steps of an episode."""
STEPS = [
    ("prompt", pa.string()),
    ("tools", pa.string()),
    ("step", pa.int64()),
    ("sent", pa.int64()),
    ("answered", pa.int64()),
    ("kind", pa.string()),
    ("text", pa.string()),
    (
        "calls",
        pa.list_(
            pa.struct([("id", pa.string()), ("tool", pa.string()), ("arguments", pa.string())])
        ),
    ),
    ("results", pa.list_(pa.struct([("ok", pa.bool_()), ("content", pa.string())]))),
    ("told", pa.string()),
    ("step_reward", pa.float64()),
    ("terminated", pa.bool_()),
    ("truncated", pa.bool_()),
]
"""Columns of one step; `sent` and `answered` are microseconds since the start, `told` is what was
said to the agent in words, beside results."""
TRUTHS = [("truth", pa.string()), ("step_truth", pa.string())]
"""Columns for what was hidden, as JSON."""


def exporter(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> Parquet:
    """Make the exporter."""
    return Parquet(file, include, loss)


class Parquet:
    """Steps as rows of one table."""

    def __init__(self, file: BinaryIO, include: Collection[str], loss: Loss) -> None:
        self._with_truth = TRUTH in include
        self._loss = loss
        about = {"version": __version__, "included": sorted(include)}
        columns = [*LABELS, *STEPS, *(TRUTHS if self._with_truth else ())]
        self._schema = pa.schema(columns, metadata={"simharness": json.dumps(about)})
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, trajectory: Trajectory) -> None:
        """Add the steps of one episode; one without steps has a row with `step` null."""
        whole = {
            **trajectory.labels(),
            "prompt": trajectory.prompt["content"],
            "tools": json_text(functions(trajectory.tools), self._loss),
        }
        if self._with_truth:
            whole["truth"] = json_text(trajectory.truth(self._loss), self._loss)
        rows = [{**whole, **self._step(trajectory, turn)} for turn in trajectory.turns]
        self._rows += [self._sound(row) for row in rows or [whole]]
        if len(self._rows) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write what is gathered, and the table's end."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Close the table, which would else write its end into a closed file when collected."""
        with suppress(OSError, ValueError):
            self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def _step(self, trajectory: Trajectory, turn: ChatTurn) -> dict[str, Any]:
        given, told = turn.given, turn.told
        answers = [message["content"] for message in turn.messages if message["role"] == "tool"]
        results = told.results if told is not None else ()
        row: dict[str, Any] = {
            "step": given.step,
            "sent": given.at,
            "kind": given.kind,
            "text": given.text,
            "calls": [
                {"id": call.id, "tool": call.tool, "arguments": call.arguments}
                for call in given.calls
            ],
            "results": [
                {"ok": ok, "content": content}
                for (ok, _), content in zip(results, answers, strict=False)
            ],
        }
        words = [message["content"] for message in turn.messages if message["role"] == "user"]
        if words:
            row["told"] = "\n".join(words)
        if told is not None:
            row |= {
                "answered": told.t,
                "step_reward": as_score(told.reward),
                "terminated": told.terminated,
                "truncated": told.truncated,
            }
        if self._with_truth:
            row["step_truth"] = json_text(trajectory.truth_of_step(given.step), self._loss)
        return row

    def _sound(self, value: Any) -> Any:
        """Copy a row with texts that UTF-8 can hold."""
        if isinstance(value, str):
            return sound(value, self._loss)
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {name: self._sound(item) for name, item in fields.items()}
        if isinstance(value, list):
            return [self._sound(item) for item in cast("list[object]", value)]
        return value
