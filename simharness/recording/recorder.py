"""From a running world to frames: packs the journal's new rows and what the agent was told, one frame a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.errors import HarnessError
from simharness.kernel.journal import deltas
from simharness.recording.format import FrameType, footer_payload
from simharness.values import fast_packer, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simharness.kernel.journal import RawRow
    from simharness.kernel.world import World
    from simharness.recording.writer import Sink

ROWS_PER_FRAME = 256

TERMINATED = 1
TRUNCATED = 2
ABORTED = 4
"""Bits of a STEP's flags."""

LIST_SHAPE = -1
"""Head of an encoded array; an encoded object has the number of its keys there."""


class Recorder:
    """Writes one episode to a sink, frame by frame."""

    __slots__ = ("_counts", "_last", "_pack", "_packed", "_rows_done", "_sink", "_world", "keep_rows")

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

    def info(self, info: Mapping[str, object]) -> None:
        """Note what is true of this machine and not of the episode."""
        self._sink.write(pack([FrameType.INFO, dict(info)]), FrameType.INFO)

    def input(self, step: int, t: int, kind: str, calls: Sequence[object] | bytes) -> None:
        """Note what the agent did, before its effect is known."""
        self._sink.write(self._pack((3, step, t, kind, calls)), FrameType.INPUT)

    def step(
        self, step: int, t: int, results: Sequence[object], reward: int | None, flags: int
    ) -> None:
        """Write the rows since the last step, what the agent was told, and what it was paid (millionths)."""
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
        """Write the state's digests and the draw counts that have changed since the last checkpoint."""
        counts = self._world.draws.counts
        changed = {k: v for k, v in counts.items() if self._counts.get(k) != v}
        self._counts.update(changed)
        payload = pack([FrameType.CHECKPOINT, self._rows_done, self._world.ticks, dict(tables), changed])
        self._sink.write(payload, FrameType.CHECKPOINT)

    def verdict(self, verdict: Mapping[str, object]) -> None:
        """Write the verdict; it stands outside the digest, since it changes with the taxonomy."""
        self._sink.write(pack([FrameType.VERDICT, dict(verdict)]), FrameType.VERDICT)

    def footer(self, steps: int, chain: bytes) -> None:
        """End the episode."""
        self._sink.write(footer_payload(steps, self._rows_done, chain), FrameType.FOOTER)


def encode(value: Any, intern: Callable[[str], int]) -> Any:
    """Encode a JSON value without maps: an object is `[number of its keys' name, values...]`, an array `[-1, items...]`.

    Raises HarnessError for a float or anything else that recordings don't hold.
    """
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return value
    if kind is dict:
        out: list[Any] = [intern("{" + ",".join(value) + "}")]
        for item in value.values():
            kind = type(item)
            if item is None or kind is str or kind is int or kind is bool:
                out.append(item)
            else:
                out.append(encode(item, intern))
        return out
    if kind is list or kind is tuple:
        return [LIST_SHAPE, *(encode(item, intern) for item in value)]
    raise HarnessError(
        f"an answer holds {value!r} of type {kind.__name__}", "use None, bool, int, str, dict and list; no floats"
    )


def decode(value: Any, names: Sequence[str]) -> Any:
    """Undo `encode`. Raises HarnessError for a head that names no shape."""
    if not isinstance(value, list):
        return value
    if not value or type(value[0]) is not int or value[0] >= len(names):
        raise HarnessError(f"an answer of no known shape: {value!r:.80}")
    head, *items = value
    if head == LIST_SHAPE:
        return [decode(item, names) for item in items]
    shape = names[head][1:-1]
    keys = shape.split(",") if shape else []
    return {key: decode(item, names) for key, item in zip(keys, items, strict=True)}
