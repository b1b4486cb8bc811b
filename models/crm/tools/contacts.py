"""Tools about the people at companies."""

from __future__ import annotations

from contextlib import ExitStack

from simharness.api import (
    Answer,
    Edit,
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
from simharness.models.crm.stores import (
    CrmStores,
    PageNumber,
    found,
    require_email,
    require_text,
)
from simharness.models.crm.tables import Contact, ContactFields, Deal


class ContactTools(CrmStores):
    """Read, make, change and merge people."""

    @tool
    def get_contact(self, op: Operation, contact_id: int) -> Answer[Contact]:
        """Read one contact."""
        return found((yield from self.contacts.detail.read(op, contact_id)), "contact", contact_id)

    @tool
    def search_contacts(
        self,
        op: Operation,
        email: str | None = None,
        text: str | None = None,
        page: PageNumber = 1,
    ) -> Answer[Page[Contact]]:
        """Find contacts by their exact email, or by a text in name, email or role.

        At least one is needed. Twenty come to a page.
        """
        if email is None and text is None:
            raise Refused("invalid_arguments", "give email or text")
        needle = text.lower() if text is not None else ""

        def matches(row: Contact) -> bool:
            return (
                needle in row.full_name.lower()
                or needle in row.email.lower()
                or needle in row.role.lower()
            )

        asked = query(matches, where(email=email), text=text)
        rows = yield from self.contacts.search.read(op, asked)
        return paged("contacts", rows, page)

    @write_tool
    def create_contact(
        self, op: Operation, email: str, full_name: str, account_id: int | None = None
    ) -> Answer[Contact]:
        """Make a contact. No two contacts have one email."""
        require_email(email)
        require_text("full_name", full_name)
        yield self.database(op)
        if account_id is not None:
            found(self.accounts.true(account_id), "account", account_id)
        tx = Transaction(op)
        key = tx.insert(
            self.contacts.table,
            {"email": email, "full_name": full_name, "account_id": account_id},
        )
        tx.commit()
        return self.contacts.table.rows[key]

    @write_tool
    def update_contact(
        self, op: Operation, contact_id: int, fields: ContactFields, if_version: int | None = None
    ) -> Answer[Contact]:
        """Change fields of a contact.

        With if_version it is refused when the contact has another version by now.
        """
        require_email(fields.get("email"))
        require_text("full_name", fields.get("full_name"))
        edit = yield from self.contacts.edit(op, contact_id, if_version)
        try:
            if "account_id" in fields:
                found(self.accounts.true(fields["account_id"]), "account", fields["account_id"])
            tx = Transaction(op)
            edit.update(tx, {**fields})
            tx.commit()
        finally:
            edit.close()
        return self.contacts.table.rows[contact_id]

    @write_tool
    def merge_contacts(self, op: Operation, source_id: int, target_id: int) -> Answer[Contact]:
        """Make one contact of two of the same account, for good.

        Deals, mails and meetings of the source become the target's; the source is deleted. The
        target's own fields stay as they are.
        """
        if source_id == target_id:
            raise Refused("invalid_arguments", "a contact can't be merged with itself")
        with ExitStack() as held:
            # The lower id first, contacts before deals: whoever merges takes the locks in this
            # order, and nobody else takes a second one.
            both: dict[int, Edit[Contact]] = {}
            for key in sorted((source_id, target_id)):
                both[key] = yield from self.contacts.edit(op, key)
                held.callback(both[key].close)
            deals: dict[int, Edit[Deal]] = {}
            # While one deal's lock is awaited, the source may become the champion of another.
            while (deal_id := self._championed(source_id, deals)) is not None:
                deals[deal_id] = yield from self.deals.edit(op, deal_id)
                held.callback(deals[deal_id].close)
            # The first were read some waits ago.
            for contact in both.values():
                contact.check(None)
            for deal in deals.values():
                deal.check(None)
            source, target = both[source_id].row, both[target_id].row
            if source.account_id != target.account_id and source.account_id is not None:
                raise Refused(
                    "forbidden",
                    f"contact {source_id} is of account {source.account_id}, "
                    f"contact {target_id} of {target.account_id}",
                )
            tx = Transaction(op)
            for deal in deals.values():
                if deal.row.champion_id == source_id:
                    deal.update(tx, {"champion_id": target_id})
            for mail in self.emails.table:
                if mail.contact_id == source_id:
                    tx.update(self.emails.table, mail.id, {"contact_id": target_id})
            for meeting in self.meetings.table:
                if meeting.contact_id == source_id:
                    tx.update(self.meetings.table, meeting.id, {"contact_id": target_id})
            tx.delete(self.contacts.table, source_id)
            tx.commit()
        return self.contacts.table.rows[target_id]

    def _championed(self, contact_id: int, known: dict[int, Edit[Deal]]) -> int | None:
        """Give the first deal with this champion that isn't known yet."""
        for deal in self.deals.table.where(champion_id=contact_id):
            if deal.id not in known:
                return deal.id
        return None
