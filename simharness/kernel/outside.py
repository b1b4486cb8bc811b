"""What a world asks of something outside of it, such as a sandbox, and the answers that it got.

An answer is an input of the episode: it is recorded, and a replay takes it from the recording and
asks nobody. Whoever answers has to be a function of the request: an episode asks the same thing
once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.errors import SandboxFailed
from simharness.values import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


GIVEN = b"\x00"
FAILED = b"\x01"
"""First byte of an answer: what was given, or why nothing could be."""


class Answered(NamedTuple):
    """One answer from outside."""

    key: bytes
    """Digest of who was asked and of the request, 16 bytes."""
    answer: bytes
    """GIVEN and what was given, or FAILED and a sentence."""


class Outside:
    """The answers of one world."""

    __slots__ = ("_known", "_used", "answers", "note")

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._used: dict[bytes, None] = {}
        self.answers: list[Answered] = []
        """Answers that this world has used, each once, in the order of asking."""
        self.note: Callable[[Answered], None] | None = None
        """Called with an answer before anything comes of it."""

    def learn(self, answers: Iterable[Answered]) -> None:
        """Know answers beforehand, such as those of a recording."""
        self._known.update(answers)

    def ask(self, whom: str, request: bytes, answer: Callable[[], bytes]) -> bytes:
        """Give the answer to a request: a known one, or what `answer` gives.

        Raises SandboxFailed where `answer` does, and where the recording says that it did.
        """
        key = digest(request, digest(whom.encode()))
        found = self._known.get(key)
        if found is None:
            try:
                found = GIVEN + answer()
            except SandboxFailed as error:
                found = FAILED + error.message.encode()
            self._known[key] = found
        if key not in self._used:
            self._used[key] = None
            answered = Answered(key, found)
            self.answers.append(answered)
            if self.note is not None:
                self.note(answered)
        if found[:1] == FAILED:
            raise SandboxFailed(found[1:].decode("utf-8", "replace"), "run the episode again")
        return found[1:]
