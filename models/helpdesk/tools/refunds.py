"""Tools about money that goes back."""

from __future__ import annotations

from functools import partial
from typing import Any

from simharness.api import (
    Answer,
    Operation,
    Page,
    Refused,
    Transaction,
    every,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.helpdesk.stores import PageNumber, charge_name, found, require_currency
from simharness.models.helpdesk.tables import (
    Amount,
    Charge,
    ChargeId,
    Credit,
    Refund,
    RefundId,
)
from simharness.models.helpdesk.tools.charges import ChargeTools


class RefundTools(ChargeTools):
    """Look at refunds, pay money back, give credit."""

    @tool
    def list_refunds(
        self, op: Operation, charge_id: ChargeId, page: PageNumber = 1
    ) -> Answer[Page[Refund]]:
        """List the refunds of one charge, twenty to a page."""
        asked = query(every, where(charge_id=charge_id))
        rows = yield from self.refunds.list.read(op, asked)
        return paged("refunds", rows, page)

    @tool
    def get_refund(self, op: Operation, refund_id: RefundId) -> Answer[Refund]:
        """Read one refund."""
        row = yield from self.refunds.detail.read(op, refund_id)
        return found(row, "refund", f"RF-{refund_id}")

    @write_tool
    def refund(
        self,
        op: Operation,
        charge_id: ChargeId,
        amount: Amount | None = None,
        currency: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Answer[dict[str, Any]]:
        """Pay money of a charge back, in minor units of its currency; by default all that is left.

        A key that was used before answers with the refund that was made then. The answer is the
        refund, and the gateway's own answer as `gateway`.
        """
        if currency is not None:
            require_currency(currency)
        key = idempotency_key or ""
        if self._made_before(key) is None:
            charge = self._refundable(charge_id, currency)
            if self.refund_check == "check_then_insert":
                self.require_left(charge, amount)
        yield self.database(op)
        want = partial(self._wanted, charge_id, amount, currency, key)
        paid = yield from self.give_back(op, charge_id, want, reason or "", key)
        assert paid is not None  # what is wanted is never nothing
        return self.answered(self.refunds, *paid)

    def _wanted(self, charge_id: int, amount: int | None, currency: str | None, key: str) -> int:
        """Give the amount of a refund; None asks for all that is left."""
        earlier = self._made_before(key)
        if earlier is not None:
            # The gateway knows what to make of the key, whatever has become of the charge.
            return earlier.amount if amount is None else amount
        charge = self._refundable(charge_id, currency)
        if amount is not None:
            return amount
        self.require_left(charge, None)
        return self.left_of(charge)

    def _made_before(self, key: str) -> Refund | None:
        """Give the refund of a key; None without one."""
        made = self.refunds.table.where(idempotency_key=key) if key else []
        return made[0] if made else None

    def _refundable(self, charge_id: int, currency: str | None) -> Charge:
        """Give a charge that has money to be paid back, in that currency if one is named."""
        charge = found(self.charges.true(charge_id), "charge", charge_name(charge_id))
        if currency not in (None, charge.currency):
            raise Refused(
                "invalid_arguments",
                f"currency is {currency!a}, the charge is in {charge.currency}",
            )
        if charge.status != "succeeded":
            raise Refused(
                "conflict",
                f"charge {charge_name(charge_id)} is {charge.status}",
                version=charge.version,
            )
        return charge

    @write_tool
    def add_credit(
        self, op: Operation, customer_id: int, amount: Amount, currency: str, reason: str
    ) -> Answer[Credit]:
        """Let a customer spend money here, in minor units of the customer's currency."""
        require_currency(currency)
        yield self.database(op)
        customer = found(self.customers.true(customer_id), "customer", customer_id)
        if currency != customer.currency:
            raise Refused(
                "invalid_arguments",
                f"currency is {currency!a}, the customer pays in {customer.currency}",
            )
        tx = Transaction(op)
        made = tx.insert(
            self.credits.table,
            {
                "customer_id": customer_id,
                "amount": amount,
                "currency": currency,
                "reason": reason,
            },
        )
        tx.commit()
        return self.credits.table.rows[made]
