"""Tools that look at tickets, and change how far they have come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import (
    SECOND,
    Answer,
    Instant,
    Operation,
    Page,
    Refused,
    Transaction,
    every,
    paged,
    tool,
    where,
    write_tool,
)
from simharness.api import query as question
from simharness.models.helpdesk.stores import (
    PageNumber,
    WaitSeconds,
    found,
    require_text,
    ticket_name,
)
from simharness.models.helpdesk.tables import Status, Ticket, TicketFields, TicketId
from simharness.models.helpdesk.terms import matcher
from simharness.models.helpdesk.threads import Threads

if TYPE_CHECKING:
    from simharness.api import Edit


class TicketTools(Threads):
    """Find, claim, change and merge tickets."""

    @tool
    def list_tickets(
        self,
        op: Operation,
        status: Status | None = None,
        assignee_id: int | None = None,
        page: PageNumber = 1,
    ) -> Answer[Page[Ticket]]:
        """List tickets, twenty to a page, optionally those of one status or assignee."""
        asked = question(every, where(status=status, assignee_id=assignee_id))
        rows = yield from self.tickets.list.read(op, asked)
        return paged("tickets", rows, page)

    @tool
    def search_tickets(
        self,
        op: Operation,
        query: str,
        page: PageNumber = 1,
    ) -> Answer[Page[Ticket]]:
        """Find tickets by words in subject or body and by terms, all of which must hold.

        Terms are status:open, status<solved (in the order new, open, pending, on_hold, solved,
        closed), priority:high, priority<high, assignee:3, assignee:none, customer:7, tag:vip, and
        created or updated with an instant, as created<2026-03-02T09:00:00Z.
        """
        asked = question(matcher(query), query=" ".join(query.split()))
        rows = yield from self.tickets.search.read(op, asked)
        return paged("tickets", rows, page)

    @tool
    def get_ticket(self, op: Operation, ticket_id: TicketId) -> Answer[Ticket]:
        """Read one ticket; its thread is read by list_messages."""
        row = yield from self.tickets.detail.read(op, ticket_id)
        return found(row, "ticket", ticket_name(ticket_id))

    @tool
    def ticket_changes(
        self, op: Operation, since: Instant | None = None, wait: WaitSeconds = 0
    ) -> Answer[Page[Ticket]]:
        """Read the tickets changed at or after an instant, or else since your last call of this.

        Where there are none, wait up to so many seconds for the next change.
        """
        return Page("tickets", (yield from self.tickets.feed.read(op, since, wait * SECOND)))

    @tool
    def export_tickets(
        self, op: Operation, since: Instant, inclusive: bool | None = None
    ) -> Answer[Page[Ticket]]:
        """Read the tickets changed at or after an instant, all on one page.

        For those who come back with the newest updated_at that they have seen. With inclusive
        false those changed at that very instant are left out.
        """
        return Page("tickets", (yield from self.tickets.export.read(op, since, inclusive)))

    # --- changes ----------------------------------------------------------------------------------

    @write_tool
    def claim_ticket(self, op: Operation, ticket_id: TicketId) -> Answer[Ticket]:
        """Make a ticket yours that nobody else has; a new one is open from then on."""
        if self.claim_mode == "last_writer":
            seen = found(self.tickets.true(ticket_id), "ticket", ticket_name(ticket_id))
            self._require_free(op, seen)
            yield self.database(op)
            tx = Transaction(op)
            tx.update(self.tickets.table, ticket_id, self._claimed(op, seen))
            tx.commit()
            self.claimed.append((ticket_id, op.actor.identity))
            return self.tickets.table.rows[ticket_id]
        leases = self.tickets.leases
        grant = yield from leases.acquire(op, ticket_id, self.tickets.lock_wait)
        try:
            edit = yield from self.tickets.edit(op, ticket_id)
            try:
                leases.check(op, ticket_id, grant.token)
                self._require_free(op, edit.row)
                tx = Transaction(op)
                edit.update(tx, self._claimed(op, edit.row))
                tx.commit()
            finally:
                edit.close()
        finally:
            leases.release(ticket_id, grant.token)
        self.claimed.append((ticket_id, op.actor.identity))
        return self.tickets.table.rows[ticket_id]

    def _require_free(self, op: Operation, ticket: Ticket) -> None:
        """Refuse a ticket that is closed, or somebody else's."""
        self.require_open(ticket)
        if ticket.assignee_id not in (None, op.actor.identity):
            raise Refused(
                "conflict",
                f"ticket {ticket_name(ticket.id)} is agent {ticket.assignee_id}'s",
                version=ticket.version,
            )

    def _claimed(self, op: Operation, ticket: Ticket) -> dict[str, object]:
        changes: dict[str, object] = {"assignee_id": op.actor.identity}
        return {**changes, "status": "open"} if ticket.status == "new" else changes

    @write_tool
    def release_ticket(self, op: Operation, ticket_id: TicketId) -> Answer[Ticket]:
        """Give a ticket of yours back, so that somebody else can claim it."""
        edit = yield from self.tickets.edit(op, ticket_id)
        try:
            self.require_open(edit.row)
            if edit.row.assignee_id is None or edit.row.assignee_id != op.actor.identity:
                raise Refused(
                    "conflict",
                    f"ticket {ticket_name(ticket_id)} isn't yours",
                    version=edit.row.version,
                )
            tx = Transaction(op)
            edit.update(tx, {"assignee_id": None})
            tx.commit()
        finally:
            edit.close()
        self.claimed.append((ticket_id, 0))
        return self.tickets.table.rows[ticket_id]

    def require_open(self, ticket: Ticket) -> None:
        """Refuse `conflict` for a ticket that is closed, merged ones among them."""
        if ticket.status == "closed":
            into = ticket.merged_into
            how = "closed" if into is None else f"merged into {ticket_name(into)}"
            raise Refused(
                "conflict", f"ticket {ticket_name(ticket.id)} is {how}", version=ticket.version
            )

    @write_tool
    def set_status(
        self, op: Operation, ticket_id: TicketId, status: Status, if_version: int | None = None
    ) -> Answer[Ticket]:
        """Give a ticket that isn't closed another status.

        With if_version it is refused if somebody was faster.
        """
        edit = yield from self.tickets.edit(op, ticket_id, if_version)
        try:
            self.require_open(edit.row)
            tx = Transaction(op)
            edit.update(tx, {"status": status})
            tx.commit()
        finally:
            edit.close()
        return self.tickets.table.rows[ticket_id]

    @write_tool
    def update_ticket(
        self,
        op: Operation,
        ticket_id: TicketId,
        fields: TicketFields,
        if_version: int | None = None,
    ) -> Answer[Ticket]:
        """Change the priority, the tags or the agent of a ticket that isn't closed.

        tags are all that it is to have. With if_version it is refused if somebody was faster.
        """
        changes: dict[str, object] = {**fields}
        if "tags" in fields:
            for tag in fields["tags"]:
                require_text("fields.tags", tag)
            changes["tags"] = tuple(fields["tags"])
        edit = yield from self.tickets.edit(op, ticket_id, if_version)
        try:
            self.require_open(edit.row)
            agent_id = fields.get("assignee_id", edit.row.assignee_id)
            given = agent_id != edit.row.assignee_id
            if given:
                self._require_active(agent_id)
            tx = Transaction(op)
            edit.update(tx, changes)
            tx.commit()
        finally:
            edit.close()
        if given:
            # Whoever had claimed it hasn't any more.
            self.claimed.append((ticket_id, 0))
        return self.tickets.table.rows[ticket_id]

    def _require_active(self, agent_id: int | None) -> None:
        """Refuse an agent who can't work on a ticket; None is nobody."""
        agent = self.agents.true(agent_id) if agent_id is not None else None
        if agent_id is not None and (agent is None or not agent.active):
            raise Refused("invalid_arguments", f"there is no active agent {agent_id}")

    @write_tool
    def merge_tickets(
        self,
        op: Operation,
        source_id: TicketId,
        target_id: TicketId,
        if_version: int | None = None,
    ) -> Answer[Ticket]:
        """Close a ticket and move its messages into another one of the same customer, for good.

        With if_version it is refused if somebody was faster to change the one that is closed.
        """
        if source_id == target_id:
            raise Refused("invalid_arguments", "a ticket can't be merged into itself")
        if self.merge_mode == "blind":
            self._require_mergeable(source_id, target_id)
            source = self.tickets.table.rows[source_id]
            if if_version not in (None, source.version):
                raise Refused(
                    "conflict",
                    f"ticket {ticket_name(source_id)} has changed",
                    version=source.version,
                )
            seen = [m.id for m in self.messages.table.where(ticket_id=source_id)]
            yield self.database(op)
            self._merge(op, source_id, target_id, seen)
            return self.tickets.table.rows[target_id]
        edits: list[Edit[Ticket]] = []
        try:
            # Everybody takes the lower id first, so that no circle of waits can close.
            for key in sorted((source_id, target_id)):
                edit = yield from self.tickets.edit(
                    op, key, if_version if key == source_id else None
                )
                edits.append(edit)
            self._require_mergeable(source_id, target_id)
            moved = [m.id for m in self.messages.table.where(ticket_id=source_id)]
            self._merge(op, source_id, target_id, moved)
        finally:
            for edit in reversed(edits):
                edit.close()
        return self.tickets.table.rows[target_id]

    def _require_mergeable(self, source_id: int, target_id: int) -> None:
        source = found(self.tickets.true(source_id), "ticket", ticket_name(source_id))
        target = found(self.tickets.true(target_id), "ticket", ticket_name(target_id))
        self.require_open(source)
        self.require_open(target)
        if source.customer_id != target.customer_id:
            raise Refused("conflict", "the tickets are of different customers")

    def _merge(self, op: Operation, source_id: int, target_id: int, moved: list[int]) -> None:
        tx = Transaction(op)
        ended = {"status": "closed", "merged_into": target_id}
        tx.update(self.tickets.table, source_id, ended)
        for key in moved:
            tx.update(self.messages.table, key, {"ticket_id": target_id})
        # The other has changed as well: who rests on its version is told.
        tx.update(self.tickets.table, target_id, {})
        tx.commit()
