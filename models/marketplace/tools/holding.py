"""Tools about holds: places that are kept for somebody for a while, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Answer, Basis, Operation, Page, Refused, Transaction, tool, write_tool
from simharness.models.marketplace.payments import Payments
from simharness.models.marketplace.rules import price_of
from simharness.models.marketplace.stores import found
from simharness.models.marketplace.tables import Booking, Coupon, Hold, Quantity

if TYPE_CHECKING:
    from simharness.models.marketplace.isolation import Claim

GROUP_MAX = 5
"""Most slots that are held together."""


class HoldTools(Payments):
    """Hold, release, and book what is held."""

    @write_tool
    def hold_slot(self, op: Operation, slot_id: int, quantity: Quantity = 1) -> Answer[Hold]:
        """Keep places of a slot for yourself for a while; book them with confirm_booking."""
        held = yield from self._hold(op, [slot_id], quantity)
        return held[0]

    @write_tool
    def hold_slots(
        self, op: Operation, slot_ids: list[int], quantity: Quantity = 1
    ) -> Answer[Page[Hold]]:
        """Keep places of two to five slots for yourself for a while: of all, or of none."""
        if not 2 <= len(slot_ids) <= GROUP_MAX or len({*slot_ids}) < len(slot_ids):
            raise Refused("invalid_arguments", f"slot_ids are not 2 to {GROUP_MAX} different slots")
        if self.isolation == "none":
            held: list[Hold] = []
            for slot_id in slot_ids:
                held += yield from self._hold(op, [slot_id], quantity)
        else:
            held = yield from self._hold(op, slot_ids, quantity)
        return Page("holds", tuple(held))

    def _hold(self, op: Operation, slot_ids: list[int], quantity: int) -> Answer[list[Hold]]:
        claim: Claim = yield from self.claim(op, dict.fromkeys(slot_ids, quantity))
        try:
            customer_id = max(op.actor.identity, 0)
            rivals = claim.rivals(customer_id)
            claim.ensure(rivals)
            tx = Transaction(op)
            taken = {slot_id: quantity for slot_id in slot_ids if slot_id not in rivals}
            keys = [
                self._take_over(tx, rivals[slot_id], customer_id)
                if slot_id in rivals
                else tx.insert(
                    self.holds.table,
                    {
                        "slot_id": slot_id,
                        "customer_id": customer_id,
                        "quantity": quantity,
                        "expires_at": self.world.instant + self.hold_ttl,
                        "token": self.places.next_token(slot_id),
                    },
                )
                for slot_id in slot_ids
            ]
            self.places.put(tx, taken, taken)
            tx.commit()
        finally:
            claim.close()
        return [self.holds.table.rows[key] for key in keys]

    def _take_over(self, tx: Transaction, hold: Hold, customer_id: int) -> int:
        """Write over somebody's hold and what is booked on it (a defect); gives the hold's id."""
        # The call meant rows of its own, so it meant none of the columns that it finds there.
        unmeant = Basis(given=0, read=0, named=())
        tx.update(self.holds.table, hold.id, {"customer_id": customer_id}, unmeant)
        booking = self.booking_of(hold.id)
        if booking is not None:
            tx.update(self.bookings.table, booking.id, {"customer_id": customer_id}, unmeant)
        return hold.id

    @write_tool
    def release_hold(self, op: Operation, hold_id: int) -> Answer[Hold]:
        """Give a hold back that has no booking."""
        yield self.database(op)
        hold = self._live(op, hold_id)
        booking = self.booking_of(hold_id)
        if booking is not None:
            raise Refused(
                "conflict",
                f"booking {booking.id} rests on hold {hold_id}: cancel that",
                booking_id=booking.id,
            )
        tx = Transaction(op)
        tx.update(self.holds.table, hold_id, {"status": "released"})
        self.places.give_back(tx, hold.slot_id, hold.quantity)
        tx.commit()
        return self.holds.table.rows[hold_id]

    @tool
    def confirm_booking(
        self, op: Operation, hold_id: int, coupon: str | None = None
    ) -> Answer[Booking]:
        """Book what you hold. The booking is pending until its price has been paid, if it has one.

        A hold that is booked already answers with its booking; a pending one needs its payment.
        """
        first = found(self.holds.true(hold_id), "hold", hold_id)
        self.require_own(op, first.customer_id, f"hold {hold_id}")
        booking = self.booking_of(hold_id)
        if booking is None or booking.status == "pending":
            self._live(op, hold_id)
        code = self._coupon(coupon) if booking is None and coupon is not None else None
        claim = yield from self.claim(op, {first.slot_id: 0})
        try:
            booking_id = yield from self._confirm(op, claim, first, code)
        except Refused:
            yield from self._compensate(op, hold_id)
            raise
        finally:
            claim.close()
        return self.told(op, booking_id)

    def _compensate(self, op: Operation, hold_id: int) -> Answer[None]:
        """Give the money of a booking back that couldn't be confirmed."""
        booking = self.booking_of(hold_id)
        if booking is None or booking.status == "confirmed" or not self.paid(booking.id):
            return
        if self.due(booking):
            return
        yield self.database(op)
        # Its event may have confirmed the booking meanwhile.
        now = self.bookings.table.rows[booking.id]
        if self.compensate == "blind" or now.status in ("cancelled", "expired"):
            self.give_back(op, booking.id)

    def _confirm(
        self, op: Operation, claim: Claim, first: Hold, code: Coupon | None
    ) -> Answer[int]:
        """Make the booking of a hold, or confirm it; gives its id."""
        hold_id = first.id
        booking = self.booking_of(hold_id)
        if booking is not None and booking.status != "pending":
            if booking.status in ("cancelled", "expired"):
                self._live(op, hold_id)
            return booking.id
        if claim.mode != "none":
            self._live(op, hold_id)
        if booking is None:
            booking_id = yield from self._book(op, claim, first, code)
        else:
            self.require_paid(booking)
            booking_id = yield from self._settle(op, claim, booking)
        return booking_id

    def _book(self, op: Operation, claim: Claim, hold: Hold, code: Coupon | None) -> Answer[int]:
        """Make the booking of a hold; gives its id."""
        slot = found(self.slots.true(hold.slot_id), "slot", hold.slot_id)
        service = found(self.services.true(slot.service_id), "service", slot.service_id)
        price = price_of(service.price, hold.quantity, code.percent if code is not None else 0)
        announced = 0
        if not price:
            announced = yield from self.announce(op, slot.id, hold.customer_id)
        claim.ensure()
        if claim.mode != "none":
            self._live(op, hold.id)
        tx = Transaction(op)
        if code is not None:
            self._claim_coupon(tx, code)
        if not price:
            tx.update(self.holds.table, hold.id, {"status": "confirmed"})
        key = tx.insert(
            self.bookings.table,
            {
                "slot_id": slot.id,
                "customer_id": hold.customer_id,
                "quantity": hold.quantity,
                "status": "pending" if price else "confirmed",
                "hold_id": hold.id,
                "price": price,
                "currency": service.currency,
                "coupon": code.code if code is not None else "",
            },
        )
        if not price:
            self.places.put(tx, {slot.id: 0}, {slot.id: -hold.quantity})
        tx.commit()
        if not price:
            yield from self.mirror(op, self.bookings.table.rows[key], announced)
        return key

    def _settle(self, op: Operation, claim: Claim, booking: Booking) -> Answer[int]:
        """Confirm a pending booking that is paid and whose hold runs; gives its id."""
        announced = yield from self.announce(op, booking.slot_id, booking.customer_id)
        claim.ensure()
        if claim.mode != "none":
            self._live(op, booking.hold_id or 0)
        tx = Transaction(op)
        self.confirm_held(tx, booking)
        tx.commit()
        yield from self.mirror(op, booking, announced)
        return booking.id

    def _live(self, op: Operation, hold_id: int) -> Hold:
        """Give a hold of the caller's that runs.

        Raises Refused `not_found`, `forbidden`, `hold_expired`, or `conflict` for one that ended
        otherwise.
        """
        hold = found(self.holds.true(hold_id), "hold", hold_id)
        self.require_own(op, hold.customer_id, f"hold {hold_id}")
        self.places.free(hold.slot_id)  # a hold that is due ends now, before its timer has its turn
        hold = self.holds.table.rows[hold_id]
        if hold.status == "expired":
            raise Refused("hold_expired", f"hold {hold_id} has expired")
        if hold.status != "active":
            raise Refused("conflict", f"hold {hold_id} is {hold.status}", version=hold.version)
        return hold

    # --- coupons ----------------------------------------------------------------------------------

    def _coupon(self, code: str) -> Coupon:
        """Give a coupon that can be used. Raises Refused `not_found` or `coupon_used_up`."""
        coupon = self.coupons.true(self.coupons.table.taken_by("code", code) or 0)
        if coupon is None:
            raise Refused("not_found", f"no coupon {code!a}")
        if coupon.used >= coupon.limit:
            raise Refused("coupon_used_up", f"coupon {code!a} has been used {coupon.used} times")
        return coupon

    def _claim_coupon(self, tx: Transaction, read: Coupon) -> None:
        """Count a use of a coupon: as it stands now, or on top of what was read before the wait."""
        if self.coupon_claim == "check_then_set":
            basis = Basis(given=read.version, read=read.version, named=("used",))
            tx.update(self.coupons.table, read.id, {"used": read.used + 1}, basis)
            return
        coupon = self._coupon(read.code)
        tx.update(self.coupons.table, coupon.id, {"used": coupon.used + 1})
