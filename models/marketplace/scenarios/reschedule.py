"""marketplace/reschedule: a paid booking moved to the best slot, the old one kept until then."""

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
    fall_ill_later,
    start_comers,
    start_desks,
    take_later,
)
from simharness.models.marketplace.people.rivals import block_later, cancel_later
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import Window, start_team
from simharness.models.marketplace.policies import coping, reschedule
from simharness.models.marketplace.preference import PREFER, TEXTS
from simharness.models.marketplace.scenarios.reschedule_goal import Judge, options
from simharness.models.marketplace.scenarios.stage import Stage, first_id, others
from simharness.models.marketplace.scenarios.task import MarketTask
from simharness.models.marketplace.scenarios.window import (
    TIMES,
    on_day,
    seats_of,
    sold_at_first,
    title_of,
    window_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.marketplace.product import Marketplace

THEMES = {
    "lesson": ("Piano lesson", "Long piano lesson", 1),
    "physio": ("Physiotherapy", "Long physiotherapy", 1),
    "yoga": ("Yoga class", "Long yoga class", 5),
    "tasting": ("Tea tasting", "Grand tea tasting", 4),
}
"""Titles of the service and of the longer one, and the places of a slot."""
TITLES = ("House Alder", "House Beech", "House Cypress", "House Dogwood", "House Elm", "House Fir")
PROVIDERS = 2
"""Providers that are named; a third isn't."""


class Reschedule(MarketTask):
    """Move one paid booking."""

    id = "marketplace/reschedule"
    doc = (
        "at every instant the customer had a place, and in the end has exactly one confirmed, paid "
        "booking: on a slot better than which by the request none could be booked then, or, where "
        "nothing that fits could at the deadline, on the old one, or none when its provider is "
        "away, with impossible and the old slot as ref; the agent never left off looking; no other "
        "row harmed"
    )
    steps_max = 90
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": reschedule.expert,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the request, how the slots stand, and what becomes of them."""
        drawing.between("customer", 1, CUSTOMERS)
        drawing.between("shift", 0, 40)
        theme = drawing.pick("theme", tuple(THEMES))
        drawing.between("quantity", 1, 2 if THEMES[theme][2] > 1 else 1)
        drawing.between("price", 20, 90)
        drawing.between("extra", -8, 40)
        drawing.between("extra_max", 5, 35)
        drawing.pick("named", ("number", "time"), (50, 50))
        drawing.between("titles", 0, len(TITLES) - 1)
        drawing.between("seat", 0, 2)
        drawing.between("day", 2, 5)
        drawing.between("hour", 8, 13)
        drawing.between("near", 0, TIMES - 1)
        drawing.pick("prefer", PREFER)
        stand = drawing.pick("stand", ("many", "one", "later", "none"), (42, 16, 18, 24))
        drawing.between("mask", 0, 2 ** (PROVIDERS * TIMES) - 1)
        drawing.between("free", 0, PROVIDERS * TIMES - 1)
        drawing.between("freed_at", 15, 110)
        drawing.pick("long", ("free", "later", "none"), (40, 20, 40))
        drawing.between("long_mask", 1, 2**TIMES - 1)
        drawing.between("long_free", 0, TIMES - 1)
        drawing.between("until", 60, 180)
        drawing.pick("away", ("no", "start", "later"), (50, 30, 20))
        drawing.between("away_at", 5, 90)
        drawing.between("old_day", 1, 6)
        drawing.between("old_provider", 0, PROVIDERS)
        drawing.pick(
            "rival", ("none", "one", "two"), (40, 40, 20) if stand == "many" else (70, 30, 0)
        )
        drawing.between("rival_at", 3, 30)
        drawing.pick("block", ("none", "best"), (70, 30))
        drawing.between("block_at", 3, 40)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Marketplace, instance: Instance) -> int:
        """Add the services with their providers and slots, and the booking."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        title, long_title, capacity = THEMES[story["theme"]]
        main = stage.service(title, 60, story["price"] * 100)
        long = stage.service(long_title, 60, (story["price"] + story["extra"]) * 100)
        free = standing(story)
        first = window_of(story)[0]
        seats = seats_of(story, PROVIDERS)
        houses = {seat: stage.provider(title_of(TITLES, story, seat), main) for seat in seats}
        last = stage.provider(title_of(TITLES, story, PROVIDERS + 1), long)
        house, blocked = houses[story["old_provider"]], story["away"] == "start"
        old = stage.slot(house, main, self._old_time(story), capacity, blocked=blocked)
        stage.sell(old, story["customer"], story["quantity"])
        for seat, house in houses.items():
            for k in range(-1, TIMES + 1):
                slot = stage.slot(house, main, first + k * HOUR, capacity, blocked=False)
                bit = seat * TIMES + k
                inside = seat < PROVIDERS and 0 <= k < TIMES
                is_free = bool(free >> bit & 1) if inside else (k + story["shift"]) % 3 > 0
                self._fill(stage, story, slot, bit + 2, is_free=is_free)
        mask = story["long_mask"] if story["long"] == "free" else 0
        for k in range(-1, TIMES + 1):
            slot = stage.slot(last, long, first + k * HOUR, capacity, blocked=False)
            is_free = bool(mask >> k & 1) if 0 <= k < TIMES else True
            self._fill(stage, story, slot, 20 + k, is_free=is_free)
        return int(story["customer"])

    @staticmethod
    def _fill(stage: Stage, story: Any, slot: Any, k: int, *, is_free: bool) -> None:
        """Sell so many places that enough, or not enough, are left."""
        quantity: int = story["quantity"]
        spread = (k * 5 + story["shift"]) % 3
        sold = sold_at_first(slot.capacity, quantity, spread, free=is_free)
        if sold:
            stage.sell(slot, others(story["customer"], k), sold)

    def _old_time(self, story: Any) -> int:
        """Give when the booking is now, outside the window on another day."""
        day: int = story["old_day"] + (story["old_day"] >= story["day"])
        return on_day(day, story["hour"])

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Marketplace, instance: Instance) -> None:
        """Start those who want the same slots, who give some back, and providers who are away."""
        story: Any = instance
        customer: int = story["customer"]
        quantity: int = story["quantity"]
        facts = self._facts(instance)
        found = options(product, facts)
        main = [o.slot_id for o in found if not o.tier]
        long = [o.slot_id for o in found if o.tier]
        booked = {b.slot_id: b.id for b in product.bookings.table}
        window = window_of(story)
        slots = product.slots.table.rows

        def best_free() -> list[int]:
            rows = [slots[key] for key in main]
            return [r.id for r in rows if r.capacity - r.taken >= quantity and not r.blocked]

        if story["stand"] == "later":
            place, k = divmod(story["free"], TIMES)
            asked = (0, place, window[0] + k * HOUR)
            slot_id = next(o.slot_id for o in found if (o.tier, o.place, o.starts_at) == asked)
            cancel_later(product, "giver", story["freed_at"] * 1000, booked[slot_id])
        if story["long"] == "later" and long:
            freed = booked[long[int(story["long_free"])]]
            cancel_later(product, "giver/long", story["freed_at"] * 1000 + 7000, freed)
        if story["away"] == "later":
            old = product.bookings.table.rows[facts["booking_id"]].slot_id
            fall_ill_later(product, "provider/old", story["away_at"] * 1000, old)
        for n in range(("none", "one", "two").index(story["rival"])):
            ms = (story["rival_at"] + n * 9) * 1000
            take_later(product, f"rival/{n + 1}", others(customer, 30 + n), ms, best_free, quantity)
        if story["block"] != "none":
            free = best_free()
            if free:
                block_later(product, "provider/block", story["block_at"] * 1000, free[0])
        start_comers(product, main, quantity, lambda k: others(customer, k + 8))
        start_desks(product, main)
        service_id = slots[main[0]].service_id
        start_team(product, Window(service_id, *window), away=customer)
        start_staff(product, spared={*main, *long})

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        facts = self._facts(instance)
        first, second = facts["providers"]
        text = TEXTS[facts["prefer"]].format(near=facts["near"])
        which = f"Your booking #{facts['booking_id']} is paid"
        if instance["named"] == "time":
            which = f"Your booking at {facts['at']} for {facts['starts_at']} is paid"
        return (
            f"You are customer {facts['customer_id']}. {which}. "
            f"Move it to a slot of the same service that starts at {facts['from_time']} or later "
            f"and before {facts['to_time']}, at {first} or {second}: {text}; otherwise at "
            f"{first} rather than at {second}. Never give up the place that you have before you "
            f"have the new one. If no such slot is free, as many places of "
            f"{facts['long_title']!r} at {facts['long_provider']} in the same time will do, chosen "
            f"alike, if they cost at most {facts['extra_max']} cents more in all than the old: "
            "book and pay them, then cancel the old booking. Others may give places back, so look "
            f"at least once a minute, from the start until {facts['until']}. If nothing that fits "
            "can be had until then, keep the booking as it is, or cancel it if its slot is "
            "blocked, since its provider is away then; and call finish with the outcome impossible "
            "and that slot in refs."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        facts = self._facts(instance)
        hidden = ("at", "starts_at") if instance["named"] == "number" else ("booking_id",)
        return {name: value for name, value in facts.items() if name not in hidden}

    def _facts(self, instance: Instance) -> dict[str, Any]:
        """Give what a prompt says, the booking both by its number and by its time."""
        story: Any = instance
        first, last = window_of(story)
        return {
            "customer_id": story["customer"],
            "booking_id": first_id("bookings", story["shift"]),
            "at": title_of(TITLES, story, story["old_provider"]),
            "starts_at": format_instant(self._old_time(story)),
            "providers": [title_of(TITLES, story, 0), title_of(TITLES, story, 1)],
            "from_time": format_instant(first),
            "to_time": format_instant(last),
            "prefer": story["prefer"],
            # The prompt names an instant only where what is nearest to it comes first.
            "near": format_instant(first + (story["prefer"] == "nearest") * story["near"] * HOUR),
            "long_title": THEMES[story["theme"]][1],
            "long_provider": title_of(TITLES, story, PROVIDERS + 1),
            "extra_max": story["extra_max"] * 100,
            "until": format_instant(self.epoch + story["until"] * SECOND),
        }

    def goal(
        self, product: Marketplace, instance: Instance, ending: Ending
    ) -> tuple[Criterion, ...]:
        """Judge where the customer has a place, by what could be had."""
        return Judge(product, self._facts(instance), self.agent).judge(ending)


def standing(story: Any) -> int:
    """Give which of the named providers' slots within the window are free, a bit for each."""
    stand: str = story["stand"]
    bit: int = 1 << story["free"]
    if stand == "many":
        mask: int = story["mask"]
        return mask | bit | 1 << (int(story["free"]) + 3) % (PROVIDERS * TIMES)
    return bit if stand == "one" else 0
