"""Where two recordings of one episode part: the first unequal frame, and in it the first row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.divergence import (
    CLASSES,
    Common,
    compare,
    map_lines,
    rows_in,
    step_at,
)
from simharness.errors import DamagedRecording
from simharness.recording.diff import OUTSIDE, shown
from simharness.recording.format import FrameType
from simharness.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.journal import Row
    from simharness.recording.reader import EpisodeRecord, Frame

JUDGED = ("class", "primary", "codes", "proof", "valid", "score", "goal", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference of two recordings of one episode."""

    kind: str
    """A class of `divergence.CLASSES`."""
    frame: int
    """Place among the frames that decide the digest, from 0."""
    step: int
    t: int | None
    """Tick; None where the frame has none."""
    process: str
    """Who wrote the row; empty where no row differs."""
    recorded: str
    produced: str
    """The first unequal rows in words; empty where no row differs."""
    fields: tuple[tuple[str, str, str], ...] = ()
    """Columns that differ: name, recorded, produced."""
    lines: tuple[str, ...] = ()
    """The report, a line each."""
    stream: str = ""
    """The first owner whose draw count differs at a checkpoint; empty where none does."""
    table: str = ""
    """The first table whose digest differs at a checkpoint; empty where none does."""

    @property
    def code(self) -> str:
        """The stable code of the class."""
        return CLASSES[self.kind]

    def record(self) -> dict[str, Any]:
        """Give the difference as `--json` prints it."""
        return {
            "code": self.code,
            "class": self.kind,
            "frame": self.frame,
            "step": self.step,
            "t": None if self.t is None else format_duration(self.t),
            "process": self.process,
            "recorded": self.recorded,
            "produced": self.produced,
            "fields": [
                {"field": name, "recorded": then, "produced": now}
                for name, then, now in self.fields
            ],
            "stream": self.stream,
            "table": self.table,
        }

    def tell(self) -> list[str]:
        """Give the report in lines."""
        where = f"{self.code} {self.kind} at step {self.step}, frame {self.frame}"
        if self.t is not None:
            where += f", simulated time {format_duration(self.t)}"
        if self.process:
            where += f", process {self.process}"
        more = [f"first stream whose draw count differs: {self.stream}"] if self.stream else []
        more += [f"first table whose digest differs: {self.table}"] if self.table else []
        return [where, *self.lines, *more]


@dataclass(slots=True)
class Rows:
    """The first unequal rows of two frames, and what may be said of them."""

    recorded: Row | None = None
    produced: Row | None = None
    fields: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    @property
    def either(self) -> Row | None:
        """The one that is there."""
        return self.produced or self.recorded


def difference_between(recorded: EpisodeRecord, produced: EpisodeRecord) -> Difference | None:
    """Find where two recordings part; None for equal ones, INFO apart.

    Verdicts are compared last: they stand outside the digest, but one episode has one verdict.
    """
    theirs = [frame for frame in recorded.frames if frame.kind not in OUTSIDE]
    ours = [frame for frame in produced.frames if frame.kind not in OUTSIDE]
    # FOOTERs hold the chain, so two that are equal stand for everything before them.
    for index, (then, now) in enumerate(zip(theirs, ours, strict=False)):
        if then.payload != now.payload:
            return at_frame(recorded, theirs, ours, index)
    if len(theirs) != len(ours):
        index = min(len(theirs), len(ours))
        longer = "the base" if len(theirs) > len(ours) else "the variant"
        return plain("TRUNCATED", index, step_at(recorded, index), f"only {longer} goes on")
    verdicts = judged(recorded.verdict), judged(produced.verdict)
    if verdicts[0] != verdicts[1]:
        lines = map_lines("verdict", *verdicts)
        return plain("VERDICT", len(theirs), len(recorded.steps), *lines)
    return None


def judged(verdict: Mapping[str, object] | None) -> dict[str, object]:
    """Give what must be equal of two verdicts of one episode: no prose, which may name an error."""
    return {key: value for key, value in (verdict or {}).items() if key in JUDGED}


def plain(kind: str, frame: int, step: int, *lines: str) -> Difference:
    """Build a difference that no row shows."""
    return Difference(
        kind=kind,
        frame=frame,
        step=step,
        t=None,
        process="",
        recorded="",
        produced="",
        lines=lines,
    )


def at_frame(
    record: EpisodeRecord, theirs: list[Frame], ours: list[Frame], index: int
) -> Difference:
    """Describe the first unequal frame."""
    then, now = theirs[index], ours[index]
    common = Common(theirs[:index])
    rows = first_rows(common, then, now)
    if then.kind is now.kind:
        kind, lines = compare(then.kind, then.fields, now.fields, common)
    else:
        kind, lines = "CODE", [f"recorded a {then.kind.name} frame, produced a {now.kind.name} one"]
    stream, table = first_counts(theirs, ours)
    either = rows.either
    return Difference(
        kind=kind,
        frame=index,
        step=step_at(record, index),
        t=either.t if either is not None else instant_of(then),
        process=str(either.values.get("owner", "")) if either is not None else "",
        recorded=str(rows.recorded or ""),
        produced=str(rows.produced or ""),
        fields=tuple(rows.fields),
        # What the heading says already isn't said again.
        lines=tuple(line for line in lines if not line.startswith("  process:")),
        stream=stream,
        table=table,
    )


def first_rows(common: Common, then: Frame, now: Frame) -> Rows:
    """Find the first unequal rows of two frames that follow the same rows."""
    try:
        theirs = common.peek(rows_in(then.kind, then.fields))
        ours = common.peek(rows_in(now.kind, now.fields))
    except DamagedRecording:
        return Rows()
    for one, other in zip(theirs, ours, strict=False):
        if shown(one) != shown(other):
            columns = sorted({*one.values, *other.values})
            fields = [
                (name, repr(one.values.get(name)), repr(other.values.get(name)))
                for name in columns
                if one.values.get(name) != other.values.get(name)
            ]
            if one.t != other.t:
                fields.append(("t", format_duration(one.t), format_duration(other.t)))
            return Rows(one, other, fields)
    if then.kind is now.kind and len(theirs) != len(ours):
        at = min(len(theirs), len(ours))
        return Rows(theirs[at]) if len(theirs) > at else Rows(None, ours[at])
    return Rows()


def instant_of(frame: Frame) -> int | None:
    """Give the tick that a frame tells."""
    if frame.kind not in (FrameType.INPUT, FrameType.STEP, FrameType.CHECKPOINT):
        return None
    return cast("int", frame.fields[1])


def first_counts(theirs: list[Frame], ours: list[Frame]) -> tuple[str, str]:
    """Name the first stream and the first table that differ at the checkpoints."""
    stream = table = ""
    points = [
        [f.fields for f in frames if f.kind is FrameType.CHECKPOINT] for frames in (theirs, ours)
    ]
    for then, now in zip(*points, strict=False):
        table = table or first_key(then[2], now[2])
        stream = stream or first_key(then[3], now[3])
    return stream, table


def first_key(then: object, now: object) -> str:
    """Name the first entry of two maps that differs; empty where none does."""
    left, right = cast("dict[str, object]", then), cast("dict[str, object]", now)
    return next((key for key in sorted({*left, *right}) if left.get(key) != right.get(key)), "")
