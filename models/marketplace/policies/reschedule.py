"""The reference of marketplace/reschedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND, format_instant, parse_instant
from simharness.models.marketplace.policies.asking import (
    SETTLE_SECONDS,
    read,
    read_pages,
    tried,
    unknown,
)
from simharness.models.marketplace.policies.looking import Looker
from simharness.models.marketplace.policies.paying import booked, paid
from simharness.models.marketplace.preference import rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Task
    from simharness.models.marketplace.policies.asking import Part, Play


def expert(task: Task) -> Play:
    """Move the booking by the request, from what it is shown and nothing else."""
    yield from Mover(task.brief).play()


class Choice(NamedTuple):
    """A slot that would do, in the order of how much it is wished for."""

    tier: int
    order: tuple[int, ...]
    slot_id: int


class Mover(Looker):
    """Looks, tries the best, and looks again, until the booking is moved or time is up."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        super().__init__(brief)
        self.booking_id: int = brief.get("booking_id", 0)
        self.booking: dict[str, Any] = {}
        self.old_slot = self.service_id = self.long_id = 0
        self.houses: dict[int, int] = {}
        """Provider to its place in the request."""
        self.long_house = 0

    def message(self, outcome: str) -> str:
        """Say how it ended."""
        return f"Booking {self.booking_id}: {outcome}."

    def grounds(self) -> list[int]:
        """Give the slot that nothing was found for."""
        return [self.old_slot]

    def work(self) -> Part:
        """Give the outcome; where there is none better, give up what can't take place."""
        outcome = yield from super().work()
        if outcome == "impossible":
            slot = yield from read("get_slot", slot_id=self.old_slot)
            if slot["blocked"]:
                yield from tried("cancel_booking", booking_id=self.booking_id)
        return outcome

    # --- looking ----------------------------------------------------------------------------------

    def learn(self) -> Play:
        """Find out which booking it is, and who offers what."""
        if not self.booking_id:
            self.booking_id = yield from self.find()
        self.booking = yield from read("get_booking", booking_id=self.booking_id)
        self.old_slot = self.booking["slot_id"]
        slot = yield from read("get_slot", slot_id=self.old_slot)
        self.service_id = slot["service_id"]
        services = (yield from read("list_services"))["services"]
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
        told = yield from read(
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
        told = yield from read("list_providers", service_id=service_id)
        return {row["title"]: row["id"] for row in told["providers"]}

    def search(self) -> Part:
        """Give what is free and would do, the best first; the longer ones only if nothing else."""
        found = yield from self.choices(0, self.service_id, self.houses)
        if not found and self.long_id:
            found = yield from self.choices(1, self.long_id, {self.long_house: 0})
        return found

    def choices(self, tier: int, service_id: int, houses: Mapping[int, int]) -> Part:
        """Give what is free of one service, the best first."""
        rows = yield from self.free(service_id, self.booking["quantity"], houses)
        prefer: str = self.brief["prefer"]
        return sorted(
            Choice(
                tier,
                rank(prefer, parse_instant(row["starts_at"]), row["place"], self.near),
                row["id"],
            )
            for row in rows
        )

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
            self.refused[choice.slot_id,] = parse_instant(told.t)
            return False
        booking = yield from read("get_booking", booking_id=self.booking_id)
        return booking["slot_id"] == choice.slot_id

    def exchange(self, slot_id: int) -> Part:
        """Book and pay the longer one, then cancel the old booking."""
        told = yield from tried("hold_slot", slot_id=slot_id, quantity=self.booking["quantity"])
        if not told.value:
            yield from self.note(told, slot_id)
            return False
        booking = yield from booked(told.value["id"])
        if isinstance(booking, str) or not (yield from paid(booking)):
            return False
        told = yield from tried("cancel_booking", booking_id=self.booking_id)
        if unknown(told):
            yield from self.call("wait", seconds=SETTLE_SECONDS)
        return True
