"""The rows of a recording, decoded: absolute instants, and the steps they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import DamagedRecording, HarnessError
from simharness.kernel.journal import Decoder, Row, Undelta
from simharness.recording.format import FrameType
from simharness.recording.recorder import ABORTED, TERMINATED, TRUNCATED, Listener
from simharness.values import pack

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent was told at one step, as recorded."""

    step: int
    t: int
    """Tick."""
    results: tuple[tuple[bool, Any], ...]
    """`(ok, value or error)` of each call."""
    reward: int | None
    """Millionths."""
    terminated: bool
    truncated: bool
    aborted: bool
    first: int
    """First row of the step."""


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows and steps of one recorded episode."""

    rows: tuple[Row, ...]
    raw: tuple[tuple[Any, ...], ...]
    """The same with absolute instants and interned names."""
    steps: tuple[Told, ...]

    def digest(self) -> str:
        """Give the digest of the rows alone, apart from header, inputs and checkpoints."""
        return rows_digest(self.raw)


def rows_digest(rows: tuple[tuple[Any, ...], ...] | list[tuple[Any, ...]]) -> str:
    """Digest journal rows alone, so that runs whose headers differ can be compared."""
    return blake2b(pack(list(rows)), digest_size=16).hexdigest()


def read_rows(record: EpisodeRecord) -> Rows:
    """Decode what a recording holds, as far as it goes.

    Raises DamagedRecording for rows of no known shape.
    """
    decoder = Decoder()
    undelta = Undelta()
    listener = Listener()
    rows: list[Row] = []
    raw: list[tuple[Any, ...]] = []
    steps: list[Told] = []
    first = 0
    for frame in record.frames:
        if frame.kind is FrameType.EVENTS:
            (chunk,) = frame.fields
        elif frame.kind is FrameType.STEP:
            chunk = frame.fields[2]
        else:
            continue
        absolute = undelta.absolute(cast("list[list[Any]]", chunk))
        raw += absolute
        rows += decoder.decode_all(absolute)
        if frame.kind is FrameType.STEP:
            steps.append(told(frame.fields, decoder.names, first, listener))
            first = len(rows)
    return Rows(tuple(rows), tuple(raw), tuple(steps))


def told(fields: tuple[object, ...], names: list[str], first: int, listener: Listener) -> Told:
    """Decode a STEP's fields."""
    step, t, _, results, reward, flags = fields
    bits = flags if isinstance(flags, int) else 0
    out: list[tuple[bool, Any]] = []
    for item in cast("list[object]", results):
        if not isinstance(item, list) or len(cast("list[object]", item)) != 2:
            raise DamagedRecording(f"step {step} holds a result of no known shape")
        ok, value = cast("list[object]", item)
        try:
            out.append((bool(ok), listener.decode(value, names)))
        except HarnessError as error:
            raise DamagedRecording(
                f"step {step} holds a result of no known shape: {error}"
            ) from error
    return Told(
        step=cast("int", step),
        t=cast("int", t),
        results=tuple(out),
        reward=reward if isinstance(reward, int) else None,
        terminated=bool(bits & TERMINATED),
        truncated=bool(bits & TRUNCATED),
        aborted=bool(bits & ABORTED),
        first=first,
    )
