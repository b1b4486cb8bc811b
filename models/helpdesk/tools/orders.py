"""Tools about orders, customers and the rules of the house."""

from __future__ import annotations

from functools import partial

from simharness.api import (
    Answer,
    Operation,
    Page,
    Refused,
    Transaction,
    query,
    tool,
    write_tool,
)
from simharness.models.helpdesk.rules import order_status
from simharness.models.helpdesk.stores import found, require_text
from simharness.models.helpdesk.tables import Charge, Customer, Order, OrderStatus, Policy
from simharness.models.helpdesk.tools.refunds import RefundTools


class OrderTools(RefundTools):
    """Look at orders, customers and policies; say what has become of an order."""

    @tool
    def get_customer(self, op: Operation, customer_id: int) -> Answer[Customer]:
        """Read one customer."""
        row = yield from self.customers.detail.read(op, customer_id)
        return found(row, "customer", customer_id)

    @tool
    def get_order(self, op: Operation, order_id: int) -> Answer[Order]:
        """Read one order."""
        return found((yield from self.orders.detail.read(op, order_id)), "order", order_id)

    @tool
    def search_policy(self, op: Operation, text: str) -> Answer[Page[Policy]]:
        """Find rules of the house by a word or phrase in title or body."""
        require_text("text", text)
        needle = text.strip().lower()

        def matches(row: Policy) -> bool:
            return needle in row.title.lower() or needle in row.body.lower()

        rows = yield from self.policies.search.read(op, query(matches, text=needle))
        return Page("policies", rows)

    @write_tool
    def set_order_status(self, op: Operation, order_id: int, status: OrderStatus) -> Answer[Order]:
        """Give an order another status. Needs the role lead or admin.

        Refunded and cancelled pay back all that is left; any other status has to be what the
        order's money says.
        """
        self.require_role(op, "lead", "admin")
        edit = yield from self.orders.edit(op, order_id)
        owed: list[Charge] = []
        try:
            if self.status_moves_money:
                owed = self._owed(edit.row, status)
            tx = Transaction(op)
            pending = owed and status == "refunded"
            edit.update(tx, {"status": "refund_pending" if pending else status})
            tx.commit()
        finally:
            edit.close()
        # A bank may be slow: nobody else waits for it. What is paid back changes the status again.
        for charge in owed:
            want = partial(self._still_owed, charge.id)
            yield from self.give_back(op, charge.id, want, f"order {status}", "")
        return self.orders.table.rows[order_id]

    def _still_owed(self, charge_id: int) -> int:
        """Give what is left of a charge, in minor units; 0 where it can't be paid back any more."""
        charge = self.charges.table.rows[charge_id]
        return max(self.left_of(charge), 0) if charge.status == "succeeded" else 0

    def _owed(self, order: Order, status: OrderStatus) -> list[Charge]:
        """Give the charges that a new status pays back.

        Raises Refused `conflict` where the order's money says otherwise.
        """
        charges = self.charges.table.where(order_id=order.id)
        refunds = [r for c in charges for r in self.refunds_of(c.id)]
        paid = [c for c in charges if c.status == "succeeded"]
        owed = [c for c in paid if self.left_of(c) > 0]
        told = order_status(order, charges, refunds)
        if status == "cancelled" or (status == "refunded" and owed):
            return owed
        if order.status == "cancelled" or status != told:
            raise Refused(
                "conflict",
                f"order {order.id} can't be {status}: by its money it is {told}",
                version=order.version,
            )
        return []
