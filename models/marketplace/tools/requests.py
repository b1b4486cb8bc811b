"""Tools about bookings that a provider has to approve."""

from __future__ import annotations

from simharness.api import Answer, Operation, Refused, Transaction, write_tool
from simharness.models.marketplace.payments import Payments
from simharness.models.marketplace.stores import found
from simharness.models.marketplace.tables import Booking


class RequestTools(Payments):
    """Ask for a booking; approve and decline it."""

    @write_tool
    def request_booking(self, op: Operation, slot_id: int) -> Answer[Booking]:
        """Ask for one place of a slot. A pending request takes no place."""
        claim = yield from self.claim(op, {slot_id: 1})
        try:
            slot = found(self.slots.true(slot_id), "slot", slot_id)
            service = found(self.services.true(slot.service_id), "service", slot.service_id)
            customer_id = max(op.actor.identity, 0)
            at_once = self.approval == "auto" and not service.price
            announced = 0
            if at_once:
                announced = yield from self.announce(op, slot_id, customer_id)
            claim.ensure()
            tx = Transaction(op)
            key = tx.insert(
                self.bookings.table,
                {
                    "slot_id": slot_id,
                    "customer_id": customer_id,
                    "status": "confirmed" if at_once else "pending",
                    "price": service.price,
                    "currency": service.currency,
                },
            )
            if at_once:
                self.places.put(tx, {slot_id: 1})
            tx.commit()
            if at_once:
                yield from self.mirror(op, self.bookings.table.rows[key], announced)
        finally:
            claim.close()
        return self.told(op, key)

    @write_tool
    def approve_booking(self, op: Operation, booking_id: int) -> Answer[Booking]:
        """Confirm a request for one of your slots. What is due must have been paid."""
        booking = self._requested(op, booking_id)
        self.require_paid(booking)
        claim = yield from self.claim(
            op, {booking.slot_id: booking.quantity if self.recheck else 0}
        )
        try:
            announced = yield from self.announce(op, booking.slot_id, booking.customer_id)
            claim.ensure()
            booking = self._requested(op, booking_id)
            self.require_paid(booking)
            tx = Transaction(op)
            tx.update(self.bookings.table, booking_id, {"status": "confirmed"})
            self.places.put(tx, {booking.slot_id: booking.quantity})
            tx.commit()
            yield from self.mirror(op, booking, announced)
        finally:
            claim.close()
        return self.told(op, booking_id)

    @write_tool
    def decline_booking(self, op: Operation, booking_id: int) -> Answer[Booking]:
        """Refuse a request for one of your slots; what was paid is given back."""
        yield self.database(op)
        booking = self._requested(op, booking_id)
        tx = Transaction(op)
        self.close_booking(tx, booking, "cancelled")
        tx.commit()
        self.give_back(op, booking_id)
        return self.bookings.table.rows[booking_id]

    def _requested(self, op: Operation, booking_id: int) -> Booking:
        """Give a request that waits for the caller's word."""
        booking = found(self.bookings.true(booking_id), "booking", booking_id)
        if op.actor.identity > 0:
            raise Refused("forbidden", "only the provider may do that")
        self.require_party(op, booking)
        if booking.status != "pending" or booking.hold_id is not None:
            what = "rests on a hold" if booking.status == "pending" else f"is {booking.status}"
            raise Refused("conflict", f"booking {booking_id} {what}", version=booking.version)
        return booking
