"""What came of the tries of blocks: which are played again, from where, and what is given up.

Whoever loses workers needs it, whether they are processes of this machine or of others.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simharness.errors import HarnessError
from simharness.rollout.broken import HUNG, LOST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.rollout.block import Block
    from simharness.rollout.line import Line

TRIES = 3
"""Workers that an episode may lose before it is taken to be the cause."""
STARTS = 8
"""Workers that may be lost one after the other while none of them plays."""
PATIENCE = 600
"""Seconds of real time after which an episode is taken to hang, and its worker is ended."""
GRACE = 3
"""Seconds of real time that workers are given to finish when a run has to stop soon."""


@dataclass(slots=True)
class Tries:
    """What became of the tries of a block."""

    told: int = 0
    lost: dict[int, int] = field(default_factory=dict[int, int])
    """Place of an episode to the workers that it has lost."""
    broken: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])


class Retries:
    """Gives out blocks, with what earlier tries have left of them."""

    def __init__(self) -> None:
        self._again: deque[Block] = deque()
        self._tries: dict[int, Tries] = {}
        self._idle_losses = 0

    @property
    def waiting(self) -> bool:
        """Whether a block waits to be played again."""
        return bool(self._again)

    def take(self, source: Iterator[Block]) -> Block | None:
        """Give a block that has lost its worker, else the next one; None when there is no more."""
        block = self._again.popleft() if self._again else next(source, None)
        if block is None:
            return None
        tries = self._tries.setdefault(block.number, Tries(told=block.told))
        return replace(
            block,
            told=tries.told,
            careful=tuple(tries.lost),
            broken=tuple((place, *why) for place, why in tries.broken.items()),
        )

    def tell(self, block: Block, line: Line) -> bool:
        """Note that an episode is recorded; gives whether it hadn't been told of before.

        A machine that is lost may take with it what was told of and not yet on the shared disk; it
        is played again then, to the same bytes.
        """
        self._idle_losses = 0
        tries = self._tries[block.number]
        if line["place"] < tries.told:
            return False
        tries.told += 1
        return True

    def seal(self, block: Block) -> None:
        """Note that a block is done."""
        del self._tries[block.number]

    def lose(self, block: Block, place: int | None, cause: str, hung: float = 0) -> None:
        """Note the loss of a worker: its block is played again, or one of its episodes given up.

        `place` is of the episode that was under way, if one was, and `hung` for how many seconds,
        if that is why the worker was ended. Raises HarnessError where no worker lives for long.
        """
        self._again.append(block)
        if place is None:
            self.lose_idle(cause)
            return
        tries = self._tries[block.number]
        lost = tries.lost[place] = tries.lost.get(place, 0) + 1
        if hung:
            why = f"the episode had not ended after {hung:g} s of real time"
            tries.broken[place] = HUNG, why
        elif lost >= TRIES:
            tries.broken[place] = LOST, f"{lost} workers were lost in this episode: {cause}"

    def lose_idle(self, cause: str) -> None:
        """Note the loss of a worker that did not play. Raises HarnessError; see `lose`."""
        self._idle_losses += 1
        if self._idle_losses >= STARTS:
            raise HarnessError(
                f"{STARTS} workers in a row were lost before they played: {cause}",
                "run it with --engine local --workers 0 to see what happens",
            )
