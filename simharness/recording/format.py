"""The bytes of a recording: the frame, its checks, the fields of each frame type and the chain.

`scan` is the only place that checks lengths and sums, `decode` the only place that checks fields.
`docs/recording.md` describes the same format for readers in other languages.
"""

from __future__ import annotations

import errno
import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, cast

from simharness.errors import DamagedRecording, RecordingError
from simharness.values import digest, pack, unpack

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

FORMAT: Final = 1
MAGIC: Final = b"SIMREC" + bytes([FORMAT]) + b"\n"
FRAME_BYTES_MAX: Final = 64 * 1024 * 1024
FILE_BYTES_MAX: Final = 1024 * 1024 * 1024
CHAIN_START: Final = bytes(16)
PART_SUFFIX: Final = ".part"

_WORD: Final = struct.Struct("<I")
_PREFIX: Final = struct.Struct("<III")


class FrameType(IntEnum):
    """The first element of every payload; the numbers are part of the format."""

    HEADER = 1
    INFO = 2
    INPUT = 3
    DECISION = 4
    EVENTS = 5
    CHECKPOINT = 6
    STEP = 7
    VERDICT = 8
    FOOTER = 9


# A machine, a taxonomy and the chain itself may differ between two runs that are the same episode.
OUTSIDE_CHAIN: Final = (FrameType.INFO, FrameType.VERDICT, FrameType.FOOTER)


def encode_frame(payload: bytes) -> bytes:
    """Return the bytes that stand in a file for one payload.

    Raises:
        RecordingError: The payload is longer than `FRAME_BYTES_MAX`.
    """
    if len(payload) > FRAME_BYTES_MAX:
        raise too_long(payload)
    length = _WORD.pack(len(payload))
    return length + _WORD.pack(zlib.crc32(length)) + _WORD.pack(zlib.crc32(payload)) + payload


def too_long(payload: bytes) -> RecordingError:
    """Build the error for a payload that no reader would accept."""
    return RecordingError(
        f"frame too long: got {len(payload)} bytes, expected at most {FRAME_BYTES_MAX}",
        "write the rows of a long step as several EVENTS frames",
    )


def advance(chain: bytes, payload: bytes, kind: FrameType) -> bytes:
    """Return the chain after one more frame: blake2b-128 of the chain so far and the payload."""
    return chain if kind in OUTSIDE_CHAIN else digest(payload, chain)


def footer_payload(steps: int, rows: int, chain: bytes) -> bytes:
    """Return the payload that ends an episode.

    Args:
        steps: How many STEP frames the episode has.
        rows: How many rows its EVENTS and STEP frames have together.
        chain: The chain after its last frame, 16 bytes.
    """
    return pack([int(FrameType.FOOTER), steps, rows, chain])


class Outcome(StrEnum):
    """What stands at one offset of a file."""

    FRAME = "frame"
    END = "end"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Scan:
    """What `scan` found."""

    outcome: Outcome
    offset: int
    """Where the frame begins: every byte before it belongs to an intact frame."""
    end: int
    """Where the next frame begins; equal to `offset` unless the outcome is FRAME."""
    payload: bytes = b""
    reason: str = ""
    """Which check failed, when the outcome is DAMAGED."""


def scan(data: memoryview | bytes, offset: int) -> Scan:
    """Check the frame at `offset` and return its payload, or say why there is none.

    The length carries its own sum, so a flipped length is DAMAGED and a length that reaches past
    the end of `data` is really TRUNCATED. A short prefix is checked as far as it goes.
    """
    left = len(data) - offset
    if left <= 0:
        return Scan(Outcome.END, offset, offset)
    if left >= 8:
        length_bytes = bytes(data[offset : offset + 4])
        (length,) = _WORD.unpack(length_bytes)
        (length_sum,) = _WORD.unpack(data[offset + 4 : offset + 8])
        if zlib.crc32(length_bytes) != length_sum:
            return _damaged(offset, "the checksum of the frame length doesn't match")
        if length > FRAME_BYTES_MAX:
            return _damaged(offset, f"frame length {length} is over {FRAME_BYTES_MAX}")
        if left >= _PREFIX.size + length:
            start = offset + _PREFIX.size
            payload = bytes(data[start : start + length])
            (payload_sum,) = _WORD.unpack(data[offset + 8 : start])
            if zlib.crc32(payload) != payload_sum:
                return _damaged(offset, "the checksum of the frame doesn't match")
            return Scan(Outcome.FRAME, offset, start + length, payload)
    return Scan(Outcome.TRUNCATED, offset, offset)


def _damaged(offset: int, reason: str) -> Scan:
    return Scan(Outcome.DAMAGED, offset, offset, b"", reason)


def decode(payload: bytes) -> tuple[FrameType, tuple[object, ...]]:
    """Return the type of a payload and its fields after the type, all checked.

    Raises:
        DamagedRecording: The payload is not a frame of this format.
    """
    value = unpack(payload)
    items = cast("list[object]", value) if isinstance(value, list) else []
    if not items:
        raise DamagedRecording("not a frame: expected an array [type, ...]")
    head, *fields = items
    if type(head) is not int or not FrameType.HEADER <= head <= FrameType.FOOTER:
        raise DamagedRecording(f"unknown frame type: got {_short(head)}, expected 1 to 9")
    kind = FrameType(head)
    rules = _FIELDS[kind]
    if len(fields) != len(rules):
        raise DamagedRecording(
            f"wrong number of {kind.name} fields: got {len(fields)}, expected {len(rules)}"
        )
    for field, (name, (is_valid, expected)) in zip(fields, rules, strict=True):
        if not is_valid(field):
            raise DamagedRecording(
                f"wrong {kind.name} field {name!r}: got {_short(field)}, expected {expected}"
            )
    return kind, tuple(fields)


def _short(value: object) -> str:
    """Name a value from an untrusted file without printing all of it."""
    if isinstance(value, int) or value is None:
        return repr(value)
    return type(value).__name__


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_map(value: object) -> bool:
    # Keys are text already: `unpack` takes no others.
    return isinstance(value, dict)


def _is_map_of_text(value: object) -> bool:
    return _is_map(value) and all(
        isinstance(item, str) for item in cast("dict[str, object]", value).values()
    )


def _is_map_of_counts(value: object) -> bool:
    return _is_map(value) and all(
        _is_count(item) for item in cast("dict[str, object]", value).values()
    )


def _is_rows(value: object) -> bool:
    return _is_list(value) and all(_is_row(row) for row in cast("list[object]", value))


def _is_row(value: object) -> bool:
    if not isinstance(value, list):
        return False
    row = cast("list[object]", value)
    return len(row) >= 2 and type(row[0]) in (int, str) and type(row[1]) is int


_Rule = tuple["Callable[[object], bool]", str]
_COUNT: Final[_Rule] = (_is_count, "a whole number from 0")
_LIST: Final[_Rule] = (_is_list, "an array")
_MAP: Final[_Rule] = (_is_map, "a map with text keys")
_ROWS: Final[_Rule] = (_is_rows, "an array of rows [kind, dt, ...]")
_TEXT: Final[_Rule] = (lambda value: isinstance(value, str), "text")
_CALLS: Final[_Rule] = (
    lambda value: isinstance(value, (str, bytes, list)),
    "an array, text or bytes",
)
_REWARD: Final[_Rule] = (
    lambda value: value is None or type(value) in (int, str),
    "an int, text or nil",
)
_FLAGS: Final[_Rule] = (
    lambda value: _is_count(value) or _is_list(value) or _is_map(value),
    "a whole number from 0, an array or a map",
)
_CHAIN: Final[_Rule] = (
    lambda value: isinstance(value, bytes) and len(value) == len(CHAIN_START),
    "16 bytes",
)

_FIELDS: Final[dict[FrameType, tuple[tuple[str, _Rule], ...]]] = {
    FrameType.HEADER: (("header", _MAP),),
    FrameType.INFO: (("info", _MAP),),
    FrameType.INPUT: (("step", _COUNT), ("t", _COUNT), ("kind", _TEXT), ("calls_or_text", _CALLS)),
    FrameType.DECISION: (("decision", _LIST),),
    FrameType.EVENTS: (("rows", _ROWS),),
    FrameType.CHECKPOINT: (
        ("rows_so_far", _COUNT),
        ("t", _COUNT),
        ("tables", (_is_map_of_text, "a map of text to text")),
        ("draws", (_is_map_of_counts, "a map of text to whole numbers from 0")),
    ),
    FrameType.STEP: (
        ("step", _COUNT),
        ("t", _COUNT),
        ("rows", _ROWS),
        ("results", _LIST),
        ("reward", _REWARD),
        ("flags", _FLAGS),
    ),
    FrameType.VERDICT: (("verdict", _MAP),),
    FrameType.FOOTER: (("steps", _COUNT), ("rows", _COUNT), ("chain", _CHAIN)),
}


_REASONS: Final[dict[int, tuple[str, str]]] = {
    errno.ENOSPC: ("the disk is full", "free some space or choose a folder on another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or choose another folder"),
    errno.EACCES: ("permission denied", "change its permissions or choose another path"),
    errno.EPERM: ("operation not permitted", "change its permissions or choose another path"),
    errno.EROFS: ("the file system is read-only", "choose another folder"),
    errno.ENOENT: ("no such file or folder", "check the path, or create its folder first"),
    errno.ENOTDIR: ("a part of the path is not a folder", "check the path"),
    errno.EISDIR: ("it is a folder", "name a file inside it"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
    errno.EIO: ("the device failed", "check the disk, then try another one"),
    errno.EFBIG: ("the file would be too large", "write fewer episodes to a file"),
    errno.EMFILE: ("too many open files", "close some, or raise the limit: ulimit -n"),
}


def from_os_error(
    doing: str, path: str | os.PathLike[str], error: OSError | ValueError, note: str = ""
) -> RecordingError:
    """Build the error that says what failed, on which path, why and what to do.

    Args:
        doing: The verb, such as "write" or "read".
        path: The file in question.
        error: What the system said; Python calls a zero byte in a path a ValueError.
        note: What is still there, appended to the hint.
    """
    if isinstance(error, ValueError):
        reason, fix = "there is a zero byte in it", "check the path"
    else:
        said = (error.strerror or "unknown reason").lower()
        reason, fix = _REASONS.get(error.errno or 0, (said, "check the path"))
    hint = f"{fix}; {note}" if note else fix
    return RecordingError(f"can't {doing} {str(path)!r}: {reason}", hint)
