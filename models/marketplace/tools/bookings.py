"""Tools about bookings that are there: read, cancel, reschedule, pay."""

from __future__ import annotations

from simharness.api import (
    Answer,
    Operation,
    Page,
    Refused,
    Transaction,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.marketplace.stores import PageNumber, found
from simharness.models.marketplace.tables import Amount, Booking, Payment
from simharness.models.marketplace.tools.holding import HoldTools


class BookingTools(HoldTools):
    """Read, change and pay bookings."""

    @tool
    def get_booking(self, op: Operation, booking_id: int) -> Answer[Booking]:
        """Read a booking that you have a part in."""
        booking = found(
            (yield from self.bookings.detail.read(op, booking_id)), "booking", booking_id
        )
        self.require_party(op, booking)
        if booking.status == "confirmed":
            self.shown_confirmed.append((op.owner, booking.id))
        return booking

    @tool
    def list_bookings(
        self, op: Operation, customer_id: int | None = None, page: PageNumber = 1
    ) -> Answer[Page[Booking]]:
        """List the bookings that you have a part in, or those of one customer among them."""
        identity = op.actor.identity
        if identity > 0:
            customer_id = identity if customer_id is None else customer_id
            self.require_own(op, customer_id, f"what customer {customer_id} has booked")
        slots = self.slots.table.rows

        def matches(row: Booking) -> bool:
            slot = slots.get(row.slot_id)
            return identity >= 0 or (slot is not None and slot.provider_id == -identity)

        provider = -identity if identity < 0 else None
        asked = query(matches, where(customer_id=customer_id), provider_id=provider)
        rows = yield from self.bookings.list.read(op, asked)
        return paged("bookings", rows, page)

    @write_tool
    def cancel_booking(self, op: Operation, booking_id: int) -> Answer[Booking]:
        """Cancel a booking that you have a part in; what was paid is given back."""
        yield self.database(op)
        booking = self._standing(op, booking_id)
        tx = Transaction(op)
        self.close_booking(tx, booking, "cancelled")
        tx.commit()
        self.give_back(op, booking_id)
        if booking.status == "confirmed":
            yield from self.mirror(op, booking)
        return self.bookings.table.rows[booking_id]

    @write_tool
    def reschedule_booking(self, op: Operation, booking_id: int, slot_id: int) -> Answer[Booking]:
        """Move a confirmed booking to another slot of the same service, or leave it where it is."""
        self._movable(op, booking_id, slot_id)
        claim = yield from self.claim(
            op, {slot_id: found(self.bookings.true(booking_id), "booking", booking_id).quantity}
        )
        try:
            claim.ensure()
            booking = self._movable(op, booking_id, slot_id)
            tx = Transaction(op)
            tx.update(self.bookings.table, booking_id, {"slot_id": slot_id})
            self.places.put(tx, {booking.slot_id: -booking.quantity, slot_id: booking.quantity})
            tx.commit()
            yield from self.mirror(op, booking)
        finally:
            claim.close()
        return self.told(op, booking_id)

    def _standing(self, op: Operation, booking_id: int) -> Booking:
        """Give a booking of the caller's that is neither cancelled nor expired."""
        booking = found(self.bookings.true(booking_id), "booking", booking_id)
        self.require_party(op, booking)
        self.places.free(booking.slot_id)  # a hold that is due ends before its timer has its turn
        booking = self.bookings.table.rows[booking_id]
        if booking.status in ("cancelled", "expired"):
            raise Refused(
                "conflict", f"booking {booking_id} is {booking.status}", version=booking.version
            )
        return booking

    def _movable(self, op: Operation, booking_id: int, slot_id: int) -> Booking:
        booking = self._standing(op, booking_id)
        if booking.status != "confirmed":
            raise Refused(
                "conflict", f"booking {booking_id} is {booking.status}", version=booking.version
            )
        if slot_id == booking.slot_id:
            raise Refused("invalid_arguments", f"booking {booking_id} is in slot {slot_id}")
        old = found(self.slots.true(booking.slot_id), "slot", booking.slot_id)
        new = found(self.slots.true(slot_id), "slot", slot_id)
        if new.service_id != old.service_id:
            raise Refused("invalid_arguments", f"slot {slot_id} is for another service")
        return booking

    # --- money ------------------------------------------------------------------------------------

    @tool
    def pay(
        self,
        op: Operation,
        booking_id: int,
        amount: Amount,
        currency: str,
        idempotency_key: str | None = None,
    ) -> Answer[Payment]:
        """Pay for a booking, in minor units of its currency. Paid in full, it is confirmed.

        A key that was used before answers with the payment that was made then.
        """
        booking = found(self.bookings.true(booking_id), "booking", booking_id)
        self.require_own(op, booking.customer_id, f"booking {booking_id}")
        key = idempotency_key or ""
        for wait in (True, False):
            self.places.free(booking.slot_id)  # a hold that is due ends before its timer's turn
            booking = self.bookings.table.rows[booking_id]
            if self._made_before(booking_id, amount, currency, key) is None:
                self.require_payable(booking, amount, currency)
                fills = amount == self.due(booking)
                if fills and booking.hold_id is None and self.approval == "auto":
                    # The place is taken when the money has come; there is none to be had now.
                    self.places.check(op, booking.slot_id, booking.quantity)
            if wait:
                yield self.database(op)
        return (yield from self.charge(op, booking, amount, key))

    def _made_before(self, booking_id: int, amount: int, currency: str, key: str) -> Payment | None:
        """Give the payment of a key. Raises Refused `conflict` when it was another one."""
        if not key:
            return None
        for payment in self.payments.table.where(idempotency_key=key):
            same = (payment.booking_id, payment.amount, payment.currency)
            if same != (booking_id, amount, currency):
                raise Refused(
                    "conflict", f"key {key!a} was used for another payment", id=payment.id
                )
            return payment
        return None

    @tool
    def get_payment(self, op: Operation, payment_id: int) -> Answer[Payment]:
        """Read a payment for a booking that you have a part in."""
        payment = found(
            (yield from self.payments.detail.read(op, payment_id)), "payment", payment_id
        )
        booking = found(self.bookings.true(payment.booking_id), "booking", payment.booking_id)
        self.require_party(op, booking)
        return payment
