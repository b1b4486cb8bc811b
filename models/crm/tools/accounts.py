"""Tools about companies."""

from __future__ import annotations

from simharness.api import Answer, Operation, Page, paged, query, tool
from simharness.models.crm.stores import CrmStores, PageNumber, every, found
from simharness.models.crm.tables import Account


class AccountTools(CrmStores):
    """Read companies."""

    @tool
    def get_account(self, op: Operation, account_id: int) -> Answer[Account]:
        """Read one account."""
        return found((yield from self.accounts.detail.read(op, account_id)), "account", account_id)

    @tool
    def list_accounts(self, op: Operation, page: PageNumber = 1) -> Answer[Page[Account]]:
        """List the accounts, twenty to a page."""
        rows = yield from self.accounts.list.read(op, query(every))
        return paged("accounts", rows, page)
