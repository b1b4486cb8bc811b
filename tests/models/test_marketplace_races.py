"""Two calls and one place: who gets it, what the other is told, what is found afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import Refused
from simharness.models.marketplace.own_knobs import ISOLATIONS
from simharness.models.marketplace.tables import Booking, Payment
from tests.models.market_house import ANN, BOB, STUDIO, House

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Row

SOUND = [mode for mode in ISOLATIONS if mode not in ("none", "overwrite")]


def two_requests(isolation: str, first_db: str = "0.05s") -> tuple[House, list[Any]]:
    house = House({"booking.isolation": isolation, "booking.approval": "auto"})
    first = house.start(BOB, "request_booking", as_="guest", db=first_db, slot_id=1)
    second = house.start(ANN, "request_booking", as_="agent", after="0.01s", db="0.05s", slot_id=1)
    return house, house.ended(first, second)


def test_check_then_insert_sells_one_place_twice_and_all_four_steps_are_told() -> None:
    house, (first, second) = two_requests("none")
    assert (first.status, second.status) == ("confirmed", "confirmed")
    (finding,) = house.findings()
    assert (finding.code, finding.t, finding.keys) == ("H221", 60_000, ("slots:1",))
    assert finding.evidence == {"slot_id": "slots:1", "capacity": 1, "sold": 2}
    assert finding.explanation == (
        "2 of slots:1 were held or sold at one time, and there is 1: "
        "guest#1 checked at 0s (1 free), agent#2 checked at 10ms (1 free), "
        "guest#1 inserted 1 at 50ms, agent#2 inserted 1 at 60ms"
    )
    assert finding.mechanism == "places:slots"
    assert house.market.invariants() == ["slots:1 has 1 places, and 2 are taken"]


def test_a_check_after_the_insert_finds_the_place_taken() -> None:
    house, (first, second) = two_requests("none", first_db="0.005s")
    assert (first.status, second.code) == ("confirmed", "slot_taken")
    assert house.findings() == []


@pytest.mark.parametrize("isolation", SOUND)
def test_one_of_two_gets_the_place(isolation: str) -> None:
    house, (first, second) = two_requests(isolation)
    assert (first.status, second.code) == ("confirmed", "slot_taken")
    assert (house.findings(), house.market.invariants()) == ([], [])
    assert house.free(1) == 0


@pytest.mark.parametrize("isolation", SOUND)
@pytest.mark.parametrize("tool", ["hold_slot", "approve_booking"])
def test_it_is_the_same_for_holds_and_approvals(isolation: str, tool: str) -> None:
    pending = [Booking(id=i, slot_id=1, customer_id=i) for i in (ANN, BOB)]
    house = House({"booking.isolation": isolation}, rows={"bookings": pending})
    calls = [
        house.start(ANN, tool, db="0.05s", slot_id=1)
        if tool == "hold_slot"
        else house.start(STUDIO, tool, db="0.05s", booking_id=i)
        for i in (ANN, BOB)
    ]
    told = house.ended(*calls)
    assert [isinstance(answer, Refused) for answer in told] == [False, True]
    assert told[1].code == "slot_taken"
    assert (house.free(1), house.findings()) == (0, [])


def test_approvals_that_do_not_look_again_confirm_both() -> None:
    pending = [Booking(id=i, slot_id=1, customer_id=i) for i in (ANN, BOB)]
    house = House({"booking.recheck": False}, rows={"bookings": pending})
    for i in (ANN, BOB):
        assert house.call(STUDIO, "approve_booking", booking_id=i).status == "confirmed"
    assert [f.code for f in house.findings()] == ["H221"]


def test_a_group_of_two_in_either_order_never_waits_in_a_circle() -> None:
    house = House()
    first = house.start(ANN, "hold_slots", db="1s", slot_ids=[1, 2])
    second = house.start(BOB, "hold_slots", db="1s", slot_ids=[2, 1])
    held, refused = house.ended(first, second)
    assert [hold.slot_id for hold in held.rows] == [1, 2]
    assert refused.code == "slot_taken"
    assert house.findings() == []


def test_groups_that_wait_for_a_third_call_still_wait_in_one_order() -> None:
    house = House()
    third = house.start(BOB, "hold_slot", db="1s", slot_id=1)
    both = [
        house.start(ANN, "hold_slots", after="1ms", slot_ids=slots) for slots in ([1, 2], [2, 1])
    ]
    # In another order the second would hold slot 2 and wait for 1, and the first would be `locked`.
    assert [answer.code for answer in house.ended(third, *both)[1:]] == ["slot_taken"] * 2


def test_a_group_is_held_as_a_whole_or_not_at_all() -> None:
    house = House()
    house.call(BOB, "hold_slot", slot_id=2)
    assert house.refused(ANN, "hold_slots", slot_ids=[1, 2]).code == "slot_taken"
    assert house.free(1) == 1


def test_without_isolation_a_group_can_fail_in_part() -> None:
    house = House({"booking.isolation": "none"})
    house.call(BOB, "hold_slot", slot_id=2)
    assert house.call(ANN, "hold_slots", slot_ids=[1, 2]).code == "slot_taken"
    assert house.free(1) == 0


def test_a_lease_that_ends_before_the_insert_is_no_protection_without_fencing() -> None:
    config = {"booking.isolation": "lease", "slots.lease.ttl": "1s"}
    told: dict[bool, list[Any]] = {}
    for fencing in (True, False):
        house = House({**config, "slots.lease.fencing": fencing})
        slow = house.start(ANN, "hold_slot", as_="slow", db="3s", slot_id=1)
        quick = house.start(BOB, "hold_slot", after="500ms", db="10ms", slot_id=1)
        told[fencing] = house.ended(slow, quick)
        codes = [finding.code for finding in house.findings()]
        assert codes == ([] if fencing else ["H315", "H221"])
    assert told[True][0].code == "conflict"
    assert told[False][0].status == told[False][1].status == "active"


def late_payment(rule: str) -> tuple[House, Any]:
    """One of two places is sold; a hold lapses, somebody else buys, and then its money comes."""
    rows: dict[str, Sequence[Row]] = {
        "bookings": [Booking(id=1, slot_id=3, customer_id=3, status="confirmed", price=4000)],
        "payments": [Payment(id=1, booking_id=1, amount=4000, status="succeeded")],
    }
    house = House({"hold.late_payment": rule}, rows=rows)
    house.call(BOB, "hold_slot", slot_id=3)
    house.wait("10s")
    assert house.call(BOB, "confirm_booking", hold_id=1).status == "pending"
    house.wait("290s")
    assert (house.row("bookings", 2).status, house.row("holds", 1).status) == ("expired",) * 2
    house.wait("120s")
    house.call(ANN, "hold_slot", slot_id=3)
    house.call(ANN, "confirm_booking", hold_id=2)
    house.call(ANN, "pay", booking_id=3, amount=4000, currency="USD")
    assert (house.row("bookings", 3).status, house.free(3)) == ("confirmed", 0)
    house.wait("1080s")
    return house, house.call(BOB, "pay", booking_id=2, amount=4000, currency="USD")


def test_a_late_payment_that_is_accepted_unseen_overbooks() -> None:
    house, payment = late_payment("accept")
    assert payment.status == "succeeded"
    broken, oversold = house.findings()
    assert (broken.code, broken.t) == ("H223", 1_500_000_000)
    assert broken.explanation == ("holds:1 (1 of slots:3) was confirmed after it had been expired")
    assert (oversold.code, oversold.t) == ("H222", 1_500_000_000)
    assert oversold.evidence == {"slot_id": "slots:3", "capacity": 2, "sold": 3}
    assert "was confirmed after its end at 25min" in oversold.explanation


def test_a_late_payment_is_refused_before_any_money_moves() -> None:
    house, told = late_payment("reject")
    assert told.code == "hold_expired"
    assert len(house.market.payments.table.rows) == 2
    assert (house.findings(), house.market.invariants()) == ([], [])


def test_a_leak_keeps_places_and_is_found() -> None:
    house = House({"hold.leak": True})
    house.call(ANN, "hold_slot", slot_id=1)
    house.wait("10min")
    assert house.call(BOB, "hold_slot", slot_id=1).code == "slot_taken"
    assert {finding.code for finding in house.findings()} == {"H223"}


def test_a_coupon_for_one_is_used_by_three_where_it_is_counted_as_it_was_read() -> None:
    for rule, used in (("atomic", 1), ("check_then_set", 3)):
        house = House({"coupon.claim": rule})
        for who in (1, 2, 3):
            house.call(who, "hold_slot", slot_id=4)
        # Each waits for the slot's lock, so the readings lie apart and the settings together.
        calls = [
            house.start(who, "confirm_booking", db="5ms", hold_id=who, coupon="SPRING")
            for who in (1, 2, 3)
        ]
        told = house.ended(*calls)
        codes = [answer.code for answer in told if isinstance(answer, Refused)]
        assert codes == ["coupon_used_up"] * (3 - used)
        broken = house.market.invariants()
        assert broken == ([] if used == 1 else ["coupons:1 is for 1, and 3 use it"])
