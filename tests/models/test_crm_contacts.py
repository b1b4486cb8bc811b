"""Contacts: made, changed, and merged with everything that hangs on them."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.api import Refused, parse_instant
from tests.models.crm_house import REP, House

SOON = "2026-03-03T09:00:00Z"


def mailed(house: House, contact_id: int) -> Any:
    return house.call(
        REP, "send_email", contact_id=contact_id, template="custom", subject="s", body="b"
    )


def test_a_new_contact_may_have_no_account() -> None:
    row = House().call(REP, "create_contact", email="ann@x.test", full_name="Ann")
    assert (row.id, row.account_id, row.status) == (6, None, "active")


def test_an_email_is_taken_once() -> None:
    house = House()
    told = house.refused(REP, "create_contact", email="lena@alder.test", full_name="Lena")
    assert (told.code, told.details) == ("conflict", {"id": 1})
    told = house.refused(REP, "update_contact", contact_id=2, fields={"email": "lena@alder.test"})
    assert (told.code, told.details) == ("conflict", {"id": 1})
    same = {"email": "lena@alder.test", "role": "buyer"}
    assert house.call(REP, "update_contact", contact_id=1, fields=same).version == 2


@pytest.mark.parametrize("email", ["", "ann", "@x.test", "ann@", "an n@x.test"])
def test_what_is_no_address_is_refused(email: str) -> None:
    told = House().refused(REP, "create_contact", email=email, full_name="Ann")
    assert told.code == "invalid_arguments"
    told = House().refused(REP, "update_contact", contact_id=1, fields={"email": email})
    assert told.code == "invalid_arguments"


def test_an_account_that_is_not_there_has_no_contacts() -> None:
    arguments = {"email": "ann@x.test", "full_name": "Ann", "account_id": 99}
    assert House().refused(REP, "create_contact", **arguments).code == "not_found"
    told = House().refused(REP, "update_contact", contact_id=1, fields={"account_id": 99})
    assert told.code == "not_found"


def test_a_contact_is_changed_by_version() -> None:
    house = House()
    fields = {"status": "bounced"}
    assert house.call(REP, "update_contact", contact_id=1, fields=fields).version == 2
    told = house.refused(REP, "update_contact", contact_id=1, fields=fields, if_version=1)
    assert (told.code, told.details) == ("conflict", {"version": 2})
    assert house.refused(REP, "update_contact", contact_id=99, fields=fields).code == "not_found"


# --- merging --------------------------------------------------------------------------------------


def test_a_merge_takes_everything_along_in_one_commit() -> None:
    house = House()
    mail = mailed(house, 1)
    meeting = house.call(
        REP, "schedule_meeting", deal_id=1, contact_id=1, starts_at=SOON, minutes=30
    )
    kept = mailed(house, 3)
    before = house.world.order
    target = house.call(REP, "merge_contacts", source_id=1, target_id=2)
    assert (target.id, target.email) == (2, "abel@alder.test")
    assert house.world.order == before + 1
    assert house.row("contacts", 1) is None
    assert house.row("deals", 1).champion_id == 2
    assert house.row("emails", mail.id).contact_id == 2
    assert house.row("meetings", meeting.id).contact_id == 2
    assert house.row("emails", kept.id).contact_id == 3
    assert house.refused(REP, "merge_contacts", source_id=1, target_id=2).code == "not_found"


def test_a_closed_deal_gets_the_new_champion_too() -> None:
    house = House()
    house.call(REP, "merge_contacts", source_id=2, target_id=1)
    assert house.row("deals", 2).champion_id == 1
    assert house.row("deals", 2).stage == "closed_won"


@pytest.mark.parametrize(
    ("source_id", "target_id", "code"),
    [
        (1, 1, "invalid_arguments"),
        (1, 99, "not_found"),
        (99, 1, "not_found"),
        (1, 3, "forbidden"),
        (1, 5, "forbidden"),
    ],
)
def test_contacts_that_are_not_one_person_are_not_merged(
    source_id: int, target_id: int, code: str
) -> None:
    told = House().refused(REP, "merge_contacts", source_id=source_id, target_id=target_id)
    assert told.code == code


def test_a_contact_of_no_account_can_be_merged_into_one_of_an_account() -> None:
    assert House().call(REP, "merge_contacts", source_id=5, target_id=1).account_id == 1


def test_two_merges_of_the_same_two_contacts_do_not_deadlock() -> None:
    house = House({"db.latency": "10ms"})
    one = house.start(REP, "merge_contacts", source_id=1, target_id=2)
    two = house.start(REP, "merge_contacts", source_id=2, target_id=1)
    house.world.advance_to(1_000_000)
    assert one.value.id == 2
    assert isinstance(two.value, Refused)
    assert two.value.code == "not_found"
    assert not house.world.alive


def test_a_deal_that_gets_the_source_as_champion_meanwhile_is_taken_along() -> None:
    house = House({"db.latency": "10ms"})
    chosen = house.start(REP, "update_deal", deal_id=3, fields={"champion_id": 1})
    merged = house.start(REP, "merge_contacts", source_id=1, target_id=2)
    house.world.advance_to(1_000_000)
    assert (chosen.value.champion_id, merged.value.id) == (1, 2)
    assert house.row("deals", 3).champion_id == 2


def test_a_champion_who_was_merged_away_meanwhile_is_refused() -> None:
    house = House({"db.latency": "10ms"})
    merged = house.start(REP, "merge_contacts", source_id=5, target_id=1)
    house.world.advance_to(12_000)
    chosen = house.start(REP, "update_deal", deal_id=3, fields={"champion_id": 5})
    house.world.advance_to(1_000_000)
    assert merged.value.id == 1
    assert chosen.value.code == "invalid_arguments"


def test_a_merge_under_optimistic_writes_notices_what_changed_meanwhile() -> None:
    house = House({"db.latency": "10ms", "contacts.write.lock": "optimistic"})
    merged = house.start(REP, "merge_contacts", source_id=1, target_id=2)
    changed = house.start(REP, "update_contact", contact_id=1, fields={"role": "buyer"})
    house.world.advance_to(1_000_000)
    assert changed.value.role == "buyer"
    assert merged.value.code == "conflict"
    assert house.row("contacts", 1) is not None
    assert house.row("deals", 1).champion_id == 1


# --- meetings -------------------------------------------------------------------------------------


def test_a_meeting_is_fixed() -> None:
    row = House().call(REP, "schedule_meeting", deal_id=1, contact_id=1, starts_at=SOON, minutes=30)
    assert (row.id, row.starts_at, row.minutes) == (1, parse_instant(SOON), 30)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"starts_at": "2026-03-02T08:59:59Z"}, "invalid_arguments"),
        ({"starts_at": "2026-03-02T09:00:00Z"}, "invalid_arguments"),
        ({"contact_id": 4}, "forbidden"),
        ({"contact_id": 99}, "not_found"),
        ({"deal_id": 99}, "not_found"),
    ],
)
def test_a_meeting_that_cannot_be_is_refused(change: dict[str, object], code: str) -> None:
    asked = {"deal_id": 1, "contact_id": 1, "starts_at": SOON, "minutes": 30, **change}
    assert House().refused(REP, "schedule_meeting", **asked).code == code
