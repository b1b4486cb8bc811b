"""From a running world to frames.

Packs the journal's new rows and what the agent was told, one frame a step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import HarnessError
from simharness.kernel.journal import deltas
from simharness.product.tool import Shown
from simharness.recording.format import FrameType, footer_payload
from simharness.values import INT_MAX, INT_MIN, fast_packer, pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.kernel.journal import RawRow
    from simharness.kernel.world import World
    from simharness.parts.row import Row
    from simharness.recording.writer import Sink

ROWS_PER_FRAME = 256

TERMINATED = 1
TRUNCATED = 2
ABORTED = 4
"""Bits of a STEP's flags."""

ARRAY = -1
FIRST_ROW = -2
TOLD_ROW = -3
"""Heads of encoded values; an object has the number of its keys' name there."""


class Recorder:
    """Writes one episode to a sink, frame by frame."""

    __slots__ = (
        "_counts",
        "_last",
        "_pack",
        "_packed",
        "_rows_done",
        "_sink",
        "_world",
        "keep_rows",
    )

    def __init__(self, world: World, sink: Sink, *, keep_rows: bool = True) -> None:
        self._world = world
        self._sink = sink
        self._pack = fast_packer().pack
        self._packed = 0
        self._rows_done = 0
        self._last = 0
        self._counts: dict[str, int] = {}
        self.keep_rows = keep_rows
        """False lets rows go once they are packed: for worlds that live long."""

    def header(self, header: Mapping[str, object], decisions: Sequence[object]) -> None:
        """Begin the episode."""
        self._sink.write(pack([FrameType.HEADER, dict(header)]), FrameType.HEADER)
        if decisions:
            self._sink.write(pack([FrameType.DECISION, list(decisions)]), FrameType.DECISION)

    def info(self, payload: bytes) -> None:
        """Note what is true of this machine and not of the episode."""
        self._sink.write(payload, FrameType.INFO)

    def input(self, step: int, t: int, kind: str, calls: Sequence[object] | bytes) -> None:
        """Note what the agent did, before its effect is known."""
        self._sink.write(self._pack((3, step, t, kind, calls)), FrameType.INPUT)

    def step(
        self, step: int, t: int, results: Sequence[object], reward: int | None, flags: int
    ) -> None:
        """Write the new rows, what the agent was told, and what it was paid (millionths)."""
        rows = self._world.rows
        fresh = len(rows) - self._packed
        while fresh > ROWS_PER_FRAME:
            chunk = rows[self._packed : self._packed + ROWS_PER_FRAME]
            self._sink.write(self._pack((5, self._take(chunk))), FrameType.EVENTS)
            fresh -= ROWS_PER_FRAME
        payload = self._pack((7, step, t, self._take(rows[self._packed :]), results, reward, flags))
        self._sink.write(payload, FrameType.STEP)
        if not self.keep_rows:
            rows.clear()
            self._packed = 0

    def _take(self, chunk: list[RawRow]) -> list[RawRow]:
        out, self._last = deltas(chunk, 0, self._last)
        self._packed += len(chunk)
        self._rows_done += len(chunk)
        return out

    def checkpoint(self, tables: Mapping[str, str]) -> None:
        """Write the state's digests and the draw counts that have changed since the last one."""
        counts = self._world.draws.counts
        changed = {k: v for k, v in counts.items() if self._counts.get(k) != v}
        self._counts.update(changed)
        # Sorted keys are what canonical means for a map of texts; the fast packer is enough then.
        frame = (
            6,
            self._rows_done,
            self._world.ticks,
            dict(sorted(tables.items())),
            dict(sorted(changed.items())),
        )
        payload = self._pack(frame)
        self._sink.write(payload, FrameType.CHECKPOINT)

    def verdict(self, verdict: Mapping[str, object]) -> None:
        """Write the verdict; it stands outside the digest, since it changes with the taxonomy."""
        self._sink.write(pack([FrameType.VERDICT, dict(verdict)]), FrameType.VERDICT)

    def footer(self, steps: int, chain: bytes) -> None:
        """End the episode."""
        self._sink.write(footer_payload(steps, self._rows_done, chain), FrameType.FOOTER)


class Teller:
    """Encodes what the agent is told, without maps.

    An object is `[number of its keys' name, values...]`, an array `[-1, items...]`. A row is
    `[-2, number, values...]` when it is told first and `[-3, place]` afterwards, its place among
    the rows told so far, from 0: agents look at the same rows again and again.
    """

    __slots__ = ("_count", "_numbers", "_told")

    def __init__(self, world: World) -> None:
        self._numbers = world.numbers
        self._count = 0
        self._told: dict[tuple[type, int, int], tuple[Row, int]] = {}

    def encode(self, value: object) -> object:
        """Encode a JSON value.

        Raises HarnessError for a float or anything else that recordings don't hold.
        """
        kind = type(value)
        if value is None or kind is str or kind is bool:
            return value
        if type(value) is int:
            if INT_MIN <= value <= INT_MAX:
                return value
            raise HarnessError(
                f"an answer holds an int of {value.bit_length()} bits", "bound what it is made from"
            )
        if type(value) is Shown:
            row = value.row
            which = (type(row), row.id, row.version)
            held = self._told.get(which)
            # Two tables may have rows of one type, and a broken product two rows of one version.
            if held is not None and (held[0] is row or held[0] == row):
                return (TOLD_ROW, held[1])
            self._told[which] = (row, self._count)
            self._count += 1
            return (FIRST_ROW, *self._object(value))
        if kind is dict:
            return self._object(cast("dict[str, object]", value))
        if kind is list or kind is tuple:
            return [ARRAY, *[self.encode(item) for item in cast("Sequence[object]", value)]]
        raise HarnessError(
            f"an answer holds {value!r} of type {kind.__name__}",
            "use None, bool, int, str, dict and list; no floats",
        )

    def _object(self, value: Mapping[str, object]) -> list[object]:
        out: list[object] = [self._numbers["{" + shape_of(value) + "}"]]
        for item in value.values():
            kind = type(item)
            if (
                item is None
                or kind is str
                or kind is bool
                or (type(item) is int and INT_MIN <= item <= INT_MAX)
            ):
                out.append(item)
            else:
                out.append(self.encode(item))
        return out


class Listener:
    """Undoes what a `Teller` does; it has to hear everything from the start."""

    def __init__(self) -> None:
        self._told: list[dict[str, Any]] = []

    def decode(self, value: Any, names: Sequence[str]) -> Any:
        """Decode a value. Raises HarnessError for one of no known shape."""
        if not isinstance(value, list):
            return value
        items = cast("list[object]", value)
        head = items[0] if items else None
        if type(head) is not int:
            raise HarnessError(f"an answer of no known shape: {value!r:.80}")
        if head == ARRAY:
            return [self.decode(item, names) for item in items[1:]]
        if head == TOLD_ROW:
            place = items[1] if len(items) == 2 else None
            if type(place) is not int or not 0 <= place < len(self._told):
                raise HarnessError(f"an answer repeats row {place!r} of {len(self._told)} told")
            return dict(self._told[place])
        if head == FIRST_ROW:
            row = self._object(items[1:], names)
            self._told.append(row)
            return dict(row)
        return self._object(items, names)

    def _object(self, items: list[Any], names: Sequence[str]) -> dict[str, Any]:
        head = items[0] if items else None
        if type(head) is not int or not 0 <= head < len(names):
            raise HarnessError(f"an answer of no known shape: {items!r:.80}")
        shape = names[head][1:-1]
        keys = keys_of(shape)
        if len(keys) != len(items) - 1:
            raise HarnessError(f"an answer of {len(items) - 1} values has the keys {shape!r}")
        return {key: self.decode(item, names) for key, item in zip(keys, items[1:], strict=True)}


_KEY = re.compile(r"(?:[^,\\]|\\.)+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
NO_TEXT = "\\0"
"""How an empty key is escaped."""


def shape_of(keys: Mapping[str, Any]) -> str:
    """Join the keys of an object with commas.

    Where one is empty or holds a comma or a backslash, all are escaped.
    """
    shape = ",".join(keys)
    if "" not in keys and "\\" not in shape and shape.count(",") == len(keys) - 1:
        return shape
    return ",".join(key.replace("\\", "\\\\").replace(",", "\\,") or NO_TEXT for key in keys)


def keys_of(shape: str) -> list[str]:
    """Undo `shape_of`."""
    if "\\" not in shape:
        return shape.split(",") if shape else []
    return ["" if key == NO_TEXT else _ESCAPED.sub(r"\1", key) for key in _KEY.findall(shape)]
