"""Writers of recordings: a log in memory for one episode, a file that grows for many."""

from __future__ import annotations

import contextlib
import errno
import os
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

from simharness.errors import RecordingError
from simharness.recording.format import (
    CHAIN_START,
    FRAME_BYTES_MAX,
    MAGIC,
    PART_SUFFIX,
    FrameType,
    advance,
    encode_frame,
    from_os_error,
    too_long,
)
from simharness.values import digest

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import TracebackType

    from simharness.recording.reader import EpisodeRecord

_BUFFER_BYTES_MAX: Final = 1024 * 1024
# Module names, because looking a member up in its class is most of the cost of comparing it.
_HEADER: Final = FrameType.HEADER
_INFO: Final = FrameType.INFO
_VERDICT: Final = FrameType.VERDICT
_FOOTER: Final = FrameType.FOOTER


class Sink(Protocol):
    """Whatever takes the frames of an episode: a log, a shard, a replay that compares them."""

    @property
    def chain(self) -> bytes:
        """The chain after the last frame."""
        ...

    @property
    def digest(self) -> str:
        """The chain in hex."""
        ...

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Take the next frame."""
        ...


class Payloads(Protocol):
    """An episode as its payloads: a `FrameLog`, or an `EpisodeRecord` that was read."""

    @property
    def payloads(self) -> Sequence[bytes]:
        """The payloads in order, HEADER first."""
        ...


class FrameLog:
    """Keep the frames of one episode in memory."""

    __slots__ = ("chain", "payloads")

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.chain: bytes = CHAIN_START
        """The chain after the last frame; a FOOTER carries it."""

    @property
    def digest(self) -> str:
        """The chain in hex: the episode's digest once its last frame is written."""
        return self.chain.hex()

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Append a frame.

        Raises:
            RecordingError: The payload is not of `kind`, is longer than a reader accepts, or is a
                FOOTER with another chain.
        """
        if not 2 <= len(payload) <= FRAME_BYTES_MAX or payload[1] != kind:
            raise _unfit(payload, kind)
        # `advance` spelt out: this runs for every frame of every episode.
        if kind is not _INFO and kind is not _VERDICT and kind is not _FOOTER:
            self.chain = digest(payload, self.chain)
        elif kind is _FOOTER:
            _check_footer(payload, self.chain)
        self.payloads.append(payload)

    def to_bytes(self) -> bytes:
        """Return the file that `save` would write."""
        return MAGIC + b"".join(map(encode_frame, self.payloads))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the episode to a file of its own, atomically; an older file there is replaced.

        An episode without a FOOTER is written as it is, and readers call it truncated.

        Raises:
            RecordingError: The file can't be written; whatever was at `path` is untouched.
        """
        target = Path(path)
        data = self.to_bytes()
        temporary = Path(f"{target}.{os.getpid()}.tmp")
        try:
            with _removed_on_failure(temporary):
                with open(temporary, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, target)
            _sync_folder(target.parent)
        except (OSError, ValueError) as error:
            raise from_os_error("write", path, error) from error


class ShardWriter:
    """Write many episodes to one file that is whole only when sealed.

    Frames go to `path` + ".part". Each FOOTER hands them to the system, so that a killed process
    loses at most the episode under way; sealing also forces them to the disk and gives the file
    its name. As a context manager it seals on a clean exit and keeps the part on an exception.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        after: EpisodeRecord | None = None,
    ) -> None:
        """Open the part.

        Args:
            path: The name of the sealed file.
            overwrite: Replace a sealed file and the part of an earlier writer. Without it both
                are refused: a part may hold episodes that nobody can produce again.
            after: Go on with the part of an earlier writer behind this episode, which was read from
                it. What stands behind its last intact frame is cut off; without a FOOTER the
                episode is under way again.

        Raises:
            RecordingError: There is something at the path, or it can't be written.
        """
        self.path: Final = Path(path)
        self.part: Final = Path(f"{self.path}{PART_SUFFIX}")
        self.chain: bytes = CHAIN_START
        """The chain of the episode under way or just ended."""
        self.episodes: int = 0
        """How many episodes have their FOOTER."""
        self._overwrite = overwrite
        self._inside = False
        # Where in the file the bytes belong that wait for it, and the bytes. One attribute, so that
        # Ctrl-C during a write can't part them: the next write then repeats it in the same place.
        self._waiting = (0, bytearray(MAGIC))
        self._state = "open"
        self._refuse_to_overwrite()
        try:
            self._file = FileIO(self.part, "r+" if after else "w" if overwrite else "x")
            if after is not None:
                self._go_on(after)
        except FileExistsError as error:
            raise RecordingError(
                f"unfinished recording in the way: {str(self.part)!r} exists",
                "another process may be writing it; if none is, read what it holds, then pass "
                "overwrite=True",
            ) from error
        except (OSError, ValueError) as error:
            raise from_os_error("write", self.part, error) from error
        self.flush()

    def _go_on(self, after: EpisodeRecord) -> None:
        self._file.truncate(after.end)
        self._waiting = (after.end, bytearray())
        self.chain = bytes.fromhex(after.digest)
        self._inside = not after.complete

    @property
    def digest(self) -> str:
        """The digest in hex of the episode under way or just ended."""
        return self.chain.hex()

    @property
    def inside(self) -> bool:
        """Whether an episode is under way."""
        return self._inside

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Append a frame.

        Raises:
            RecordingError: The frame is unfit or out of place, or the file can't be written.
        """
        self._require_open()
        if not 2 <= len(payload) <= FRAME_BYTES_MAX or payload[1] != kind:
            raise _unfit(payload, kind)
        if (kind is _HEADER) is self._inside:
            where = "inside an episode" if self._inside else "outside an episode"
            raise RecordingError(
                f"frame out of place: got {kind.name} {where} ({str(self.part)!r})",
                "an episode is HEADER ... FOOTER, and episodes follow one another",
            )
        if kind is _FOOTER:
            _check_footer(payload, self.chain)
        chain = advance(CHAIN_START if kind is _HEADER else self.chain, payload, kind)
        buffer = self._waiting[1]
        buffer += encode_frame(payload)
        self.chain = chain
        self._inside = kind is not _FOOTER
        if kind is _FOOTER:
            self.episodes += 1
            self.flush()
        elif len(buffer) >= _BUFFER_BYTES_MAX:
            self.flush()

    def append(self, log: Payloads) -> None:
        """Append a whole episode.

        Raises:
            RecordingError: The episode is not HEADER ... FOOTER, which would cost the shard every
                episode after it, or the file can't be written.
        """
        kinds = [payload[1] if len(payload) > 1 else 0 for payload in log.payloads]
        ends = kinds[:1] + kinds[-1:]
        inner = kinds[1:-1]
        if ends != [_HEADER, _FOOTER] or not all(_HEADER < kind < _FOOTER for kind in inner):
            raise RecordingError(
                f"not a whole episode: it isn't HEADER ... FOOTER ({str(self.part)!r})",
                "write its FOOTER first, or save the log to a file of its own",
            )
        for payload in log.payloads:
            self.write(payload, FrameType(payload[1]))

    def flush(self) -> None:
        """Hand every frame so far to the system.

        Raises:
            RecordingError: The system refuses; the writer is then closed, and the frames that were
                written stay readable in the part.
        """
        self._require_open()
        try:
            self._drain()
        except OSError as error:
            self._close("failed")
            raise self._failure(error) from error

    def seal(self) -> None:
        """Force the frames to the disk and give the file its name.

        Raises:
            RecordingError: An episode is under way, a sealed file appeared meanwhile, or the
                system refuses; the part is kept.
        """
        self._require_open()
        if self._inside:
            raise RecordingError(
                f"can't seal {str(self.path)!r}: the last episode has no FOOTER",
                f"write it, or close the writer and read {str(self.part)!r}",
            )
        try:
            self._drain()
            os.fsync(self._file.fileno())
            self._refuse_to_overwrite()
            self._close("sealed")
            os.replace(self.part, self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            self._close("failed")
            raise self._failure(error) from error

    def close(self) -> None:
        """Keep the part with every frame written to it; do nothing if sealed or closed already."""
        if self._state == "open":
            self.flush()
            self._close("closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            # What went wrong first is what the caller has to hear about.
            with contextlib.suppress(RecordingError):
                self.close()
            return
        if self._state == "open":
            try:
                self.seal()
            except RecordingError:
                self.close()
                raise

    def _drain(self) -> None:
        offset, buffer = self._waiting
        with memoryview(buffer) as view:
            self._file.seek(offset)
            done = 0
            while done < len(view):
                done += self._file.write(view[done:])
        self._waiting = (offset + done, bytearray())

    def _close(self, state: str) -> None:
        was_open = self._state == "open"
        self._state = state
        if was_open:
            # A failing close tells nothing that fsync hasn't told already.
            with contextlib.suppress(OSError):
                self._file.close()

    def _require_open(self) -> None:
        if self._state != "open":
            raise RecordingError(
                f"shard writer is {self._state}: {str(self.path)!r}",
                "open another one, with another path",
            )

    def _refuse_to_overwrite(self) -> None:
        if os.path.isdir(self.path):
            raise from_os_error("write", self.path, IsADirectoryError(errno.EISDIR, ""))
        if not self._overwrite and os.path.lexists(self.path):
            raise RecordingError(
                f"recording exists: {str(self.path)!r}",
                "choose another path, or pass overwrite=True",
            )

    def _failure(self, error: OSError) -> RecordingError:
        # The rename may have happened already, and only the last fsync failed.
        place = self.part if os.path.lexists(self.part) else self.path
        note = f"the intact episodes so far can be read from {str(place)!r}"
        return from_os_error("write", self.path, error, note)


def _unfit(payload: bytes, kind: FrameType) -> RecordingError:
    if len(payload) > FRAME_BYTES_MAX:
        return too_long(payload)
    return RecordingError(
        f"payload is not a {kind.name} frame: got {payload[:2].hex()!r}, expected an array of "
        f"at most 15 elements that begins with {int(kind)}"
    )


def _check_footer(payload: bytes, chain: bytes) -> None:
    if not payload.endswith(chain):
        raise RecordingError(
            f"the FOOTER's chain is not that of the frames: got {payload[-16:].hex()!r}, expected "
            f"{chain.hex()!r}",
            "write footer_payload(steps, rows, sink.chain) after the last frame",
        )


@contextlib.contextmanager
def _removed_on_failure(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            os.unlink(path)
        raise


def _sync_folder(folder: Path) -> None:
    """Force a rename to the disk; systems without folder handles do so themselves."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
