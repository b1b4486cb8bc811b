"""How those who act by themselves get it done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, SECOND, Actor, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.models.marketplace.product import Marketplace

TRIES = 12
PAUSE = 5 * SECOND
AGAIN = ("locked", "rate_limited", "unavailable")
"""Refusals after which it is worth the same again."""


def later(
    market: Marketplace,
    who: str,
    identity: int,
    ms: int,
    act: Callable[[Actor], Generator[Any, Any, Any]],
) -> None:
    """Let somebody act some milliseconds from now; whoever is refused for good lets it be."""
    world = market.world
    actor = Actor(world, who, identity)

    def live() -> Generator[Any, Any, None]:
        yield world.timer(ms * MS)
        for _ in range(TRIES):
            try:
                yield from act(actor)
            except Refused as refusal:
                if refusal.code not in AGAIN:
                    return
                yield world.pause(PAUSE)
            else:
                return

    world.spawn(who, live())
