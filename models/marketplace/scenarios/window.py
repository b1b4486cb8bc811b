"""The few hours of one day from which a task lets slots be chosen, and who has slots then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, HOUR
from simharness.models.marketplace.base import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = 5
"""Slots of a provider within the window, an hour apart; there is one more before and one after."""


def window_of(story: Any) -> tuple[int, int]:
    """Give the first instant of the window, and the one after it."""
    first = on_day(story["day"], story["hour"])
    return first, first + TIMES * HOUR


def on_day(day: int, hour: int) -> int:
    """Give the instant of an hour (UTC), so many days after the start."""
    return EPOCH - EPOCH % DAY + day * DAY + hour * HOUR


def title_of(titles: Sequence[str], story: Any, seat: int) -> str:
    """Give the title of the provider in a seat; an instance draws which title comes first."""
    first: int = story["titles"]
    return titles[(first + seat) % len(titles)]


def seats_of(story: Any, named: int) -> list[int]:
    """Give the seats of the named providers, and among them of one more, that isn't named.

    It is among the others so that ids tell nothing.
    """
    seats = [*range(named)]
    seats.insert(story["seat"], named)
    return seats


def sold_at_first(capacity: int, quantity: int, spread: int, *, free: bool) -> int:
    """Give how many places are sold, so that enough or not enough are left; `spread` is 0 to 2."""
    if free:
        return min(spread, capacity - quantity)
    return capacity - (quantity - 1 if spread else 0)
