"""marketplace/book: one slot for a customer, by what they like best of what is to be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.models.marketplace.base import (
    ADVICE,
    CLASS,
    CUSTOMERS,
    LESSON,
    PROVIDERS,
    SERVICES,
)
from simharness.models.marketplace.habits import TEAM
from simharness.models.marketplace.people import rivals
from simharness.models.marketplace.people.bank import ANSWERS, Bank
from simharness.models.marketplace.people.crowd import start_desks
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import Window, start_team
from simharness.models.marketplace.policies import book, coping
from simharness.models.marketplace.scenarios import slots
from simharness.models.marketplace.scenarios.book_goal import Case, judge
from simharness.models.marketplace.scenarios.bookable import Bookable
from simharness.models.marketplace.scenarios.task import MarketTask
from simharness.models.marketplace.tables import Booking, Coupon
from simharness.models.marketplace.wishes import Wish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Criterion, Drawing, Ending, Instance, Policy
    from simharness.models.marketplace.product import Marketplace

HOMES: Mapping[int, tuple[str, ...]] = {
    LESSON: (
        "Europe/Berlin",
        "Europe/London",
        "Europe/Athens",
        "Africa/Lagos",
        "Europe/Istanbul",
    ),
    ADVICE: ("America/New_York", "America/Chicago", "America/Bogota"),
    CLASS: ("Europe/Berlin", "Europe/London", "Africa/Lagos"),
}
"""Zones of customers, by service: those in which the hours below are hours of its providers."""
NAMES = {SERVICES[service - 1][0]: service for service in HOMES}
DATES = ("2026-03-26", "2026-03-27", "2026-03-29", "2026-03-30", "2026-04-01", "2026-04-02")
"""Thursday, Friday, the Sunday of the change to summer time, Monday, Wednesday, Thursday."""
HOURS = (11, 14)
OTHERS = {"none": (), "later": (1,), "later_two": (1, 2), "around": (1, -1)}
"""Further hours that will do, from the first."""
OPEN = 3
"""Slots at the first hour; all of them show open at the start."""
SLOTS_MAX = 9
EVENT_MS = (1_000, 50_000)
"""When others do something about a slot: most who look for slots take about as long to hold one."""
EVENTS = ("none", "books", "holds", "lapses", "blocks")
COUPON = "WELCOME"


class Book(MarketTask):
    """Book and pay the slot that a customer likes best of those that are to be had."""

    id = "marketplace/book"
    doc = (
        "the customer has exactly one confirmed booking of the wish, paid, with the coupon if it "
        "was good and for no more than they want to pay, on the best slot that could be had "
        "when it was taken; or none where none could be had or paid; finish names the booking, or "
        "the slots or the service that stood in the way; no other row is harmed"
    )
    team = TEAM
    steps_max = 100
    policies: ClassVar[Mapping[str, Policy]] = {"expert": book.expert, **coping.COPING}

    def draw(self, drawing: Drawing) -> None:
        """Draw the wish, the slots that will do, and what others do about them."""
        drawing.between("customer", 1, CUSTOMERS)
        service = NAMES[drawing.pick("service", tuple(NAMES), (40, 35, 25))]
        drawing.pick("home", HOMES[service])
        drawing.pick("date", DATES)
        drawing.between("hour", *HOURS)
        drawing.pick("others", tuple(OTHERS), (25, 30, 25, 20))
        drawing.pick("first", ("time", "provider"), (60, 40))
        drawing.below("order", 24)
        places = drawing.between("quantity", 1, 3 if service == CLASS else 1)
        coupon = drawing.pick("coupon", ("none", "good", "used_up", "unknown"), (50, 28, 14, 8))
        drawing.between("percent", 10, 30)
        cap = drawing.pick("price_cap", ("none", "fits", "needs_coupon"), (55, 25, 20))
        full = SERVICES[service - 1][2] * places
        low, high = (full, full * 3 // 2) if cap != "needs_coupon" else (full * 9 // 10, full - 1)
        drawing.between("price_max", low, high)
        may_begin = coupon == "none" and cap != "needs_coupon"
        drawing.pick("begun", ("no", "held", "held_shortly", "booked"),
                     (64, 12, 14, 10) if may_begin else (100, 0, 0, 0))  # fmt: skip
        drawing.between("begun_ms", 10_000, 50_000)
        drawing.pick("payment", tuple(ANSWERS), (46, 18, 8, 12, 16))
        drawing.pick("luck", ("good", "gone"), (88, 12))
        for k in range(SLOTS_MAX):
            drawing.pick(f"state_{k}", ("open", "sold", "held", "blocked"), (55, 25, 12, 8))
            drawing.pick(f"event_{k}", EVENTS, (42, 24, 12, 8, 14))
            drawing.between(f"ms_{k}", *EVENT_MS)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Marketplace, instance: Instance) -> int:
        """Put the customer, their coupon and the slots of the wish into place."""
        story: Any = instance
        customer_id: int = story["customer"]
        customers = product.customers.table
        customers.start_with(
            customers.row_type.evolve(customers.rows[customer_id], {"zone": story["home"]})
        )
        wish = wish_of(instance)
        capacity = SERVICES[NAMES[wish.service] - 1][3]
        for k, slot_id in enumerate(wanted(wish)):
            slots.clear(product, slot_id)
            left = wish.quantity if first_hour(wish, slot_id) else self._left(story, k, wish)
            state = "open" if left else story[f"state_{k}"]
            # As many places are free as are wanted, or one less.
            taken = capacity - (left or wish.quantity - 1)
            rival = slots.other_customer(customer_id, k + 1)
            if state in ("open", "sold") and taken:
                slots.sell(product, slot_id, rival, taken)
            elif state == "held":
                slots.keep(product, slot_id, rival, taken, 4 * story[f"ms_{k}"])
            elif state == "blocked":
                slots.block(product, slot_id)
        if story["coupon"] in ("good", "used_up"):
            used = 3 if story["coupon"] == "used_up" else 1
            coupons = product.coupons.table
            coupons.start_with(
                Coupon(
                    id=coupons.top + 1,
                    code=code_of(instance),
                    limit=3,
                    used=used,
                    percent=story["percent"],
                )
            )
        self._begin(product, story, wish)
        return customer_id

    def _left(self, story: Any, k: int, wish: Wish) -> int:
        return wish.quantity if story[f"state_{k}"] == "open" else 0

    def _begin(self, product: Marketplace, story: Any, wish: Wish) -> None:
        """Let the customer have begun, or done, the booking of the best slot."""
        best, customer_id = wanted(wish)[0], story["customer"]
        if story["begun"] == "booked":
            slots.sell(product, best, customer_id, wish.quantity)
        elif story["begun"] != "no":
            ms = story["begun_ms"] if story["begun"] == "held_shortly" else 280_000
            hold = slots.keep(product, best, customer_id, wish.quantity, ms)
            bookings = product.bookings.table
            price = SERVICES[NAMES[wish.service] - 1][2] * wish.quantity
            bookings.start_with(
                Booking(
                    id=bookings.top + 1,
                    slot_id=best,
                    customer_id=customer_id,
                    quantity=wish.quantity,
                    hold_id=hold,
                    price=price,
                    **slots.BEFORE,
                )
            )

    # --- the task ---------------------------------------------------------------------------------

    def people(self, product: Marketplace, instance: Instance) -> None:
        """Start the customer's bank, those who want the same slots, and everybody else."""
        story: Any = instance
        wish = wish_of(instance)
        ids = wanted(wish)
        customer_id: int = story["customer"]
        Bank(product, customer_id, story["payment"])
        for k, slot_id in enumerate(ids):
            self._event(product, story, k, slot_id, wish)
        starts = wish.starts()
        window = Window(NAMES[wish.service], min(starts), max(starts) + 1)
        start_team(product, window, spared=ids, away=customer_id)
        start_staff(product, spared=ids)
        others = [slots.other_customer(customer_id, k) for k in range(20, 30)]
        rivals.start_crowd(product, ids, others, wish.quantity)
        start_desks(product, ids)

    def _event(self, product: Marketplace, story: Any, k: int, slot_id: int, wish: Wish) -> None:
        """Let somebody do something about one slot."""
        ms: int = story[f"ms_{k}"]
        event: str = story[f"event_{k}"]
        if story["luck"] == "gone":
            event, ms = "blocks" if event == "blocks" else "books", ms // 2
        who = f"rival/{k}"
        rival = slots.other_customer(story["customer"], 10 + k)
        seconds = 2 + ms // 2_000
        match event:
            case "books":
                rivals.book_later(product, who, rival, ms, slot_id, wish.quantity)
            case "holds":
                rivals.hold_later(product, who, rival, ms, slot_id, seconds, wish.quantity)
            case "lapses":
                rivals.hold_later(product, who, rival, ms, slot_id, 0, wish.quantity)
            case "blocks":
                rivals.block_later(product, f"away/{k}", ms, slot_id)
            case _:
                pass

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"You book for customer {instance['customer']}. {wish_of(instance).text()} Book and "
            "pay the best slot that is to be had, and see to it that they have one booking of it, "
            "confirmed, and no other; what was free for ten minutes on end could be had. Then call "
            "finish: outcome done with the booking in refs (bookings:ID). If there is none to be "
            "had, leave nothing behind and finish with outcome impossible: refs name all slots "
            "that would have done (slots:ID), or the service if it costs too much (services:ID)."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"customer_id": instance["customer"], **wish_of(instance).brief()}

    def goal(
        self, product: Marketplace, instance: Instance, ending: Ending
    ) -> tuple[Criterion, ...]:
        """Judge what the customer has in the end."""
        story: Any = instance
        wish = wish_of(instance)
        customer: int = story["customer"]
        bookable = Bookable(product, customer)
        case = Case(product, self.agent, customer, wish, wanted(wish), bookable)
        return judge(case, ending)


def wish_of(instance: Instance) -> Wish:
    """Give what the customer asks for."""
    story: Any = instance
    service = NAMES[story["service"]]
    titles = [title for title, of, *_ in PROVIDERS if of == service]
    hour: int = story["hour"]
    return Wish(
        service=story["service"],
        providers=tuple(arranged(titles, story["order"])[:OPEN]),
        date=story["date"],
        hours=(hour, *(hour + more for more in OTHERS[story["others"]])),
        zone=story["home"],
        first=story["first"],
        quantity=story["quantity"],
        coupon="" if story["coupon"] == "none" else code_of(instance),
        price_max=None if story["price_cap"] == "none" else story["price_max"],
    )


def code_of(instance: Instance) -> str:
    """Give the customer's coupon."""
    return f"{COUPON}{instance['customer']}"


def arranged(names: Sequence[str], number: int) -> list[str]:
    """Put names into one of their orders, by its number."""
    left, out = list(names), list[str]()
    while left:
        number, k = divmod(number, len(left))
        out.append(left.pop(k))
    return out


def wanted(wish: Wish) -> list[int]:
    """Give the slots that will do, the best first."""
    known = slots.ids_at()
    return [known[pair] for pair in wish.ranked() if pair in known]


def first_hour(wish: Wish, slot_id: int) -> bool:
    """Tell whether a slot is at the hour that the customer likes best."""
    starts_at: int = slots.rows()["slots"][slot_id - 1].starts_at
    return starts_at == wish.starts()[0]
