"""Tools that tell somebody something: the waiting list and mails."""

from __future__ import annotations

from simharness.api import Answer, Operation, Refused, Transaction, write_tool
from simharness.models.marketplace.places import require_open
from simharness.models.marketplace.stores import MarketStores, require_address
from simharness.models.marketplace.tables import Email, Waiting


class WritingTools(MarketStores):
    """Wait in line, and write."""

    @write_tool
    def join_waitlist(self, op: Operation, slot_id: int) -> Answer[Waiting]:
        """Stand in line for a slot that has no free place."""
        yield self.database(op)
        require_open(self.slots.true(slot_id), slot_id, self.instant)
        if self.places.free(slot_id) > 0:
            raise Refused("conflict", f"slot {slot_id} has free places: hold one")
        customer_id = max(op.actor.identity, 0)
        position = 1
        for waiting in self.waitlist.table.where(slot_id=slot_id):
            if waiting.customer_id == customer_id:
                raise Refused("already_waiting", "you stand in that line", id=waiting.id)
            position = max(position, waiting.position + 1)
        tx = Transaction(op)
        key = tx.insert(
            self.waitlist.table,
            {"slot_id": slot_id, "customer_id": customer_id, "position": position},
        )
        tx.commit()
        return self.waitlist.table.rows[key]

    @write_tool
    def send_email(self, op: Operation, to: str, subject: str, body: str) -> Answer[Email]:
        """Send a mail to an address. It books nothing."""
        require_address(to)
        yield self.database(op)
        tx = Transaction(op)
        key = tx.insert(
            self.emails.table,
            {
                "to": to,
                "subject": subject,
                "body": body,
                "author_id": op.actor.identity,
                "at": self.instant,
            },
        )
        tx.commit()
        return self.emails.table.rows[key]
