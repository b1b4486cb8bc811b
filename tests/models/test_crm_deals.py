"""Deals: opened, found, and never without a live owner or won against the rules."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.models.crm.people.managers import MANAGER, Managers
from simharness.models.crm.tables import ApprovalRequest
from tests.models.crm_house import ADMIN, GONE, OTHER, REP, ROWS, House

STORY = {"approval_after": 60, "approval_answer": "approved"}


def opened(house: House, by: int, **arguments: Any) -> Any:
    asked = {"account_id": 3, "title": "Cedar pilot", "amount": 5_00, "currency": "USD"}
    return house.call(by, "create_deal", **{**asked, **arguments})


def test_a_new_deal_is_the_callers() -> None:
    row = opened(House(), OTHER)
    assert (row.id, row.owner_id, row.stage, row.legal) == (4, OTHER, "prospecting", "none")
    assert opened(House(), OTHER, stage="proposal").stage == "proposal"


def test_whoever_is_nobody_opens_deals_for_the_accounts_owner() -> None:
    assert opened(House(), 0, account_id=1).owner_id == REP
    assert opened(House(), 0, account_id=3).code == "forbidden"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"account_id": 99}, "not_found"),
        ({"account_id": 4}, "forbidden"),
        ({"title": " "}, "invalid_arguments"),
        ({"currency": "usd"}, "invalid_arguments"),
        ({"currency": "dollars"}, "invalid_arguments"),
    ],
)
def test_a_deal_that_cannot_be_is_refused(change: dict[str, Any], code: str) -> None:
    asked = {"account_id": 3, "title": "Cedar pilot", "amount": 5_00, "currency": "USD"}
    assert House().refused(REP, "create_deal", **{**asked, **change}).code == code


@pytest.mark.parametrize(
    ("text", "ids"), [("ALDER", [1, 2]), ("call", [3]), ("birch", [3]), ("nothing", [])]
)
def test_deals_are_found_by_title_or_next_step(text: str, ids: list[int]) -> None:
    assert [row.id for row in House().call(REP, "search_deals", text=text).rows] == ids


@pytest.mark.parametrize("user_id", [GONE, 99])
def test_a_deal_goes_to_live_owners_only(user_id: int) -> None:
    told = House().refused(REP, "update_deal", deal_id=1, fields={"owner_id": user_id})
    assert told.code == "invalid_arguments"


def test_an_owner_who_is_shut_out_meanwhile_gets_no_deal() -> None:
    rows = {**ROWS, "deals": [row for row in ROWS["deals"] if row.id != 3]}
    house = House({"db.latency": "10ms"}, rows=rows)
    shut = house.start(ADMIN, "deactivate_user", user_id=OTHER)
    house.world.advance_to(5_000)  # allowed before it is, at its commit after
    given = house.start(REP, "update_deal", deal_id=1, fields={"owner_id": OTHER})
    mine = house.start(OTHER, "create_deal", account_id=3, title="X", amount=1, currency="USD")
    house.world.advance_to(1_000_000)
    assert shut.value.active is False
    assert given.value.code == "invalid_arguments"
    assert mine.value.code == "forbidden"
    assert house.crm.invariants() == []


def test_an_owner_who_gets_a_deal_meanwhile_is_not_shut_out() -> None:
    rows = {**ROWS, "deals": [row for row in ROWS["deals"] if row.id != 3]}
    house = House({"db.latency": "10ms"}, rows=rows)
    given = house.start(REP, "update_deal", deal_id=1, fields={"owner_id": OTHER})
    shut = house.start(ADMIN, "deactivate_user", user_id=OTHER)
    house.world.advance_to(1_000_000)
    assert given.value.owner_id == OTHER
    assert (shut.value.code, shut.value.details) == ("conflict", {"deal_id": 1})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"legal": "in_review"}, "legal"),
        ({"discount_pct": 16, "approval": "pending"}, "approval"),
        ({"champion_id": 4}, "champion"),
        ({"champion_id": None}, "champion"),
    ],
)
def test_a_deal_is_won_by_the_rules_only(fields: dict[str, Any], why: str) -> None:
    house = House()
    table = house.crm.deals.table
    table.start_with(table.row_type.evolve(table.rows[1], fields))
    told = house.refused(REP, "move_stage", deal_id=1, to_stage="closed_won")
    assert told.code == "forbidden"
    assert why in told.message


def test_a_won_deal_may_lose_its_champion_later() -> None:
    house = House()
    house.call(REP, "move_stage", deal_id=1, to_stage="closed_won")
    house.call(REP, "update_contact", contact_id=1, fields={"status": "left"})
    assert house.crm.invariants() == []


# --- approvals ------------------------------------------------------------------------------------


def decided(house: House) -> None:
    house.world.advance_to(house.world.ticks + 400_000_000)


def test_a_decision_is_for_the_discount_that_was_asked_about() -> None:
    house = House()
    Managers(house.crm, 1, STORY).start()
    house.call(REP, "request_approval", deal_id=1, discount_pct=20)
    house.call(REP, "update_deal", deal_id=1, fields={"discount_pct": 90})
    decided(house)
    assert house.row("approvals", 1).status == "approved"
    assert house.row("approvals", 1).decided_by == MANAGER
    assert house.row("deals", 1).approval == "none"
    assert house.refused(REP, "move_stage", deal_id=1, to_stage="closed_won").code == "forbidden"


def test_an_earlier_request_does_not_decide_a_later_one() -> None:
    house = House()
    Managers(house.crm, 1, STORY).start()
    house.call(REP, "request_approval", deal_id=1, discount_pct=20)
    house.call(REP, "update_deal", deal_id=1, fields={"discount_pct": 50})
    house.world.advance_to(30_000_000)
    house.call(REP, "request_approval", deal_id=1, discount_pct=50)
    house.world.advance_to(70_000_000)
    assert house.row("deals", 1).approval == "pending"
    decided(house)
    assert house.row("deals", 1).approval == "approved"
    assert house.call(REP, "move_stage", deal_id=1, to_stage="closed_won").stage == "closed_won"


def test_a_late_decision_leaves_a_closed_deal_alone() -> None:
    request = ApprovalRequest(id=1, deal_id=2, discount_pct=20)
    house = House(rows={**ROWS, "approvals": [request]})
    Managers(house.crm, 2, {**STORY, "approval_answer": "rejected"}).start()
    decided(house)
    assert house.row("approvals", 1).status == "rejected"
    assert house.row("deals", 2).version == 1


def test_a_manager_waits_for_a_locked_deal() -> None:
    house = House({"deals.write.lock_wait": "1s", "db.latency": "40s"})
    Managers(house.crm, 1, STORY).start()
    house.start(REP, "request_approval", deal_id=1, discount_pct=20)
    house.world.advance_to(85_000_000)
    house.start(REP, "update_deal", deal_id=1, fields={"next_step": "x"})
    house.world.advance_to(1_000_000_000)
    assert house.row("deals", 1).approval == "approved"
