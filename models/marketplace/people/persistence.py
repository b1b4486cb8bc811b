"""How those who act by themselves get it done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS
from simharness.api import later as act_later

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.api import Actor
    from simharness.models.marketplace.product import Marketplace


def later(
    market: Marketplace,
    who: str,
    identity: int,
    ms: int,
    act: Callable[[Actor], Generator[Any, Any, Any]],
) -> None:
    """Let somebody act some milliseconds from now; whoever is refused for good lets it be."""
    act_later(market.world, who, identity, ms * MS, act)
