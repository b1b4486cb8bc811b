"""Money: what is due, what the gateway is asked for, and what its events do to bookings.

A payment is asked for with its row; the gateway's answer is written into that row, and its event
confirms the booking. Money for a booking that has ended goes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND, Movement, Operation, Reactions, Refused, Transaction
from simharness.models.marketplace.remote import RemoteCalendar
from simharness.models.marketplace.stores import found

if TYPE_CHECKING:
    from simharness.api import Answer, Inbox, Notice, Reaction
    from simharness.models.marketplace.tables import Booking, Payment

ENDED = ("cancelled", "expired")
KEPT = ("succeeded", "refund_failed")
"""Payments whose money is there."""
BACK = ("refunded", "refund_failed")
"""Payments of which money was sent back."""
RETURNS = 4
"""How often money is sent back before the product says that it can't be."""
AGAIN = 10 * SECOND
"""Pause before it is sent back a second time; doubled for each further one."""


class Return(NamedTuple):
    """Money that is to go back."""

    op: Operation
    """Whoever asked for it."""
    tries: int
    """How often the gateway has been asked, from 1."""


class Payments(RemoteCalendar):
    """What the tools share about money."""

    inbox: Inbox

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.moving: set[int] = set()
        """Payments whose money is under way, there or back, as far as events have told."""
        self._known: set[int] = set()
        """Payments that the gateway knows."""
        self._going_back: dict[int, Return] = {}
        """Payments that are paid back, or are going to be."""
        self._pauses = Reactions(self.world, "refunds")

    # --- what is due ------------------------------------------------------------------------------

    def due(self, booking: Booking) -> int:
        """Give what is still to be paid for a booking."""
        return max(0, booking.price - self.paid(booking.id))

    def require_paid(self, booking: Booking) -> None:
        """Refuse `payment_due` for a booking that isn't paid in full."""
        due = self.due(booking)
        if due:
            raise Refused(
                "payment_due",
                f"{due} {booking.currency} are due for booking {booking.id}",
                amount=due,
                currency=booking.currency,
            )

    def require_payable(self, booking: Booking, amount: int, currency: str) -> None:
        """Refuse what isn't to be paid: `hold_expired`, `conflict` or `invalid_arguments`."""
        if booking.status == "expired" and self.late_payment == "reject":
            raise Refused("hold_expired", f"the hold of booking {booking.id} has expired")
        if booking.status == "cancelled":
            raise Refused("conflict", f"booking {booking.id} is cancelled", version=booking.version)
        if currency != booking.currency:
            raise Refused(
                "invalid_arguments", f"currency is {currency!a}, the price is in {booking.currency}"
            )
        under_way = sum(
            payment.amount
            for payment in self.payments.table.where(booking_id=booking.id)
            if payment.status == "pending"
        )
        due = max(0, self.due(booking) - under_way)
        if amount > due:
            raise Refused("invalid_arguments", f"amount is {amount}, {due} are due")

    # --- asking the gateway -----------------------------------------------------------------------

    def charge(self, op: Operation, booking: Booking, amount: int, key: str) -> Answer[Payment]:
        """Take money for a booking; the caller has just made sure that it may be taken."""
        table = self.payments.table

        def book() -> str:
            tx = Transaction(op)
            fields = {"booking_id": booking.id, "amount": amount, "currency": booking.currency}
            made = tx.insert(table, {**fields, "idempotency_key": key})
            tx.commit()
            self.moving.add(made)
            self._known.add(made)
            return f"payments:{made}"

        of = f"bookings:{booking.id}"
        reply = yield from self.gateway.charge(op, amount, booking.currency, book, of=of, key=key)
        payment = int(reply.ref.partition(":")[2])
        if table.rows[payment].status == "pending" and reply.status != "pending":
            tx = Transaction(op)
            tx.update(table, payment, {"status": reply.status})
            tx.commit()
        return table.rows[payment]

    def give_back(self, op: Operation, booking_id: int, *, arrived: bool = False) -> None:
        """Pay back what was paid for a booking; nobody waits for it.

        `arrived`: only money whose event has come; that of the rest decides about it.
        """
        for payment in self.payments.table.where(booking_id=booking_id):
            key = payment.id
            if payment.status != "succeeded":
                continue
            if key not in self._going_back and not (arrived and key in self.moving):
                self._going_back[key] = Return(op, 1)
                self.moving.add(key)
                if self.refund_books == "before_gateway":
                    tx = Transaction(op)
                    tx.update(self.payments.table, key, {"status": "refunded"})
                    tx.commit()
                self.world.spawn(f"refund/{key}", self._refund(op, payment))

    def _refund(self, op: Operation, payment: Payment, key: str = "") -> Answer[None]:
        self.make_known(payment)
        of, ref = f"payments:{payment.id}", f"refunds:{payment.id}"
        try:
            yield from self.gateway.refund(op, of, payment.amount, payment.currency, ref, key=key)
        except Refused:
            return  # the event tells what became of it

    def _failed_return(self, op: Operation, payment: Payment) -> None:
        """Send money back once more that didn't arrive, or say in the payment that it can't be."""
        key = payment.id
        before = self._going_back.get(key)
        if before is None or before.tries >= RETURNS:
            self._going_back.pop(key, None)
            self.moving.discard(key)
            if before is not None and self.payments.table.rows[key].status == "succeeded":
                tx = Transaction(op)
                tx.update(self.payments.table, key, {"status": "refund_failed"})
                tx.commit()
            return
        after = self._going_back[key] = Return(before.op, before.tries + 1)
        # An episode isn't over while it pauses.
        pause = self._pauses.begin(after.op)

        def again() -> Answer[None]:
            yield self.world.timer(AGAIN << before.tries - 1)
            steps = self._refund(after.op, payment, f"refunds:{key}/{after.tries}")
            self.world.spawn(f"refund/{key}/{after.tries}/asked", steps)
            pause.end()

        self.world.spawn(f"refund/{key}/{after.tries}", again())

    def make_known(self, payment: Payment) -> None:
        """Tell the gateway of a payment of the start, when somebody first asks for it."""
        if payment.id not in self._known:
            self._known.add(payment.id)
            name, of = f"payments:{payment.id}", f"bookings:{payment.booking_id}"
            money = payment.amount, payment.currency
            self.gateway.open(
                Movement("charge", name, of, *money, payment.created_at), status=payment.status
            )

    def ref_of(self, name: str) -> str:
        """Give the row that an event names, by its table and id or by a payment's id alone."""
        ref = f"payments:{name}" if name.isdecimal() else name
        key = ref.partition(":")[2]
        payment = self.payments.true(int(key)) if key.isdecimal() and len(key) < 19 else None
        if payment is not None:
            self.make_known(payment)
        return ref

    def books(self) -> dict[str, int]:
        """Say what is left of each payment that the gateway knows, by the rows."""
        rows = self.payments.table.rows
        return {
            f"payments:{key}": rows[key].amount if rows[key].status in KEPT else 0
            for key in sorted(self._known)
        }

    def dues(self) -> dict[str, int]:
        """Say what has to be back: payments for bookings that have ended, unless it can't be."""
        rows = self.payments.table.rows
        out: dict[str, int] = {}
        for key in sorted(self._known):
            booking = self.bookings.true(rows[key].booking_id)
            stays = rows[key].status in ("failed", "refund_failed")
            if booking is not None and booking.status in ENDED and not stays:
                out[f"payments:{key}"] = rows[key].amount
        return out

    # --- its events -------------------------------------------------------------------------------

    def on_event(self, op: Reaction, notice: Notice) -> Answer[None]:
        """Take an event of the gateway. Raises Refused: not taken, to be sent again."""
        table, _, number = notice.ref.partition(":")
        if table not in ("payments", "refunds") or not number.isdecimal() or len(number) > 18:
            raise Refused("not_found", f"no payment {notice.ref!a:.80}")
        key = int(number)
        payment = found(self.payments.true(key), "payment", key)
        yield self.database(op)
        booking = found(self.bookings.true(payment.booking_id), "booking", payment.booking_id)
        self.places.free(booking.slot_id)  # a hold that is due ends before the event counts
        told = notice.payload["status"]
        tx = Transaction(op)
        if not self.inbox.take(tx, notice):
            return
        refund = notice.kind in ("charge.refunded", "refund.updated", "refund.failed")
        if refund:
            status = {"succeeded": "refunded"}.get(str(told), "succeeded")
        else:
            status = "refunded" if told == "disputed" else str(told)
        before = self.payments.table.rows[key].status
        # What is booked at once is never looked at again.
        early = refund and self.refund_books == "before_gateway"
        if self.on_webhook == "overwrite" and not refund and told != "pending":
            self._overwrite(tx, payment, status)
        elif before != status and not (
            # What it said of the charge may come after what has become of the money since.
            before == "refunded" and early if refund else before in BACK and status != "refunded"
        ):
            tx.update(self.payments.table, key, {"status": status})
        tx.commit()
        if told == "pending":
            return
        if refund or status != "succeeded" or self.on_webhook == "overwrite":
            if told == "failed" and refund and not early:
                self._failed_return(op, payment)
            else:
                self.moving.discard(key)
            return
        yield from self.settle_booking(op, payment.booking_id)
        if key not in self._going_back:
            self.moving.discard(key)

    def learn(self, op: Operation, key: int, status: str) -> Answer[None]:
        """Write down what the gateway says, when asked, of a payment that waited for news.

        It knows nothing of one whose worker died before it could ask: that one has failed.
        """
        payment = self.payments.table.rows[key]
        told = {"": "failed", "disputed": "refunded"}.get(status, status)
        tx = Transaction(op)
        tx.update(self.payments.table, key, {"status": told})
        tx.commit()
        if told == "succeeded":
            yield from self.settle_booking(op, payment.booking_id)
        if key not in self._going_back:
            self.moving.discard(key)

    def _overwrite(self, tx: Transaction, payment: Payment, status: str) -> None:
        """Write booking, hold and payment from an event, whatever they have become (a defect)."""
        success = status == "succeeded"
        booking = self.bookings.table.rows[payment.booking_id]
        tx.update(self.payments.table, payment.id, {"status": status})
        if success and booking.hold_id is not None:
            self.confirm_held(tx, booking)
        elif success:
            tx.update(self.bookings.table, booking.id, {"status": "confirmed"})
            if booking.status != "confirmed":
                self.places.put(tx, {booking.slot_id: booking.quantity})
        elif booking.status not in ENDED:
            self.close_booking(tx, booking, "cancelled")

    def settle_booking(self, op: Operation, booking_id: int) -> Answer[None]:
        """Confirm a booking that is paid in full, or give the money back where it can't be."""
        booking = self.bookings.table.rows[booking_id]
        late = booking.status == "expired" and self.late_payment == "accept"
        if booking.status in ENDED and not late:
            self.give_back(op, booking_id)
            return
        if booking.status == "confirmed" or self.due(booking):
            return
        if booking.hold_id is not None:
            announced = yield from self.announce(op, booking.slot_id, booking.customer_id)
            self.places.free(booking.slot_id)
            booking = self.bookings.table.rows[booking_id]
            late = booking.status == "expired" and self.late_payment == "accept"
            if booking.status == "confirmed":
                return
            if booking.status in ENDED and not late:
                self.give_back(op, booking_id)
                return
            tx = Transaction(op)
            self.confirm_held(tx, booking)
            tx.commit()
            yield from self.mirror(op, booking, announced)
        elif self.approval == "auto":
            yield from self._take_places(op, booking)

    def _take_places(self, op: Operation, booking: Booking) -> Answer[None]:
        """Take places for a paid request that nobody has to approve, or give its money back."""
        try:
            claim = yield from self.claim(op, {booking.slot_id: booking.quantity})
            try:
                announced = yield from self.announce(op, booking.slot_id, booking.customer_id)
                claim.ensure()
                booking = self.bookings.table.rows[booking.id]
                if booking.status != "pending":
                    self.give_back(op, booking.id) if booking.status in ENDED else None
                    return
                tx = Transaction(op)
                tx.update(self.bookings.table, booking.id, {"status": "confirmed"})
                self.places.put(tx, {booking.slot_id: booking.quantity})
                tx.commit()
            finally:
                claim.close()
        except Refused:
            booking = self.bookings.table.rows[booking.id]
            if booking.status == "pending":
                tx = Transaction(op)
                self.close_booking(tx, booking, "cancelled")
                tx.commit()
            self.give_back(op, booking.id)
            return
        yield from self.mirror(op, booking, announced)

    def confirm_held(self, tx: Transaction, booking: Booking) -> None:
        """Confirm a booking together with its hold, whatever has become of that."""
        hold = found(self.holds.true(booking.hold_id or 0), "hold", booking.hold_id or 0)
        slot_id, quantity = booking.slot_id, booking.quantity
        if booking.status != "confirmed":
            tx.update(self.bookings.table, booking.id, {"status": "confirmed"})
        if hold.status == "confirmed":
            return
        runs = hold.status == "active"
        tx.update(self.holds.table, hold.id, {"status": "confirmed"})
        # A hold that has ended had given its places back.
        self.places.put(tx, {slot_id: 0 if runs else quantity}, {slot_id: -quantity if runs else 0})
