"""Tools about the people at companies."""

from __future__ import annotations

from simharness.api import Answer, Operation, Page, Refused, paged, query, tool
from simharness.models.crm.stores import CrmStores, found
from simharness.models.crm.tables import Contact


class ContactTools(CrmStores):
    """Read people."""

    @tool
    def get_contact(self, op: Operation, contact_id: int) -> Answer[Contact]:
        """Read one contact."""
        return found((yield from self.contacts.detail.read(op, contact_id)), "contact", contact_id)

    @tool
    def search_contacts(
        self, op: Operation, email: str | None = None, text: str | None = None
    ) -> Answer[Page[Contact]]:
        """Find contacts by their exact email, or by a text in name, email or role.

        At least one is needed.
        """
        if email is None and text is None:
            raise Refused("invalid_arguments", "give email or text")
        needle = text.lower() if text is not None else ""

        def matches(row: Contact) -> bool:
            if email is not None and row.email != email:
                return False
            return (
                needle in row.full_name.lower()
                or needle in row.email.lower()
                or needle in row.role.lower()
            )

        rows = yield from self.contacts.search.read(op, query(matches, email=email, text=text))
        return paged("contacts", rows, 1)
