"""Tools about companies."""

from __future__ import annotations

from typing import Any

from simharness.api import (
    SECOND,
    Answer,
    Instant,
    Operation,
    Page,
    Refused,
    Transaction,
    paged,
    query,
    tool,
    write_tool,
)
from simharness.models.crm.stores import (
    CrmStores,
    PageNumber,
    WaitSeconds,
    found,
    require_text,
)
from simharness.models.crm.tables import Account, AccountFields


class AccountTools(CrmStores):
    """Read, make, change and end companies."""

    @tool
    def get_account(self, op: Operation, account_id: int) -> Answer[Account]:
        """Read one account."""
        return found((yield from self.accounts.detail.read(op, account_id)), "account", account_id)

    @tool
    def list_accounts(self, op: Operation, page: PageNumber = 1) -> Answer[Page[Account]]:
        """List the accounts, twenty to a page."""
        rows = yield from self.accounts.list.read(op, query())
        return paged("accounts", rows, page)

    @tool
    def search_accounts(
        self, op: Operation, text: str, page: PageNumber = 1
    ) -> Answer[Page[Account]]:
        """Find accounts by a text in title, domain or industry, twenty to a page."""
        needle = text.lower()

        def matches(row: Account) -> bool:
            return (
                needle in row.title.lower()
                or needle in (row.domain or "").lower()
                or needle in row.industry.lower()
            )

        rows = yield from self.accounts.search.read(op, query(matches, text=text))
        return paged("accounts", rows, page)

    @tool
    def account_changes(
        self, op: Operation, since: Instant | None = None, wait: WaitSeconds = 0
    ) -> Answer[Page[Account]]:
        """Read the accounts changed at or after an instant, or else since your last call of this.

        Where there are none, wait up to so many seconds for the next change.
        """
        return Page("accounts", (yield from self.accounts.feed.read(op, since, wait * SECOND)))

    @write_tool
    def create_account(self, op: Operation, title: str, domain: str) -> Answer[Account]:
        """Make an account, which you own. No two accounts have one domain."""
        require_text("title", title)
        require_text("domain", domain)
        fields = {"title": title, "domain": domain, "owner_id": op.actor.identity or None}
        return (yield from self.accounts.insert(op, fields))

    @write_tool
    def update_account(
        self, op: Operation, account_id: int, fields: AccountFields, if_version: int | None = None
    ) -> Answer[Account]:
        """Change fields of an account.

        With if_version it is refused when the account has another version by now.
        """
        require_text("title", fields.get("title"))
        require_text("domain", fields.get("domain"))
        edit = yield from self.accounts.edit(op, account_id, if_version)
        try:
            if "owner_id" in fields:
                self.require_owner(fields["owner_id"], "account")
            tx = Transaction(op)
            edit.update(tx, {**fields})
            tx.commit()
        finally:
            edit.close()
        return self.accounts.table.rows[account_id]

    @write_tool
    def delete_account(self, op: Operation, account_id: int) -> Answer[dict[str, Any]]:
        """End an account that has neither contacts nor deals. Needs the role admin."""
        self.require_role(op, "admin")
        edit = yield from self.accounts.edit(op, account_id)
        try:
            for contact in self.contacts.table.where(account_id=account_id):
                raise Refused(
                    "conflict",
                    f"contact {contact.id} belongs to account {account_id}",
                    contact_id=contact.id,
                )
            for deal in self.deals.table.where(account_id=account_id):
                raise Refused(
                    "conflict",
                    f"deal {deal.id} belongs to account {account_id}",
                    deal_id=deal.id,
                )
            tx = Transaction(op)
            tx.delete(self.accounts.table, account_id)
            tx.commit()
        finally:
            edit.close()
        version = self.accounts.table.version(account_id)
        return {"id": account_id, "version": version, "deleted": True}
