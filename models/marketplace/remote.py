"""The provider's calendar elsewhere, into which bookings are written as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Transaction
from simharness.models.marketplace.isolation import Isolation

if TYPE_CHECKING:
    from simharness.api import Answer, Operation
    from simharness.models.marketplace.tables import Booking


class RemoteCalendar(Isolation):
    """Writes to the calendar elsewhere, each after the wait `remote`."""

    remote_writes = 0
    """Those under way."""

    def announce(self, op: Operation, slot_id: int, customer_id: int) -> Answer[int]:
        """Write a booking that isn't made yet, where the knob says so; gives the event's id or 0.

        What is refused afterwards stays there.
        """
        if self.remote != "before_insert":
            return 0
        yield op.latency(self.remote_latency, "remote", op.next_access())
        tx = Transaction(op)
        key = tx.insert(self.remote_events.table, {"slot_id": slot_id, "customer_id": customer_id})
        tx.commit()
        return key

    def mirror(self, op: Operation, booking: Booking, announced: int = 0) -> Answer[None]:
        """Bring the calendar elsewhere to where a committed booking is."""
        if self.remote == "none":
            return
        self.remote_writes += 1
        try:
            if not announced:
                yield op.latency(self.remote_latency, "remote", op.next_access())
            table = self.remote_events.table
            # What the booking is by now, which may be more than this call has made of it.
            now = self.bookings.table.rows[booking.id]
            known = announced or next((e.id for e in table.where(booking_id=booking.id)), 0)
            status = "booked" if now.status == "confirmed" else "cancelled"
            fields = {"slot_id": now.slot_id, "booking_id": now.id, "status": status}
            tx = Transaction(op)
            if known:
                row = table.rows[known]
                if (row.slot_id, row.booking_id, row.status) == (now.slot_id, now.id, status):
                    return
                tx.update(table, known, fields)
            elif now.status == "confirmed":
                tx.insert(table, {**fields, "customer_id": now.customer_id})
            else:
                return
            tx.commit()
        finally:
            self.remote_writes -= 1
