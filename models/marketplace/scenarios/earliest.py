"""marketplace/earliest: the first slot that meets a customer's every requirement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.models.marketplace.people.crowd import start_desks
from simharness.models.marketplace.people.rivals import start_crowd
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import Window, start_team
from simharness.models.marketplace.policies import coping, earliest
from simharness.models.marketplace.requirements import RELAXED, WEEKDAYS, Wish
from simharness.models.marketplace.scenarios.earliest_goal import Judge
from simharness.models.marketplace.scenarios.field import (
    BOOKED,
    COUPON,
    CURRENCY,
    DELUXE,
    FAMILIES,
    LONG,
    PERCENT,
    STANDARD,
    TITLES,
    ZONES,
    Field,
    Kind,
    add_coupon,
    date_of_day,
    own_ids,
)
from simharness.models.marketplace.scenarios.task import MarketTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simharness.api import Criterion, Drawing, Ending, Instance, Policy
    from simharness.models.marketplace.product import Marketplace

HOURS = {
    "morning": ("08:00", "12:30"),
    "afternoon": ("12:00", "18:00"),
    "evening": ("17:00", "21:00"),
    "long": ("09:00", "19:00"),
}
DAYS: Mapping[str, tuple[str, ...]] = {
    "all": WEEKDAYS,
    "weekdays": WEEKDAYS[:5],
    "odd": ("Tuesday", "Thursday", "Saturday"),
    "even": ("Wednesday", "Friday", "Sunday"),
    "weekend": ("Saturday", "Sunday"),
}
CROWDED = 6
"""Slots that are crowded, if there are as many: also some that won't do, lest a crowd gives away
which will."""
DECOYS = ("provider", "length", "price", "day", "hours", "gap", BOOKED)
"""What slots fail that only seem to fit."""


class Earliest(MarketTask):
    """Book the first slot that meets all of a list of requirements."""

    id = "marketplace/earliest"
    doc = (
        "the customer has exactly one new booking, confirmed and paid, on the earliest slot that "
        "meets every requirement, or else the relaxed ones, of those that could be booked when it "
        "was held; where all were sold, nothing was booked, and finish names the earliest slot "
        "that fails the price alone; nothing else was changed"
    )
    steps_max = 80
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": earliest.expert,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the wish, what there is of it, and the slots that only seem to fit."""
        drawing.pick("zone", ZONES)
        drawing.pick("service", FAMILIES)
        drawing.pick("willing", ("all", "1", "2", "3"), (15, 25, 35, 25))
        drawing.below("willing_from", len(TITLES))
        drawing.between("days_from", 1, 3)
        drawing.between("days_long", 5, 8)
        drawing.pick("days", tuple(DAYS))
        drawing.pick("hours", tuple(HOURS))
        drawing.between("places", 1, 3)
        drawing.pick("gap", ("0", "30", "60"))
        free = drawing.pick("money", ("paid", "free"), (85, 15)) == "free"
        # In minor units; TIERS gives percents of it.
        drawing.between("price", *((0, 0) if free else (30, 90)))
        drawing.between("slack", 5, 20)
        drawing.pick("coupon", ("none", "usable", "used_up"), (100, 0, 0) if free else (40, 30, 30))
        relax = drawing.pick("relax", tuple(RELAXED))
        least = (62, 20, 18) if relax != "nothing" else (80, 0, 20)
        drawing.pick("there", ("first", "second", "none"), least)
        drawing.between("fits", 1, 4)
        drawing.between("others", 0, 3)
        for what in DECOYS:
            drawing.between(f"no_{what}", 0, 2)
        drawing.between("field", 1, 2**31 - 1)

    def start(self, product: Marketplace, instance: Instance) -> int:
        """Lay the slots out."""
        story: Any = instance
        ids = own_ids()
        if story["coupon"] != "none":
            add_coupon(product, ids.coupon, usable=story["coupon"] == "usable")
        percent = PERCENT if story["coupon"] == "usable" else 0
        wish = wish_of(story)
        Field(product, ids, wish, story, percent).lay_out([*kinds_of(story)], story["others"])
        return ids.customer

    def people(self, product: Marketplace, instance: Instance) -> None:
        """Start the customers, the staff, and those who want the same slots."""
        wish, ids = wish_of(instance), own_ids()
        judge = Judge(product, wish, ids, self.agent)
        percent = judge.percent(0)
        own = judge.candidates()
        wanted = [slot.id for slot in own if judge.level(slot, percent)]
        near = {slot.id for slot in own} - {*wanted}
        others = [s.id for s in judge.own_slots() if s.id not in near and s.id not in wanted]
        start_team(product, Window(ids.service + STANDARD, *wish.span()))
        # What can be named where there is nothing stays as it is.
        start_staff(product, spared=near)
        crowded = wanted + others[: max(0, CROWDED - len(wanted))]
        if crowded:
            start_crowd(product, crowded, range(1, ids.customer), wish.places)
            start_desks(product, crowded)

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        story: Any = instance
        wish = wish_of(story)
        coupon = COUPON if story["coupon"] != "none" else ""
        relaxed = RELAXED[wish.relax]
        near = (
            "If there is nothing, book nothing, and finish with the outcome impossible and, as "
            "ref (slots:ID), the earliest slot with free places that fails nothing but the price "
            "of the requirements above."
        )
        return (
            f"You act for customer {own_ids().customer}, whose time zone is {wish.zone}. "
            "Book and pay the earliest slot that meets all of this (days and times are those of "
            f"that zone):\n{wish.text(CURRENCY, coupon, PERCENT)}\n"
            + (f"{relaxed} Then it is the earliest of those that meet all the rest.\n"
               if relaxed else "")
            + f"{near} Of slots at one time the cheapest comes first; what was free for "
            "ten minutes on end could be had. Others book as well; "
            "searches may be 3 seconds old, and as_of says up to when they are complete. Release "
            "what you held and don't book. Change nothing else. Once it is paid and confirmed, "
            "finish with the outcome done."
        )  # fmt: skip

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        story: Any = instance
        coupon = story["coupon"] != "none"
        return {
            "customer_id": own_ids().customer,
            "currency": CURRENCY,
            "coupon": COUPON if coupon else "",
            "percent": PERCENT if coupon else 0,
            **wish_of(story).brief(),
        }

    def goal(
        self, product: Marketplace, instance: Instance, ending: Ending
    ) -> tuple[Criterion, ...]:
        """Judge what was booked by what could be booked just before."""
        judge = Judge(product, wish_of(instance), own_ids(), self.agent)
        return (
            judge.one_booking(ending),
            judge.meets_the_wish(),
            judge.the_earliest(),
            judge.told(ending),
            judge.nothing_else(),
        )


def wish_of(instance: Mapping[str, Any]) -> Wish:
    """Give what the customer asks for."""
    story = instance
    opens, closes = HOURS[story["hours"]]
    willing: tuple[str, ...] = ()
    if story["willing"] != "all":
        turned = TITLES[story["willing_from"] :] + TITLES[: story["willing_from"]]
        willing = turned[: int(story["willing"])]
    first = story["days_from"]
    price = story["price"] * story["places"]
    # The long service is within reach without a coupon where there is none to be had.
    slack = story["slack"] + (25 if story["coupon"] == "none" else 0)
    return Wish(
        service=story["service"],
        minutes=60,
        providers=willing,
        zone=story["zone"],
        first_day=date_of_day(first),
        last_day=date_of_day(first + story["days_long"] - 1),
        weekdays=DAYS[story["days"]],
        opens=opens,
        closes=closes,
        places=story["places"],
        price_max=price * (100 + slack),
        gap=int(story["gap"]),
        relax=story["relax"],
    )


def kinds_of(story: Mapping[str, Any]) -> Iterator[Kind]:
    """Give the slots of an instance, by what they fail."""
    there, relax = story["there"], story["relax"]
    fits = story["fits"]
    if there == "first":
        yield from [Kind(frozenset())] * fits
    elif there == "second":
        yield from [Kind(frozenset({relax}))] * fits
    # One fails the price alone, and can be named where there is nothing, or where all is taken.
    yield Kind(frozenset({"price"}), DELUXE)
    if story["coupon"] == "used_up":
        yield Kind(frozenset({"price"}), LONG)
    for what in DECOYS:
        for _ in range(story[f"no_{what}"]):
            if what == BOOKED:
                yield Kind(frozenset(), STANDARD, full=True)
            elif (what != relax or there == "first") and (what, story["willing"]) != (
                "provider",
                "all",
            ):
                yield Kind(frozenset({what}))
