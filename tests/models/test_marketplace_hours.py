"""Slots follow from opening hours in the provider's zone, and nothing else can be booked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.api import HOUR, Row, format_instant
from simharness.models.marketplace.hours import derived_slots
from simharness.models.marketplace.tables import Booking, Provider, Service
from tests.models.market_house import ANN, STUDIO, House, at, slot

if TYPE_CHECKING:
    from collections.abc import Sequence

BERLIN: dict[str, Sequence[Row]] = {
    "providers": [Provider(id=1, title="B", zone="Europe/Berlin", hours="09:00-11:00")],
    "services": [Service(id=1, title="Call", minutes=60)],
    "slots": [],
}


def starts(house: House) -> list[str]:
    return [format_instant(row.starts_at) for row in house.market.slots.table]


def test_slots_are_as_far_apart_as_the_service_is_long_and_end_in_time() -> None:
    rows = {**BERLIN, "services": [Service(id=1, title="Call", minutes=45)]}
    house = House({"slots.horizon": 2}, rows=rows)
    assert starts(house) == [
        "2026-03-02T08:00:00Z",
        "2026-03-02T08:45:00Z",
        "2026-03-03T08:00:00Z",
        "2026-03-03T08:45:00Z",
    ]


@pytest.mark.parametrize(
    ("rule", "hour"), [("exact", 7), ("day_start", 8), ("standard", 8), ("naive", 9)]
)
def test_the_day_on_which_clocks_are_set_forward_shows_the_rule(rule: str, hour: int) -> None:
    provider, service = BERLIN["providers"][0], BERLIN["services"][0]
    assert isinstance(provider, Provider)
    assert isinstance(service, Service)
    first = at("2026-03-29T00:00:00Z")
    slots = derived_slots([provider], [service], first, 1, 0, rule)
    assert [slot.starts_at - first for slot in slots] == [hour * HOUR, (hour + 1) * HOUR]


def test_a_wrong_offset_breaks_the_hours_once_it_is_booked() -> None:
    for rule, broken in (("exact", []), ("naive", ["slots:4 is booked outside 09:00-11:00"])):
        house = House({"zones": rule, "slots.horizon": 3}, rows=BERLIN)
        slot_id = 4
        assert house.market.invariants() == []
        house.call(ANN, "hold_slot", slot_id=slot_id)
        assert house.call(ANN, "confirm_booking", hold_id=1).status == "confirmed"
        assert house.market.invariants() == broken


def test_slots_of_the_start_are_all_that_there_are_for_the_first_days() -> None:
    house = House(rows={**BERLIN, "slots": [slot(1, 5, 8)]})
    assert len(house.market.slots.table.rows) == 1


def test_inactive_providers_and_those_without_readable_hours_have_none() -> None:
    providers = [
        Provider(id=1, title="A", hours="09:00-11:00", active=False),
        Provider(id=2, title="B", hours="all day"),
        Provider(id=3, title="C", hours="11:00-09:00"),
        Provider(id=4, title="D"),
    ]
    assert starts(House(rows={**BERLIN, "providers": providers})) == []


def test_a_slot_is_made_within_hours_beside_the_others_and_touching_them() -> None:
    house = House({"slots.horizon": 1}, rows=BERLIN)  # 9 and 10 o'clock today are slots
    day = "2026-03-04T"
    make = {"provider_id": 1, "service_id": 1}
    for hour in ("07:30", "09:30", "12:00"):
        told = house.refused(STUDIO, "create_slot", **make, starts_at=f"{day}{hour}:00Z")
        assert told.code == "outside_hours"
    first = house.call(STUDIO, "create_slot", **make, starts_at=f"{day}08:00:00Z")
    told = house.refused(STUDIO, "create_slot", **make, starts_at=f"{day}08:59:59Z")
    assert (told.code, told.details) == ("conflict", {"id": first.id})
    assert house.call(STUDIO, "create_slot", **make, starts_at=f"{day}09:00:00Z").capacity == 1
    for far in ("2026-03-02T09:00:00Z", "2027-04-02T09:00:00Z", "9999-12-31T23:59:59Z"):
        told = house.refused(STUDIO, "create_slot", **make, starts_at=far)
        assert told.code == "invalid_arguments"
    assert house.refused(ANN, "create_slot", **make, starts_at=f"{day}09:00:00Z").code == (
        "forbidden"
    )


def test_a_provider_who_is_away_cannot_be_booked() -> None:
    house = House()
    away = {"provider_id": 1, "starts_at": "2026-03-05T10:30:00Z"}
    # 10:00 to 10:30 touches it and stays.
    house.call(STUDIO, "block_time", **away, ends_at="2026-03-05T11:00:01Z")
    assert (house.row("slots", 1).blocked, house.row("slots", 2).blocked) == (False, True)
    assert house.refused(ANN, "hold_slot", slot_id=2).code == "slot_blocked"
    told = house.call(ANN, "search_slots", provider_id=1)
    assert [row.id for row in told.rows] == [1]
    make = {"provider_id": 1, "service_id": 1, "starts_at": "2026-03-05T10:30:00Z"}
    assert house.refused(STUDIO, "create_slot", **make).code == "slot_blocked"


def test_nobody_is_away_while_somebody_has_a_place() -> None:
    booked = [Booking(id=1, slot_id=1, customer_id=ANN, status="confirmed")]
    house = House(rows={"bookings": booked})
    away = {"provider_id": 1, "ends_at": "2026-03-05T11:00:00Z"}
    told = house.refused(STUDIO, "block_time", **away, starts_at="2026-03-05T10:29:00Z")
    assert (told.code, told.details) == ("conflict", {"slot_id": 1})
    house.call(STUDIO, "block_time", **away, starts_at="2026-03-05T10:30:00Z")
    told = house.refused(STUDIO, "block_time", **away, starts_at="2026-03-05T11:00:00Z")
    assert told.code == "invalid_arguments"
