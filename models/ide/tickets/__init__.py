"""Tickets by families: repositories with a bug, drawn by a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.csv_rows import csv_rows
from simharness.models.ide.tickets.date_ranges import date_ranges
from simharness.models.ide.tickets.discounts import discounts
from simharness.models.ide.tickets.draw import Draw
from simharness.models.ide.tickets.intervals import intervals
from simharness.models.ide.tickets.inventory import inventory
from simharness.models.ide.tickets.lru_cache import lru_cache
from simharness.models.ide.tickets.money import money
from simharness.models.ide.tickets.pagination import pagination
from simharness.models.ide.tickets.parser import parser
from simharness.models.ide.tickets.shipping import shipping
from simharness.models.ide.tickets.tax import tax
from simharness.models.ide.tickets.ticket import Contradiction, Flaky, Probe, Ticket
from simharness.models.ide.tickets.units import units

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAMILIES: Mapping[str, Callable[[Draw], Ticket]] = {
    "shipping": shipping,
    "tax": tax,
    "date_ranges": date_ranges,
    "pagination": pagination,
    "discounts": discounts,
    "inventory": inventory,
    "units": units,
    "parser": parser,
    "lru_cache": lru_cache,
    "intervals": intervals,
    "money": money,
    "csv_rows": csv_rows,
}
"""How a ticket of each family is drawn."""


def draw_ticket(family: str, seed: int) -> Ticket:
    """Draw the ticket of a family that a seed means; raises KeyError for an unknown family."""
    return FAMILIES[family](Draw(seed, family))


__all__ = [
    "FAMILIES",
    "Contradiction",
    "Draw",
    "Flaky",
    "Probe",
    "Ticket",
    "draw_ticket",
]
