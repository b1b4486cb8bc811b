"""The report of a replay that went another way.

It says where, what was recorded and what was produced, and what to look at.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import DamagedRecording, Divergence
from simharness.kernel.journal import Decoder, Row, Undelta
from simharness.recording.format import FrameType, decode
from simharness.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.recording.reader import EpisodeRecord, Frame

CLASSES = {
    "INPUT": "SH-DIV-101",
    "SCHEDULE": "SH-DIV-102",
    "RNG": "SH-DIV-103",
    "STATE": "SH-DIV-104",
    "CODE": "SH-DIV-105",
    "FORMAT": "SH-DIV-106",
    "TRUNCATED": "SH-DIV-107",
    "VERDICT": "SH-DIV-108",
}
LAST_ROWS = 10


class Common:
    """The rows that recording and replay agree on, decoded only now that they have parted."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.decoder = Decoder()
        self.undelta = Undelta()
        self.last: deque[Row] = deque(maxlen=LAST_ROWS)
        for frame in frames:
            rows = self.undelta.absolute(rows_in(frame.kind, frame.fields))
            self.last.extend(self.decoder.decode_all(rows))

    def peek(self, rows: list[Any]) -> list[Row]:
        """Decode rows that may follow, without taking them."""
        decoder = Decoder()
        decoder.names = list(self.decoder.names)
        decoder.count = self.decoder.count
        undelta = Undelta()
        undelta.t = self.undelta.t
        return list(decoder.decode_all(undelta.absolute(rows)))


def rows_in(kind: FrameType, fields: tuple[object, ...]) -> list[Any]:
    """Give the rows that a frame carries."""
    if kind is FrameType.EVENTS:
        return cast("list[Any]", fields[0])
    if kind is FrameType.STEP:
        return cast("list[Any]", fields[2])
    return []


def diverged(
    record: EpisodeRecord,
    index: int,
    recorded: Frame | None,
    payload: bytes,
    common: Common,
    changed: list[str],
) -> Divergence:
    """Build the report for the first unequal frame."""
    kind, fields = decode(payload)
    step = step_at(record, index)
    if recorded is None:
        name, lines = "TRUNCATED", [f"the recording ends before frame {index} ({kind.name})"]
    elif recorded.kind is not kind:
        then, now = recorded.kind.name, kind.name
        name, lines = "CODE", [f"recorded a {then} frame, produced a {now} frame"]
    else:
        name, lines = compare(kind, recorded.fields, fields, common)
    report = [f"replay diverged at frame {index}, step {step}: {CLASSES[name]} {name}", *lines]
    if common.last:
        report.append("last common rows:")
        report += [f"  {row}" for row in common.last]
    report.append("likely causes: " + "; ".join(causes(name, changed)))
    episode = f"{record.header.get('scenario')}:{record.header.get('seed')}"
    show = f"simharness show {record.path or 'FILE'} --episode {episode} --step {step}"
    return Divergence("\n".join(report), show, CLASSES[name], name, index, step)


def step_at(record: EpisodeRecord, index: int) -> int:
    """Give the step that a frame belongs to."""
    step = 0
    frames = [f for f in record.frames if f.kind not in (FrameType.INFO, FrameType.VERDICT)]
    for frame in frames[: index + 1]:
        if frame.kind is FrameType.INPUT:
            step = cast("int", frame.fields[0])
    return step


def compare(
    kind: FrameType, recorded: tuple[object, ...], produced: tuple[object, ...], common: Common
) -> tuple[str, list[str]]:
    """Name the class of a difference between two frames of one kind, and show it."""
    if kind is FrameType.INPUT:
        return "INPUT", [f"recorded {recorded!r:.200}", f"produced {produced!r:.200}"]
    if kind is FrameType.HEADER:
        return "FORMAT", map_lines("header", recorded[0], produced[0])
    if kind is FrameType.CHECKPOINT:
        tables = map_lines("table", recorded[2], produced[2])
        draws = map_lines("draws of", recorded[3], produced[3])
        if tables:
            return "STATE", tables
        return "RNG", draws or [f"{recorded!r:.200} != {produced!r:.200}"]
    try:
        theirs = common.peek(rows_in(kind, recorded))
        ours = common.peek(rows_in(kind, produced))
    except DamagedRecording as error:
        return "FORMAT", [error.message]
    for at, (then, now) in enumerate(zip(theirs, ours, strict=False)):
        if (then.kind, then.t, then.values) != (now.kind, now.t, now.values):
            return row_difference(at, then, now, theirs, ours)
    if len(theirs) != len(ours):
        more = theirs[len(ours) :] or ours[len(theirs) :]
        who = "recorded" if len(theirs) > len(ours) else "produced"
        return "CODE", [f"only {who}: {more[0]}"]
    return "CODE", [
        f"what the agent was told differs: recorded {recorded[3:]!r:.300}",
        f"produced {produced[3:]!r:.300}",
    ]


def row_difference(
    at: int, then: Row, now: Row, theirs: list[Row], ours: list[Row]
) -> tuple[str, list[str]]:
    """Name the class of the first unequal row, and show it field by field."""
    lines = [f"recorded {then}", f"produced {now}"]
    if then.kind == now.kind:
        for field, value in then.values.items():
            other = now.values.get(field)
            if other != value:
                lines.append(f"  {field}: recorded {value!r}, produced {other!r}")
    if then.t != now.t:
        lines.append(f"  t: recorded {format_duration(then.t)}, produced {format_duration(now.t)}")
    process = now.values.get("owner") or then.values.get("owner")
    if process:
        lines.append(f"  process: {process}")
    if then.t == now.t and comes_later(then, ours, at) and comes_later(now, theirs, at):
        return "SCHEDULE", lines
    if then.kind == now.kind and then.values == now.values:
        return "RNG", lines
    return "CODE", lines


def comes_later(row: Row, rows: list[Row], at: int) -> bool:
    """Tell whether a row follows within its instant; STR numbers depend on the order themselves."""
    for other in rows[at + 1 :]:
        if other.t != row.t:
            return False
        if other.kind != row.kind:
            continue
        if other.values == row.values:
            return True
        if row.kind == "STR" and other.values["text"] == row.values["text"]:
            return True
    return False


def map_lines(what: str, recorded: object, produced: object) -> list[str]:
    """Show the entries of two maps that differ."""
    then = cast("dict[str, object]", recorded)
    now = cast("dict[str, object]", produced)
    return [
        f"{what} {key}: recorded {then.get(key)!r:.80}, produced {now.get(key)!r:.80}"
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key)
    ]


def causes(name: str, changed: list[str]) -> list[str]:
    """Rank what may have caused a divergence of a class."""
    out: list[str] = []
    if changed:
        out.append("the product's sources have changed since: " + ", ".join(changed))
    if name in ("SCHEDULE", "RNG", "CODE", "STATE"):
        out.append(
            "model code that depends on set order, id(), the clock, a module-level counter "
            "or the machine (the same replay under another PYTHONHASHSEED shows it)"
        )
    if name == "FORMAT":
        out.append("the recording was made by another version")
    return out or ["none known"]
