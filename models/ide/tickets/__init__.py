"""Tickets by families: repositories with a bug, drawn by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.draw import Draw
from simharness.models.ide.tickets.shipping import shipping
from simharness.models.ide.tickets.ticket import Contradiction, Flaky, Probe, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAMILIES: Mapping[str, Callable[[Draw], Ticket]] = {
    "shipping": shipping,
}
"""How a ticket of each family is drawn."""


def draw_ticket(family: str, seed: int) -> Ticket:
    """Draw the ticket of a family that a seed means; raises KeyError for an unknown family."""
    return FAMILIES[family](Draw(seed, family))


__all__ = ["FAMILIES", "Contradiction", "Draw", "Flaky", "Probe", "Ticket", "draw_ticket"]
