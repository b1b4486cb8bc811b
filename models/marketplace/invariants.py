"""What must always hold in the marketplace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.marketplace.hours import within

if TYPE_CHECKING:
    from simharness.models.marketplace.payments import Payments


IN_FORCE = ("pending", "confirmed")
"""Bookings that use a coupon."""


def broken(market: Payments) -> list[str]:
    """Name what is broken: capacities, hours, holds, money, coupons, the calendar elsewhere."""
    return [
        *places_given_twice(market),
        *holds_without_end(market),
        *unpaid(market),
        *overused_coupons(market),
        *remote_differences(market),
    ]


def places_given_twice(market: Payments) -> list[str]:
    """Name slots of which more is sold or held than there is, and bookings outside hours."""
    out: list[str] = []
    sold: dict[int, int] = {}
    held: dict[int, int] = {}
    now = market.world.instant
    for booking in market.bookings.table:
        if booking.status == "confirmed":
            sold[booking.slot_id] = sold.get(booking.slot_id, 0) + booking.quantity
    for hold in market.holds.table:
        if hold.status == "active" and hold.expires_at > now:
            held[hold.slot_id] = held.get(hold.slot_id, 0) + hold.quantity
    for slot_id in sorted({*sold, *held}):
        slot = market.slots.true(slot_id)
        if slot is None:
            out.append(f"slots:{slot_id} is booked, and there is none")
            continue
        places = sold.get(slot_id, 0) + held.get(slot_id, 0)
        if places > slot.capacity:
            out.append(f"slots:{slot_id} has {slot.capacity} places, and {places} are taken")
        provider = market.providers.true(slot.provider_id)
        times = slot.starts_at, slot.ends_at
        if sold.get(slot_id) and provider is not None and not within(provider, *times):
            out.append(f"slots:{slot_id} is booked outside {provider.hours}")
    return out


def holds_without_end(market: Payments) -> list[str]:
    """Name holds that should have ended, and those that ended more than once."""
    now = market.world.instant
    out = [
        f"holds:{hold.id} is active past its end"
        for hold in market.holds.table
        if hold.status == "active" and hold.expires_at < now
    ]
    for key, past in market.holds.table.history.items():
        ends = [c.new.status for c in past if c.new.status != "active"]
        changed = [s for i, s in enumerate(ends) if not i or s != ends[i - 1]]
        if len(changed) > 1:
            out.append(f"holds:{key} ended {len(changed)} times: {', '.join(changed)}")
    return out


def unpaid(market: Payments) -> list[str]:
    """Name confirmed bookings that aren't paid, and ended ones whose money was kept."""
    paid: dict[int, int] = {}
    under_way: dict[int, bool] = {}
    for payment in market.payments.table:
        under_way[payment.booking_id] = (
            under_way.get(payment.booking_id, False) or payment.id in market.moving
        )
        if payment.status == "succeeded":
            paid[payment.booking_id] = paid.get(payment.booking_id, 0) + payment.amount
    out: list[str] = []
    for booking in market.bookings.table:
        money = paid.get(booking.id, 0)
        if booking.status == "confirmed" and money < booking.price:
            out.append(f"bookings:{booking.id} is confirmed, {money} of {booking.price} are paid")
        if booking.status in ("cancelled", "expired") and money and not under_way.get(booking.id):
            out.append(f"bookings:{booking.id} is {booking.status}, and {money} were kept")
        if money > booking.price:
            out.append(f"bookings:{booking.id} costs {booking.price}, and {money} are paid")
    return out


def overused_coupons(market: Payments) -> list[str]:
    """Name coupons that more bookings used than may, or whose uses were counted wrongly."""
    bookings, coupons = market.bookings.table, market.coupons.table
    used: dict[str, int] = {}
    more: dict[str, int] = {}
    for booking in bookings:
        if booking.coupon:
            first = bookings.row_at(booking.id, 0)
            now = booking.status in IN_FORCE
            used[booking.coupon] = used.get(booking.coupon, 0) + now
            then = first is not None and first.status in IN_FORCE
            more[booking.coupon] = more.get(booking.coupon, 0) + now - then
    out: list[str] = []
    for coupon in coupons:
        uses, since = used.get(coupon.code, 0), more.get(coupon.code, 0)
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
