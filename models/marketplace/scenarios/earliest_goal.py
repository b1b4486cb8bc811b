"""The goal of marketplace/earliest: what was booked, and what could have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import Criterion
from simharness.models.marketplace.requirements import Offer, Wish
from simharness.models.marketplace.scenarios.bookable import RECENTLY, Bookable, Moment
from simharness.models.marketplace.scenarios.field import COUPON

if TYPE_CHECKING:
    from simharness.api import Change, Ending
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.scenarios.field import Ids
    from simharness.models.marketplace.tables import Booking, Slot

NEAR = frozenset({"price"})


class Rank(NamedTuple):
    """How good a slot is: the smaller the better."""

    level: int
    starts_at: int
    price: int


class Judge:
    """Holds the end of an episode against a wish."""

    def __init__(self, market: Marketplace, wish: Wish, ids: Ids, agent: str) -> None:
        self.market = market
        self.wish = wish
        self.customer = ids.customer
        self.bookable = Bookable(market, ids.customer)
        self.coupon = ids.coupon
        self.agent = agent
        self.first_slot = ids.slot
        bookings = market.bookings.table
        self.made: dict[int, Change] = {
            change.key: change
            for change in bookings.changes
            if change.old is None and change.new.customer_id == self.customer
        }
        """How each of the customer's new bookings was made."""
        self.booked: list[Booking] = [
            row
            for row in bookings
            if row.customer_id == self.customer
            and row.id in self.made
            and row.status == "confirmed"
        ]
        slots = market.slots.table.rows
        self.busy = [
            (slots[row.slot_id].starts_at, slots[row.slot_id].ends_at)
            for row in bookings
            if row.customer_id == self.customer and row.id not in self.made
        ]

    # --- what is so, and was ----------------------------------------------------------------------

    def offer(self, slot: Slot) -> Offer:
        """Give what a slot offers."""
        service = self.market.services.table.rows[slot.service_id]
        provider = self.market.providers.table.rows[slot.provider_id]
        return Offer(service.title, provider.title, slot.starts_at, slot.ends_at, service.price)

    def failing(self, slot: Slot, percent: int) -> frozenset[str]:
        """Name the requirements that a slot fails."""
        return self.wish.failing(self.offer(slot), self.busy, percent)

    def level(self, slot: Slot, percent: int) -> int:
        """Tell how good a slot is, free or not."""
        if slot.id < self.first_slot:
            return 0
        return self.wish.level(self.failing(slot, percent))

    def percent(self, order: int) -> int:
        """Give what the coupon took off after a commit."""
        coupon = self.market.coupons.table.row_at(self.coupon, order)
        return coupon.percent if coupon is not None and coupon.used < coupon.limit else 0

    def free(self, key: int, order: int) -> bool:
        """Tell whether there were places enough for the customer, own holds taken for free."""
        return self.bookable.free(key, order) >= self.wish.places

    def moments(self, order: int, t: int) -> list[int]:
        """Give the commits after which the minute before tick `t` shows every state, up to one."""
        orders = {order}
        for table in (self.market.slots.table, self.market.coupons.table):
            for change in reversed(table.changes):
                if change.t < t - RECENTLY:
                    break
                if change.order <= order:
                    orders |= {change.order - 1, change.order}
        return sorted(orders)

    def could_be_had(self, order: int, t: int) -> dict[int, Rank]:
        """Rank the slots that could be had by whoever committed something else at tick `t`."""
        percent = self.percent(order - 1)
        return {
            slot.id: Rank(level, slot.starts_at, self.offer(slot).price)
            for slot in self.candidates()
            if (level := self.level(slot, percent))
            and (
                self.bookable.could_be_had(slot.id, self.wish.places, order, t)
                or self.left(slot.id, Moment(order, t))
            )
        }

    def left(self, key: int, moment: Moment) -> bool:
        """Tell whether a slot was left alone for long while it was free, before a moment."""
        return self.bookable.was_left({key: self.wish.places}, moment)

    def in_reach(self, order: int, t: int) -> list[int]:
        """Name the slots that will do and weren't sold out or blocked at any time of the minute.

        A slot that is full by what others hold may be free again in a moment. Those that were left
        alone for long while they were free are named as well.
        """
        moments = self.moments(order, t)
        return [
            slot.id
            for slot in self.candidates()
            if all(self.level(slot, self.percent(o)) for o in moments)
            and (
                not self.bookable.hopeless_after(slot.id, self.wish.places, t - RECENTLY)
                or self.left(slot.id, Moment(order + 1, t))
            )
        ]

    def candidates(self) -> list[Slot]:
        """Give the slots that fail the price at most, or what may be relaxed."""
        return [s for s in self.own_slots() if self.level(s, 100) or self.failing(s, 0) == NEAR]

    def own_slots(self) -> list[Slot]:
        """Give the slots of the instance."""
        return [slot for slot in self.market.slots.table if slot.id >= self.first_slot]

    # --- criteria ---------------------------------------------------------------------------------

    def one_booking(self, ending: Ending) -> Criterion:
        """There is one booking, paid in full, or none where that was said."""
        wanted = 0 if ending.outcome == "impossible" else 1
        rows = self.booked
        wrong = [] if len(rows) == wanted else [f"{len(rows)} new bookings are confirmed"]
        for row in rows:
            paid = self.market.paid(row.id)
            if paid != row.price:
                wrong.append(f"{paid} of {row.price} are paid for bookings:{row.id}")
            if row.quantity != self.wish.places:
                wrong.append(f"bookings:{row.id} is for {row.quantity}")
        told = ", ".join(f"bookings:{row.id}" for row in rows) or "nothing"
        return Criterion(
            "one booking",
            not wrong,
            "; ".join(wrong) or f"{told} is booked",
            tuple(f"bookings:{key}.status" for key in self.made),
        )

    def meets_the_wish(self) -> Criterion:
        """What is booked meets the requirements, or the relaxed ones."""
        wrong: list[str] = []
        for row in self.booked:
            failed = self.failed_by(row)
            if not self.wish.level(failed):
                wrong.append(f"slots:{row.slot_id} fails {', '.join(sorted(failed))}")
        return Criterion(
            "meets the wish",
            not wrong,
            "; ".join(wrong) or "nothing that is booked fails it",
            tuple(f"bookings:{row.id}.slot_id" for row in self.booked),
        )

    def failed_by(self, booking: Booking) -> frozenset[str]:
        """Name what a booking fails, by what it really costs."""
        slot = self.market.slots.table.rows[booking.slot_id]
        failed = self.failing(slot, 0) - NEAR
        return failed | NEAR if booking.price > self.wish.price_max else failed

    def the_earliest(self) -> Criterion:
        """Nothing better could be had when it was taken."""
        wrong = [
            f"slots:{key} could be had and is better than slots:{row.slot_id}"
            for row in self.booked
            for key in self.better(row)
        ]
        return Criterion(
            "the earliest",
            not wrong,
            "; ".join(wrong) or "nothing better could be had",
            tuple(f"bookings:{row.id}.slot_id" for row in self.booked),
        )

    def better(self, booking: Booking) -> list[int]:
        """Name the slots that could be had and are better than a booking's."""
        taken = self.bookable.taken(booking)
        slot = self.market.slots.table.rows[booking.slot_id]
        level = self.wish.level(self.failed_by(booking))
        rank = Rank(level, slot.starts_at, self.offer(slot).price)
        there = self.could_be_had(taken.order, taken.t)
        return [key for key, other in there.items() if key != slot.id and level and other < rank]

    def told(self, ending: Ending) -> Criterion:
        """It was said what came of it, and on what that rests."""
        if ending.outcome != "impossible":
            done = ending.outcome == "done"
            return Criterion("told", done, f"the outcome is {ending.outcome or 'none'}")
        world = self.market.world
        there = self.in_reach(world.order, world.ticks)
        wrong = [f"slots:{key} could be had" for key in there]
        near = self.near(world.order, world.ticks)
        refs = [*dict.fromkeys(ending.refs)]
        if len(refs) != 1 or refs[0] not in near:
            said = ", ".join(refs) or "nothing"
            wrong.append(f"refs are {said}, not one of {', '.join(near) or 'none'}")
        return Criterion(
            "told",
            not wrong,
            "; ".join(wrong) or f"{refs[0]} is the first that fails the price alone",
            tuple(f"slots:{key}" for key in there),
        )

    def near(self, order: int, t: int) -> list[str]:
        """Name the slots that are, or lately were, the earliest to fail the price alone."""
        moments = self.moments(order, t)
        earliest: list[tuple[int, int]] = []
        out: list[str] = []
        for slot in sorted(self.candidates(), key=lambda s: (s.starts_at, self.offer(s).price)):
            at = slot.starts_at, self.offer(slot).price
            if earliest and at > earliest[0]:
                break
            fails = [
                self.failing(slot, self.percent(o)) == NEAR and self.free(slot.id, o)
                for o in moments
            ]
            if any(fails):
                out.append(f"slots:{slot.id}")
            if all(fails):
                earliest.append(at)
        return out

    def nothing_else(self) -> Criterion:
        """The agent wrote no row but those of its booking, and left no hold."""
        market = self.market
        wrong: list[str] = []
        for hold in market.holds.table:
            own = self.by_agent("holds", hold.id) and not market.looks.unaware(hold.id)
            if hold.customer_id == self.customer and hold.status == "active" and own:
                wrong.append(f"holds:{hold.id} was left")
        for row in market.bookings.table:
            if row.customer_id != self.customer:
                continue
            made = row.id in self.made
            if made and row.status == "pending" and self.by_agent("bookings", row.id):
                wrong.append(f"bookings:{row.id} was left")
            if made and row.coupon not in ("", COUPON):
                wrong.append(f"bookings:{row.id} uses the coupon {row.coupon}")
            past = market.bookings.table.history.get(row.id, ())
            if not made and any(c.owner == self.agent for c in past):
                wrong.append(f"bookings:{row.id} was changed")
        for name in ("waitlist", "blocks", "emails", "providers", "services", "customers"):
            wrong += [
                f"{name}:{change.key} was written"
                for change in market.stores[name].table.changes
                if change.owner == self.agent and not self.may_write(name, change.key)
            ]
        return Criterion("nothing else", not wrong, "; ".join(wrong) or "nothing", role="footprint")

    def by_agent(self, table: str, key: int) -> bool:
        """Tell whether the agent made a row."""
        past = self.market.stores[table].table.history.get(key)
        return past is not None and past[0].owner == self.agent

    def may_write(self, table: str, key: int) -> bool:
        """Tell whether the agent may write a row of a table that is none of its business."""
        return False
