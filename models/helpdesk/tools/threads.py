"""Tools about what is said of a ticket: its thread, and other teams."""

from __future__ import annotations

from simharness.api import (
    Answer,
    Operation,
    Page,
    Transaction,
    every,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.helpdesk.stores import PageNumber, found, require_text, ticket_name
from simharness.models.helpdesk.tables import Escalation, Message, TicketId
from simharness.models.helpdesk.tools.tickets import TicketTools


class ThreadTools(TicketTools):
    """Read threads, answer, escalate."""

    @tool
    def list_messages(
        self, op: Operation, ticket_id: TicketId, page: PageNumber = 1
    ) -> Answer[Page[Message]]:
        """List the messages of a ticket's thread, oldest first, twenty to a page."""
        asked = query(every, where(ticket_id=ticket_id))
        rows = yield from self.messages.list.read(op, asked)
        return paged("messages", rows, page)

    @write_tool
    def reply(
        self, op: Operation, ticket_id: TicketId, body: str, public: bool = True
    ) -> Answer[Message]:
        """Write into a ticket's thread, to the customer or with public false to colleagues only.

        The ticket itself stays as it is.
        """
        require_text("body", body)
        yield self.database(op)
        self.require_open(found(self.tickets.true(ticket_id), "ticket", ticket_name(ticket_id)))
        tx = Transaction(op)
        made = tx.insert(
            self.messages.table,
            {"ticket_id": ticket_id, "author": self.author(op), "body": body, "public": public},
        )
        tx.commit()
        return self.messages.table.rows[made]

    @write_tool
    def escalate(
        self, op: Operation, ticket_id: TicketId, team: str, reason: str
    ) -> Answer[Escalation]:
        """Ask another team to see to a ticket. The ticket itself stays as it is."""
        require_text("team", team)
        require_text("reason", reason)
        yield self.database(op)
        self.require_open(found(self.tickets.true(ticket_id), "ticket", ticket_name(ticket_id)))
        tx = Transaction(op)
        made = tx.insert(
            self.escalations.table,
            {
                "ticket_id": ticket_id,
                "team": team,
                "reason": reason,
                "author_id": op.actor.identity,
            },
        )
        tx.commit()
        return self.escalations.table.rows[made]
