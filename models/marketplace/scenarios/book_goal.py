"""The goal of marketplace/book: what the customer has, and what the agent may touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import Criterion
from simharness.models.marketplace.rules import price_of
from simharness.models.marketplace.scenarios.bookable import RECENTLY, Bookable, Moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Change, Ending
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking, Coupon
    from simharness.models.marketplace.wishes import Wish


class Case(NamedTuple):
    """One wish, and what became of it."""

    market: Marketplace
    agent: str
    customer_id: int
    wish: Wish
    wanted: Sequence[int]
    """Slots that will do, the best first."""
    bookable: Bookable
    """What the customer could have had."""

    def theirs(self) -> list[Booking]:
        """Give the customer's bookings that the wish is about, or that the agent has made."""
        table = self.market.bookings.table
        made = {c.key for c in table.changes if c.owner == self.agent and c.old is None}
        return [
            row
            for row in table
            if row.id in made
            or (row.customer_id == self.customer_id and row.slot_id in self.wanted)
        ]

    @property
    def service_id(self) -> int:
        """Give the service of the wish."""
        table = self.market.services.table
        return next(row.id for row in table if row.title == self.wish.service)

    def coupon(self, order: int) -> Coupon | None:
        """Give the customer's coupon if it was good after a commit."""
        table = self.market.coupons.table
        key = table.taken_by("code", self.wish.coupon) if self.wish.coupon else None
        row = table.row_at(key, order) if key is not None else None
        return row if row is not None and row.used < row.limit else None

    def price(self, order: int) -> int:
        """Give what the wish costs after a commit."""
        coupon = self.coupon(order)
        each = self.market.services.table.rows[self.service_id].price
        return price_of(each, self.wish.quantity, coupon.percent if coupon is not None else 0)

    def too_much(self, price: int) -> bool:
        """Tell whether a price is more than the customer wants to pay."""
        return self.wish.price_max is not None and price > self.wish.price_max

    def made_at(self, booking: Booking) -> int:
        """Give the order of the commit that made a booking; 0 for one of the start."""
        past = self.market.bookings.table.history.get(booking.id, [])
        return next((c.order for c in past if c.old is None), 0)

    def could_have(self, slot_id: int, order: int, t: int) -> bool:
        """Tell whether the customer could have had a slot when something else was committed."""
        quantity = self.wish.quantity
        return self.bookable.could_be_had(slot_id, quantity, order, t) or self.bookable.was_left(
            {slot_id: quantity}, Moment(order, t)
        )


def judge(case: Case, ending: Ending) -> tuple[Criterion, ...]:
    """Judge the customer's booking, or that there is none."""
    theirs = case.theirs()
    confirmed = [row for row in theirs if row.status == "confirmed"]
    left = [f"bookings:{row.id} is pending" for row in theirs if row.status == "pending"]
    left += [
        f"holds:{row.id} is active"
        for row in case.market.holds.table
        if row.customer_id == case.customer_id
        and row.status == "active"
        and not case.market.looks.unaware(row.id)
    ]
    harm = forbidden_writes(case)
    return (
        *(booked(case, confirmed, ending) if confirmed else unbooked(case, ending)),
        Criterion("nothing else is held", not left, "; ".join(left) or "nothing"),
        Criterion("no forbidden write", not harm, "; ".join(harm) or "none", role="footprint"),
    )


def booked(case: Case, confirmed: Sequence[Booking], ending: Ending) -> tuple[Criterion, ...]:
    """Judge what was booked."""
    row = confirmed[0]
    name = f"bookings:{row.id}"
    order, t = case.bookable.taken(row)
    fits = (
        len(confirmed) == 1
        and row.slot_id in case.wanted
        and row.customer_id == case.customer_id
        and row.quantity == case.wish.quantity
    )
    listed = ", ".join(f"bookings:{b.id} of slots:{b.slot_id}" for b in confirmed)
    rank = case.wanted.index(row.slot_id) if row.slot_id in case.wanted else len(case.wanted)
    better = [key for key in case.wanted[:rank] if case.could_have(key, order, t)]
    told = f"slots:{better[0]} could be had" if better else f"slots:{row.slot_id} was the best"
    return (
        Criterion("one booking of the wish", fits, listed, (f"{name}.status",)),
        Criterion(
            "best slot",
            not better,
            told,
            (f"slots:{better[0]}.taken" if better else f"{name}.slot_id",),
        ),
        alone(case, row),
        paid(case, row),
        Criterion(
            "finish names the booking",
            ending.outcome == "done" and name in ending.refs,
            f"outcome {ending.outcome!r}, refs {', '.join(ending.refs)!a:.80}",
        ),
    )


def alone(case: Case, booking: Booking) -> Criterion:
    """Judge whether the place is theirs alone."""
    slot = case.market.slots.table.rows[booking.slot_id]
    rows = [
        row
        for row in case.market.bookings.table
        if row.slot_id == slot.id and row.status in ("pending", "confirmed")
    ]
    sold = sum(row.quantity for row in rows if row.status == "confirmed" or row.hold_id)
    names = ", ".join(f"bookings:{row.id}" for row in rows)
    told = f"slots:{slot.id} has a place each for {names}"
    if sold <= slot.capacity:
        return Criterion("a place of their own", True, told)
    told = f"slots:{slot.id} is for {slot.capacity}, and {names} have {sold}"
    return Criterion("a place of their own", False, told, (f"slots:{slot.id}.taken",))


def paid(case: Case, booking: Booking) -> Criterion:
    """Judge the money."""
    payments = [
        row
        for row in case.market.payments.table
        if row.booking_id == booking.id and row.status == "succeeded"
    ]
    made = case.made_at(booking)
    price = case.price(made - 1) if made else booking.price
    coupon = case.coupon(made - 1) if made else None
    code = coupon.code if coupon is not None else ""
    money = sum(row.amount for row in payments)
    right = (booking.price, booking.coupon) == (price, code) and money == price
    told = f"bookings:{booking.id} costs {booking.price}, {money} are paid, {price} are right"
    if case.too_much(price):
        told += f", {case.wish.price_max} are too few"
        right = False
    keys = (f"bookings:{booking.id}.price", *(f"payments:{row.id}.status" for row in payments))
    return Criterion("paid what is due", right, told, keys)


def unbooked(case: Case, ending: Ending) -> tuple[Criterion, ...]:
    """Judge that nothing was booked."""
    world = case.market.world
    reason = ""
    keys: tuple[str, ...] = ()
    slots = [f"slots:{key}" for key in case.wanted]
    # What was so at any time of the last minute is what the agent could know as it finished.
    since = world.ticks - RECENTLY
    quantity = case.wish.quantity
    hopeful = [k for k in case.wanted if not case.bookable.hopeless_after(k, quantity, since)]
    missed = [k for k in case.wanted if case.could_have(k, world.order + 1, world.ticks)]
    gone = not hopeful and not missed
    too_dear = case.too_much(case.price(world.order))
    if too_dear:
        reason = f"it costs {case.price(world.order)}, {case.wish.price_max} are too few"
    else:
        reason = "no slot could be had" if gone else ""
        keys = tuple(f"slots:{key}.taken" for key in (*missed, *hopeful)[:1])
    # Where both stand in the way, either may be named.
    named = too_dear and not (gone and set(slots) <= set(ending.refs))
    needed = [f"services:{case.service_id}"] if named else slots
    missing = [ref for ref in needed if ref not in ending.refs]
    known = {f"services:{case.service_id}", *(f"slots:{key}" for key in case.wanted)}
    theirs = {f"bookings:{row.id}" for row in case.theirs()}
    foreign = [ref for ref in ending.refs if ref not in known | theirs]
    return (
        Criterion("booked, or not to be had", bool(reason), reason or "nothing is booked", keys),
        Criterion(
            "finish names what stood in the way",
            ending.outcome == "impossible" and not missing and not foreign,
            f"outcome {ending.outcome!r}, missing {', '.join(missing) or 'nothing'}"
            + (f", foreign {foreign[0]!a:.40}" if foreign else ""),
        ),
    )


# --- the footprint --------------------------------------------------------------------------------


def forbidden_writes(case: Case) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out: list[tuple[int, str]] = []
    for name, store in case.market.stores.items():
        for change in store.table.changes:
            if change.owner == case.agent:
                reason = objection(case, name, change)
                if reason:
                    out.append((change.order, f"{name}:{change.key} {reason}"))
    return [text for _, text in sorted(out)]


def objection(case: Case, table: str, change: Change) -> str:
    """Say why a write isn't allowed, or give an empty text."""
    row = change.new
    if row is None:
        return "was deleted"
    if table == "slots":
        return "" if change.key in case.wanted else "won't do"
    if table == "holds":
        return "" if row.slot_id in case.wanted else f"is of slots:{row.slot_id}, which won't do"
    if table == "bookings":
        if row.slot_id not in case.wanted:
            return f"is of slots:{row.slot_id}, which won't do"
        before = case.market.bookings.table.row_at(change.key, 0)
        first = before is not None and before.status == "confirmed" and not case.made_at(before)
        return "was the customer's before" if first else ""
    if table == "payments":
        booking = case.market.bookings.table.rows[row.booking_id]
        return "" if booking.slot_id in case.wanted else f"is for bookings:{booking.id}"
    if table == "coupons":
        return "" if row.code == case.wish.coupon else "isn't the customer's"
    return "" if table in ("remote_events", "emails") else "is none of the task's tables"
