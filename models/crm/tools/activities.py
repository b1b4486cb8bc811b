"""Tools about what is done for a deal: activities, mails, meetings."""

from __future__ import annotations

from typing import Annotated

from simharness.api import (
    Answer,
    Bounds,
    Instant,
    Operation,
    Page,
    Refused,
    Transaction,
    every,
    format_instant,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.crm.stores import CrmStores, PageNumber, found
from simharness.models.crm.tables import Activity, ActivityKind, Email, Meeting, Template

Minutes = Annotated[int, Bounds(5, 480)]


class ActivityTools(CrmStores):
    """Log, mail and meet."""

    @tool
    def list_activities(
        self, op: Operation, deal_id: int, page: PageNumber = 1
    ) -> Answer[Page[Activity]]:
        """List what was done and is to be done for a deal, twenty to a page."""
        asked = query(every, where(deal_id=deal_id))
        rows = yield from self.activities.list.read(op, asked)
        return paged("activities", rows, page)

    @write_tool
    def add_note(self, op: Operation, deal_id: int, body: str) -> Answer[Activity]:
        """Write a note on a deal."""
        return (yield from self._log(op, deal_id, "note", "", body, done=True))

    @write_tool
    def log_activity(
        self, op: Operation, deal_id: int, kind: ActivityKind, subject: str, body: str
    ) -> Answer[Activity]:
        """Log a call, email, meeting or note on a deal, or a task that is to be done."""
        return (yield from self._log(op, deal_id, kind, subject, body, done=kind != "task"))

    def _log(
        self,
        op: Operation,
        deal_id: int,
        kind: ActivityKind,
        subject: str,
        body: str,
        *,
        done: bool,
    ) -> Answer[Activity]:
        if self.deals.true(deal_id) is None:
            raise Refused("not_found", f"no deal {deal_id}")
        return (
            yield from self.activities.insert(
                op,
                {
                    "deal_id": deal_id,
                    "kind": kind,
                    "subject": subject,
                    "body": body,
                    "author_id": op.actor.identity,
                    "at": self.instant,
                    "done": done,
                },
            )
        )

    @write_tool
    def send_email(
        self,
        op: Operation,
        contact_id: int,
        template: Template,
        subject: str,
        body: str,
        deal_id: int | None = None,
    ) -> Answer[Email]:
        """Send a mail to a contact; those who left or whose mail bounced can't be reached.

        With deal_id it is logged among the deal's activities.
        """
        yield self.database(op)
        contact = found(self.contacts.true(contact_id), "contact", contact_id)
        if deal_id is not None:
            found(self.deals.true(deal_id), "deal", deal_id)
        if contact.status != "active":
            self.undeliverable.append((op.owner, contact_id, deal_id))
            raise Refused(
                "undeliverable", f"contact {contact_id} can't be mailed: {contact.status}"
            )
        tx = Transaction(op)
        key = tx.insert(
            self.emails.table,
            {
                "contact_id": contact_id,
                "deal_id": deal_id,
                "template": template,
                "subject": subject,
                "body": body,
                "at": self.instant,
            },
        )
        if deal_id is not None:
            self._log_in(tx, deal_id, "email", subject)
        tx.commit()
        return self.emails.table.rows[key]

    @write_tool
    def schedule_meeting(
        self, op: Operation, deal_id: int, contact_id: int, starts_at: Instant, minutes: Minutes
    ) -> Answer[Meeting]:
        """Fix a meeting with an active contact about a deal, at an instant to come, and log it."""
        yield self.database(op)
        found(self.deals.true(deal_id), "deal", deal_id)
        contact = found(self.contacts.true(contact_id), "contact", contact_id)
        if contact.status != "active":
            raise Refused("forbidden", f"contact {contact_id} can't be met: {contact.status}")
        if starts_at <= self.instant:
            raise Refused(
                "invalid_arguments", f"starts_at {format_instant(starts_at)} is not to come"
            )
        tx = Transaction(op)
        key = tx.insert(
            self.meetings.table,
            {
                "deal_id": deal_id,
                "contact_id": contact_id,
                "starts_at": starts_at,
                "minutes": minutes,
            },
        )
        self._log_in(tx, deal_id, "meeting", f"{minutes} minutes with contact {contact_id}")
        tx.commit()
        return self.meetings.table.rows[key]

    def _log_in(self, tx: Transaction, deal_id: int, kind: ActivityKind, subject: str) -> None:
        """Let a mail or a meeting stand among the deal's activities, from the same commit on."""
        tx.insert(
            self.activities.table,
            {
                "deal_id": deal_id,
                "kind": kind,
                "subject": subject,
                "author_id": tx.op.actor.identity,
                "at": self.instant,
            },
        )
