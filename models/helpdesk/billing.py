"""Money: what the gateway is asked for, what its events do, and what the books and the ledger say.

A row stands for each charge and each refund. It is made before the gateway is asked, takes the
gateway's answer, and from then on follows its events. An order's status follows them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Movement, Refused, Transaction
from simharness.models.helpdesk.rules import order_status, tax_back, tax_of
from simharness.models.helpdesk.stores import HelpdeskStores, charge_name, found
from simharness.models.helpdesk.tables import Refund

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.api import Answer, Notice, Operation, Reaction, Reply, Store
    from simharness.models.helpdesk.tables import Charge, Order

AFTER = "after_gateway"
TOP_UP = "topup.succeeded"
"""Kind of the event that a charge was made to fill up what its customer may spend here."""
STATUSES = {
    "charges": ("pending", "succeeded", "failed", "disputed"),
    "refunds": ("pending", "succeeded", "failed"),
}
"""What an event may say of a row."""


class Billing(HelpdeskStores):
    """What the tools share about money."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._known: set[int] = set()
        """Charges that the gateway has been told of, or was asked for."""
        self._begun = False
        # Scenarios put their rows into place after this, and before the first instant is over.
        self.world.after(0, lambda _: self.begin_books())

    # --- the start --------------------------------------------------------------------------------

    def begin_books(self) -> None:
        """Work the ledger out from charges and refunds where the start names none of it."""
        if self._begun:
            return
        self._begun = True
        table = self.entries.table
        named = list(table)
        for entry in named:
            order_id = self._order_of(self.row_name(entry.ref))
            if entry.order_id != order_id:
                table.start_with(table.row_type.evolve(entry, {"order_id": order_id}))
        if named:
            return
        for charge in self.charges.table:
            if charge.status in ("succeeded", "disputed"):
                self._start_entry("charge", f"charges:{charge.id}", charge)
            if charge.status == "disputed":
                self._start_entry("chargeback", f"charges:{charge.id}", charge)
        for refund in self.refunds.table:
            if refund.status == "succeeded":
                self._start_entry("refund", f"refunds:{refund.id}", refund)

    def _start_entry(self, kind: str, ref: str, row: Charge | Refund) -> None:
        table = self.entries.table
        fields = {
            "id": table.top + 1,
            "kind": kind,
            "ref": self.shown_ref(ref),
            "amount": row.amount,
            "currency": row.currency,
            "at": row.created_at,
            "order_id": self._order_of(ref),
            "created_at": row.created_at,
            "updated_at": row.created_at,
        }
        table.start_with(table.row_type.build(fields, table.name))

    def _order_of(self, ref: str) -> int:
        """Give the order that a charge or refund belongs to; 0 for none."""
        table, _, number = ref.partition(":")
        key = int(number) if number.isdecimal() and len(number) < 19 else 0
        if table == "refunds":
            refund = self.refunds.true(key)
            key = refund.charge_id if refund is not None else 0
        charge = self.charges.true(key)
        return charge.order_id if charge is not None else 0

    def make_known(self, charge: Charge) -> None:
        """Tell the gateway of a charge of the start and its refunds, once somebody asks for it."""
        if charge.id in self._known:
            return
        self._known.add(charge.id)
        self.begin_books()
        ref = f"charges:{charge.id}"
        self._tell_of("charge", ref, f"orders:{charge.order_id}", charge)
        for refund in self.refunds.table.where(charge_id=charge.id):
            self._tell_of("refund", f"refunds:{refund.id}", ref, refund)
        self._tell_of("chargeback", ref, ref, None)

    def _tell_of(self, kind: Any, ref: str, of: str, row: Charge | Refund | None) -> None:
        name = self.shown_ref(ref)
        entry = next(iter(self.entries.table.where(kind=kind, ref=name)), None)
        if entry is not None:
            moved = Movement(kind, ref, of, entry.amount, entry.currency, entry.at)
            self.gateway.open(moved)
        elif row is not None:
            moved = Movement(kind, ref, of, row.amount, row.currency, row.created_at)
            status = "pending" if row.status == "pending" else "failed"
            self.gateway.open(moved, status=status)

    def ref_of(self, name: str) -> str:
        """Give the row that an event names, as `charges:1`, also of `CH-1`."""
        ref = self.row_name(name)
        table, _, number = ref.partition(":")
        if number.isdecimal() and len(number) < 19:
            key = int(number)
            refund = self.refunds.true(key) if table == "refunds" else None
            if refund is not None:
                key = refund.charge_id
            charge = self.charges.true(key) if refund is not None or table == "charges" else None
            if charge is not None:
                self.make_known(charge)
        return ref

    def on_movement(self, op: Operation, moved: Movement) -> None:
        """Write a movement of the gateway's into the table that people look at."""
        self.begin_books()
        tx = Transaction(op)
        tx.insert(
            self.entries.table,
            {
                "kind": moved.kind,
                "ref": self.shown_ref(moved.ref),
                "amount": moved.amount,
                "currency": moved.currency,
                "at": moved.at,
                "order_id": self._order_of(moved.ref),
            },
        )
        tx.commit()

    # --- the books --------------------------------------------------------------------------------

    def books(self) -> dict[str, int]:
        """Say what is left of each charge that the gateway knows, by the rows."""
        rows = self.charges.table.rows
        out = {
            f"charges:{key}": rows[key].amount if rows[key].status == "succeeded" else 0
            for key in sorted(self._known)
            if key in rows
        }
        for refund in self.refunds.table:
            if refund.status == "succeeded" and refund.charge_id in self._known:
                key = f"charges:{refund.charge_id}"
                out[key] = out.get(key, 0) - refund.amount
        return out

    def refunds_of(self, charge_id: int) -> list[Refund]:
        """Give the refunds of a charge that haven't failed."""
        return self.refunds.table.where(lambda row: row.status != "failed", charge_id=charge_id)

    def left_of(self, charge: Charge) -> int:
        """Give what may still be paid back of a charge."""
        return charge.amount - sum(refund.amount for refund in self.refunds_of(charge.id))

    def require_left(self, charge: Charge, amount: int | None) -> None:
        """Refuse `over_refund` above what is left; None asks for all of it."""
        left = self.left_of(charge)
        if (1 if amount is None else amount) > left:
            raise Refused(
                "over_refund",
                f"{max(left, 0)} {charge.currency} are left of charge {charge_name(charge.id)}",
                left=max(left, 0),
                currency=charge.currency,
            )

    def lock_order(self, op: Operation, order_id: int) -> Answer[None]:
        """Take an order's lock, under which its status follows its money.

        It is for one instant, and not for as long as the gateway is asked; `orders.write.lock` may
        do without. Raises Refused `locked`.
        """
        orders = self.orders
        if orders.lock == "row" and order_id in orders.table.rows:
            yield from orders.locks.acquire(op, order_id, orders.lock_wait)

    def free_order(self, op: Operation, order_id: int) -> None:
        """Give an order's lock back, if it was taken."""
        if self.orders.locks.holder(order_id) is op:
            self.orders.locks.release(op, order_id)

    def follow_money(
        self,
        tx: Transaction,
        order_id: int,
        charge: tuple[int, ...] = (),
        refund: tuple[int, ...] = (),
    ) -> None:
        """Let an order's status say what its money does, in the transaction that changes it.

        The caller holds the order's lock.
        `charge` and `refund` are ids that the transaction itself inserts.
        """
        order = tx.row(self.orders.table, order_id)
        if order is None:
            return
        # No charge changes its order and no refund its charge: where they were is where they are.
        of_order = (row.id for row in self.charges.table.where(order_id=order_id))
        rows = (tx.row(self.charges.table, key) for key in (*of_order, *charge))
        charges = [row for row in rows if row is not None and row.order_id == order_id]
        ids = {row.id for row in charges}
        of_charges = sorted(r.id for key in ids for r in self.refunds.table.where(charge_id=key))
        back = (tx.row(self.refunds.table, key) for key in (*of_charges, *refund))
        refunds = [row for row in back if row is not None and row.charge_id in ids]
        status = order_status(order, charges, refunds)
        if status != order.status:
            tx.update(self.orders.table, order_id, {"status": status})

    # --- asking the gateway -----------------------------------------------------------------------

    def take(
        self, op: Operation, order: Order, amount: int, key: str
    ) -> Answer[tuple[Charge, Reply]]:
        """Take money for an order; gives the charge and the gateway's answer."""
        table = self.charges.table

        def book() -> str:
            tx = Transaction(op)
            made = tx.insert(
                table,
                {
                    "order_id": order.id,
                    "customer_id": order.customer_id,
                    "amount": amount,
                    "currency": order.currency,
                    "idempotency_key": key,
                    "attempt_of": self._failed_before(order.id, amount),
                },
            )
            tx.commit()
            self._known.add(made)
            return f"charges:{made}"

        of = f"orders:{order.id}"
        reply = yield from self.gateway.charge(op, amount, order.currency, book, of=of, key=key)
        made = id_of(reply.ref)
        yield from self._write_down(op, self.charges, made, reply)
        return table.rows[made], reply

    def _failed_before(self, order_id: int, amount: int) -> int | None:
        """Give the last charge of an order if it was for as much and has failed."""
        of_order = self.charges.table.where(order_id=order_id)
        last = of_order[-1] if of_order else None
        again = last is not None and (last.status, last.amount) == ("failed", amount)
        return last.id if last is not None and again else None

    def give_back(
        self, op: Operation, charge_id: int, want: Callable[[], int], reason: str, key: str
    ) -> Answer[tuple[Refund, Reply] | None]:
        """Pay money of a charge back; gives the refund and the gateway's answer.

        `want` gives the amount, or 0 for nothing, once nobody else writes the order; it may refuse.

        Raises Refused `over_refund` as `refund.check` says, `locked`, and what the gateway refuses.
        """
        charge = found(self.charges.true(charge_id), "charge", charge_name(charge_id))
        self.make_known(charge)
        yield from self.lock_order(op, charge.order_id)
        try:
            amount = want()
            made_now = amount and not self.gateway.repeats(op, key)
            ref = self._book_refund(op, charge, amount, reason, key) if made_now else ""
        finally:
            self.free_order(op, charge.order_id)
        if not amount:
            return None
        of = f"charges:{charge_id}"
        reply = yield from self.gateway.refund(op, of, amount, charge.currency, ref, key=key)
        made = id_of(reply.ref)
        yield from self._write_down(op, self.refunds, made, reply)
        return self.refunds.table.rows[made], reply

    def _book_refund(
        self, op: Operation, charge: Charge, amount: int, reason: str, key: str
    ) -> str:
        """Make the row of a refund, and give its name."""
        if self.refund_check == "atomic":
            self.require_left(charge, amount)
        order = self.orders.true(charge.order_id)
        tax = tax_of(order, charge.amount) if order is not None else 0
        before = self.refunds_of(charge.id)
        part = tax_back(tax, charge.amount, amount, before, self.refund_rounding)
        tx = Transaction(op)
        made = tx.insert(
            self.refunds.table,
            {
                "charge_id": charge.id,
                "amount": amount,
                "currency": charge.currency,
                "status": "pending" if self.refund_books == AFTER else "succeeded",
                "idempotency_key": key,
                "net": amount - part,
                "tax": part,
                "reason": reason,
            },
        )
        self.follow_money(tx, charge.order_id, refund=(made,))
        tx.commit()
        return f"refunds:{made}"

    def _write_down(self, op: Operation, money: Store[Any], key: int, reply: Reply) -> Answer[None]:
        """Write the gateway's answer into the row of a charge or refund, unless there is news.

        Raises Refused `unknown_outcome` where somebody keeps the order: the money may have moved.
        """
        if not self._news(money, key, reply):
            return
        order_id = self._order_of(reply.ref)
        try:
            yield from self.lock_order(op, order_id)
        except Refused as refusal:
            raise Refused(
                "unknown_outcome", f"{reply.ref} is asked for; {refusal.message}"
            ) from None
        try:
            # An event may have come meanwhile.
            changes = self._news(money, key, reply)
            if changes:
                tx = Transaction(op)
                tx.update(money.table, key, changes)
                self.follow_money(tx, order_id)
                tx.commit()
        finally:
            self.free_order(op, order_id)

    @staticmethod
    def _news(money: Store[Any], key: int, reply: Reply) -> dict[str, object]:
        """Give what a row doesn't say yet of the gateway's answer."""
        row: Charge | Refund = money.table.rows[key]
        out: dict[str, object] = {}
        if reply.status != "pending" and row.status == "pending":
            out["status"] = reply.status
        if isinstance(row, Refund) and row.gateway_ref != reply.gateway_ref:
            out["gateway_ref"] = reply.gateway_ref
        return out

    @staticmethod
    def answered(made: Store[Any], row: Charge | Refund, reply: Reply) -> dict[str, Any]:
        """Give a row as a call's answer, with the gateway's own answer beside it."""
        return {**made.spec.row_type.json(row), "gateway": reply.value()}

    # --- its events -------------------------------------------------------------------------------

    def on_event(self, op: Reaction, notice: Notice) -> Answer[None]:
        """Take an event of the gateway. Raises Refused: not taken, to be sent again."""
        table, _, number = notice.ref.partition(":")
        key = int(number) if number.isdecimal() and len(number) < 19 else 0
        if table not in STATUSES or self.stores[table].true(key) is None:
            raise Refused("not_found", f"no charge or refund {notice.ref!a:.80}")
        status = notice.payload["status"]
        if status not in STATUSES[table]:
            known = ", ".join(STATUSES[table])
            raise Refused("invalid_arguments", f"status {status!a:.60} is none of {known}")
        order_id = self._order_of(notice.ref)
        edit = yield from self.stores[table].edit(op, key)
        try:
            yield from self.lock_order(op, order_id)
            tx = Transaction(op)
            # Refunds that are booked at once are never looked at again.
            early = table == "refunds" and self.refund_books != AFTER
            applied = self.inbox.take(tx, notice)
            if applied and not early and self.stores[table].table.rows[key].status != status:
                edit.update(tx, {"status": status})
                self.follow_money(tx, order_id)
            if applied and notice.kind == TOP_UP:
                self._top_up(tx, notice, key)
            self._note_event(tx, notice, applied=applied)
            tx.commit()
        finally:
            self.free_order(op, order_id)
            edit.close()

    def _top_up(self, tx: Transaction, notice: Notice, key: int) -> None:
        """Add what was charged to what the customer may spend."""
        charge = self.charges.true(key) if notice.ref == f"charges:{key}" else None
        if charge is None or notice.payload["status"] != "succeeded":
            raise Refused("invalid_arguments", f"{TOP_UP} of {notice.ref} is about no charge")
        tx.insert(
            self.credits.table,
            {
                "customer_id": charge.customer_id,
                "amount": charge.amount,
                "currency": charge.currency,
                "reason": "top-up",
                "event_id": notice.event_id,
            },
        )

    def learn(self, money: Store[Any], op: Operation, key: int, status: str) -> Answer[None]:
        """Write down what the gateway says, when asked, of a charge or refund without news.

        It knows nothing of one whose worker died before it could ask: that one has failed.
        """
        order_id = self._order_of(f"{money.table.name}:{key}")
        edit = yield from money.edit(op, key)
        try:
            yield from self.lock_order(op, order_id)
            # An event may have come meanwhile.
            if money.table.rows[key].status == "pending":
                tx = Transaction(op)
                edit.update(tx, {"status": status or "failed"})
                self.follow_money(tx, order_id)
                tx.commit()
        finally:
            self.free_order(op, order_id)
            edit.close()

    def _note_event(self, tx: Transaction, notice: Notice, *, applied: bool) -> None:
        tx.insert(
            self.webhooks.table,
            {
                "event_id": notice.event_id,
                "kind": notice.kind,
                "created": notice.created,
                "ref": self.shown_ref(notice.ref),
                "delivered_at": self.instant,
                "status": "applied" if applied else "ignored",
            },
        )


def id_of(ref: str) -> int:
    """Give the number of a row's name."""
    return int(ref.partition(":")[2])
