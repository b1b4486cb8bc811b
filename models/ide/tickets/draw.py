"""Draws of one ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from simharness.api import Draws, Stream, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Draw:
    """Draws by what they are for; whoever asks again for the same gets the next draw of it.

    So a draw that is added for another purpose shifts none of these.
    """

    __slots__ = ("_asked", "_stream")

    def __init__(self, seed: int, family: str) -> None:
        self._stream = Stream(Draws(seed), f"ticket/{family}", 0)
        self._asked: dict[str, int] = {}

    def below(self, purpose: str, bound: int) -> int:
        """Draw `0 .. bound - 1`."""
        k = self._asked.get(purpose, 0)
        self._asked[purpose] = k + 1
        return self._stream.below(bound, f"ticket/{purpose}", k)

    def between(self, purpose: str, low: int, high: int) -> int:
        """Draw `low .. high`, both ends included."""
        return low + self.below(purpose, high - low + 1)

    def percent(self, purpose: str, share: int) -> bool:
        """Be true in `share` of a hundred draws."""
        return self.below(purpose, 100) < share

    def pick(self, purpose: str, options: Sequence[T]) -> T:
        """Draw one of some options, each as likely."""
        return options[self.below(purpose, len(options))]

    def some(self, purpose: str, options: Sequence[T], count: int) -> list[T]:
        """Draw `count` different ones of some options, in drawn order.

        Raises UsageError where there aren't as many.
        """
        if count > len(options):
            raise UsageError(f"{count} of {len(options)} options of draw {purpose!r}")
        left = list(options)
        return [left.pop(self.below(purpose, len(left))) for _ in range(count)]

    def shuffled(self, purpose: str, items: Sequence[T]) -> list[T]:
        """Give the items in a drawn order."""
        return self.some(purpose, items, len(items))
