"""The reference of marketplace/group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND, Call, parse_instant
from simharness.models.marketplace.policies.asking import (
    SETTLE_SECONDS,
    Impatient,
    read,
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
WRONG = 6 * SECOND
"""For so long what was refused isn't tried again: searches are a little behind."""


def expert(task: Task) -> Play:
    """Book both or neither by the request, from what it is shown and nothing else."""
    planner = Planner(task.brief)
    try:
        outcome = yield from planner.work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    refs = [f"slots:{key}" for key in planner.lone] if outcome == "impossible" else []
    yield Call("finish", {"message": f"Both: {outcome}.", "outcome": outcome, "refs": refs})


class Choice(NamedTuple):
    """A pair that would do, in the order of how much it is wished for."""

    order: tuple[int, ...]
    room: int
    coach: int


class Planner:
    """Looks, tries the best pair, gives back what is of no use alone, and looks again."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.brief = brief
        self.party: int = brief["party"]
        self.until = parse_instant(brief["until"])
        self.near = parse_instant(brief["near"])
        self.kinds: list[tuple[int, int, dict[int, int]]] = []
        """Services with the places that are needed, and their providers in the request."""
        self.refused: dict[tuple[int, ...], int] = {}
        """Slots, and pairs of them, that were refused, with the instant."""
        self.lone: list[int] = []
        """What the last look showed to be free."""
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
                return "impossible"
            else:
                left = max(1, -(-(self.until - self.now) // SECOND))
                yield from self.call("wait", seconds=min(POLL_SECONDS, left))

    # --- looking ----------------------------------------------------------------------------------

    def call(self, tool: str, **arguments: Any) -> Part:
        """Make one call and look at the clock."""
        told = yield Call(tool, arguments)
        self.now = parse_instant(told.t)
        return told

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
                if self.may_be(room["id"], coach["id"]):
                    out.append(Choice(order, room["id"], coach["id"]))
        return sorted(out)

    def may_be(self, *slots: int) -> bool:
        """Tell whether slots weren't refused a moment ago."""
        return self.refused.get(slots, -WRONG) + WRONG <= self.now

    def free(self, service_id: int, needed: int, places: Mapping[int, int]) -> Part:
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
            if told.value:
                rows += told.value["slots"]
                page = told.value["next_page"]
        return [
            {**row, "place": places[row["provider_id"]]}
            for row in rows
            if row["provider_id"] in places
            and row["capacity"] - row["taken"] >= needed
            and not row["blocked"]
            and self.may_be(row["id"])
        ]

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
            yield from self.note(told, choice.room, choice.coach)
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

    def note(self, told: Any, *slots: int) -> Play:
        """Remember what was refused."""
        self.refused[slots] = parse_instant(told.t)
        if unknown(told):
            yield from self.call("wait", seconds=SETTLE_SECONDS)
