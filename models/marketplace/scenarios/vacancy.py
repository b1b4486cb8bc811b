"""When a slot could have been booked by a customer, from the rows that were committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.models.marketplace.product import Marketplace

FRESH = 60 * SECOND
"""A slot that has come free may be overlooked for so long: to look, to think and to act takes time,
and searches lag."""
CHANCE = 600 * SECOND
"""Whoever leaves a slot alone for so long while it is free could have had it."""


class Vacancy(NamedTuple):
    """Whether a slot could be booked, from one commit on."""

    order: int
    t: int
    open: bool
    """Enough places are free, or held by the customer."""
    hopeless: bool
    """It would be full or blocked even if nobody held anything."""


def vacancies(
    market: Marketplace, slot_id: int, quantity: int, customer_id: int
) -> Iterator[Vacancy]:
    """Give how a slot was from the start, and after each commit that concerns it."""
    slots, holds = market.slots.table, market.holds.table
    own = [key for key, row in holds.rows.items() if concerns(row, slot_id, customer_id)]
    changes = [*slots.history.get(slot_id, ())]
    for key in own:
        changes += holds.history.get(key, ())
    orders = {0: 0} | {change.order: change.t for change in changes}
    for order in sorted(orders):
        slot = slots.row_at(slot_id, order)
        if slot is None:
            continue
        rows = [row for key in own if (row := holds.row_at(key, order)) is not None]
        kept = sum(row.quantity for row in rows if row.status == "active")
        free = slot.capacity - slot.taken + kept
        yield Vacancy(
            order,
            orders[order],
            not slot.blocked and free >= quantity,
            slot.blocked or free + slot.held - kept < quantity,
        )


def concerns(row: object, slot_id: int, customer_id: int) -> bool:
    """Tell whether a hold is the customer's and of the slot."""
    return (getattr(row, "slot_id", 0), getattr(row, "customer_id", 0)) == (slot_id, customer_id)


def could_be_had(found: list[Vacancy], order: int, t: int) -> bool:
    """Tell whether a slot could be had by whoever committed something else at tick `t`.

    So it is when it was open just before commit `order` and had been for `FRESH` or from the start,
    and when it had been open for `CHANCE` at any time before.
    """
    since: int | None = None
    for vacancy in found:
        if vacancy.order >= order:
            break
        if vacancy.open and since is None:
            since = vacancy.t
        elif not vacancy.open and since is not None:
            if vacancy.t - since >= CHANCE:
                return True
            since = None
    return since is not None and (since == 0 or t - since >= FRESH)


def hopeless_after(found: list[Vacancy], t: int) -> bool:
    """Tell whether a slot was beyond hope at some time from tick `t` on."""
    last = [vacancy for vacancy in found if vacancy.t <= t][-1:]
    return any(v.hopeless for v in (*last, *(v for v in found if v.t > t)))
