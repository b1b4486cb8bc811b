"""The slots that an instance adds: some that a wish asks for, and some that only seem to be."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import DAY, HOUR, MINUTE, Draws, Stream, zone
from simharness.models.marketplace.base import EPOCH, base_rows
from simharness.models.marketplace.requirements import Offer, Wish, clock_minutes, date_text
from simharness.models.marketplace.rules import overlap
from simharness.models.marketplace.tables import (
    Booking,
    Coupon,
    Customer,
    Payment,
    Provider,
    Service,
    Slot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.models.marketplace.product import Marketplace

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Asia/Kolkata",
    "Asia/Tokyo", "Australia/Sydney",
)  # fmt: skip
FAMILIES = ("Physio", "Yoga", "Piano", "Portrait")
TITLES = ("Aster Rooms", "Beech House", "Clover Loft", "Dune Studio", "Elm Yard")
"""Providers of the instance."""
CURRENCY = "USD"
COUPON, PERCENT = "WELCOME", 20
TRIES = 60
"""Most draws of a slot until it fails what it is to fail."""
BOOKED = "booked"
"""What is wrong with a slot that has too few free places; no wish names it."""
TIERS = (("Short", 30, 70), ("Standard", 60, 100), ("Long", 90, 125), ("Deluxe", 90, 200))
"""Services of a family: title, minutes, price in percent of the standard's."""
SHORT, STANDARD, LONG, DELUXE = range(4)


class Kind(NamedTuple):
    """What one slot of the field is to be like."""

    fails: frozenset[str]
    """Requirements of the wish that it fails, by the true coupon."""
    tier: int | None = None
    """Its service, or None for one that will do."""
    full: bool = False


class Ids(NamedTuple):
    """Ids of the first rows that an instance adds; those of one table go on from there."""

    customer: int
    service: int
    provider: int
    slot: int
    coupon: int


@cache
def own_ids() -> Ids:
    """Give them: what comes after the base rows, which are always the same."""
    base = base_rows()
    tops = (
        max(row.id for row in base[table])
        for table in ("customers", "services", "providers", "slots", "coupons")
    )
    return Ids(*(top + 1 for top in tops))


class Field:
    """Lays the rows of one instance out."""

    def __init__(
        self, market: Marketplace, ids: Ids, wish: Wish, story: Mapping[str, Any], percent: int
    ) -> None:
        self.market = market
        self.ids = ids
        self.wish = wish
        self.story = story
        self.percent = percent
        """What the coupon truly takes off."""
        self.stream = Stream(Draws(story["field"]), "marketplace/field", 0)
        self.busy: list[tuple[int, int]] = []
        """The customer's bookings."""
        self.slots: list[Slot] = []
        self.stamp: dict[str, Any] = {
            "created_at": EPOCH - 20 * DAY,
            "updated_at": EPOCH - 2 * DAY,
        }

    def lay_out(self, kinds: Sequence[Kind], others: int, wanted: Slot | None = None) -> None:
        """Add customer, services, providers, slots and the customer's other bookings.

        A slot that is `wanted` is the first of them.
        """
        market, stamp = self.market, self.stamp
        if wanted is not None:
            self.slots.append(wanted)
        market.customers.table.start_with(
            Customer(
                id=self.ids.customer,
                full_name="Robin Marsh",
                email="robin.marsh@mail.example",
                zone=self.wish.zone,
                **stamp,
            )
        )
        for k, (title, minutes, percent) in enumerate(TIERS):
            market.services.table.start_with(
                Service(
                    id=self.ids.service + k,
                    title=f"{self.wish.service} {title}",
                    minutes=minutes,
                    price=self.story["price"] * percent if k != DELUXE else self._deluxe(percent),
                    currency=CURRENCY,
                    **stamp,
                )
            )
        for k, title in enumerate((*TITLES, "Town Hall")):
            market.providers.table.start_with(
                Provider(id=self.ids.provider + k, title=title, zone=self.wish.zone, **stamp)
            )
        self._add_others(others)
        for k, kind in enumerate(kinds):
            self._add(k, kind)
        for slot in self.slots:
            market.slots.table.start_with(slot)

    def _deluxe(self, percent: int) -> int:
        return (self.story["price"] or 20) * percent

    # --- the customer's other bookings ------------------------------------------------------------

    def _add_others(self, number: int) -> None:
        """Add bookings of the customer elsewhere, within the days of the wish."""
        days, _ = self._days()
        for k in range(number):
            for n in range(TRIES):
                starts = self._instant(days, f"other/{k}", n, (8 * 60, 20 * 60))
                times = starts, starts + HOUR
                met = [*self.busy, *((s.starts_at, s.ends_at) for s in self.slots)]
                if not any(overlap(*times, *other) for other in met):
                    self.busy.append(times)
                    slot = self._slot(len(TITLES), STANDARD, *times, capacity=1, sold=1)
                    self.book(slot, self.ids.customer)
                    break

    def book(self, slot: Slot, customer_id: int) -> int:
        """Add a place of a slot that somebody has booked and paid; gives the booking's id."""
        bookings, payments = self.market.bookings.table, self.market.payments.table
        price = self.market.services.table.rows[slot.service_id].price
        key = bookings.top + 1
        bookings.start_with(
            Booking(
                id=key,
                slot_id=slot.id,
                customer_id=customer_id,
                status="confirmed",
                price=price,
                currency=CURRENCY,
                **self.stamp,
            )
        )
        if price:
            payments.start_with(
                Payment(
                    id=payments.top + 1,
                    booking_id=key,
                    amount=price,
                    currency=CURRENCY,
                    status="succeeded",
                    **self.stamp,
                )
            )
        return key

    # --- slots ------------------------------------------------------------------------------------

    def _add(self, k: int, kind: Kind) -> None:
        """Add a slot of some kind, where there is room for it."""
        for n in range(TRIES):
            made = self._candidate(k, n, kind)
            if made is None:
                continue
            provider, tier, starts, ends = made
            offer = self.offer(provider, tier, starts, ends)
            if self.wish.failing(offer, self.busy, self.percent) == kind.fails:
                break
        else:
            return
        places = self.wish.places
        spare = self.stream.below(3, f"spare/{k}")
        if kind.full:
            # Somebody else has a place, so that it is no slot for one that nobody has asked for.
            sold = 1 + self.stream.below(2, f"sold/{k}")
            capacity = sold + places - 1
        else:
            sold = spare if places > 1 else 0
            capacity = sold + places
        slot = self._slot(provider, tier, starts, ends, capacity=capacity, sold=sold)
        for place in range(sold):
            self.book(slot, self.somebody(7 * k + place))

    def somebody(self, k: int) -> int:
        """Give one of the other customers; neighbouring numbers give different ones."""
        return 1 + (int(self.story["field"]) + k) % (self.ids.customer - 1)

    def _candidate(self, k: int, n: int, kind: Kind) -> tuple[int, int, int, int] | None:
        """Draw provider, service and times for the n-th try of a slot."""
        wish, stream, place = self.wish, self.stream, k * TRIES + n
        tier = kind.tier
        if tier is None:
            tier = self._tier(kind.fails, place)
        minutes = TIERS[tier][1]
        willing = [i for i, title in enumerate(TITLES) if title in wish.providers]
        if not willing:
            willing = [*range(len(TITLES))]
        elif "provider" in kind.fails:
            willing = [i for i in range(len(TITLES)) if i not in willing]
        provider = stream.pick(willing, "provider", place)
        if "gap" in kind.fails:
            if not self.busy:
                return None
            starts, ends = stream.pick(self.busy, "beside", place)
            late = stream.chance(500_000, "after", place)
            begins = ends + 15 * MINUTE * stream.below(2, "near", place)
            begins = begins if late else starts - minutes * MINUTE
            if not wish.gap:
                begins = starts + 30 * MINUTE if late else starts - 30 * MINUTE
        else:
            days, other_days = self._days()
            day = other_days if "day" in kind.fails else days
            opens, closes = clock_minutes(wish.opens), clock_minutes(wish.closes)
            window = (opens, closes - minutes)
            if "hours" in kind.fails:
                early = stream.chance(500_000, "early", place)
                window = (6 * 60, opens - 30) if early else (closes - minutes + 30, 22 * 60)
            if window[0] > window[1] or not day:
                return None
            begins = self._instant(day, f"slot/{k}", n, window)
        times = begins, begins + minutes * MINUTE
        mine = self.ids.provider + provider
        if any(s.provider_id == mine and overlap(*times, s.starts_at, s.ends_at)
               for s in self.slots):  # fmt: skip
            return None
        return provider, tier, *times

    def _tier(self, fails: frozenset[str], place: int) -> int:
        if "length" in fails:
            return SHORT
        if "price" in fails:
            return DELUXE
        long = self.wish.failing(self.offer(0, LONG, EPOCH, EPOCH + HOUR), (), self.percent)
        return STANDARD if "price" in long or self.stream.below(3, "tier", place) else LONG

    def offer(self, provider: int, tier: int, starts: int, ends: int) -> Offer:
        """Give what a slot would offer."""
        service = self.market.services.table.rows[self.ids.service + tier]
        return Offer(service.title, TITLES[provider], starts, ends, service.price)

    def _slot(
        self, provider: int, tier: int, starts: int, ends: int, *, capacity: int, sold: int
    ) -> Slot:
        slot = Slot(
            id=self.ids.slot + len(self.slots),
            provider_id=self.ids.provider + provider,
            service_id=self.ids.service + tier,
            starts_at=starts,
            ends_at=ends,
            capacity=capacity,
            taken=sold,
            **self.stamp,
        )
        self.slots.append(slot)
        return slot

    # --- time -------------------------------------------------------------------------------------

    def _days(self) -> tuple[list[int], list[int]]:
        """Give the days from the start that the wish allows, and those around that it doesn't."""
        allowed: list[int] = []
        refused: list[int] = []
        for day in days_around(self.wish):
            noon = local(self.wish.zone, day, 12)
            good = "day" not in self.wish.failing(Offer("", "", noon, noon, 0))
            (allowed if good else refused).append(day)
        return allowed, refused

    def _instant(self, days: Sequence[int], what: str, n: int, window: tuple[int, int]) -> int:
        """Draw a half hour of some days from the start, within minutes of the day."""
        day = self.stream.pick(days, f"{what}/day", n)
        low, high = -(-window[0] // 30), window[1] // 30
        half = self.stream.between(low, max(low, high), f"{what}/time", n)
        return local(self.wish.zone, day, half // 2, half % 2 * 30)


def days_around(wish: Wish) -> Iterator[int]:
    """Give the days from the start, from the first to the one after the wish's last."""
    day = 1
    while date_of_day(day) <= wish.last_day:
        yield day
        day += 1
    yield day


def date_of_day(day: int) -> str:
    """Give the date so many days after that of the start, which is one in all `ZONES`."""
    return date_text("UTC", EPOCH + day * DAY)


def local(zone_name: str, day: int, hour: int, minute: int = 0) -> int:
    """Give the instant of a local time, so many days after the start."""
    year, month, date, *_ = zone("UTC").local(EPOCH + day * DAY)
    return zone(zone_name).instant(year, month, date, hour, minute)


def add_coupon(market: Marketplace, key: int, *, usable: bool) -> None:
    """Add the coupon of a wish."""
    market.coupons.table.start_with(
        Coupon(
            id=key,
            code=COUPON,
            limit=1,
            used=0 if usable else 1,
            percent=PERCENT,
            created_at=EPOCH - 20 * DAY,
            updated_at=EPOCH - 2 * DAY,
        )
    )
