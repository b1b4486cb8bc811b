"""Money: what the gateway is asked for, what its events do, and what the books and the ledger say.

A row stands for each charge and each refund. It is made before the gateway is asked, takes the
gateway's answer, and from then on follows its events. An order's status follows them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Movement, Refused, Transaction
from simharness.models.helpdesk.rules import order_status, tax_back, tax_of
from simharness.models.helpdesk.stores import HelpdeskStores, charge_name, found

if TYPE_CHECKING:
    from simharness.api import Answer, Notice, Operation, Reaction, Reply, Store
    from simharness.models.helpdesk.tables import Charge, Order, Refund

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

    def follow_money(
        self,
        tx: Transaction,
        order_id: int,
        charge: tuple[int, ...] = (),
        refund: tuple[int, ...] = (),
    ) -> None:
        """Let an order's status say what its money does, in the transaction that changes it.

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
        if reply.status != "pending" and table.rows[made].status == "pending":
            tx = Transaction(op)
            tx.update(table, made, {"status": reply.status})
            self.follow_money(tx, order.id)
            tx.commit()
        return table.rows[made], reply

    def _failed_before(self, order_id: int, amount: int) -> int | None:
        """Give the last charge of an order if it was for as much and has failed."""
        of_order = self.charges.table.where(order_id=order_id)
        last = of_order[-1] if of_order else None
        again = last is not None and (last.status, last.amount) == ("failed", amount)
        return last.id if last is not None and again else None

    def give_back(
        self, op: Operation, charge_id: int, amount: int, reason: str, key: str
    ) -> Answer[tuple[Refund, Reply]]:
        """Pay money of a charge back; gives the refund and the gateway's answer.

        The caller hasn't waited since it worked the amount out.

        Raises Refused `over_refund` as `refund.check` says.
        """
        table = self.refunds.table
        charge = found(self.charges.true(charge_id), "charge", charge_name(charge_id))
        self.make_known(charge)

        def book() -> str:
            if self.refund_check == "atomic":
                self.require_left(charge, amount)
            order = self.orders.true(charge.order_id)
            tax = tax_of(order, charge.amount) if order is not None else 0
            before = self.refunds_of(charge_id)
            part = tax_back(tax, charge.amount, amount, before, self.refund_rounding)
            tx = Transaction(op)
            made = tx.insert(
                table,
                {
                    "charge_id": charge_id,
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

        of = f"charges:{charge_id}"
        reply = yield from self.gateway.refund(op, of, amount, charge.currency, book, key=key)
        made = id_of(reply.ref)
        changes: dict[str, object] = {}
        if reply.status != "pending" and table.rows[made].status == "pending":
            changes["status"] = reply.status
        if table.rows[made].gateway_ref != reply.gateway_ref:
            changes["gateway_ref"] = reply.gateway_ref
        if changes:
            tx = Transaction(op)
            tx.update(table, made, changes)
            self.follow_money(tx, charge.order_id)
            tx.commit()
        return table.rows[made], reply

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
        edit = yield from self.stores[table].edit(op, key)
        try:
            tx = Transaction(op)
            # Refunds that are booked at once are never looked at again.
            early = table == "refunds" and self.refund_books != AFTER
            applied = self.inbox.take(tx, notice)
            if applied and not early and self.stores[table].table.rows[key].status != status:
                edit.update(tx, {"status": status})
                self.follow_money(tx, self._order_of(notice.ref))
            if applied and notice.kind == TOP_UP:
                self._top_up(tx, notice, key)
            self._note_event(tx, notice, applied=applied)
            tx.commit()
        finally:
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
        edit = yield from money.edit(op, key)
        try:
            # An event may have come meanwhile.
            if edit.row.status == "pending":
                tx = Transaction(op)
                edit.update(tx, {"status": status or "failed"})
                self.follow_money(tx, self._order_of(f"{money.table.name}:{key}"))
                tx.commit()
        finally:
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
