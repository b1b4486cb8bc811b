"""The reference of marketplace/earliest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call, format_instant, parse_instant
from simharness.models.marketplace.policies.asking import (
    BUSY_SECONDS,
    POLL_SECONDS,
    Impatient,
    read,
    read_pages,
    tried,
    wait_for,
)
from simharness.models.marketplace.policies.paying import booked, hold, paid
from simharness.models.marketplace.requirements import Offer, Wish
from simharness.models.marketplace.rules import price_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task
    from simharness.models.marketplace.policies.asking import Part, Play

    Rows = list[dict[str, Any]]

LOOKS = 2
"""Searches that find nothing before there is nothing: they may be a few seconds old."""
SOON = 5
"""Short waits for what others hold, before longer ones."""
IN_PLACE = ("pending", "confirmed")


def expert(task: Task) -> Play:
    """Book the first slot that meets all, from what it is shown and nothing else."""
    try:
        yield from Seeker(task).work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})


class Seeker:
    """Somebody who looks for a slot."""

    def __init__(self, task: Task) -> None:
        self.wish = Wish.of_brief(task.brief)
        self.customer_id: int = task.brief["customer_id"]
        self.coupon: str = task.brief["coupon"]
        self.percent: int = task.brief["percent"]
        """What the coupon takes off, as far as is known: 0 once it was refused."""
        self.services: dict[int, dict[str, Any]] = {}
        self.providers: dict[int, str] = {}
        self.busy: list[tuple[int, int]] = []
        """The customer's other bookings."""
        self.found: Rows = []
        self.waited: dict[str, int] = {}

    def work(self) -> Play:
        """Learn what there is, and take the best of it, or say that there is nothing."""
        yield from self.learn()
        if (yield from self.get_one()):
            yield Call("finish", {"message": "It is booked and paid.", "outcome": "done"})
        else:
            yield from self.give_up()

    def get_one(self) -> Part:
        """Search and take the best, again while others are faster; tells whether there was one."""
        looks = waits = 0
        while looks < LOOKS:
            yield from self.search()
            best = self.ranked()
            looks += 1
            if best:
                if (yield from self.take(best[0])):
                    return True
                looks = 0
            elif any(self.may_come_free(row) for row in self.fitting()):
                # Others let go again what they hold, most of them soon.
                waits += 1
                seconds = BUSY_SECONDS if waits <= SOON else POLL_SECONDS
                yield from wait_for("a slot", self.waited, seconds)
                looks = 0
            elif looks < LOOKS:
                yield Call("wait", {"seconds": BUSY_SECONDS})
        return False

    # --- what is known ----------------------------------------------------------------------------

    def learn(self) -> Play:
        """Read services, providers and the customer's other bookings."""
        told = yield from read("list_services")
        for row in told["services"]:
            long_enough = row["minutes"] >= self.wish.minutes
            if row["title"].startswith(self.wish.service) and long_enough:
                self.services[row["id"]] = row
        told = yield from read("list_providers")
        self.providers = {row["id"]: row["title"] for row in told["providers"]}
        rows = yield from read_pages("list_bookings", "bookings", customer_id=self.customer_id)
        for row in rows:
            if row["status"] in IN_PLACE:
                slot = yield from read("get_slot", slot_id=row["slot_id"])
                self.busy.append((parse_instant(slot["starts_at"]), parse_instant(slot["ends_at"])))

    def search(self) -> Play:
        """Find the slots of the right services, also those that are full."""
        first, last = (format_instant(instant) for instant in self.wish.span())
        self.found = []
        for service_id in self.services:
            self.found += yield from read_pages(
                "search_slots",
                "slots",
                service_id=service_id,
                from_time=first,
                to_time=last,
                full=True,
            )

    def failed(self, slot: dict[str, Any]) -> frozenset[str]:
        """Name what a slot fails."""
        service = self.services[slot["service_id"]]
        offer = Offer(
            service["title"],
            self.providers.get(slot["provider_id"], ""),
            parse_instant(slot["starts_at"]),
            parse_instant(slot["ends_at"]),
            service["price"],
        )
        return self.wish.failing(offer, self.busy, self.percent)

    def fitting(self) -> Rows:
        """Give the slots that would do, free or not."""
        return [row for row in self.found if self.wish.level(self.failed(row))]

    def ranked(self) -> Rows:
        """Give the slots that will do, the best first."""
        rows = [row for row in self.fitting() if self.room(row)]
        return sorted(
            rows, key=lambda row: (self.wish.level(self.failed(row)), *self.order_of(row))
        )

    def room(self, row: dict[str, Any]) -> bool:
        """Tell whether a slot has places enough."""
        return not row["blocked"] and row["capacity"] - row["taken"] >= self.wish.places

    def may_come_free(self, row: dict[str, Any]) -> bool:
        """Tell whether a slot has places enough once nobody holds any of it."""
        left = row["capacity"] - row["taken"] + row["held"]
        return not row["blocked"] and left >= self.wish.places

    def order_of(self, row: dict[str, Any]) -> tuple[int, int, int]:
        """Give what sorts slots: the earliest first, of equals the cheapest."""
        price: int = self.services[row["service_id"]]["price"]
        return parse_instant(row["starts_at"]), price, row["id"]

    # --- what is done -----------------------------------------------------------------------------

    def take(self, slot: dict[str, Any]) -> Generator[Action, Observation, bool]:
        """Hold, book and pay a slot; tells whether it is the customer's."""
        hold_id = yield from hold(slot["id"], self.wish.places)
        if not hold_id:
            return False
        price: int = self.services[slot["service_id"]]["price"]
        dear = price_of(price, self.wish.places, 0) > self.wish.price_max
        booking = yield from booked(hold_id, self.coupon if dear else "")
        if booking == "coupon_used_up":
            self.percent = 0
            yield from tried("release_hold", hold_id=hold_id)
            return False
        if isinstance(booking, str):
            return False
        return (yield from paid(booking))

    def give_up(self) -> Play:
        """Say that there is nothing, and what would be the first if money were no object."""
        near = [
            row for row in self.found if self.failed(row) == frozenset({"price"}) and self.room(row)
        ]
        near.sort(key=self.order_of)
        yield Call(
            "finish",
            {
                "message": "Nothing meets the requirements; this one only costs too much.",
                "outcome": "impossible",
                "refs": [f"slots:{row['id']}" for row in near[:1]],
            },
        )
