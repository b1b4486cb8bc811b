"""Tools about prices: quotes and approvals of discounts."""

from __future__ import annotations

from simharness.api import Answer, Operation, Refused, Transaction, tool, write_tool
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.stores import CrmStores, found
from simharness.models.crm.tables import ApprovalRequest, Percent, Quote


class ApprovalTools(CrmStores):
    """Offer prices and have discounts approved."""

    @write_tool
    def create_quote(self, op: Operation, deal_id: int, discount_pct: Percent) -> Answer[Quote]:
        """Offer the deal's amount less a discount."""
        yield self.database(op)
        deal = found(self.deals.true(deal_id), "deal", deal_id)
        tx = Transaction(op)
        key = tx.insert(
            self.quotes.table,
            {
                "deal_id": deal_id,
                # Rounded down to the minor unit, in the customer's favour.
                "total": deal.amount * (100 - discount_pct) // 100,
                "currency": deal.currency,
                "discount_pct": discount_pct,
            },
        )
        tx.commit()
        return self.quotes.table.rows[key]

    @write_tool
    def request_approval(
        self,
        op: Operation,
        deal_id: int,
        discount_pct: Percent,
        if_version: int | None = None,
    ) -> Answer[ApprovalRequest]:
        """Ask a manager to approve a discount on a deal; one request at a time.

        The deal then has that discount. With if_version it is refused when the deal has another
        version by now.
        """
        edit = yield from self.deals.edit(op, deal_id, if_version)
        try:
            if edit.row.stage not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
            if edit.row.approval == "pending":
                raise Refused(
                    "conflict", "a request for this deal is pending", version=edit.row.version
                )
            tx = Transaction(op)
            changes = {"approval": "pending", "discount_pct": discount_pct}
            edit.update(tx, changes)
            key = tx.insert(
                self.approvals.table, {"deal_id": deal_id, "discount_pct": discount_pct}
            )
            tx.commit()
        finally:
            edit.close()
        return self.approvals.table.rows[key]

    @tool
    def get_approval(self, op: Operation, approval_id: int) -> Answer[ApprovalRequest]:
        """Read one request for approval."""
        return found(
            (yield from self.approvals.detail.read(op, approval_id)), "approval", approval_id
        )
