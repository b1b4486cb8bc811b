"""Accounts: made, found, changed and ended without leaving anything behind."""

from __future__ import annotations

import pytest

from tests.models.crm_house import ADMIN, GONE, OTHER, REP, House


def test_a_new_account_is_the_callers_and_has_the_next_id() -> None:
    house = House()
    row = house.call(REP, "create_account", title="Elm Ltd", domain="elm.test")
    assert (row.id, row.version, row.owner_id, row.active) == (5, 1, REP, True)
    assert house.call(0, "create_account", title="Fir Ltd", domain="fir.test").owner_id is None


def test_a_domain_is_taken_once() -> None:
    house = House()
    told = house.refused(REP, "create_account", title="Alder again", domain="alder.test")
    assert (told.code, told.details) == ("conflict", {"id": 1})
    told = house.refused(REP, "update_account", account_id=2, fields={"domain": "alder.test"})
    assert (told.code, told.details) == ("conflict", {"id": 1})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_account", {"title": " ", "domain": "x.test"}),
        ("create_account", {"title": "X", "domain": ""}),
        ("update_account", {"account_id": 1, "fields": {"domain": " "}}),
        ("update_account", {"account_id": 1, "fields": {"owner_id": GONE}}),
        ("update_account", {"account_id": 1, "fields": {"owner_id": 99}}),
    ],
)
def test_what_makes_no_account_is_refused(tool: str, arguments: dict[str, object]) -> None:
    assert House().refused(REP, tool, **arguments).code == "invalid_arguments"


def test_an_account_is_changed_by_version() -> None:
    house = House()
    row = house.call(
        REP, "update_account", account_id=1, fields={"industry": "energy"}, if_version=1
    )
    assert (row.industry, row.title, row.version) == ("energy", "Alder Ltd", 2)
    told = house.refused(
        REP, "update_account", account_id=1, fields={"industry": "media"}, if_version=1
    )
    assert (told.code, told.details) == ("conflict", {"version": 2})


@pytest.mark.parametrize(
    ("text", "ids"), [("ALDER", [1]), ("test", [1, 2, 3, 4]), ("retail", [1]), ("nobody", [])]
)
def test_accounts_are_found_by_title_domain_or_industry(text: str, ids: list[int]) -> None:
    page = House().call(REP, "search_accounts", text=text)
    assert [row.id for row in page.rows] == ids


def test_a_search_has_pages() -> None:
    house = House()
    for n in range(25):
        house.call(REP, "create_account", title=f"Row {n}", domain=f"row{n}.test")
    first = house.call(REP, "search_accounts", text="row")
    second = house.call(REP, "search_accounts", text="row", page=first.next_page)
    assert (len(first.rows), len(second.rows), second.next_page) == (20, 5, None)


def test_an_account_that_nothing_belongs_to_can_be_ended() -> None:
    house = House()
    assert house.call(ADMIN, "delete_account", account_id=3) == {
        "id": 3,
        "version": 2,
        "deleted": True,
    }
    assert house.refused(REP, "get_account", account_id=3).code == "not_found"
    assert house.refused(REP, "update_account", account_id=3, fields={"title": "X"}).code == (
        "not_found"
    )
    # The domain is free again, the id isn't.
    assert house.call(REP, "create_account", title="Cedar", domain="cedar.test").id == 5


@pytest.mark.parametrize(
    ("account_id", "details"), [(1, {"contact_id": 1}), (2, {"contact_id": 3})]
)
def test_an_account_with_contacts_or_deals_stays(account_id: int, details: dict[str, int]) -> None:
    told = House().refused(ADMIN, "delete_account", account_id=account_id)
    assert (told.code, told.details) == ("conflict", details)


def test_an_account_with_a_deal_alone_stays() -> None:
    house = House()
    deal = house.call(
        REP, "create_deal", account_id=3, title="Cedar pilot", amount=1, currency="USD"
    )
    told = house.refused(ADMIN, "delete_account", account_id=3)
    assert (told.code, told.details) == ("conflict", {"deal_id": deal.id})


def test_only_admins_end_accounts() -> None:
    assert House().refused(OTHER, "delete_account", account_id=3).code == "forbidden"
    # An actor that is nobody in particular acts with every right.
    assert House().call(0, "delete_account", account_id=3)["deleted"] is True


def test_what_is_begun_for_an_account_that_ends_meanwhile_is_refused() -> None:
    house = House({"db.latency": "10ms"})
    ended = house.start(ADMIN, "delete_account", account_id=3)
    house.world.advance_to(5_000)  # allowed before it is, at its commit after
    late = [
        house.start(REP, "create_deal", account_id=3, title="Late", amount=1, currency="USD"),
        house.start(REP, "create_contact", email="l@cedar.test", full_name="Late", account_id=3),
        house.start(REP, "update_contact", contact_id=5, fields={"account_id": 3}),
    ]
    house.world.advance_to(1_000_000)
    assert ended.value["deleted"] is True
    assert [process.value.code for process in late] == ["not_found"] * 3
