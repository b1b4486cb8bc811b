"""What each fault of the marketplace does, and what is found of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.faults import TWIN
from simharness import env
from simharness.api import format_instant
from simharness.models.marketplace.policies.book import expert
from simharness.models.marketplace.tables import Coupon, Provider, Service, Slot
from tests.models.market_house import ANN, BOB, CEM, House, at

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.api import Row
    from simharness.product.policy import Action, Observation, Task

SLOW = "0.5s"


def both(house: House, tool: str, **arguments: Any) -> Any:
    """Let Ann and Bob call at one time; Bob's call is the later to commit."""
    calls = [
        house.start(who, tool, as_=f"user/{who}", db=db, **arguments)
        for who, db in ((ANN, "0.4s"), (BOB, SLOW))
    ]
    return house.ended(*calls)


def codes(house: House) -> list[tuple[str, str]]:
    return [(finding.code, finding.mechanism) for finding in house.findings()]


# --- overwrite ------------------------------------------------------------------------------------


def test_the_last_to_hold_a_place_writes_over_who_was_faster() -> None:
    house = House({"booking.isolation": "overwrite"})
    first, second = both(house, "hold_slot", slot_id=1)
    assert (first.customer_id, second.customer_id) == (ANN, BOB)
    assert first.id == second.id
    assert [hold.customer_id for hold in house.market.holds.table] == [BOB]
    assert house.free(1) == 0
    (finding,) = house.findings()
    assert (finding.code, finding.keys, finding.mechanism) == ("H310", ("holds:1",), "lock:holds")
    assert "customer_id 1, which user/1#1 had committed as v1" in finding.explanation


def test_the_last_to_hold_a_place_gets_what_is_booked_on_it_too() -> None:
    house = House({"booking.isolation": "overwrite"})
    late = house.start(BOB, "hold_slot", as_="user/2", db="0.5s", slot_id=1)
    held = house.call(ANN, "hold_slot", as_="user/1", slot_id=1)
    booked = house.call(ANN, "confirm_booking", as_="user/1", hold_id=held.id)
    assert booked.status == "confirmed"
    house.ended(late)
    assert house.row("bookings", booked.id).customer_id == BOB
    assert {finding.keys for finding in house.findings("H310")} == {("holds:1",), ("bookings:1",)}


def test_who_comes_when_the_place_is_taken_is_refused() -> None:
    house = House({"booking.isolation": "overwrite"})
    house.call(ANN, "hold_slot", slot_id=1)
    assert house.refused(BOB, "hold_slot", slot_id=1).code == "slot_taken"


def test_nobody_writes_over_a_hold_of_other_places_or_their_own() -> None:
    house = House({"booking.isolation": "overwrite"})
    first = house.start(ANN, "hold_slot", db="0.1s", slot_id=3, quantity=2)
    second = house.start(BOB, "hold_slot", db="0.2s", slot_id=3, quantity=1)
    assert house.ended(first, second)[1].code == "sold_out"
    again = [house.start(CEM, "hold_slot", db=db, slot_id=1) for db in ("0.1s", "0.2s")]
    assert house.ended(*again)[1].code == "slot_taken"
    assert codes(house) == []


@pytest.mark.parametrize("mechanism", ["places:slots", "lock:holds", "lock:bookings"])
def test_a_repair_refuses_who_comes_second(mechanism: str) -> None:
    house = House({"booking.isolation": "overwrite"})
    house.market.repair({mechanism})
    assert both(house, "hold_slot", slot_id=1)[1].code == "slot_taken"
    assert codes(house) == []


# --- hold-leak ------------------------------------------------------------------------------------


def test_a_hold_that_was_given_up_and_kept_its_places_is_found_at_once() -> None:
    for leak, found in ((False, []), (True, [("H223", "places:slots")])):
        house = House({"hold.leak": leak})
        hold = house.call(ANN, "hold_slot", as_="user/1", slot_id=1)
        house.call(ANN, "release_hold", as_="user/1", hold_id=hold.id)
        assert codes(house) == found
        assert house.row("slots", 1).taken == leak


# --- late-payment ---------------------------------------------------------------------------------


def test_a_hold_that_ends_twice_has_one_finding_and_no_broken_invariant_beside_it() -> None:
    house = House({"hold.late_payment": "accept", "hold.ttl": "60s"})
    hold = house.call(ANN, "hold_slot", slot_id=3)
    booking = house.call(ANN, "confirm_booking", hold_id=hold.id)
    house.wait("61s")
    house.call(ANN, "pay", booking_id=booking.id, amount=4000, currency="USD")
    house.wait("1s")
    assert house.row("bookings", booking.id).status == "confirmed"
    assert house.market.invariants() == ["holds:1 ended 2 times: expired, confirmed"]
    assert codes(house) == [("H223", "places:slots")]


# --- coupon-race ----------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", ["check_then_set", "atomic"])
def test_two_uses_of_a_coupon_at_one_time_are_counted_as_one(claim: str) -> None:
    coupons = [Coupon(id=1, code="SPRING", limit=5, percent=25)]
    house = House({"coupon.claim": claim}, rows={"coupons": coupons})
    holds = [house.call(who, "hold_slot", slot_id=4) for who in (ANN, BOB)]
    house.ended(
        *(
            house.start(who, "confirm_booking", db=db, hold_id=hold.id, coupon="SPRING")
            for who, hold, db in zip((ANN, BOB), holds, ("0.4s", SLOW), strict=True)
        )
    )
    lost = claim == "check_then_set"
    assert house.row("coupons", 1).used == (1 if lost else 2)
    told = ["coupons:1 counts 1 more, and 2 use it"] if lost else []
    assert house.market.invariants() == told


def test_a_repair_counts_each_use() -> None:
    house = House({"coupon.claim": "check_then_set"})
    house.market.repair({"lock:coupons"})
    assert house.market.coupon_claim == "atomic"


# --- lost-confirmation ----------------------------------------------------------------------------


def believing(task: Task) -> Generator[Action, Observation, None]:
    """Play as the expert, but take a booking that is told as failed for not made."""
    play = expert(task)
    action = next(play)
    while True:
        told = yield action
        answer = dict(told.results[0]) if told.results else {}
        if answer.get("tool") == "confirm_booking" and told.error == "unavailable":
            answer["error"] = {"code": "hold_expired", "message": "", "retryable": False}
            told = replace(told, results=(answer,))
        try:
            action = play.send(told)
        except StopIteration:
            return


def test_who_believes_a_failure_that_was_none_loses_the_reward_by_the_time_out() -> None:
    fault = "marketplace.lost-confirmation"
    verdict = env.run("marketplace/book", seed=1, policy=believing, faults=[fault]).verdict
    assert verdict.headline == "harness, H122, proved (closed)"
    assert [(arm.repaired, arm.score) for arm in verdict.arms] == [(("timeout",), 1_000_000)]
    sound = env.run("marketplace/book", seed=1, policy=believing, config=TWIN[fault])
    assert sound.verdict.headline == "ok"


# --- wrong-offset ---------------------------------------------------------------------------------

NEW_YORK = Provider(id=9, title="N", zone="America/New_York", hours="09:00-11:00")


def summer(rule: str, **taken: int) -> list[str]:
    """Give the times of two slots of the start in summer, by how many places are taken."""
    slots = [
        Slot(
            id=key,
            provider_id=9,
            service_id=1,
            starts_at=at(f"2026-03-16T{hour}:00:00Z"),
            ends_at=at(f"2026-03-16T{hour + 1}:00:00Z"),
            taken=taken.get(f"slot_{key}", 0),
        )
        for key, hour in ((1, 13), (2, 14))
    ]
    rows: dict[str, Sequence[Row]] = {
        "providers": [NEW_YORK],
        "services": [Service(id=1, title="Call")],
        "slots": slots,
    }
    house = House({"zones": rule}, rows=rows)
    return [format_instant(house.row("slots", key).starts_at)[11:13] for key in (1, 2)]


def test_slots_of_the_start_are_put_to_where_a_wrong_rule_has_them() -> None:
    assert summer("exact") == ["13", "14"]
    assert summer("standard") == ["14", "15"]


def test_what_is_sold_stays_and_nothing_is_put_on_top_of_it() -> None:
    assert summer("standard", slot_2=1) == ["13", "14"]
    assert summer("standard", slot_1=1) == ["13", "15"]
