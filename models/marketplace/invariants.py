"""What must always hold in the marketplace.

A soak asks after each call, so what was looked at is looked at again only where something has been
committed since, or where it was broken or about to settle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.marketplace.hours import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simharness.api import Change
    from simharness.models.marketplace.payments import Payments
    from simharness.models.marketplace.tables import Booking


IN_FORCE = ("pending", "confirmed")
"""Bookings that use a coupon."""
ENDED = ("cancelled", "expired")


class Invariants:
    """What is broken in a marketplace: capacities, hours, holds, money, coupons, remote events."""

    def __init__(self, market: Payments) -> None:
        self.market = market
        self._seen: dict[str, int] = {}
        """Commits that have been looked at, by table; none before the first look at everything."""
        self._slots: dict[int, list[str]] = {}
        self._holds: dict[int, str] = {}
        self._bookings: dict[int, list[str]] = {}
        """What is broken, by row."""
        self._settling: dict[int, None] = {}
        """Bookings that have ended and whose money is still under way."""

    def broken(self) -> list[str]:
        """Name what is broken now."""
        market = self.market
        first = not self._seen
        news = {name: self._news(name) for name in ("bookings", "holds", "slots", "payments")}
        providers = self._news("providers")
        self._look_at_slots(self._all_slots() if first else self._changed_slots(news, providers))
        self._look_at_holds(change.key for change in news["holds"])
        if first:
            self._look_at_bookings(market.bookings.table.rows)
        else:
            paid = [c.new.booking_id for c in news["payments"] if c.new is not None]
            self._look_at_bookings([*(c.key for c in news["bookings"]), *paid])
        return [
            *(text for key in sorted(self._slots) for text in self._slots[key]),
            *late_holds(market),
            *(self._holds[key] for key in market.holds.table.history if key in self._holds),
            *(text for key in sorted(self._bookings) for text in self._bookings[key]),
            *taken_twice(market),
            *overused_coupons(market),
            *remote_differences(market),
        ]

    def _news(self, name: str) -> list[Change]:
        """Give what has been committed in a table since the last look."""
        changes = self.market.stores[name].table.changes
        seen = self._seen.get(name, 0)
        self._seen[name] = len(changes)
        return changes[seen:]

    def _all_slots(self) -> Iterator[int]:
        """Give the slots of which something is sold or held."""
        for booking in self.market.bookings.table:
            if booking.status == "confirmed":
                yield booking.slot_id
        for hold in self.market.holds.table.where(status="active"):
            yield hold.slot_id

    def _changed_slots(
        self, news: dict[str, list[Change]], providers: list[Change]
    ) -> Iterator[int]:
        """Give the slots that a commit may have made broken, or whole again."""
        for name in ("bookings", "holds"):
            for change in news[name]:
                for row in (change.old, change.new):
                    if row is not None:
                        yield row.slot_id
        for change in news["slots"]:
            yield change.key
        for change in providers:
            for slot in self.market.slots.table.where(provider_id=change.key):
                yield slot.id

    def _look_at_slots(self, keys: Iterable[int]) -> None:
        for key in dict.fromkeys((*keys, *self._slots)):
            texts = broken_places(self.market, key)
            if texts:
                self._slots[key] = texts
            else:
                self._slots.pop(key, None)

    def _look_at_holds(self, keys: Iterable[int]) -> None:
        for key in keys:
            ends = [c.new.status for c in self.market.holds.table.history[key] if c.new is not None]
            ends = [status for status in ends if status != "active"]
            changed = [s for i, s in enumerate(ends) if not i or s != ends[i - 1]]
            if len(changed) > 1:
                self._holds[key] = f"holds:{key} ended {len(changed)} times: {', '.join(changed)}"

    def _look_at_bookings(self, keys: Iterable[int]) -> None:
        market = self.market
        for key in dict.fromkeys((*keys, *self._bookings, *self._settling)):
            booking = market.bookings.true(key)
            if booking is None:
                continue
            payments = market.payments.table.where(booking_id=key)
            money = sum(p.amount for p in payments if p.status == "succeeded")
            under_way = any(payment.id in market.moving for payment in payments)
            texts = broken_money(booking, money, under_way)
            if texts:
                self._bookings[key] = texts
            else:
                self._bookings.pop(key, None)
            if booking.status in ENDED and money and under_way:
                self._settling[key] = None
            else:
                self._settling.pop(key, None)


def broken_places(market: Payments, slot_id: int) -> list[str]:
    """Say whether more of a slot is sold or held than there is, or sold outside hours."""
    now = market.world.instant
    bookings = market.bookings.table.where(slot_id=slot_id)
    holds = market.holds.table.where(slot_id=slot_id)
    sold = sum(b.quantity for b in bookings if b.status == "confirmed")
    held = sum(h.quantity for h in holds if h.status == "active" and h.expires_at > now)
    if not sold and not held:
        return []
    slot = market.slots.true(slot_id)
    if slot is None:
        return [f"slots:{slot_id} is booked, and there is none"]
    out: list[str] = []
    if sold + held > slot.capacity:
        out.append(f"slots:{slot_id} has {slot.capacity} places, and {sold + held} are taken")
    provider = market.providers.true(slot.provider_id)
    if sold and provider is not None and not within(provider, slot.starts_at, slot.ends_at):
        out.append(f"slots:{slot_id} is booked outside {provider.hours}")
    return out


def taken_twice(market: Payments) -> list[str]:
    """Name slots of one provider that overlap and are both taken."""
    rows = market.slots.table.rows
    return [
        f"slots:{new} and slots:{old} of one provider overlap, and both are taken"
        for old, new in market.made_over
        if rows[old].taken and rows[new].taken
    ]


def late_holds(market: Payments) -> list[str]:
    """Name holds that should have ended."""
    now = market.world.instant
    return [
        f"holds:{hold.id} is active past its end"
        for hold in market.holds.table.where(status="active")
        if hold.expires_at < now
    ]


def broken_money(booking: Booking, money: int, under_way: bool) -> list[str]:
    """Say whether a booking is confirmed and not paid, or has ended and its money was kept."""
    out: list[str] = []
    if booking.status == "confirmed" and money < booking.price:
        out.append(f"bookings:{booking.id} is confirmed, {money} of {booking.price} are paid")
    if booking.status in ENDED and money and not under_way:
        out.append(f"bookings:{booking.id} is {booking.status}, and {money} were kept")
    if money > booking.price:
        out.append(f"bookings:{booking.id} costs {booking.price}, and {money} are paid")
    return out


def overused_coupons(market: Payments) -> list[str]:
    """Name coupons that more bookings used than may, or whose uses were counted wrongly."""
    bookings, coupons = market.bookings.table, market.coupons.table
    out: list[str] = []
    for coupon in coupons:
        uses = since = 0
        for booking in bookings.where(coupon=coupon.code) if coupon.code else ():
            first = bookings.row_at(booking.id, 0)
            now = booking.status in IN_FORCE
            uses += now
            since += now - (first is not None and first.status in IN_FORCE)
        first_row = coupons.row_at(coupon.id, 0)
        if uses > coupon.limit:
            out.append(f"coupons:{coupon.id} is for {coupon.limit}, and {uses} use it")
            continue
        counted = coupon.used - first_row.used if first_row is not None else since
        if counted < since:
            out.append(f"coupons:{coupon.id} counts {counted} more, and {since} use it")
    return out


def remote_differences(market: Payments) -> list[str]:
    """Name events elsewhere that stand for no booking, once nothing is on its way there."""
    if market.remote_writes:
        return []
    out: list[str] = []
    for event in market.remote_events.table:
        booking = market.bookings.true(event.booking_id or 0)
        stands = booking is not None and booking.status == "confirmed"
        if event.status == "booked" and not stands:
            out.append(f"remote_events:{event.id} stands for no booking")
        elif booking is not None and stands and event.slot_id != booking.slot_id:
            out.append(f"remote_events:{event.id} is in slots:{event.slot_id}")
    return out
