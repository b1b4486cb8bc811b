"""How those who work by themselves get their writes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Operation, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.api import World

TRIES = 12
PAUSE = 5 * SECOND


def insist(
    world: World, name: str, identity: int, act: Callable[[Operation], Generator[Any, Any, None]]
) -> Generator[Any, Any, None]:
    """Act, and when it is refused (a row that is locked or was changed) act again a little later.

    Whoever is refused `TRIES` times gives up.
    """
    actor = Actor(world, name, identity)
    for n in range(1, TRIES + 1):
        try:
            yield from act(Operation(world, actor, n))
        except Refused:
            yield world.pause(PAUSE)
        else:
            return
