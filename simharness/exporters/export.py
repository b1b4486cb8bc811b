"""Export a run, a shard or a recording: which episodes, into which file, and what was lost."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.blame.quarantine import read_reviews
from simharness.errors import RecordingError, TruncatedRecording, UnknownName, UsageError
from simharness.exporters.files import check_target, written
from simharness.exporters.formats import format_named
from simharness.exporters.loss import INCLUDABLE, INVALID, QUARANTINED, TRUTH, Loss
from simharness.exporters.trajectory import trajectory_of
from simharness.recording.format import PART_SUFFIX
from simharness.recording.reader import iter_episodes
from simharness.rollout.audit import files_of, judged
from simharness.rollout.broken import is_broken
from simharness.rollout.collector import seldom_collected
from simharness.rollout.key import key_of
from simharness.rollout.lines import told_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from simharness.exporters.formats import Format
    from simharness.exporters.trajectory import Trajectory
    from simharness.recording.reader import EpisodeRecord

UNFINISHED = "unfinished"
DAMAGED = "damaged"
LOST = "lost with a damaged shard"
BROKEN = "broken outside of a step"
OUTSIDE = "answers from outside, such as a sandbox's"
PINNED = "waits that the caller pinned"
ROWS = "rows of the journal"


@dataclass(slots=True)
class Export:
    """What came out of an export."""

    format: str
    out: str
    found: int = 0
    """Episodes that were looked at."""
    exported: int = 0
    included: Counter[str] = field(default_factory=Counter[str])
    """Exported episodes that are left out by default, by why; truth counts where it was asked."""
    loss: Loss = field(default_factory=Loss)

    def record(self) -> dict[str, Any]:
        """Give the report as `--json` prints it."""
        return {
            "format": self.format,
            "out": self.out,
            "found": self.found,
            "exported": self.exported,
            "included": dict(sorted(self.included.items())),
            **self.loss.record(),
        }


def export(
    name: str,
    path: Path,
    out: Path,
    *,
    include: Collection[str] = (),
    episode: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Export:
    """Export what a path stands for to the file `out`.

    Every episode is judged as `audit` judges it. Those that are invalid or quarantined, and what
    was hidden from the agent, are left out unless `include` names them. `episode` names one by its
    seed, by `scenario:seed`, or by its whole key.

    Raises:
        UnknownName: There is no such format or episode.
        UsageError: The file may not be written, the format doesn't carry what is to be included,
            or nothing is left to export.
        RecordingError: There is no whole episode, or the file can't be written.
    """
    format = format_named(name)
    check_request(format, out, include)
    check_target(out, force=force)
    make = format.maker()
    report = Export(name, str(out))
    with seldom_collected(), written(out, force=force) as file:
        exporter = make(file, out, include, report.loss)
        try:
            for trajectory in chosen(path, include, episode, report):
                note(trajectory, include, report, tells_truth=format.carries_truth)
                exporter.add(trajectory)
                report.exported += 1
                if progress is not None:
                    progress(report.found)
            if not report.exported:
                raise nothing_left(path, report)
            exporter.close()
        except BaseException:
            exporter.abandon()
            raise
    return report


def check_request(format: Format, out: Path, include: Collection[str]) -> None:
    """Refuse what a format can't do. Raises UsageError."""
    for what in include:
        if what not in INCLUDABLE:
            raise UnknownName.among("thing to include", what, INCLUDABLE)
    if TRUTH in include and not format.carries_truth:
        raise UsageError(
            f"{format.name} has no place for what was hidden from the agent",
            "leave --include truth out, or choose another format",
        )
    if format.suffixes and out.suffix not in format.suffixes:
        raise UsageError(
            f"{str(out)!r} is no name for a file of {format.name}",
            "give -o a name that ends in " + " or ".join(format.suffixes),
        )


def chosen(
    path: Path, include: Collection[str], episode: str | None, report: Export
) -> Iterator[Trajectory]:
    """Read, judge and choose episodes; what is left out is counted.

    Raises UnknownName where the one that is named isn't there.
    """
    reviews = read_reviews(path) if path.is_dir() else {}
    told = told_keys(path) if episode is None else []
    known: dict[str, None] = {}
    for file, record in records_of(path, report):
        key = key_of(record)
        known[key] = None
        if episode is not None and episode not in names_of(record):
            continue
        report.found += 1
        if not record.complete:
            torn = record.path.endswith(PART_SUFFIX) and record.problem.startswith("truncated")
            report.loss.left_out[UNFINISHED if torn else DAMAGED] += 1
            report.loss.problems.append(f"{key} in {file.name}: {record.problem}")
            continue
        if is_broken(record):
            report.loss.left_out[BROKEN] += 1
            continue
        item = judged(file, record, reviews)
        why = [
            what
            for what, is_so in ((INVALID, not item.verdict.valid), (QUARANTINED, item.quarantined))
            if is_so
        ]
        if all(what in include for what in why):
            report.included.update(why)
            yield trajectory_of(record, item)
        else:
            report.loss.left_out[" and ".join(why)] += 1
    if lost := [key for key in told if key not in known]:
        report.found += len(lost)
        report.loss.left_out[LOST] += len(lost)
        report.loss.problems.append(f"no shard that can be read holds {lost[0]}")
    if episode is not None and not report.found:
        raise UnknownName.among(f"episode in {str(path)!r}", episode, known)


def records_of(path: Path, report: Export) -> Iterator[tuple[Path, EpisodeRecord]]:
    """Read all that a path holds; a shard that was stopped before its first byte holds nothing."""
    for file in files_of(path):
        try:
            for record in iter_episodes(file):
                yield file, record
        except TruncatedRecording:
            if file == path or file.suffix != PART_SUFFIX:
                raise
            report.loss.problems.append(f"{file.name} is empty")


def names_of(record: EpisodeRecord) -> tuple[str, str, str]:
    """Give the names that an episode answers to."""
    seed = str(record.header.get("seed"))
    return seed, f"{record.header.get('scenario')}:{seed}", key_of(record)


def note(
    trajectory: Trajectory, include: Collection[str], report: Export, *, tells_truth: bool
) -> None:
    """Count what no format carries, and what is hidden."""
    dropped = report.loss.dropped
    rows = len(trajectory.story.rows)
    if TRUTH in include:
        report.included[TRUTH] += 1
    else:
        some = "; --include truth tells of some" if tells_truth else ""
        dropped[f"{ROWS} (hidden truth{some})"] += rows
    for turn in trajectory.turns:
        dropped[OUTSIDE] += len(turn.given.outside)
        dropped[PINNED] += sum(len(pins) for pins in turn.given.pins if pins)


def nothing_left(path: Path, report: Export) -> UsageError | RecordingError:
    """Build the error for an export without episodes: no file is better than an empty one."""
    left_out = report.loss.left_out
    counts = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
    if not report.found or not left_out.keys() - {UNFINISHED, DAMAGED, LOST, BROKEN}:
        why = shlex.join(["simharness", "audit", str(path)]) if BROKEN in left_out else ""
        hint = "; ".join(report.loss.problems) or (f"see why: {why}" if why else "run some first")
        told = f": {counts}" if why else ""
        return RecordingError(f"no finished episode in {str(path)!r}{told}", hint)
    wanted = [w for w in (INVALID, QUARANTINED) if any(w in why for why in left_out)]
    return UsageError(
        f"nothing to export: {report.found} episodes, {counts}",
        "to have them all the same: " + " ".join(f"--include {what}" for what in wanted),
    )
