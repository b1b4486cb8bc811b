"""Tools about money that was taken, and what the gateway's ledger says."""

from __future__ import annotations

from typing import Any

from simharness.api import (
    Answer,
    Operation,
    Page,
    Refused,
    every,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.helpdesk.billing import Billing
from simharness.models.helpdesk.stores import PageNumber, charge_name, found, require_currency
from simharness.models.helpdesk.tables import Amount, Charge, ChargeId, Entry


class ChargeTools(Billing):
    """Look at charges, take money, look at the ledger."""

    @tool
    def list_charges(
        self,
        op: Operation,
        customer_id: int | None = None,
        order_id: int | None = None,
        page: PageNumber = 1,
    ) -> Answer[Page[Charge]]:
        """List charges, twenty to a page, optionally those of one customer or order."""
        asked = query(every, where(customer_id=customer_id, order_id=order_id))
        rows = yield from self.charges.list.read(op, asked)
        return paged("charges", rows, page)

    @tool
    def get_charge(self, op: Operation, charge_id: ChargeId) -> Answer[Charge]:
        """Read one charge."""
        row = yield from self.charges.detail.read(op, charge_id)
        return found(row, "charge", charge_name(charge_id))

    @write_tool
    def charge(
        self,
        op: Operation,
        order_id: int,
        amount: Amount,
        currency: str,
        idempotency_key: str | None = None,
    ) -> Answer[dict[str, Any]]:
        """Take money for an order, in minor units of its currency, whatever was taken before.

        A key that was used before answers with the charge that was made then. The answer is the
        charge, and the gateway's own answer as `gateway`.
        """
        require_currency(currency)
        found(self.orders.true(order_id), "order", order_id)
        yield self.database(op)
        order = found(self.orders.true(order_id), "order", order_id)
        if currency != order.currency:
            raise Refused(
                "invalid_arguments", f"currency is {currency!a}, the order is in {order.currency}"
            )
        made, reply = yield from self.take(op, order, amount, idempotency_key or "")
        return self.answered(self.charges, made, reply)

    @tool
    def get_ledger(self, op: Operation, order_id: int) -> Answer[Page[Entry]]:
        """Read what the gateway has moved for an order, by its own ledger."""
        self.begin_books()
        asked = query(every, where(order_id=order_id))
        rows = yield from self.entries.list.read(op, asked)
        found(self.orders.true(order_id), "order", order_id)
        return Page("ledger", rows)
