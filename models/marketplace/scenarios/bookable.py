"""What could be booked, and when: the truth about slots that goals look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.models.marketplace.product import Marketplace

RECENTLY = 60 * SECOND
"""Simulated time for which a slot has to have been free before an agent had to take it: it needs
some to look, to think and to act, and others come and go meanwhile."""


class Bookable:
    """Tells of slots whether an agent could have had them."""

    def __init__(self, market: Marketplace, agent: str) -> None:
        self.market = market
        self.own = [
            change.key
            for change in market.holds.table.changes
            if change.old is None and change.owner == agent
        ]
        """Holds of the agent's; what it keeps itself is in nobody's way."""

    def free(self, slot_id: int, order: int) -> int:
        """Tell how many places the agent could have had after commit `order`."""
        slot = self.market.slots.table.row_at(slot_id, order)
        if slot is None or slot.blocked:
            return 0
        holds = self.market.holds.table
        own = 0
        for key in self.own:
            hold = holds.row_at(key, order)
            if hold is not None and hold.slot_id == slot_id and hold.status == "active":
                own += hold.quantity
        return slot.capacity - slot.taken + own

    def throughout(self, slot_id: int, quantity: int, order: int, t: int) -> bool:
        """Tell whether places were free all the last minute before tick `t`, up to `order`."""
        return all(self.free(slot_id, o) >= quantity for o in self._orders(slot_id, order, t))

    def lately(self, slot_id: int, quantity: int, order: int, t: int) -> bool:
        """Tell whether places were free at any time of that minute."""
        return any(self.free(slot_id, o) >= quantity for o in self._orders(slot_id, order, t))

    def _orders(self, slot_id: int, order: int, t: int) -> Iterator[int]:
        yield order
        for change in self.market.slots.table.history.get(slot_id, ()):
            if change.order <= order and change.t >= t - RECENTLY:
                yield change.order - 1
                yield change.order

    def blocked(self, slot_id: int, order: int, t: int) -> set[bool]:
        """Tell whether a slot's provider was away in that minute: it may be both."""
        slots = self.market.slots.table
        rows = [slots.row_at(slot_id, o) for o in self._orders(slot_id, order, t)]
        return {row.blocked for row in rows if row is not None}
