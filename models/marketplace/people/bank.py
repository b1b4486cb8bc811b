"""The bank of one customer, which declines payments, takes its time, or has second thoughts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND

if TYPE_CHECKING:
    from simharness.api import Change
    from simharness.models.marketplace.product import Marketplace

ANSWERS = {
    "ok": ("ok",),
    "declined": ("fail", "ok"),
    "declined_twice": ("fail", "fail", "ok"),
    "bounced": ("async_fail", "ok"),
    "slow": ("ok",),
}
"""What becomes of the payments of the customer, one after the other, as `gateway.mode` has it."""
SLOW = (35 * SECOND, 55 * SECOND)
"""Wait for the answer of one who is slow: the caller is told sooner that nobody knows."""


class Bank:
    """Decides about the payments of one customer; those of others are the gateway's matter."""

    def __init__(self, market: Marketplace, customer_id: int, manner: str) -> None:
        self.market = market
        self.customer_id = customer_id
        self.manner = manner
        self._asked = 0
        market.payments.table.listeners.append(self._hear)

    def _hear(self, change: Change) -> None:
        """A payment is on its way: the gateway looks at its mode when its row is there."""
        market = self.market
        if change.old is not None or change.new is None:
            return
        booking = market.bookings.true(change.new.booking_id)
        if booking is None or booking.customer_id != self.customer_id:
            return
        answers = ANSWERS[self.manner]
        gateway = market.gateway
        before = gateway.mode, gateway.latency
        gateway.mode = (answers[min(self._asked, len(answers) - 1)],)
        if self.manner == "slow":
            gateway.latency = (SLOW,)
        self._asked += 1

        def restore() -> None:
            gateway.mode, gateway.latency = before

        # What is asked for in the same instant has looked by then.
        market.world.after(1, lambda _: restore())
