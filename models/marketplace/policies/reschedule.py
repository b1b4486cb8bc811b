"""The reference of marketplace/reschedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND, Call, format_instant, parse_instant
from simharness.models.marketplace.policies.asking import (
    SETTLE_SECONDS,
    Impatient,
    read,
    read_pages,
    tried,
    unknown,
)
from simharness.models.marketplace.policies.paying import booked, paid
from simharness.models.marketplace.preference import rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Task
    from simharness.models.marketplace.policies.asking import Part, Play

POLL_SECONDS = 15
"""Pause between two looks for places that others may give back."""
WRONG_SECONDS = 6
"""For so long what was refused isn't tried again: searches are a little behind."""


def expert(task: Task) -> Play:
    """Move the booking by the request, from what it is shown and nothing else."""
    mover = Mover(task.brief)
    try:
        outcome = yield from mover.work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    refs = [f"slots:{mover.old_slot}"] if outcome == "impossible" else []
    message = f"Booking {mover.booking_id}: {outcome}."
    yield Call("finish", {"message": message, "outcome": outcome, "refs": refs})


class Choice(NamedTuple):
    """A slot that would do, in the order of how much it is wished for."""

    tier: int
    order: tuple[int, ...]
    slot_id: int


class Mover:
    """Looks, tries the best, and looks again, until the booking is moved or time is up."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.brief = brief
        self.booking_id: int = brief.get("booking_id", 0)
        self.until = parse_instant(brief["until"])
        self.near = parse_instant(brief["near"])
        self.booking: dict[str, Any] = {}
        self.old_slot = self.service_id = self.long_id = 0
        self.houses: dict[int, int] = {}
        """Provider to its place in the request."""
        self.long_house = 0
        self.refused: dict[int, int] = {}
        """Slots that were refused, with the instant."""
        self.now = 0

    def work(self) -> Part:
        """Give the outcome."""
        yield from self.learn()
        while True:
            late = self.now >= self.until
            choices = yield from self.search()
            if choices:
                if (yield from self.take(choices[0])):
                    return "done"
            elif late:
                break
            else:
                left = max(1, -(-(self.until - self.now) // SECOND))
                yield from self.call("wait", seconds=min(POLL_SECONDS, left))
        slot = yield from self.see("get_slot", slot_id=self.old_slot)
        if slot["blocked"]:
            yield from tried("cancel_booking", booking_id=self.booking_id)
        return "impossible"

    # --- looking ----------------------------------------------------------------------------------

    def call(self, tool: str, **arguments: Any) -> Part:
        """Make one call and look at the clock."""
        told = yield Call(tool, arguments)
        self.now = parse_instant(told.t)
        return told

    def see(self, tool: str, **arguments: Any) -> Part:
        """Read until there is an answer."""
        return (yield from read(tool, **arguments))

    def learn(self) -> Play:
        """Find out which booking it is, and who offers what."""
        if not self.booking_id:
            self.booking_id = yield from self.find()
        self.booking = yield from self.see("get_booking", booking_id=self.booking_id)
        self.old_slot = self.booking["slot_id"]
        slot = yield from self.see("get_slot", slot_id=self.old_slot)
        self.service_id = slot["service_id"]
        services = (yield from self.see("list_services"))["services"]
        long = next(s for s in services if s["title"] == self.brief["long_title"])
        extra = long["price"] * self.booking["quantity"] - self.booking["price"]
        houses = yield from self.providers(self.service_id)
        for place, title in enumerate(self.brief["providers"]):
            self.houses[houses[title]] = place
        if extra <= self.brief["extra_max"]:
            self.long_id = long["id"]
            self.long_house = (yield from self.providers(long["id"]))[self.brief["long_provider"]]

    def find(self) -> Part:
        """Find the booking by its provider and time."""
        provider_id = (yield from self.providers())[self.brief["at"]]
        at = self.brief["starts_at"]
        told = yield from self.see(
            "search_slots",
            provider_id=provider_id,
            from_time=at,
            to_time=format_instant(parse_instant(at) + SECOND),
            full=True,
        )
        slots = [row["id"] for row in told["slots"]]
        rows = yield from read_pages("list_bookings", "bookings")
        return next(row["id"] for row in rows if row["slot_id"] in slots)

    def providers(self, service_id: int | None = None) -> Part:
        """Give the providers of a service, or all of them, id by title."""
        told = yield from self.see("list_providers", service_id=service_id)
        return {row["title"]: row["id"] for row in told["providers"]}

    def search(self) -> Part:
        """Give what is free and would do, the best first; the longer ones only if nothing else."""
        found = yield from self.free(0, self.service_id, self.houses)
        if not found and self.long_id:
            found = yield from self.free(1, self.long_id, {self.long_house: 0})
        return found

    def free(self, tier: int, service_id: int, houses: Mapping[int, int]) -> Part:
        """Search one service's slots for those that have enough places."""
        rows: list[dict[str, Any]] = []
        page: int | None = 1
        while page is not None:
            told = yield from self.call(
                "search_slots",
                service_id=service_id,
                from_time=self.brief["from_time"],
                to_time=self.brief["to_time"],
                page=page,
            )
            if not told.value:
                continue
            rows += told.value["slots"]
            page = told.value["next_page"]
        out: list[Choice] = []
        for row in rows:
            place = houses.get(row["provider_id"])
            enough = row["capacity"] - row["taken"] >= self.booking["quantity"]
            again = self.refused.get(row["id"], -WRONG_SECONDS * SECOND) + WRONG_SECONDS * SECOND
            if place is None or not enough or row["blocked"] or again > self.now:
                continue
            starts_at = parse_instant(row["starts_at"])
            order = rank(self.brief["prefer"], starts_at, place, self.near)
            out.append(Choice(tier, order, row["id"]))
        return sorted(out)

    # --- taking -----------------------------------------------------------------------------------

    def take(self, choice: Choice) -> Part:
        """Try to get a slot; tells whether the customer has it."""
        if choice.tier:
            return (yield from self.exchange(choice.slot_id))
        told = yield from tried(
            "reschedule_booking", booking_id=self.booking_id, slot_id=choice.slot_id
        )
        if unknown(told):
            yield from self.call("wait", seconds=SETTLE_SECONDS)
        elif told.error:
            self.refused[choice.slot_id] = parse_instant(told.t)
            return False
        booking = yield from self.see("get_booking", booking_id=self.booking_id)
        return booking["slot_id"] == choice.slot_id

    def exchange(self, slot_id: int) -> Part:
        """Book and pay the longer one, then cancel the old booking."""
        told = yield from tried("hold_slot", slot_id=slot_id, quantity=self.booking["quantity"])
        if not told.value:
            self.refused[slot_id] = parse_instant(told.t)
            return False
        booking = yield from booked(told.value["id"])
        if isinstance(booking, str) or not (yield from paid(booking)):
            return False
        told = yield from tried("cancel_booking", booking_id=self.booking_id)
        if unknown(told):
            yield from self.call("wait", seconds=SETTLE_SECONDS)
        return True
