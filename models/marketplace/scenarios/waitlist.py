"""marketplace/waitlist: the slot that is wanted is full; a place may come free in time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    HOUR,
    SECOND,
    Criterion,
    Drawing,
    Ending,
    Instance,
    format_instant,
    zone,
)
from simharness.models.marketplace.base import EPOCH
from simharness.models.marketplace.people.crowd import start_desks
from simharness.models.marketplace.people.line import Answer, start_line
from simharness.models.marketplace.people.rivals import (
    block_later,
    book_later,
    cancel_later,
    start_crowd,
)
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import Window, start_team
from simharness.models.marketplace.policies import coping, waitlist
from simharness.models.marketplace.requirements import Wish
from simharness.models.marketplace.scenarios.field import (
    BOOKED,
    CURRENCY,
    FAMILIES,
    STANDARD,
    TITLES,
    ZONES,
    Field,
    Kind,
    date_of_day,
    local,
    own_ids,
)
from simharness.models.marketplace.scenarios.task import MarketTask
from simharness.models.marketplace.scenarios.waitlist_goal import Judge
from simharness.models.marketplace.tables import Booking, Hold, Slot, Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simharness.api import Policy
    from simharness.models.marketplace.product import Marketplace

PLACES_MAX = 3
AHEAD_MAX = 2
CROWDED = 6
"""Slots that are crowded, if there are as many: also some that won't do, lest a crowd gives away
which will."""
FALLBACKS: Mapping[str, str] = {
    "none": "",
    "day": "book and pay the earliest other slot of that day, with whomever, that meets all of "
    "this (in that zone):",
    "provider": "book and pay the earliest other slot with that provider, that day or on the two "
    "days after, that meets all of this (in that zone):",
}
"""What may be booked instead, and how that is said."""
DECOYS = ("provider", "price", "hours", "gap", BOOKED)


class Waitlist(MarketTask):
    """Get a place in a slot that is full, or what may be booked instead."""

    id = "marketplace/waitlist"
    doc = (
        "the customer has exactly one new booking, confirmed and paid: in the wanted slot if a "
        "place of it could be had before the deadline, else, having stood in line "
        "until then or until the provider was away, in the earliest of those that may be booked "
        "instead and could be when it was held; where all were sold, nothing was booked, and "
        "finish names the place in line; nothing else was changed"
    )
    steps_max = 120
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": waitlist.expert,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the slot, who has its places, who waits for it, and what may be booked instead."""
        drawing.pick("zone", ZONES)
        drawing.pick("service", FAMILIES)
        drawing.below("provider", len(TITLES))
        drawing.between("day", 1, 6)
        drawing.between("half_hour", 19, 35)
        drawing.between("price", 30, 90)
        drawing.between("capacity", 1, PLACES_MAX)
        drawing.between("until", 120, 240)
        drawing.pick("places_freed", ("0", "1", "2"), (40, 36, 24))
        for k in (1, 2):
            drawing.between(f"freed_at_{k}", 15, 180)
        drawing.pick("freed_by", ("cancelling", "lapsing"), (65, 35))
        drawing.pick("then", ("nothing", "rival", "away"), (70, 15, 15))
        drawing.between("then_after_ms", 500, 9_000)
        drawing.pick("listed", ("no", "yes"), (97, 3))
        drawing.pick("ahead", ("0", "1", "2"), (45, 35, 20))
        for k in range(1, AHEAD_MAX + 1):
            drawing.pick(f"answer_{k}", ("pays", "declines", "dawdles"), (35, 45, 20))
            drawing.between(f"answer_after_{k}", 5, 45)
        drawing.pick("fallback", tuple(FALLBACKS), (8, 54, 38))
        drawing.pick("instead", ("there", "nothing"), (86, 14))
        drawing.between("fits", 1, 3)
        drawing.pick("gap", ("0", "30"))
        drawing.between("others", 0, 2)
        for what in DECOYS:
            drawing.between(f"no_{what}", 0, 2)
        drawing.between("field", 1, 2**31 - 1)

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Marketplace, instance: Instance) -> int:
        """Lay the slots out, fill the wanted one, and let others stand in line."""
        story: Any = instance
        ids = own_ids()
        field = Field(product, ids, wish_of(story), story, 0)
        starts = starts_of(story)
        wanted = Slot(
            id=ids.slot,
            provider_id=ids.provider + story["provider"],
            service_id=ids.service + STANDARD,
            starts_at=starts,
            ends_at=starts + HOUR,
            capacity=story["capacity"],
            taken=story["capacity"],
            **field.stamp,
        )
        field.lay_out([*kinds_of(story)], story["others"], wanted)
        places = story["capacity"]
        if held_until(story):
            places -= 1
            self._hold(product, field, wanted, held_until(story))
        for k in range(places):
            field.book(wanted, field.somebody(k))
        waiting = [field.somebody(PLACES_MAX + 1 + k) for k in range(int(story["ahead"]))]
        if story["listed"] == "yes":
            waiting.append(ids.customer)
        for k, customer in enumerate(waiting):
            product.waitlist.table.start_with(
                Waiting(
                    # Their numbers tell nothing of the place in line.
                    id=1 + story["field"] % 50 + k,
                    slot_id=wanted.id,
                    customer_id=customer,
                    position=k + 1,
                    **field.stamp,
                )
            )
        return ids.customer

    def _hold(self, product: Marketplace, field: Field, slot: Slot, until: int) -> None:
        """Let somebody hold a place for which they don't pay in time."""
        holds, bookings = product.holds.table, product.bookings.table
        customer = field.somebody(PLACES_MAX)
        holds.start_with(
            Hold(
                id=holds.top + 1,
                slot_id=slot.id,
                customer_id=customer,
                expires_at=EPOCH + until * SECOND,
                token=1,
                **field.stamp,
            )
        )
        bookings.start_with(
            Booking(
                id=bookings.top + 1,
                slot_id=slot.id,
                customer_id=customer,
                hold_id=holds.top,
                price=product.services.table.rows[slot.service_id].price,
                currency=CURRENCY,
                **field.stamp,
            )
        )

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Marketplace, instance: Instance) -> None:
        """Start the customers, the staff, those in line, and those who want the same slots."""
        story: Any = instance
        ids = own_ids()
        wish = wish_of(story)
        judge = Judge(product, wish, ids, self.agent, EPOCH + story["until"] * SECOND)
        own = [slot.id for slot in judge.own_slots()]
        start_team(product, Window(ids.service + STANDARD, *wish.span()), spared=own)
        start_staff(product, spared=own)
        waiting = [row for row in product.waitlist.table if row.customer_id != ids.customer]
        answers = {
            row.customer_id: Answer(story[f"answer_{k}"], story[f"answer_after_{k}"])
            for k, row in enumerate(waiting, 1)
        }
        start_line(product, judge.wanted, answers)
        self._free(product, story, judge.wanted)
        fits = [slot.id for slot in judge.own_slots() if judge.level(slot, 0)]
        # Enough people want the wanted slot as it is.
        rest = [key for key in own if key != judge.wanted and key not in fits]
        crowded = fits + rest[: max(0, CROWDED - len(fits))]
        if crowded:
            start_crowd(product, crowded, range(1, ids.customer))
            start_desks(product, crowded)

    def _free(self, product: Marketplace, story: Mapping[str, Any], wanted: int) -> None:
        """Let places of the wanted slot come free, and somebody be quick."""
        booked = [
            row.id
            for row in product.bookings.table
            if row.slot_id == wanted and row.status == "confirmed"
        ]
        first = 0
        for k in range(1, int(story["places_freed"]) + 1):
            seconds = story[f"freed_at_{k}"]
            if k == 1 and held_until(story):
                first = seconds
            elif booked:
                first = first or seconds
                cancel_later(product, f"canceller/{k}", seconds * 1000, booked.pop())
        if not first:
            return
        ms = first * 1000 + story["then_after_ms"]
        if story["then"] == "rival":
            customer = 1 + (story["field"] + PLACES_MAX + AHEAD_MAX + 1) % (own_ids().customer - 1)
            book_later(product, "rival", customer, ms, wanted)
        elif story["then"] == "away":
            block_later(product, "away", ms, wanted)

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        story: Any = instance
        ids = own_ids()
        wish = wish_of(story)
        when = zone(wish.zone).format(starts_of(story))
        instead = FALLBACKS[story["fallback"]]
        return (
            f"You act for customer {ids.customer}, whose time zone is {wish.zone}. They want a "
            f"place of slot {ids.slot} ({wish.service} with {TITLES[story['provider']]}, {when}), "
            f"which is full.\n"
            f"1. Until {deadline(story)}: stand in its line (join_waitlist) for at least half "
            "of the time from now, unless they do so already, and keep looking: what was free for "
            "half a minute on end could be had. A place that comes free is given to the first in "
            "line, every 20 seconds: it is then kept for them by a pending booking, which is to be "
            "paid in time. But whoever holds it before that has it, and so may you.\n"
            "2. If they have no place by then, or the provider is away at that time, "
            + (f"{instead}\n{wish.text(CURRENCY)}\nOf slots at one time the cheapest comes first; "
               "what was free from then on for ten minutes on end could be had.\n"
               if instead else "book nothing.\n")
            + "3. Once it is paid and confirmed, finish with the outcome done. If there is nothing "
            "to be had, finish with the outcome impossible and, as ref (waitlist:ID), their place "
            f"in line for that slot, or slots:{ids.slot} if they could not stand there because the "
            "provider was away.\n"
            "Others book as well; searches may be 3 seconds old, and as_of says up to when they "
            "are complete. Release what you held and don't book. Change nothing else."
        )  # fmt: skip

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        story: Any = instance
        ids = own_ids()
        wish = wish_of(story)
        if not FALLBACKS[story["fallback"]]:
            # The prompt tells nothing of what would do instead, where nothing is to be booked.
            wish = replace(wish, price_max=0, gap=0)
        return {
            "customer_id": ids.customer,
            "slot_id": ids.slot,
            "until": deadline(story),
            "fallback": story["fallback"] != "none",
            "coupon": "",
            "percent": 0,
            **wish.brief(),
        }

    def goal(
        self, product: Marketplace, instance: Instance, ending: Ending
    ) -> tuple[Criterion, ...]:
        """Judge what was booked, by what could be had until the deadline, and after."""
        story: Any = instance
        judge = Judge(
            product,
            wish_of(story),
            own_ids(),
            self.agent,
            EPOCH + story["until"] * SECOND,
            fallback=story["fallback"] != "none",
        )
        return (
            judge.one_booking(ending),
            judge.the_wanted_slot(),
            judge.stood_in_line(),
            judge.meets_the_wish(),
            judge.the_earliest(),
            judge.told(ending),
            judge.nothing_else(),
        )


def starts_of(story: Mapping[str, Any]) -> int:
    """Give when the wanted slot begins."""
    half = story["half_hour"]
    return local(story["zone"], story["day"], half // 2, half % 2 * 30)


def held_until(story: Mapping[str, Any]) -> int:
    """Give the second at which a hold of the wanted slot lapses, or 0."""
    lapses = story["freed_by"] == "lapsing" and story["places_freed"] != "0"
    return int(story["freed_at_1"]) if lapses else 0


def deadline(story: Mapping[str, Any]) -> str:
    """Give the instant until which the agent waits."""
    return format_instant(EPOCH + story["until"] * SECOND)


def wish_of(story: Mapping[str, Any]) -> Wish:
    """Give what may be booked instead."""
    with_provider = story["fallback"] == "provider"
    last = story["day"] + (2 if with_provider else 0)
    place: int = story["provider"]
    title = TITLES[place]
    return Wish(
        service=story["service"],
        minutes=60,
        providers=(title,) if with_provider else (),
        zone=story["zone"],
        first_day=date_of_day(story["day"]),
        last_day=date_of_day(last),
        opens="09:00",
        closes="19:00",
        places=1,
        price_max=story["price"] * 110,
        gap=int(story["gap"]),
    )


def kinds_of(story: Mapping[str, Any]) -> Iterator[Kind]:
    """Give the slots of an instance beside the wanted one, by what they fail."""
    if story["instead"] == "there" or story["fallback"] == "none":
        yield from [Kind(frozenset())] * story["fits"]
    for what in DECOYS:
        if what == "provider" and story["fallback"] != "provider":
            continue
        for _ in range(story[f"no_{what}"]):
            if what == BOOKED:
                yield Kind(frozenset(), STANDARD, full=True)
            else:
                yield Kind(frozenset({what}))
