"""What customers do: they write into their threads, and mails open new ones.

A thread is one customer's and has one subject; a ticket goes on with it until it is closed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Answer, Operation, Refused, Transaction, operation
from simharness.models.helpdesk.rules import REOPENED
from simharness.models.helpdesk.stores import HelpdeskStores, found, require_text, ticket_name
from simharness.models.helpdesk.tables import Message, Ticket, TicketId

if TYPE_CHECKING:
    from simharness.api import Change

ANSWERS = re.compile(r"\s*((re|fwd?|aw)\s*:\s*)*", re.IGNORECASE)
"""What mail programs put before a subject."""
PATIENCE = 30 * SECOND


class Threads(HelpdeskStores):
    """The customers' side of tickets, and what happens to those whom nobody writes to."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.split_threads: list[tuple[int, int]] = []
        """Tickets that a mail opened although the thread had one: that one, and the new one."""
        self.claimed: list[tuple[int, int]] = []
        """Claims that were answered as made: ticket and agent, or 0 who gave it back."""
        self._closer = Actor(self.world, "auto-closer", 0)
        self._solved: dict[int, int] = {}
        """How often each ticket has been solved."""
        self.tickets.table.listeners.append(self._ticket_changed)
        # Scenarios put their rows into place after this, and before the first instant is over.
        self.world.after(0, lambda _: self._begin_closing())

    # --- what customers do ------------------------------------------------------------------------

    @operation("customer.write")
    def customer_write(self, op: Operation, ticket_id: TicketId, body: str) -> Answer[Message]:
        """Write into a ticket's thread as its customer; what was solved is open again."""
        require_text("body", body)
        yield self.database(op)
        ticket = self.live(found(self.tickets.true(ticket_id), "ticket", ticket_name(ticket_id)))
        tx = Transaction(op)
        if ticket.status == "closed":
            key = self._open_ticket(tx, ticket.customer_id, ticket.subject, body)
        else:
            key = ticket.id
            if ticket.status in REOPENED:
                tx.update(self.tickets.table, key, {"status": "open"})
        made = self._add(tx, key, ticket.customer_id, body)
        tx.commit()
        return self.messages.table.rows[made]

    @operation("customer.email")
    def customer_email(
        self, op: Operation, subject: str, body: str, customer_id: int | None = None
    ) -> Answer[Message]:
        """Write a mail: into the thread of that subject, or a new one where there is none open.

        The customer is the one that the actor is signed in as, or else named.
        """
        require_text("body", body)
        customer = self._sender(op, customer_id)
        if self.inbound_group == "race":
            seen = self._thread(customer, subject)
            yield self.database(op)
            return self._receive(op, customer, subject, body, seen)
        locks = self.customers.locks
        yield from locks.acquire(op, customer, PATIENCE)
        try:
            yield self.database(op)
            return self._receive(op, customer, subject, body, self._thread(customer, subject))
        finally:
            locks.release(op, customer)

    def _sender(self, op: Operation, customer_id: int | None) -> int:
        """Give the customer who writes."""
        customers = self.customers.table
        if customer_id is not None:
            return found(customers.get(customer_id), "customer", customer_id).id
        if op.actor.identity < 0:
            return found(customers.get(-op.actor.identity), "customer", -op.actor.identity).id
        named = [c.id for c in customers if op.actor.name in (c.full_name, c.email)]
        named = named or [c.id for c in customers]
        if len(named) != 1:
            raise Refused("invalid_arguments", "customer_id is missing: several may have written")
        return named[0]

    def _thread(self, customer_id: int, subject: str) -> Ticket | None:
        """Give the ticket of a thread that isn't closed, the oldest where there are several."""
        wanted = thread_of(subject)
        for ticket in self.tickets.table.where(customer_id=customer_id):
            if ticket.status != "closed" and thread_of(ticket.subject) == wanted:
                return ticket
        return None

    def _receive(
        self, op: Operation, customer_id: int, subject: str, body: str, seen: Ticket | None
    ) -> Message:
        """Write a mail down, into the ticket that was seen for it."""
        tx = Transaction(op)
        if seen is not None:
            ticket = self.live(self.tickets.table.rows[seen.id])
            key = ticket.id
            if ticket.status in REOPENED:
                tx.update(self.tickets.table, key, {"status": "open"})
        else:
            beside = self._thread(customer_id, subject)
            key = self._open_ticket(tx, customer_id, subject, body)
            if beside is not None:
                self.split_threads.append((beside.id, key))
        made = self._add(tx, key, customer_id, body)
        tx.commit()
        return self.messages.table.rows[made]

    def _open_ticket(self, tx: Transaction, customer_id: int, subject: str, body: str) -> int:
        fields = {"customer_id": customer_id, "subject": subject, "body": body}
        return tx.insert(self.tickets.table, fields)

    def _add(self, tx: Transaction, key: int, customer_id: int, body: str) -> int:
        fields = {"ticket_id": key, "author": f"customers:{customer_id}", "body": body}
        return tx.insert(self.messages.table, fields)

    # --- merged tickets ---------------------------------------------------------------------------

    def live(self, ticket: Ticket) -> Ticket:
        """Give the ticket that goes on in a ticket's place: itself unless it was merged."""
        passed: list[int] = []
        while ticket.merged_into is not None and ticket.id not in passed:
            passed.append(ticket.id)
            into = self.tickets.true(ticket.merged_into)
            if into is None:
                break
            ticket = into
        return ticket

    # --- tickets that nobody writes to ------------------------------------------------------------

    def _begin_closing(self) -> None:
        for ticket in self.tickets.table:
            if ticket.status == "solved" and ticket.id not in self._solved:
                self._await_close(ticket.id, self.world.instant - ticket.updated_at)

    def _ticket_changed(self, change: Change) -> None:
        old: Ticket | None = change.old
        new: Ticket | None = change.new
        was = old is not None and old.status == "solved"
        if new is not None and new.status == "solved" and not was:
            self._await_close(new.id, 0)
        elif was and (new is None or new.status != "solved"):
            self._solved[change.key] = self._solved.get(change.key, 0) + 1

    def _await_close(self, key: int, waited: int) -> None:
        """Close a solved ticket after its time, unless it has been opened meanwhile."""
        number = self._solved[key] = self._solved.get(key, 0) + 1
        if not self.auto_close:
            return

        def close(_: object) -> None:
            ticket = self.tickets.true(key)
            if ticket is not None and ticket.status == "solved" and self._solved[key] == number:
                self._closer.next_n += 1
                tx = Transaction(Operation(self.world, self._closer, self._closer.next_n - 1))
                tx.update(self.tickets.table, key, {"status": "closed"})
                tx.commit()

        self.world.after(max(self.auto_close - max(waited, 0), 0), close)


def thread_of(subject: str) -> str:
    """Give what the subjects of one thread have in common."""
    return ANSWERS.sub("", subject, count=1).strip().lower()
