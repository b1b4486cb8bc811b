"""Who is in the marketplace beside the agent, and what they do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from simharness.models.marketplace.base import CUSTOMERS, base_rows
from simharness.models.marketplace.people import rivals
from simharness.models.marketplace.people.staff import start_staff
from simharness.models.marketplace.people.team import start_team
from simharness.models.marketplace.tables import Booking, Waiting
from tests.models.market_house import ANN, BOB, CEM, ROWS, House

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Row

AGENT = 7
SPARED = 400


def crowded(config: dict[str, object], load: int = 1_000) -> House:
    """Let everybody work in the base for an hour."""
    house = House({"slots.horizon": 10, **config}, rows=base_rows(), load=load)
    start_team(house.market, spared={SPARED}, away=AGENT)
    start_staff(house.market, spared={SPARED})
    return house


def test_the_team_does_all_that_customers_do_and_breaks_nothing() -> None:
    house = crowded({"users.blocking": "1min", "users.promoter": "20s"})
    house.wait("1h")
    market = house.market
    ends = Counter(hold.status for hold in market.holds.table)
    assert min(ends[status] for status in ("confirmed", "released", "expired")) > 0
    assert {b.status for b in market.bookings.table} >= {"confirmed", "cancelled", "expired"}
    assert len(market.blocks.table.rows) > 0
    assert market.invariants() == []
    assert house.findings() == []
    touched = [c.new for store in (market.holds, market.bookings) for c in store.table.changes]
    assert {row.slot_id for row in touched} & {SPARED} == set()
    assert {row.customer_id for row in touched} <= {*range(1, CUSTOMERS + 1)} - {AGENT}
    assert not market.slots.table.rows[SPARED].blocked


@pytest.mark.parametrize(
    ("team", "load", "users"), [(20, 1_000, 20), (20, 8_000, 160), (0, 8_000, 0), (20, 0, 0)]
)
def test_the_team_grows_with_its_knob_and_the_load(team: int, load: int, users: int) -> None:
    house = House({"users.team": team}, load=load)
    start_team(house.market)
    assert len(house.world.alive) == users


def test_a_team_that_thinks_less_does_more() -> None:
    made: list[int] = []
    for think in ("5s", "40s"):
        house = crowded({"users.think": think})
        house.wait("5min")
        made.append(len(house.market.holds.table.changes))
    assert made[0] > 2 * made[1]


def test_nobody_of_the_staff_works_unless_it_is_set() -> None:
    assert not House(load=1_000).world.alive
    for config, load in (({}, 1_000), ({"users.blocking": "1s", "users.promoter": "1s"}, 0)):
        house = House(config, load=load)
        start_staff(house.market)
        assert not house.world.alive


def test_a_place_that_comes_free_goes_to_whoever_waits_for_it_first() -> None:
    rows: dict[str, Sequence[Row]] = {
        **ROWS,
        "bookings": [
            Booking(id=1, slot_id=1, customer_id=CEM, status="confirmed"),
            Booking(id=2, slot_id=3, customer_id=CEM, status="confirmed", quantity=2, price=8000),
        ],
        "waitlist": [
            Waiting(id=1, slot_id=3, customer_id=ANN, position=2),
            Waiting(id=2, slot_id=3, customer_id=BOB, position=1),
            Waiting(id=3, slot_id=1, customer_id=ANN, position=1),
        ],
    }
    house = House({"users.promoter": "10s"}, rows=rows, load=1_000)
    start_staff(house.market)
    house.wait("1min")
    assert not house.market.holds.table.rows
    house.call(CEM, "cancel_booking", booking_id=1)
    house.wait("10s")
    hold = house.row("holds", 1)
    assert (hold.slot_id, hold.customer_id, hold.status) == (1, ANN, "active")
    assert house.call(ANN, "confirm_booking", hold_id=1).status == "confirmed"
    house.call(CEM, "cancel_booking", booking_id=2)
    house.wait("10s")
    told = house.call(BOB, "list_bookings").rows
    assert [(b.slot_id, b.status, b.price) for b in told] == [(3, "pending", 4000)]
    # Two places were free.
    told_to = [mail.to.partition("@")[0] for mail in house.market.emails.table]
    assert told_to == ["ann", "bob", "ann"]
    assert house.market.waitlist.table.rows == {}
    assert house.free(3) == 0
    house.wait("6min")
    assert house.free(3) == 2
    assert house.findings() == []


def test_rivals_book_keep_let_lapse_cancel_and_block() -> None:
    house = House()
    market = house.market
    rivals.book_later(market, "rival/1", BOB, 100, 4, 2)
    rivals.hold_later(market, "rival/2", BOB, 100, 1, 3)
    rivals.hold_later(market, "rival/3", CEM, 100, 3, 0)
    rivals.block_later(market, "away/1", 100, 2)
    rivals.block_later(market, "away/2", 200, 4)
    house.wait("1s")
    assert [house.free(key) for key in (1, 3, 4)] == [0, 1, 3]
    assert [house.row("slots", key).blocked for key in (2, 4)] == [True, False]
    (booking,) = [b for b in market.bookings.table if b.status == "confirmed"]
    assert (booking.slot_id, booking.quantity) == (4, 2)
    rivals.cancel_later(market, "rival/4", 5_000, booking.id)
    house.wait("6min")
    assert [house.free(key) for key in (1, 3, 4)] == [1, 2, 5]
    assert house.findings() == []


def test_a_crowd_gives_back_what_it_holds() -> None:
    house = House(load=8_000)
    rivals.start_crowd(house.market, [1, 2], [ANN, BOB])
    house.wait("30min")
    refused = Counter(hold.status for hold in house.market.holds.table)
    assert refused["released"] > 100
    assert refused["expired"] == 0
    assert house.findings() == []
