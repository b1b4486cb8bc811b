"""marketplace/group: a room and a coach at the same time, both or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    HOUR,
    SECOND,
    Criterion,
    Drawing,
    Ending,
    Instance,
    format_instant,
)
from simharness.models.marketplace.base import CUSTOMERS
from simharness.models.marketplace.people.crowd import (
    start_comers,
    start_desks,
    start_pairs,
    take_later,
)
from simharness.models.marketplace.people.rivals import block_later, cancel_later
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import Window, start_team
from simharness.models.marketplace.policies import coping, group
from simharness.models.marketplace.preference import PREFER, TEXTS
from simharness.models.marketplace.scenarios.group_goal import Judge, pairs_of, parts_of
from simharness.models.marketplace.scenarios.stage import Stage, others
from simharness.models.marketplace.scenarios.task import MarketTask
from simharness.models.marketplace.scenarios.window import (
    TIMES,
    seats_of,
    sold_at_first,
    title_of,
    window_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Provider, Service

THEMES = {
    "voice": ("Rehearsal room", "Vocal coach", "Master vocal coach"),
    "photo": ("Photo studio", "Photographer", "Star photographer"),
    "tennis": ("Tennis court", "Tennis trainer", "Head tennis trainer"),
}
"""Titles of the room, of the coach, and of the dearer coach."""
ROOMS = ("Room Aspen", "Room Bay", "Room Coral", "Room Dune", "Room Echo")
COACHES = ("Coach Ames", "Coach Bell", "Coach Cole", "Coach Dorn", "Coach Eyre")
PLACES = 4
"""Places of a room."""
CALM = 150 * SECOND
"""Mean pause of those who come for one half; what is wanted of two is met twice as often."""
NAMED = 2
"""Rooms, and ordinary coaches, that are named; a third isn't."""


class Group(MarketTask):
    """Book two things at once."""

    id = "marketplace/group"
    doc = (
        "the customer has a confirmed, paid booking of a room and one of a coach at one time, than "
        "which by the request no better pair could be booked then, or, where no pair could at the "
        "deadline, neither and nothing held, with impossible and free slots that lacked their "
        "counterpart as refs; the agent never left off looking; no other row harmed"
    )
    steps_max = 90
    policies: ClassVar[Mapping[str, Policy]] = {"expert": group.expert, **coping.COPING}

    def draw(self, drawing: Drawing) -> None:
        """Draw the request, how the slots stand, and what becomes of them."""
        drawing.between("customer", 1, CUSTOMERS)
        drawing.between("shift", 0, 40)
        drawing.pick("theme", tuple(THEMES))
        drawing.pick("size", ("one", "two", "three"), (50, 25, 25))
        drawing.between("room_price", 10, 30)
        drawing.pick("room", ("paid", "free"), (60, 40))
        drawing.between("coach_price", 30, 80)
        drawing.between("senior_extra", 5, 40)
        drawing.between("extra_max", 0, 45)
        drawing.between("titles", 0, len(ROOMS) - 1)
        drawing.between("seat", 0, 2)
        drawing.between("day", 2, 6)
        drawing.between("hour", 8, 13)
        drawing.between("near", 0, TIMES - 1)
        drawing.pick("prefer", PREFER)
        stand = drawing.pick("stand", ("many", "one", "later", "none"), (52, 16, 18, 14))
        drawing.between("rooms", 0, 2 ** (NAMED * TIMES) - 1)
        drawing.between("coaches", 0, 2 ** (NAMED * TIMES) - 1)
        drawing.between("seniors", 0, 2**TIMES - 1)
        drawing.between("lacking", 0, 2**TIMES - 1)
        drawing.between("lone", 0, TIMES - 1)
        drawing.between("free", 0, TIMES - 2)
        drawing.between("free_room", 0, NAMED - 1)
        drawing.between("free_coach", 0, NAMED - 1)
        drawing.pick("freed", ("room", "coach", "both"))
        drawing.between("freed_at", 15, 110)
        drawing.between("until", 60, 170)
        drawing.pick(
            "rival", ("none", "room", "coach"), (40, 30, 30) if stand == "many" else (80, 10, 10)
        )
        drawing.between("rival_at", 5, 45)
        drawing.pick("block", ("none", "best"), (75, 25))
        drawing.between("block_at", 5, 40)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Marketplace, instance: Instance) -> int:
        """Add rooms and coaches with their slots."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        room_title, coach_title, senior_title = THEMES[story["theme"]]
        room_price = story["room_price"] * 100 if story["room"] == "paid" else 0
        coach_price = story["coach_price"] * 100
        room = stage.service(room_title, 60, room_price)
        coach = stage.service(coach_title, 60, coach_price)
        senior = stage.service(senior_title, 60, coach_price + story["senior_extra"] * 100)
        rooms, coaches, seniors = standing(story)
        seats = seats_of(story, NAMED)
        for seat in seats:
            house = stage.provider(title_of(ROOMS, story, seat), room)
            mask = rooms >> seat * TIMES if seat < NAMED else story["coaches"]
            self._slots(stage, story, house, room, PLACES, mask, seat)
        for seat in reversed(seats):
            house = stage.provider(title_of(COACHES, story, seat), coach)
            mask = coaches >> seat * TIMES if seat < NAMED else story["rooms"]
            self._slots(stage, story, house, coach, 1, mask, seat + 3)
        house = stage.provider(title_of(COACHES, story, NAMED + 1), senior)
        self._slots(stage, story, house, senior, 1, seniors, 7)
        return int(story["customer"])

    def _slots(
        self,
        stage: Stage,
        story: Any,
        house: Provider,
        service: Service,
        places: int,
        mask: int,
        seat: int,
    ) -> None:
        """Add the slots of a room or a coach, those free that the mask says."""
        first, needed = window_of(story)[0], size(story) if places > 1 else 1
        for k in range(-1, TIMES + 1):
            slot = stage.slot(house, service, first + k * HOUR, places, blocked=False)
            spread = (k * 5 + seat + story["shift"]) % 3
            free = bool(mask >> k & 1) if 0 <= k < TIMES else spread > 0
            sold = sold_at_first(places, needed, spread, free=free)
            if sold:
                stage.sell(slot, others(story["customer"], k + seat * TIMES + 3), sold)

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Marketplace, instance: Instance) -> None:
        """Start those who want the same slots, alone or two at once, and who give some back."""
        story: Any = instance
        customer: int = story["customer"]
        facts = self.brief(instance)
        window = window_of(story)
        slots = product.slots.table.rows
        booked = {b.slot_id: b.id for b in product.bookings.table}
        rooms, coaches = parts_of(product, facts)
        pairs = pairs_of(facts, rooms, coaches)
        places: int = facts["party"]
        lone = window[0] + story["lone"] * HOUR

        def best(kind: int) -> list[int]:
            """Give that part of the best pair which can be had now."""
            for pair in pairs:
                free = [
                    slots[key].capacity - slots[key].taken >= needed and not slots[key].blocked
                    for key, needed in ((pair.room, places), (pair.coach, 1))
                ]
                if all(free):
                    return [pair.coach if kind else pair.room]
            return []

        at = window[0] + free_time(story) * HOUR
        if story["stand"] == "later":
            for kind, parts in (("room", rooms), ("coach", coaches)):
                if story["freed"] in (kind, "both"):
                    place = story[f"free_{kind}"]
                    slot_id = next(
                        p.slot_id for p in parts if (p.starts_at, p.place) == (at, place)
                    )
                    ms = story["freed_at"] * 1000 + 4000 * (kind == "coach")
                    cancel_later(product, f"giver/{kind}", ms, booked[slot_id])
        if story["rival"] != "none":
            half = int(story["rival"] == "coach")
            ms = story["rival_at"] * 1000
            quantity = 1 if half else places
            take_later(product, "rival", others(customer, 36), ms, lambda: best(half), quantity)
        if story["block"] != "none":
            for slot_id in best(1):
                block_later(product, "provider/block", story["block_at"] * 1000, slot_id)
        # One room stays free at a time at which there is no coach.
        firsts = [k for k in dict.fromkeys(p.room for p in pairs) if slots[k].starts_at != lone]
        seconds = [k for k in dict.fromkeys(p.coach for p in pairs) if slots[k].starts_at != lone]
        ordinary = [key for key in seconds if slots[key].service_id == slots[seconds[0]].service_id]
        start_comers(product, firsts, places, lambda k: others(customer, k + 8), "comer", CALM)
        start_comers(product, ordinary, 1, lambda k: others(customer, k + 18), "comer/coach", CALM)
        start_pairs(product, ordinary, firsts, places, lambda k: others(customer, k + 28))
        start_desks(product, [*firsts, *seconds])
        service_id = slots[firsts[0]].service_id
        start_team(product, Window(service_id, *window), away=customer)
        start_staff(product, spared={p.slot_id for p in (*rooms, *coaches)})

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        facts = self.brief(instance)
        rooms, coaches = facts["rooms"], facts["coaches"]
        text = TEXTS[facts["prefer"]].format(near=facts["near"])
        return (
            f"You are customer {facts['customer_id']}. Book and pay two things that start at the "
            f"same time, at {facts['from_time']} or later and before {facts['to_time']}: a place "
            f"for {facts['party']} of {facts['room_title']!r} at {rooms[0]} or {rooms[1]}, and one "
            f"place of {facts['coach_title']!r} with {coaches[0]} or {coaches[1]}, or of "
            f"{facts['senior_title']!r} with {coaches[2]} where all together costs at most "
            f"{facts['cost_max']} cents. Take both or neither: {text}; otherwise the room named "
            "first, then the coach named first. Give back what you hold as soon as the other can't "
            f"be had. Others may give places back, so look at least once a minute, from the start "
            f"until {facts['until']}. If you can't "
            "have both until then, keep nothing, and call finish with the outcome impossible and, "
            "in refs, one or more of these slots that were still free while the other part wasn't."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        story: Any = instance
        first, last = window_of(story)
        room, coach, senior = THEMES[story["theme"]]
        room_price = story["room_price"] * 100 if story["room"] == "paid" else 0
        cost = room_price * size(story) + (story["coach_price"] + story["extra_max"]) * 100
        return {
            "customer_id": story["customer"],
            "room_title": room,
            "coach_title": coach,
            "senior_title": senior,
            "rooms": [title_of(ROOMS, story, seat) for seat in range(NAMED)],
            "coaches": [title_of(COACHES, story, seat) for seat in (0, 1, NAMED + 1)],
            "party": size(story),
            "from_time": format_instant(first),
            "to_time": format_instant(last),
            "prefer": story["prefer"],
            # The prompt names an instant only where what is nearest to it comes first.
            "near": format_instant(first + (story["prefer"] == "nearest") * story["near"] * HOUR),
            "cost_max": cost,
            "until": format_instant(self.epoch + story["until"] * SECOND),
        }

    def goal(
        self, product: Marketplace, instance: Instance, ending: Ending
    ) -> tuple[Criterion, ...]:
        """Judge what the customer has, by what could be had."""
        return Judge(product, self.brief(instance), self.agent).judge(ending)


def size(story: Any) -> int:
    """Give for how many the room is."""
    return ("one", "two", "three").index(story["size"]) + 1


def free_time(story: Any) -> int:
    """Give the time at which there is, or will be, a pair; never that of the lone room."""
    return int((story["lone"] + 1 + story["free"]) % TIMES)


def standing(story: Any) -> tuple[int, int, int]:
    """Give which named rooms, coaches and dearer coaches are free at the start, a bit for each."""
    rooms, coaches, seniors = story["rooms"], story["coaches"], story["seniors"]
    at = free_time(story)
    if story["stand"] != "many":
        for k in range(TIMES):
            if story["lacking"] >> k & 1 or k == at:
                rooms &= ~both(k)
            if not story["lacking"] >> k & 1 or k == at:
                coaches, seniors = coaches & ~both(k), seniors & ~(1 << k)
    if story["stand"] == "later":
        rooms |= (1 << at + story["free_room"] * TIMES) * (story["freed"] == "coach")
        coaches |= (1 << at + story["free_coach"] * TIMES) * (story["freed"] == "room")
    elif story["stand"] != "none":
        rooms |= 1 << at + story["free_room"] * TIMES
        coaches |= 1 << at + story["free_coach"] * TIMES
    lone = story["lone"]
    return rooms | 1 << lone, coaches & ~both(lone), seniors & ~(1 << lone)


def both(k: int) -> int:
    """Give the bits of both named ones at a time."""
    return 1 << k | 1 << k + TIMES
