"""Money: what is due, and how a payment is taken. A payment succeeds at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Refused
from simharness.models.marketplace.remote import RemoteCalendar

if TYPE_CHECKING:
    from simharness.api import Transaction
    from simharness.models.marketplace.tables import Booking


class Payments(RemoteCalendar):
    """What the tools share about money."""

    def due(self, booking: Booking) -> int:
        """Give what is still to be paid for a booking."""
        return max(0, booking.price - self.paid(booking.id))

    def require_paid(self, booking: Booking) -> None:
        """Refuse `payment_due` for a booking that isn't paid in full."""
        due = self.due(booking)
        if due:
            raise Refused(
                "payment_due",
                f"{due} {booking.currency} are due for booking {booking.id}",
                amount=due,
                currency=booking.currency,
            )

    def require_payable(self, booking: Booking, amount: int, currency: str) -> None:
        """Refuse what isn't to be paid: `hold_expired`, `conflict` or `invalid_arguments`."""
        if booking.status == "expired" and self.late_payment == "reject":
            raise Refused("hold_expired", f"the hold of booking {booking.id} has expired")
        if booking.status == "cancelled":
            raise Refused("conflict", f"booking {booking.id} is cancelled", version=booking.version)
        due = self.due(booking)
        if currency != booking.currency:
            raise Refused(
                "invalid_arguments", f"currency is {currency!a}, the price is in {booking.currency}"
            )
        if amount > due:
            raise Refused("invalid_arguments", f"amount is {amount}, {due} are due")

    def take_money(self, tx: Transaction, booking: Booking, amount: int, key: str) -> int:
        """Note a payment within a transaction; gives its id."""
        return tx.insert(
            self.payments.table,
            {
                "booking_id": booking.id,
                "amount": amount,
                "currency": booking.currency,
                "status": "succeeded",
                "idempotency_key": key,
            },
        )
