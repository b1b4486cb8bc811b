"""What the guest tells the host: events, in the order in which they happen."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 8192
"""Bytes of output that are held back before they are sent on."""

STDOUT, STDERR = 1, 2
OUTPUT = {STDOUT: "stdout", STDERR: "stderr"}


class Report:
    """The way out: JSON arrays `[kind, ...]`, one a call of the host's `emit`."""

    def __init__(self) -> None:
        # Bound before anybody can patch `json`.
        self._encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
        self._send: Callable[[str], None] = lambda event: None
        self._held: list[tuple[int, bytes]] = []
        self._size = 0

    def begin(self, send: Callable[[str], None]) -> None:
        """Send events by `send` from now on."""
        self._send = send

    def event(self, *parts: Any) -> None:
        """Tell of something, after all output that came before it."""
        self.flush()
        self._send(self._encode(parts))

    def output(self, stream: int, data: bytes) -> None:
        """Hold output back until there is a chunk of it, or an event."""
        self._held.append((stream, data))
        self._size += len(data)
        if self._size >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Send what was held back; neighbours of one stream are joined."""
        held, self._held, self._size = self._held, [], 0
        at = 0
        while at < len(held):
            stream, joined = held[at][0], []
            while at < len(held) and held[at][0] == stream:
                joined.append(held[at][1])
                at += 1
            text = b"".join(joined).decode("utf-8", "surrogateescape")
            self._send(self._encode([OUTPUT[stream], text]))


class Stream(io.RawIOBase):
    """Standard output or standard error as a raw file."""

    def __init__(self, report: Report, number: int) -> None:
        super().__init__()
        self._report = report
        self._number = number
        self.name = f"<{OUTPUT[number]}>"
        self.mode = "wb"

    def writable(self) -> bool:
        """Say that one can write to it."""
        return True

    def fileno(self) -> int:
        """Give its descriptor."""
        return self._number

    def write(self, data: Any) -> int:
        """Write bytes."""
        found = bytes(data)
        self._report.output(self._number, found)
        return len(found)


def text_stream(raw: io.RawIOBase) -> io.TextIOWrapper:
    """Give a text file that hands on all that is written, so that the two streams keep order."""
    errors = "backslashreplace" if raw.fileno() == STDERR else "surrogateescape"
    buffered = io.BufferedWriter(raw, 1)
    text: Any = io.TextIOWrapper(buffered, encoding="utf-8", errors=errors, write_through=True)
    text.mode = "w"
    return text  # type: ignore[no-any-return]
