"""The reference of marketplace/book."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call, format_instant
from simharness.models.marketplace.policies.asking import (
    BUSY_SECONDS,
    Impatient,
    read,
    read_pages,
    tried,
    unknown,
    wait_for,
)
from simharness.models.marketplace.policies.paying import lapse
from simharness.models.marketplace.wishes import Wish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Task
    from simharness.models.marketplace.policies.asking import Part, Play

PAYMENTS = 6
"""How often a payment is begun anew."""


def expert(task: Task) -> Play:
    """Book and pay by the wish, from what it is shown and nothing else."""
    booker = Booker(task.brief)
    try:
        outcome, refs = yield from booker.work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    message = "It is booked and paid." if outcome == "done" else "It can't be had."
    yield Call("finish", {"message": message, "outcome": outcome, "refs": refs})


class Booker:
    """Looks, holds, books and pays until the customer has a slot, or none can be had."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.customer_id: int = brief["customer_id"]
        self.wish = Wish.of(brief)
        self.waited: dict[str, int] = {}
        self.service: dict[str, Any] = {}
        self.providers: dict[str, int] = {}
        self.coupon = self.wish.coupon
        """Empty once it is known to be no good."""

    def work(self) -> Part:
        """Give the outcome, and the rows that it rests on."""
        told = yield from read("list_services")
        self.service = next(r for r in told["services"] if r["title"] == self.wish.service)
        if self.too_much(self.full_price()) and not self.coupon:
            return self.too_dear()
        told = yield from read("list_providers", service_id=self.service["id"])
        self.providers = {row["title"]: row["id"] for row in told["providers"]}
        rows = yield from read_pages("list_bookings", "bookings")
        slots = yield from self.look()
        begun = self.begun(rows, slots)
        if begun is not None:
            ended = yield from self.go_on(begun)
            if ended is not None:
                return ended
            slots = yield from self.look()
        looks = 0
        while True:
            looks += 1
            best = next((s for s in slots if self.free(s) >= self.wish.quantity), None)
            if best is not None:
                ended = yield from self.take(best)
                if ended is not None:
                    return ended
                looks = 0
            elif any(self.may_come_free(slot) for slot in slots):
                yield from wait_for("a slot", self.waited)
                looks = 0
            elif looks > 1:
                return "impossible", [f"slots:{slot['id']}" for slot in slots]
            else:
                # A search may be a few seconds old, as it says itself.
                yield Call("wait", {"seconds": BUSY_SECONDS})
            slots = yield from self.look()

    # --- looking ----------------------------------------------------------------------------------

    def look(self) -> Part:
        """Give the slots that will do, the best first."""
        starts = self.wish.starts()
        rows = yield from read_pages(
            "search_slots",
            "slots",
            service_id=self.service["id"],
            from_time=format_instant(min(starts)),
            to_time=format_instant(max(starts) + 1_000_000),
            full=True,
        )
        by_place = {(row["provider_id"], row["starts_at"]): row for row in rows}
        places = [
            (self.providers.get(title), format_instant(at)) for title, at in self.wish.ranked()
        ]
        return [by_place[place] for place in places if place in by_place]

    def free(self, slot: Mapping[str, Any]) -> int:
        """Give how many places of a slot are free."""
        return 0 if slot["blocked"] else slot["capacity"] - slot["taken"]

    def may_come_free(self, slot: Mapping[str, Any]) -> bool:
        """Tell whether a slot would do if nobody held anything of it."""
        return not slot["blocked"] and self.free(slot) + slot["held"] >= self.wish.quantity

    def begun(
        self, bookings: Sequence[dict[str, Any]], slots: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any] | None:
        """Give the customer's own booking of one of the slots, if there is one."""
        ids = {slot["id"] for slot in slots}
        live = [
            row
            for row in bookings
            if row["slot_id"] in ids and row["status"] in ("pending", "confirmed")
        ]
        return live[-1] if live else None

    # --- booking ----------------------------------------------------------------------------------

    def go_on(self, booking: dict[str, Any]) -> Part:
        """Bring a booking to its end that is there; gives the outcome unless it came to nothing."""
        if booking["status"] == "confirmed":
            return "done", [f"bookings:{booking['id']}"]
        if (yield from self.pay(booking)):
            return "done", [f"bookings:{booking['id']}"]
        return None

    def take(self, slot: Mapping[str, Any]) -> Part:
        """Hold a slot, book it and pay; gives the outcome unless it came to nothing."""
        told = yield from tried("hold_slot", slot_id=slot["id"], quantity=self.wish.quantity)
        if not told.value:
            if unknown(told):
                yield from lapse(slot["id"])
            return None
        hold_id: int = told.value["id"]
        while True:
            arguments: dict[str, Any] = {"hold_id": hold_id}
            if self.coupon:
                arguments["coupon"] = self.coupon
            elif self.too_much(self.full_price()):
                yield from tried("release_hold", hold_id=hold_id)
                return self.too_dear()
            told = yield from tried("confirm_booking", **arguments)
            if told.value:
                break
            if told.error in ("coupon_used_up", "not_found") and self.coupon:
                self.coupon = ""
            elif unknown(told) or told.error == "payment_due":
                rows = yield from read_pages("list_bookings", "bookings")
                booking = self.begun(rows, [slot])
                if booking is not None:
                    return (yield from self.go_on(booking))
            else:
                return None
        booking = told.value
        if self.too_much(booking["price"]):
            yield from tried("cancel_booking", booking_id=booking["id"])
            return self.too_dear()
        return (yield from self.go_on(booking))

    def pay(self, booking: dict[str, Any]) -> Part:
        """Pay a booking and see it confirmed; tells whether it is."""
        for n in range(1, PAYMENTS + 1):
            told = yield from tried(
                "pay",
                booking_id=booking["id"],
                amount=booking["price"],
                currency=booking["currency"],
                idempotency_key=f"booking-{booking['id']}-{n}",
            )
            while unknown(told):
                # The same key asks what became of it, and pays nothing twice.
                yield from wait_for("the payment", self.waited, BUSY_SECONDS)
                told = yield from tried(
                    "pay",
                    booking_id=booking["id"],
                    amount=booking["price"],
                    currency=booking["currency"],
                    idempotency_key=f"booking-{booking['id']}-{n}",
                )
            payment = told.value
            while payment is None or payment["status"] != "failed":
                now = yield from read("get_booking", booking_id=booking["id"])
                if now["status"] != "pending":
                    return now["status"] == "confirmed"
                if payment is None:
                    return False
                yield from wait_for("the payment", self.waited)
                payment = yield from read("get_payment", payment_id=payment["id"])
        return False

    # --- money ------------------------------------------------------------------------------------

    def full_price(self) -> int:
        """Give the price without a coupon."""
        return int(self.service["price"]) * self.wish.quantity

    def too_much(self, price: int) -> bool:
        """Tell whether a price is more than the customer wants to pay."""
        return self.wish.price_max is not None and price > self.wish.price_max

    def too_dear(self) -> tuple[str, list[str]]:
        """Say that it costs too much."""
        return "impossible", [f"services:{self.service['id']}"]
