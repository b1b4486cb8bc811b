"""Each knob of the marketplace's own does something, and the defects show what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.models.marketplace import Marketplace
from simharness.models.marketplace.faults import FAULTS
from simharness.models.marketplace.own_knobs import KNOBS
from simharness.models.marketplace.policies.coping import COPING
from simharness.models.marketplace.profiles import PROFILES
from simharness.models.marketplace.tables import Booking, Provider
from simharness.product.knobs import read_config
from tests.models.market_house import ANN, BOB, CEM, ROWS, STUDIO, House

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Row

OTHER: Mapping[str, list[object]] = {
    "booking.isolation": ["unique", "hold", "lease", "none"],
    "booking.recheck": [False],
    "booking.approval": ["auto"],
    "booking.remote": ["before_insert", "after_commit"],
    "booking.compensate": ["blind"],
    "booking.on_webhook": ["overwrite"],
    "hold.ttl": ["20s"],
    "hold.visible_to_search": [False],
    "hold.late_payment": ["accept"],
    "hold.leak": [True],
    "coupon.claim": ["check_then_set"],
    "remote.latency": ["1s"],
    "zones": ["day_start", "standard", "naive"],
    "slots.checked": [False],
    "slots.horizon": [9],
}
BASE: dict[str, dict[str, object]] = {"remote.latency": {"booking.remote": "after_commit"}}
TAKEN = "2026-03-05T10:15:00Z"
"""A time at which there is a slot already."""
ELSEWHERE = {"booking.compensate"}  # test_marketplace_money.py needs a race to show it
"""What else has to be set for a knob to matter."""


def played(config: dict[str, object]) -> list[tuple[Any, ...]]:
    """Play one script; gives the journal and what was told."""
    open_hours = Provider(id=4, title="B", zone="Europe/Berlin", hours="08:00-09:00")
    rows: dict[str, Sequence[Row]] = {
        "providers": [*ROWS["providers"], open_hours],
        "bookings": [Booking(id=i, slot_id=1, customer_id=i) for i in (ANN, BOB)],
    }
    house = House({"db.latency": "10ms", "hold.ttl": "60s", **config}, rows=rows)
    told: list[Any] = []
    for who, tool, arguments in (
        (STUDIO, "approve_booking", {"booking_id": 1}),
        (STUDIO, "approve_booking", {"booking_id": 2}),
        (ANN, "request_booking", {"slot_id": 2}),
        (ANN, "hold_slot", {"slot_id": 3, "quantity": 2}),
        (BOB, "search_slots", {"service_id": 2}),
        (STUDIO, "create_slot", {"provider_id": 1, "service_id": 1, "starts_at": TAKEN}),
        (ANN, "confirm_booking", {"hold_id": 1, "coupon": "SPRING"}),
    ):
        told.append(house.call(who, tool, **arguments))
    house.wait("61s")
    told.append(house.call(ANN, "pay", booking_id=4, amount=6000, currency="USD"))
    told.append(house.call(ANN, "pay", booking_id=3, amount=6000, currency="USD"))
    told += [house.call(who, "hold_slot", slot_id=4) for who in (ANN, BOB)]
    calls = [
        house.start(who, "confirm_booking", hold_id=2 + i, coupon="ALL", db=f"{i + 1}s")
        for i, who in enumerate((ANN, BOB))
    ]
    told += house.ended(*calls)
    house.call(CEM, "hold_slot", slot_id=4)
    last = house.market.holds.table.top
    booking = house.call(CEM, "confirm_booking", hold_id=last).id
    house.wait("50s")
    house.call(CEM, "pay", booking_id=booking, amount=1000, currency="USD")
    event = {"event_id": "e", "kind": "charge.failed", "created": "2026-03-05T00:00:00Z"}
    if house.row("payments", 1) is not None:
        house.perform("gateway.deliver", event={**event, "ref": "payments:1", "status": "failed"})
    # In summer time, in which the rules differ.
    house.world.advance_to(28 * 86_400_000_000)
    rows_now = [list(store.table) for store in house.market.stores.values()]
    return [*house.world.rows, tuple(map(str, told)), tuple(map(str, rows_now))]


def test_every_knob_has_another_value_here() -> None:
    assert set(OTHER) == {knob.key for knob in KNOBS}


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key, values in OTHER.items() for value in values if key not in ELSEWHERE],
    ids=str,
)
def test_a_knob_changes_what_happens(key: str, value: object) -> None:
    base = BASE.get(key, {})
    assert played({**base, key: value}) != played(base)


def test_the_same_script_gives_the_same_journal() -> None:
    assert played({}) == played({})


def test_defects_and_profiles_name_knobs_that_there_are() -> None:
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert {fault.seduces for fault in FAULTS} <= set(COPING)
    for patch in (*(fault.knobs for fault in FAULTS), *PROFILES.values()):
        assert len(read_config(Marketplace.knobs, patch, "here")) == len(patch)


def patched(name: str, **more: object) -> House:
    (fault,) = (f for f in FAULTS if f.id == f"marketplace.{name}")
    return House({**fault.knobs, **more})


def test_no_slot_lock_sells_one_place_twice() -> None:
    house = patched("no-slot-lock")
    house.ended(*(house.start(who, "hold_slot", slot_id=1) for who in (ANN, BOB)))
    assert [f.code for f in house.findings()] == ["H221"]


def test_phantom_availability_shows_what_is_taken() -> None:
    house = patched("phantom-availability")
    house.wait("10min")
    house.call(BOB, "hold_slot", slot_id=1)
    house.wait("1s")
    told = house.ended(house.start(ANN, "search_slots", as_="agent"))
    assert 1 in [row.id for row in told.rows]
    assert [(f.code, f.mechanism) for f in house.findings()] == [("H110", "index:slots.search")]


def test_repairs_hold_the_knobs_that_give_places_twice() -> None:
    house = patched("no-slot-lock")
    house.market.repair({"places:slots"})
    told = house.ended(*(house.start(who, "hold_slot", slot_id=1) for who in (ANN, BOB, CEM)))
    assert sum(getattr(answer, "code", "") == "slot_taken" for answer in told) == 2
    assert house.findings() == []
    house = House({"zones": "naive"})
    house.market.repair({"zones:slots"})
    assert house.market.zones == "exact"
