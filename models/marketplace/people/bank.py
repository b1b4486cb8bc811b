"""The bank of one customer, which declines payments, takes its time, or has second thoughts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND, Manner

if TYPE_CHECKING:
    from simharness.api import Request
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
        market.gateway.manner = self.decide

    def decide(self, request: Request) -> Manner | None:
        """Say what becomes of a payment of theirs."""
        if request.kind != "charge":
            return None
        payment = self.market.payments.true(int(request.ref.partition(":")[2]))
        booking = self.market.bookings.true(payment.booking_id) if payment is not None else None
        if booking is None or booking.customer_id != self.customer_id:
            return None
        answers = ANSWERS[self.manner]
        mode = answers[min(self._asked, len(answers) - 1)]
        self._asked += 1
        return Manner(mode, SLOW if self.manner == "slow" else None)
