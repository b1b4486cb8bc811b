"""Who is at the helpdesk beside the agent, and what they do."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from simharness.models.helpdesk.base import CUSTOMERS, base_rows
from simharness.models.helpdesk.people import customers, days, rivals
from simharness.models.helpdesk.people.machines import start_machines
from simharness.models.helpdesk.people.team import start_team
from simharness.models.helpdesk.tables import Customer, Ticket
from tests.models.desk_house import ADMIN, ANN, BOB, ROBIN, House

AGENT = 3
OWN = CUSTOMERS + 1
"""A customer whom an instance adds."""


def crowded(config: dict[str, object] | None = None, load: int = 1_000) -> House:
    """Let everybody work in the base, with one customer who isn't of it."""
    rows: dict[str, Any] = base_rows()
    rows["customers"] = [*rows["customers"], Customer(id=OWN, full_name="Own Customer")]
    rows["tickets"] = [*rows["tickets"], Ticket(id=99, customer_id=OWN, subject="Own")]
    settings = {"users.think": "5s", "users.writing": "30s", "users.sla": "20s"}
    house = House({**settings, "users.bank": True, **(config or {})}, rows=rows, load=load)
    start_team(house.desk, away=AGENT)
    customers.start_customers(house.desk)
    start_machines(house.desk)
    return house


def test_everybody_does_their_part_and_breaks_nothing() -> None:
    house = crowded()
    house.wait("20min")
    desk = house.desk
    tickets = [change.new for change in desk.tickets.table.changes]
    assert {row.status for row in tickets} >= {"open", "pending", "solved", "closed", "on_hold"}
    assert any(row.merged_into for row in tickets)
    assert any("sla" in row.tags for row in tickets)
    authors = {change.new.author.partition(":")[0] for change in desk.messages.table.changes}
    assert authors == {"agents", "customers"}
    paid = desk.refunds.table.changes
    assert {change.new.reason for change in paid if change.old is None} == {"goodwill"}
    old = [row for row in desk.refunds.table if row.id <= base_refunds()]
    assert any(change.key <= base_refunds() for change in paid)
    assert not any(row.status == "pending" for row in old)
    assert (desk.invariants(), house.findings()) == ([], [])
    assert house.balanced()


def base_refunds() -> int:
    return max(row.id for row in base_rows()["refunds"])


def test_they_leave_alone_whom_an_instance_adds() -> None:
    house = crowded()
    house.wait("20min")
    desk = house.desk
    written = [c for c in desk.tickets.table.changes if c.new.customer_id == OWN]
    # The timer raises whatever waits.
    assert {change.owner for change in written} <= {"sla-timer"}
    assert not any(c.new.author == f"agents:{AGENT}" for c in desk.messages.table.changes)


@pytest.mark.parametrize(
    ("team", "load", "users"), [(20, 1_000, 20), (20, 8_000, 160), (0, 8_000, 0), (20, 0, 0)]
)
def test_the_team_grows_with_its_knob_and_the_load(team: int, load: int, users: int) -> None:
    house = House({"users.team": team}, load=load)
    start_team(house.desk)
    assert len(house.world.alive) == users


def test_nobody_works_unless_it_is_set() -> None:
    for config, load in (({}, 1_000), ({"users.sla": "1s", "users.bank": True}, 0)):
        house = House(config, load=load)
        start_machines(house.desk)
        customers.start_customers(house.desk)
        assert not house.world.alive


def test_a_crowd_gives_back_what_it_claims_and_leaves_tags_on_what_is_taken() -> None:
    house = House(load=8_000)
    rivals.start_crowd(house.desk, [2], away=(ANN,))
    house.wait("10min")
    changes = house.desk.tickets.table.history[2]
    assert {c.new.assignee_id for c in changes} >= {None, ADMIN, BOB}
    assert ANN not in {c.new.assignee_id for c in changes}
    house.wait("10s")
    while house.row("tickets", 2).assignee_id is not None:
        house.wait("1s")
    assert house.call(ANN, "claim_ticket", ticket_id="TK-2")["assignee_id"] == ANN
    house.wait("10min")
    row = house.row("tickets", 2)
    assert row.assignee_id == ANN
    assert set(row.tags) & set(rivals.TAGS)
    assert (house.desk.invariants(), house.findings()) == ([], [])


def test_a_colleague_merges_and_pays_back_at_the_time_that_is_named() -> None:
    house = House()
    rivals.merge_later(house.desk, "merger", BOB, 2_000, 2, 1)
    rivals.pay_back_later(house.desk, "helper", BOB, 3_000, 1)
    house.wait("1s")
    assert (house.row("tickets", 2).merged_into, house.row("refunds", 1)) == (None, None)
    house.wait("3s")
    assert house.row("tickets", 2).merged_into == 1
    assert house.row("refunds", 1).amount == 10_000


def test_a_customer_whom_nobody_answers_writes_again_and_then_loses_patience() -> None:
    for answered, written in ((False, 2), (True, 0)):
        house = House()
        gone: list[str] = []
        customers.lose_patience(house.desk, 1, 60, partial(gone.append, "gone"))
        house.wait("30s")
        if answered:
            house.call(ANN, "reply", ticket_id="TK-1", body="We are looking into it.")
        house.wait("10min")
        own = [m for m in house.desk.messages.table if m.author == "customers:1"]
        assert len(own) == 2 + written
        assert bool(gone) is not answered


def test_a_customer_writes_and_mails_at_the_time_that_is_named() -> None:
    house = House()
    house.call(ANN, "set_status", ticket_id="TK-1", status="pending")
    customers.write_later(house.desk, "customer", 1_000, 1, "Well?")
    customers.mail_later(house.desk, "mailer", 1_000, -ROBIN, "Other matters", "Hello.")
    house.wait("2s")
    assert house.row("tickets", 1).status == "open"
    assert house.row("tickets", 5).subject == "Other matters"


@pytest.mark.parametrize(
    ("day", "ends"),
    [
        ("good", ["succeeded", "succeeded"]),
        ("declines", ["failed", "succeeded"]),
        ("takes back", ["failed", "succeeded"]),
        ("late", ["succeeded", "succeeded"]),
    ],
)
def test_a_bank_has_its_way_with_the_refunds_of_its_charges(day: str, ends: list[str]) -> None:
    house = House({"gateway.settle_after": "5s"})
    days.Bank(house.desk, [1], day)
    told = [house.call(ANN, "refund", charge_id="CH-1", amount=100) for _ in ends]
    other = house.call(ANN, "refund", charge_id="CH-2", amount=100)
    house.wait("10s")
    assert house.row("refunds", 3).status == "succeeded"
    assert other["status"] == "pending"
    first = "failed" if day == "declines" else "pending"
    assert told[0]["status"] == first
    assert (house.row("refunds", 1).status == "pending") == (day in ("late", "takes back"))
    house.wait("10min")
    assert [house.row("refunds", key).status for key in (1, 2)] == ends
    assert house.balanced()


def test_a_slow_bank_answers_late() -> None:
    house = House()
    days.Bank(house.desk, [1], "slow")
    house.call(ANN, "refund", charge_id="CH-1", amount=100)
    assert 35 <= house.world.ticks // 1_000_000 <= 55


def test_a_ticket_is_given_back_by_whoever_has_it() -> None:
    house = House()
    assert house.refused(ANN, "release_ticket", ticket_id="TK-2").code == "conflict"
    house.call(ANN, "claim_ticket", ticket_id="TK-2")
    assert house.refused(BOB, "release_ticket", ticket_id="TK-2").code == "conflict"
    assert house.call(ANN, "release_ticket", ticket_id="TK-2")["assignee_id"] is None
    assert house.call(BOB, "claim_ticket", ticket_id="TK-2")["assignee_id"] == BOB
    assert house.desk.invariants() == []
    assert house.refused(BOB, "release_ticket", ticket_id="TK-3").code == "conflict"
