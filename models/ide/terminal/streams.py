"""What commands read and print: texts, bounded so that no command fills the machine."""

from __future__ import annotations

from typing import NamedTuple

STREAM_MAX = 4_000_000
"""Most characters that one command may print."""


class TooMuch(Exception):  # noqa: N818  (the caller's, not ours)
    """A command has printed more than it may."""


class Stream:
    """What a command prints, in the order of printing."""

    __slots__ = ("_parts", "size")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.size = 0
        """Characters so far."""

    def write(self, text: str) -> None:
        """Print a text. Raises TooMuch."""
        self.size += len(text)
        if self.size > STREAM_MAX:
            raise TooMuch
        self._parts.append(text)

    @property
    def text(self) -> str:
        """All that was printed."""
        return "".join(self._parts)


class Streams(NamedTuple):
    """Where a command reads and prints."""

    stdin: str
    out: Stream
    err: Stream
    from_file: bool = False
    """Whether what it reads comes straight from a file."""


class Leave(Exception):  # noqa: N818  (`exit` of the shell)
    """The shell was told to exit."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
