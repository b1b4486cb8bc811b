"""The reader: every intact episode and frame of a file, and in words what is missing."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from simharness.errors import (
    DamagedRecording,
    OtherFormat,
    RecordingError,
    TruncatedRecording,
)
from simharness.recording.format import (
    CHAIN_START,
    FILE_BYTES_MAX,
    FORMAT,
    MAGIC,
    FrameType,
    Outcome,
    advance,
    decode,
    from_os_error,
    scan,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Frame:
    """One intact frame."""

    kind: FrameType
    payload: bytes
    fields: tuple[object, ...]
    """The elements of the payload after the type, checked by `format.decode`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRecord:
    """One episode as far as it can be trusted."""

    header: dict[str, object]
    """Empty if even the HEADER is missing."""
    info: dict[str, object]
    """The last INFO frame; empty if there is none."""
    verdict: dict[str, object] | None
    """The last VERDICT frame."""
    frames: tuple[Frame, ...]
    """Every intact frame in order, HEADER and FOOTER included."""
    complete: bool
    """True if the FOOTER is there and agrees with the frames before it."""
    problem: str
    """Empty if complete, else "truncated at byte N" or "damaged at byte N: ..."; every byte of
    the file before N belongs to an intact frame."""
    offset: int
    """Where the episode begins in the file, in bytes."""
    end: int
    """Where its last intact frame ends."""
    digest: str
    """The chain in hex, checked against the FOOTER if complete, else as far as the frames go."""
    path: str = field(default="", compare=False)
    """Where it was read from, for messages."""

    @property
    def payloads(self) -> tuple[bytes, ...]:
        """The payloads of the frames, as a `ShardWriter` appends them."""
        return tuple(frame.payload for frame in self.frames)

    @property
    def inputs(self) -> tuple[Frame, ...]:
        """The INPUT frames: what the outside did to the world."""
        return self.of(FrameType.INPUT)

    @property
    def steps(self) -> tuple[Frame, ...]:
        """The STEP frames: what the agent was told."""
        return self.of(FrameType.STEP)

    def of(self, kind: FrameType) -> tuple[Frame, ...]:
        """Return the frames of one type, in order."""
        return tuple(frame for frame in self.frames if frame.kind is kind)


def read_file(path: str | os.PathLike[str]) -> tuple[EpisodeRecord, ...]:
    """Read every episode of a recording, whole or `.part`; see `iter_episodes`."""
    return tuple(iter_episodes(path))


def iter_episodes(path: str | os.PathLike[str]) -> Iterator[EpisodeRecord]:
    """Open a recording at once and yield its episodes as they are asked for.

    Nothing is raised for what stands after the first 8 bytes: an episode that ends early, or that
    fails a check, comes last and carries its `problem`, and nothing after it is trusted.

    Raises:
        RecordingError: The path can't be read or is not a file.
        DamagedRecording: The file is not a recording.
        TruncatedRecording: The file is empty or ends inside its first 8 bytes.
        OtherFormat: The format is newer than this package.
    """
    return parse(_read(path), str(path))


def parse(data: bytes, path: str = "") -> Iterator[EpisodeRecord]:
    """Do what `iter_episodes` does with bytes in memory; `path` is for messages."""
    _check_magic(data, path)
    return _episodes(memoryview(data), path)


def require_complete(record: EpisodeRecord) -> EpisodeRecord:
    """Return the record, if it is complete.

    Raises:
        TruncatedRecording: The episode has no FOOTER.
        DamagedRecording: The episode fails a check.
    """
    if record.complete:
        return record
    where = f" ({record.path!r})" if record.path else ""
    message = (
        f"episode is not complete: {record.problem}; recovered {_count(record.frames, 'frame')} "
        f"with {_count(record.steps, 'step')}{where}"
    )
    if record.problem.startswith("truncated"):
        raise TruncatedRecording(
            message, "its writer was stopped: run the episode again, or use what was recovered"
        )
    raise DamagedRecording(
        message, "restore the file from a copy, or use what was recovered before that byte"
    )


def _count(things: tuple[object, ...], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        # A pipe would block the open, so the kind of the file is asked first.
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise RecordingError(
                f"can't read {str(path)!r}: it is a folder", "name a .simrec file inside it"
            )
        if not stat.S_ISREG(status.st_mode):
            raise RecordingError(
                f"can't read {str(path)!r}: it is not a regular file", "copy it to one first"
            )
        if status.st_size > FILE_BYTES_MAX:
            raise RecordingError(
                f"recording too large: {str(path)!r} has {status.st_size} bytes, expected at "
                f"most {FILE_BYTES_MAX}",
                "write fewer episodes to a file",
            )
        with Path(path).open("rb") as file:
            return file.read(FILE_BYTES_MAX)
    except (OSError, ValueError) as error:
        raise from_os_error("read", path, error) from error


def _check_magic(data: bytes, path: str) -> None:
    start = data[: len(MAGIC)]
    if start == MAGIC:
        return
    name = repr(path) if path else "it"
    if MAGIC.startswith(start):
        what = "is empty" if not start else f"ends after {len(start)} bytes"
        raise TruncatedRecording(
            f"not a whole .simrec file: {name} {what}",
            "its writer was stopped before the first frame: record it again",
        )
    if start[:6] == MAGIC[:6] and start[7:] == MAGIC[7:] and start[6] > FORMAT:
        raise OtherFormat(
            f"recording needs format {start[6]}, this build reads up to {FORMAT} ({name})",
            "run: pip install --upgrade simharness",
        )
    raise DamagedRecording(
        f"not a .simrec file: {name} starts with {start!r}, expected {MAGIC!r}",
        "check the path; a recording must be copied as binary",
    )


def _episodes(data: memoryview, path: str) -> Iterator[EpisodeRecord]:
    offset = len(MAGIC)
    while offset < len(data):
        episode = _Episode(offset)
        record = episode.read(data, path)
        yield record
        if not record.complete:
            return
        offset = record.end


class _Episode:
    """What is known of an episode while its frames are read."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.frames: list[Frame] = []
        self.chain = CHAIN_START
        self.rows = 0
        self.steps = 0
        self.input_step = -1
        self.told_step = -1

    def read(self, data: memoryview, path: str) -> EpisodeRecord:
        """Read frames up to the FOOTER or the first one that is missing or wrong."""
        offset = self.offset
        problem = ""
        while not problem and not (self.frames and self.frames[-1].kind is FrameType.FOOTER):
            found = scan(data, offset)
            if found.outcome is Outcome.FRAME:
                try:
                    self.take(found.payload)
                except DamagedRecording as error:
                    problem = f"damaged at byte {offset}: {error.message}"
                else:
                    offset = found.end
            elif found.outcome is Outcome.DAMAGED:
                problem = f"damaged at byte {offset}: {found.reason}"
            else:
                problem = f"truncated at byte {offset}"
        maps = {frame.kind: frame.fields[0] for frame in self.frames}
        header, info, verdict = (
            cast("dict[str, object] | None", maps.get(kind))
            for kind in (FrameType.HEADER, FrameType.INFO, FrameType.VERDICT)
        )
        return EpisodeRecord(
            header=header or {},
            info=info or {},
            verdict=verdict,
            frames=tuple(self.frames),
            complete=not problem,
            problem=problem,
            offset=self.offset,
            end=offset,
            digest=self.chain.hex(),
            path=path,
        )

    def take(self, payload: bytes) -> None:
        """Add the next frame.

        Raises:
            DamagedRecording: It is no frame, or it doesn't follow from the frames before it.
        """
        kind, fields = decode(payload)
        if (kind is FrameType.HEADER) is bool(self.frames):
            raise DamagedRecording(
                "a second HEADER before the FOOTER"
                if self.frames
                else f"an episode begins with HEADER, got {kind.name}"
            )
        if kind is FrameType.INPUT:
            self.take_input(cast("int", fields[0]))
        elif kind is FrameType.STEP:
            self.take_step(cast("int", fields[0]))
            self.rows += len(cast("list[object]", fields[2]))
        elif kind is FrameType.EVENTS:
            self.rows += len(cast("list[object]", fields[0]))
        elif kind is FrameType.FOOTER and fields != (self.steps, self.rows, self.chain):
            raise DamagedRecording(self.disagreement(fields))
        self.chain = advance(self.chain, payload, kind)
        self.frames.append(Frame(kind, payload, fields))

    def take_input(self, step: int) -> None:
        """Check the number of an INPUT: several may belong to one step until its STEP."""
        is_first = self.input_step < 0 and step <= 1
        is_next = self.input_step >= 0 and step == self.input_step + 1
        is_more = step == self.input_step and step != self.told_step
        if not (is_first or is_next or is_more):
            raise DamagedRecording(f"INPUT of step {step} after step {self.input_step}")
        self.input_step = step

    def take_step(self, step: int) -> None:
        """Check the number of a STEP: it answers the INPUT before it, once."""
        if step != self.input_step or step == self.told_step:
            raise DamagedRecording(f"STEP {step} without an INPUT of its own")
        self.told_step = step
        self.steps += 1

    def disagreement(self, fields: tuple[object, ...]) -> str:
        """Say what the FOOTER claims that the frames don't bear out."""
        steps, rows, chain = fields
        if steps != self.steps:
            return f"the FOOTER counts {steps} steps, the frames {self.steps}"
        if rows != self.rows:
            return f"the FOOTER counts {rows} rows, the frames {self.rows}"
        return f"the FOOTER's chain {cast('bytes', chain).hex()} is not {self.chain.hex()}"
