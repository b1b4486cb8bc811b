"""What plays the blocks of a run: one interface, whether in this process, in others, on others.

An engine is given blocks and tells what comes of them. It may play a block more than once, and a
block that was begun before goes on where it stopped, so that at least once is often enough. It
never keeps to itself that an episode broke: that is recorded, and told in the episode's line.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from simharness.rollout.block import Player

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from simharness.rollout.block import Block
    from simharness.rollout.line import Line
    from simharness.rollout.request import Request


@dataclass(frozen=True, slots=True)
class Played:
    """An episode is recorded; whoever reads the shard's part finds it."""

    line: Line


@dataclass(frozen=True, slots=True)
class Sealed:
    """A block is done and its shard has its name."""

    block: int


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker was lost; its block is played on."""

    block: int
    cause: str


Event = Played | Sealed | Lost


class Engine(Protocol):
    """Plays blocks."""

    def play(self, blocks: Iterable[Block]) -> Generator[Event | None]:
        """Play blocks and tell what happens, None now and then where nothing does.

        Asks for a block when there is somebody to play it, so `blocks` may go on for long. When
        `stop` was called, episodes under way are finished and the rest is left. Raises
        RecordingError when shards can't be written, HarnessError when workers can't be kept alive.
        """
        ...

    def stop(self, *, soon: bool = False) -> None:
        """Let the episodes under way be the last; may be called from a handler of signals.

        With `soon` they are given some seconds and no more.
        """
        ...

    def kill(self) -> None:
        """End at once; what was told of stays."""
        ...


class Local:
    """Plays in this process, one block after the other."""

    def __init__(self, request: Request, folder: Path) -> None:
        self._player = Player(request, folder)
        self._stopped = False

    def play(self, blocks: Iterable[Block]) -> Generator[Event | None]:
        """Play blocks; see `Engine`."""
        for block in blocks:
            # Closed at once, whatever happens, so that another engine may take the shard up.
            with closing(self._player.play(block, lambda: self._stopped)) as play:
                while True:
                    try:
                        told = next(play)
                    except StopIteration as end:
                        if end.value:
                            yield Sealed(block.number)
                        break
                    if not isinstance(told, int):
                        yield Played(told)
            if self._stopped:
                return

    def stop(self, *, soon: bool = False) -> None:
        """Stop behind the episode under way; see `Engine`.

        Raises KeyboardInterrupt with `soon`: nobody else is there who could break an episode off.
        """
        self._stopped = True
        if soon:
            raise KeyboardInterrupt

    def kill(self) -> None:
        """Do nothing: nothing goes on when nobody asks."""
