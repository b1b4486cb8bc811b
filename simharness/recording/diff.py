"""The first difference between two recordings, without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.recording.format import FrameType
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from simharness.kernel.journal import Row
    from simharness.recording.reader import EpisodeRecord

OUTSIDE = (FrameType.INFO, FrameType.VERDICT)


def first_difference(left: EpisodeRecord, right: EpisodeRecord) -> str | None:
    """Say where two recordings first differ (INFO and VERDICT apart); None when they don't."""
    if left.digest == right.digest and left.complete and right.complete:
        return None
    keys = sorted({*left.header, *right.header})
    if differing := [key for key in keys if left.header.get(key) != right.header.get(key)]:
        # Other plans make other episodes: all that was asked otherwise is told.
        pairs = [(key, left.header.get(key), right.header.get(key)) for key in differing]
        return "\n".join(
            f"header {key}: {one!r:.120} against {two!r:.120}" for key, one, two in pairs
        )
    rows, others = read_rows(left).rows, read_rows(right).rows
    for one, two in zip(rows, others, strict=False):
        if shown(one) != shown(two):
            return f"row {one.index}:\n  {one}\n  {two}"
    if len(rows) != len(others):
        longer, more = ("the first", rows) if len(rows) > len(others) else ("the second", others)
        return f"only {longer} goes on: {more[min(len(rows), len(others))]}"
    frames = [f for f in left.frames if f.kind not in OUTSIDE]
    others_frames = [f for f in right.frames if f.kind not in OUTSIDE]
    for number, (a, b) in enumerate(zip(frames, others_frames, strict=False)):
        if a.payload != b.payload:
            return f"frame {number} ({a.kind.name}): {a.fields!r:.200} against {b.fields!r:.200}"
    if len(frames) != len(others_frames):
        return f"{len(frames)} frames against {len(others_frames)}"
    return None


def shown(row: Row) -> tuple[str, int, dict[str, object]]:
    """Give what two rows are compared by."""
    return row.kind, row.t, row.values
