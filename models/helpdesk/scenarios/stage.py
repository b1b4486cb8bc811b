"""Rows that an instance adds to the helpdesk: customers with orders, money, and what they write."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from simharness.api import DAY, Row
from simharness.models.helpdesk.base import FIRST, LAST, SCALES, base_rows
from simharness.models.helpdesk.rules import order_status, tax_back, tax_of

if TYPE_CHECKING:
    from simharness.api import Table
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import (
        Charge,
        Customer,
        Entry,
        Message,
        Order,
        Policy,
        Refund,
        Ticket,
    )

R = TypeVar("R", bound=Row)

CURRENCIES = ("USD", "EUR", "JPY", "KWD")
CURRENCY_WEIGHTS = (40, 20, 22, 18)


class Stage:
    """Puts rows into place before the first instant.

    Their ids are beyond those of the base, so no two instances have the same rows; call `close`
    once all are there.
    """

    def __init__(self, desk: Helpdesk, shift: int) -> None:
        self.desk = desk
        self.shift = shift
        """So many ids are left out first."""
        self._begun: set[str] = set()
        self._orders: list[int] = []

    # --- people and orders ------------------------------------------------------------------------

    def customer(self, currency: str, k: int) -> Customer:
        """Add a customer; k decides about the name."""
        first, last = FIRST[k % len(FIRST)], LAST[k // len(FIRST) % len(LAST)]
        return self._add(
            self.desk.customers.table,
            30 * DAY,
            full_name=f"{first} {last}",
            email=f"{first}.{last}@post.example".lower(),
            currency=currency,
        )

    def order(
        self, customer: Customer, title: str, total: int, *, tax: int = 0, ago: int = DAY
    ) -> Order:
        """Add an order, `ago` ticks before the start; its status is what its money says.

        `total` and `tax`, a part of it, are minor units of the customer's currency.
        """
        row = self._add(
            self.desk.orders.table,
            ago,
            customer_id=customer.id,
            title=title,
            total=total,
            currency=customer.currency,
            net=total - tax,
            tax=tax,
        )
        self._orders.append(row.id)
        return row

    # --- money ------------------------------------------------------------------------------------

    def charge(
        self,
        order: Order,
        amount: int,
        *,
        ago: int,
        status: str = "succeeded",
        key: str = "",
        attempt_of: int | None = None,
    ) -> Charge:
        """Add a charge; what was taken, and what its bank took back, is in the gateway's ledger."""
        row = self._add(
            self.desk.charges.table,
            ago,
            order_id=order.id,
            customer_id=order.customer_id,
            amount=amount,
            currency=order.currency,
            status=status,
            idempotency_key=key,
            attempt_of=attempt_of,
        )
        if status in ("succeeded", "disputed"):
            self._enter("charge", f"CH-{row.id}", order.id, row, ago)
        if status == "disputed":
            self._enter("chargeback", f"CH-{row.id}", order.id, row, 0)
        return row

    def refund(
        self, charge: Charge, amount: int, *, ago: int, status: str = "succeeded", reason: str = ""
    ) -> Refund:
        """Add a refund; what has succeeded is in the gateway's ledger."""
        desk = self.desk
        order = desk.orders.table.rows[charge.order_id]
        tax = tax_of(order, charge.amount)
        back = tax_back(tax, charge.amount, amount, desk.refunds_of(charge.id), "cumulative")
        row = self._add(
            desk.refunds.table,
            ago,
            charge_id=charge.id,
            amount=amount,
            currency=charge.currency,
            status=status,
            net=amount - back,
            tax=back,
            reason=reason,
        )
        if status == "succeeded":
            self._enter("refund", f"RF-{row.id}", order.id, row, ago)
        return row

    def _enter(self, kind: str, ref: str, order_id: int, row: Charge | Refund, ago: int) -> Entry:
        return self._add(
            self.desk.entries.table,
            ago,
            kind=kind,
            ref=ref,
            amount=row.amount,
            currency=row.currency,
            at=row.created_at,
            order_id=order_id,
        )

    # --- what is written --------------------------------------------------------------------------

    def ticket(
        self, customer: Customer, subject: str, body: str, *, ago: int, key: int = 0, **fields: Any
    ) -> Ticket:
        """Add a ticket with its first message; `key` is its id, if it is to have a certain one."""
        named = {"id": key} if key else {}
        row = self._add(
            self.desk.tickets.table,
            ago,
            customer_id=customer.id,
            subject=subject,
            body=body,
            **named,
            **fields,
        )
        self.message(row, f"customers:{customer.id}", body, ago=ago)
        return row

    def message(
        self, ticket: Ticket, author: str, body: str, *, ago: int, public: bool = True
    ) -> Message:
        """Add a message to a ticket's thread."""
        return self._add(
            self.desk.messages.table,
            ago,
            ticket_id=ticket.id,
            author=author,
            body=body,
            public=public,
        )

    def policy(self, title: str, body: str) -> Policy:
        """Add a rule of the house."""
        return self._add(self.desk.policies.table, 30 * DAY, title=title, body=body)

    # --- the rows ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Let the status of each order that was added say what its money does."""
        desk = self.desk
        table = desk.orders.table
        for key in self._orders:
            order = table.rows[key]
            charges = [c for c in desk.charges.table if c.order_id == key]
            refunds = [r for c in charges for r in desk.refunds_of(c.id)]
            status = order_status(order, charges, refunds)
            table.start_with(table.row_type.evolve(order, {"status": status}))

    def _add(self, table: Table[R], ago: int, **fields: Any) -> R:
        """Add a row, made `ago` ticks before the start."""
        at = self.desk.world.epoch - ago
        made = {
            "id": self._next_id(table),
            "created_at": at,
            "updated_at": at,
            **fields,
        }
        row = table.row_type.build(made, table.name)
        table.start_with(row)
        return row

    def _next_id(self, table: Table[Any]) -> int:
        skipped = 0 if table.name in self._begun else self.shift
        self._begun.add(table.name)
        return table.top + 1 + skipped


@cache
def _top(table: str) -> int:
    return max((row.id for row in base_rows().get(table, ())), default=0)


def first_id(table: str, shift: int) -> int:
    """Give the id of the first row that an instance adds to a table."""
    return _top(table) + 1 + shift


def in_currency(hundredths: int, currency: str) -> int:
    """Give a price in minor units of a currency: everything costs as many units everywhere."""
    return hundredths * SCALES[currency] // 100


def tax_part(total: int, per_cent: int) -> int:
    """Give the tax within a total, at so many per cent of the net."""
    return total - total * 100 // (100 + per_cent)
