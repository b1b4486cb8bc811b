"""The reference of marketplace/group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import parse_instant
from simharness.models.marketplace.policies.asking import read, tried
from simharness.models.marketplace.policies.looking import Looker
from simharness.models.marketplace.policies.paying import booked, paid
from simharness.models.marketplace.preference import rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Task
    from simharness.models.marketplace.policies.asking import Part, Play


def expert(task: Task) -> Play:
    """Book both or neither by the request, from what it is shown and nothing else."""
    yield from Planner(task.brief).play()


class Choice(NamedTuple):
    """A pair that would do, in the order of how much it is wished for."""

    order: tuple[int, ...]
    room: int
    coach: int


class Planner(Looker):
    """Looks, tries the best pair, gives back what is of no use alone, and looks again."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        super().__init__(brief)
        self.party: int = brief["party"]
        self.kinds: list[tuple[int, int, dict[int, int]]] = []
        """Services with the places that are needed, and their providers in the request."""
        self.lone: list[int] = []
        """What the last look showed to be free."""

    def message(self, outcome: str) -> str:
        """Say how it ended."""
        return f"Both: {outcome}."

    def grounds(self) -> list[int]:
        """Give the rooms that had no counterpart."""
        return self.lone

    # --- looking ----------------------------------------------------------------------------------

    def learn(self) -> Play:
        """Find out who offers what, and whether the dearer coach is within the budget."""
        told = yield from read("list_services")
        services = {row["title"]: row for row in told["services"]}
        brief = self.brief
        room, senior = services[brief["room_title"]], services[brief["senior_title"]]
        yield from self.add(room["id"], self.party, brief["rooms"], 0)
        coaches = brief["coaches"]
        yield from self.add(services[brief["coach_title"]]["id"], 1, coaches[:-1], 0)
        if room["price"] * self.party + senior["price"] <= brief["cost_max"]:
            yield from self.add(senior["id"], 1, coaches[-1:], len(coaches) - 1)

    def add(self, service_id: int, needed: int, titles: list[str], first: int) -> Play:
        """Note a service and those who may give it."""
        told = yield from read("list_providers", service_id=service_id)
        houses = {row["title"]: row["id"] for row in told["providers"]}
        places = {houses[title]: first + k for k, title in enumerate(titles)}
        self.kinds.append((service_id, needed, places))

    def search(self) -> Part:
        """Give the pairs that are free, the best first."""
        found: list[list[dict[str, Any]]] = []
        for service_id, needed, places in self.kinds:
            found.append((yield from self.free(service_id, needed, places)))
        rooms, coaches = found[0], [row for rows in found[1:] for row in rows]
        self.lone = [row["id"] for row in rooms]
        out: list[Choice] = []
        for room in rooms:
            for coach in coaches:
                if room["starts_at"] != coach["starts_at"]:
                    continue
                starts_at = parse_instant(room["starts_at"])
                place = room["place"] * 10 + coach["place"]
                order = rank(self.brief["prefer"], starts_at, place, self.near)
                as_of = min(room["as_of"], coach["as_of"])
                if self.may_be(as_of, room["id"], coach["id"]):
                    out.append(Choice(order, room["id"], coach["id"]))
        return sorted(out)

    # --- taking -----------------------------------------------------------------------------------

    def take(self, choice: Choice) -> Part:
        """Try to get a pair; tells whether the customer has it."""
        holds = yield from self.hold(choice)
        bookings: list[dict[str, Any]] = []
        for hold_id in holds:
            booking = yield from booked(hold_id)
            if isinstance(booking, str):
                break
            bookings.append(booking)
        if holds and len(bookings) == len(holds):
            done = True
            for booking in bookings:
                done = done and (yield from paid(booking))
            if done:
                return True
        # One without the other is of no use.
        for booking in bookings:
            yield from tried("cancel_booking", booking_id=booking["id"])
        for hold_id in holds[len(bookings) :]:
            yield from tried("release_hold", hold_id=hold_id)
        return False

    def hold(self, choice: Choice) -> Part:
        """Hold both, or nothing; gives the holds."""
        if self.party == 1:
            told = yield from tried("hold_slots", slot_ids=[choice.room, choice.coach])
            if told.value:
                return [row["id"] for row in told.value["holds"]]
            # The other one may be had, for all that was said.
            error: dict[str, Any] = told.results[0].get("error", {}) if told.results else {}
            named = error.get("slot_id")
            yield from self.note(told, *((named,) if named else (choice.room, choice.coach)))
            return []
        coach = yield from tried("hold_slot", slot_id=choice.coach)
        if not coach.value:
            yield from self.note(coach, choice.coach)
            return []
        room = yield from tried("hold_slot", slot_id=choice.room, quantity=self.party)
        if room.value:
            return [coach.value["id"], room.value["id"]]
        yield from tried("release_hold", hold_id=coach.value["id"])
        yield from self.note(room, choice.room)
        return []
