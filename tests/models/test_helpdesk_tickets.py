"""Tickets: who may, how they are found, claimed, answered, merged and closed."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.api import Refused
from tests.models.desk_house import ADMIN, ANN, ANYBODY, BOB, KAI, LEAD, ROBIN, House, at


def ids(page: dict[str, Any]) -> list[str]:
    return [row["id"] for row in page["tickets"]]


# --- who may, and how rows are named -------------------------------------------------------------


def test_only_active_agents_and_nobody_in_particular_are_let_in() -> None:
    house = House()
    assert house.call(ANN, "get_ticket", ticket_id="TK-1")["id"] == "TK-1"
    assert house.call(ANYBODY, "get_ticket", ticket_id="TK-1")["status"] == "open"
    for identity in (5, 99, ROBIN):
        assert house.refused(identity, "get_ticket", ticket_id="TK-1").code == "unauthorized"


def test_ids_are_shown_and_taken_with_their_prefix() -> None:
    house = House()
    page = house.call(ANN, "list_tickets")
    assert page["ids"] == ids(page) == ["TK-1", "TK-2", "TK-3", "TK-4"]
    merged = house.call(ANN, "merge_tickets", source_id="TK-2", target_id="TK-1")
    assert merged["id"] == "TK-1"
    assert house.call(ANN, "get_ticket", ticket_id="TK-2")["merged_into"] == "TK-1"
    assert house.refused(ANN, "get_ticket", ticket_id="TK-77").code == "not_found"
    assert "TK-77" in house.refused(ANN, "get_ticket", ticket_id="TK-77").message


def test_only_leads_and_admins_shut_agents_out() -> None:
    house = House()
    assert house.refused(ANN, "deactivate_agent", agent_id=BOB).code == "forbidden"
    assert house.refused(LEAD, "deactivate_agent", agent_id=LEAD).code == "forbidden"
    assert house.refused(LEAD, "deactivate_agent", agent_id=5).code == "conflict"
    assert house.call(LEAD, "deactivate_agent", agent_id=BOB)["active"] is False
    assert house.refused(BOB, "get_ticket", ticket_id="TK-1").code == "unauthorized"
    assert house.call(ADMIN, "get_agent", agent_id=BOB)["version"] == 2


def test_an_agent_shut_out_works_on_while_the_cached_permission_lives() -> None:
    config = {"agents.auth.cache.ttl": "300s", "agents.auth.cache.invalidate": "never"}
    house = House(config)
    told: list[Any] = []
    for seconds, ticket in ((5, "TK-1"), (11, "TK-1"), (304, "TK-2"), (305, "TK-4")):
        if seconds == 11:
            house.call(ADMIN, "deactivate_agent", agent_id=BOB)
        house.wait(f"{seconds}s") if not told else house.world.advance_to(seconds * 1_000_000)
        told.append(house.call(BOB, "reply", ticket_id=ticket, body="hello", as_="bob"))
    assert [isinstance(answer, Refused) for answer in told] == [False, False, False, True]
    assert told[-1].code == "unauthorized"


# --- finding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("printer", [1]),
        ("PLEASE", [2, 3]),
        ("please copy", [2]),
        ("status:new", [2]),
        ("status<pending", [1, 2, 4]),
        ("status<solved please", [2]),
        ("priority:high", [4]),
        ("priority<high", [1, 2, 3]),
        ("customer:2", [4]),
        ("assignee:none", [1, 2, 3, 4]),
        ("assignee:3", []),
        ("tag:vip", [2]),
        ("created<2026-03-02T09:00:00Z", [1, 2, 3, 4]),
        ("updated:2026-03-02T09:00:00Z", []),
    ],
)
def test_searches_take_words_and_terms(query: str, wanted: list[int]) -> None:
    page = House().call(ANN, "search_tickets", query=query)
    assert page["ids"] == [f"TK-{i}" for i in wanted]


@pytest.mark.parametrize(
    "query",
    ["", "  ", "state:open", "status:done", "customer:x", "customer:²", "tag<vip", "created<now"],
)
def test_searches_that_ask_for_nothing_are_refused(query: str) -> None:
    assert House().refused(ANN, "search_tickets", query=query).code == "invalid_arguments"


def test_a_list_by_a_lagging_index_shows_a_solved_ticket_among_the_open() -> None:
    house = House(
        {
            "tickets.list.route": "index",
            "tickets.list.index.lag": "120s",
            "tickets.list.index.hydrate": "primary",
        }
    )
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved")
    page = house.call(ANN, "list_tickets", status="open", as_="agent")
    assert [(t["id"], t["status"]) for t in page["tickets"]] == [
        ("TK-1", "solved"),
        ("TK-4", "open"),
    ]
    house.wait("121s")
    assert house.call(ANN, "list_tickets", status="open")["ids"] == ["TK-4"]


def test_an_export_with_a_strict_boundary_misses_what_came_within_the_second() -> None:
    house = House({"tickets.export.boundary": "strict", "tickets.export.resolution": "1s"})
    house.wait("200ms")
    house.call(ANN, "claim_ticket", ticket_id="TK-1")
    (first,) = house.call(ANN, "export_tickets", since="2026-03-02T08:59:59Z")["tickets"]
    house.wait("500ms")
    house.call(ANN, "claim_ticket", ticket_id="TK-2")
    since = first["updated_at"]
    assert house.call(ANN, "export_tickets", since=since)["ids"] == []
    page = house.call(ANN, "export_tickets", since=since, inclusive=True)
    assert page["ids"] == ["TK-1", "TK-2"]


def test_a_feed_tells_what_changed_since_the_last_call() -> None:
    house = House()
    waiting = house.start(ANN, "ticket_changes", as_="reader", wait=20)
    house.call(BOB, "set_status", ticket_id="TK-2", status="pending", after="3s")
    assert house.ended(waiting)["ids"] == ["TK-2"]
    assert house.call(ANN, "ticket_changes", as_="reader")["ids"] == []


# --- claims --------------------------------------------------------------------------------------


def test_a_ticket_is_claimed_once() -> None:
    house = House()
    told = house.ended(
        house.start(ANN, "claim_ticket", ticket_id="TK-2", db="50ms"),
        house.start(BOB, "claim_ticket", ticket_id="TK-2", db="50ms", after="10ms"),
    )
    assert (told[0]["assignee_id"], told[0]["status"]) == (ANN, "open")
    assert (told[1].code, told[1].details["version"]) == ("conflict", 2)
    assert house.call(ANN, "claim_ticket", ticket_id="TK-2")["version"] == 3
    assert house.refused(ANN, "claim_ticket", ticket_id="TK-3").code == "conflict"
    assert house.refused(ANN, "claim_ticket", ticket_id="TK-9").code == "not_found"
    assert house.desk.invariants() == []


def test_with_last_writer_two_are_told_that_it_is_theirs() -> None:
    house = House({"ticket.claim": "last_writer"})
    told = house.ended(
        house.start(ANN, "claim_ticket", ticket_id="TK-2", db="50ms"),
        house.start(BOB, "claim_ticket", ticket_id="TK-2", db="50ms", after="10ms"),
    )
    assert [answer["assignee_id"] for answer in told] == [ANN, BOB]
    (broken,) = house.findings("H220")
    assert broken.keys == ("tickets:2",)


# --- status and thread ---------------------------------------------------------------------------


def test_a_status_is_given_to_whatever_is_not_closed() -> None:
    house = House()
    for status in ("pending", "on_hold", "solved", "open", "closed"):
        assert house.call(ANN, "set_status", ticket_id="TK-1", status=status)["status"] == status
    assert house.refused(ANN, "set_status", ticket_id="TK-1", status="open").code == "conflict"
    late = house.refused(ANN, "set_status", ticket_id="TK-2", status="open", if_version=7)
    assert (late.code, late.details) == ("conflict", {"version": 1})


def test_priority_tags_and_agent_are_changed_and_nothing_else() -> None:
    house = House()
    fields = {"priority": "urgent", "tags": ["vip", "phone"], "assignee_id": BOB}
    told = house.call(ANN, "update_ticket", ticket_id="TK-2", fields=fields, if_version=1)
    assert {name: told[name] for name in fields} == {**fields, "tags": ("vip", "phone")}
    assert (told["status"], told["version"]) == ("new", 2)
    told = house.call(ANN, "update_ticket", ticket_id="TK-2", fields={"assignee_id": None})
    assert (told["assignee_id"], told["priority"]) == (None, "urgent")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"ticket_id": "TK-2", "fields": {"priority": "low"}, "if_version": 7}, "conflict"),
        ({"ticket_id": "TK-3", "fields": {"priority": "low"}}, "conflict"),
        ({"ticket_id": "TK-2", "fields": {"assignee_id": 5}}, "invalid_arguments"),
        ({"ticket_id": "TK-2", "fields": {"assignee_id": 99}}, "invalid_arguments"),
        ({"ticket_id": "TK-2", "fields": {"tags": ["x", " "]}}, "invalid_arguments"),
        ({"ticket_id": "TK-99", "fields": {"priority": "low"}}, "not_found"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(arguments: dict[str, Any], code: str) -> None:
    assert House().refused(ANN, "update_ticket", **arguments).code == code


def test_a_ticket_that_was_given_away_may_be_claimed_by_its_new_agent() -> None:
    house = House()
    house.call(ANN, "claim_ticket", ticket_id="TK-2")
    house.call(LEAD, "update_ticket", ticket_id="TK-2", fields={"assignee_id": BOB})
    assert house.refused(ANN, "claim_ticket", ticket_id="TK-2").code == "conflict"
    house.call(BOB, "claim_ticket", ticket_id="TK-2")
    assert house.desk.invariants() == []


@pytest.mark.parametrize("mode", ["guarded", "blind"])
def test_a_merge_of_another_version_of_its_source_is_refused(mode: str) -> None:
    house = House({"ticket.merge": mode})
    tickets = {"source_id": "TK-2", "target_id": "TK-1"}
    told = house.refused(ANN, "merge_tickets", **tickets, if_version=2)
    assert (told.code, told.details["version"]) == ("conflict", 1)
    house.call(BOB, "update_ticket", ticket_id="TK-1", fields={"priority": "low"})
    assert house.call(ANN, "merge_tickets", **tickets, if_version=1)["id"] == "TK-1"


def test_a_reply_leaves_the_ticket_as_it_is() -> None:
    house = House()
    made = house.call(ANN, "reply", ticket_id="TK-1", body="On its way.")
    assert (made["ticket_id"], made["author"], made["public"]) == ("TK-1", f"agents:{ANN}", True)
    house.call(ANYBODY, "reply", ticket_id="TK-1", body="Hm.", public=False)
    thread = house.call(BOB, "list_messages", ticket_id="TK-1")["messages"]
    assert [m["author"] for m in thread] == ["customers:1", "agents:3", "desk"]
    assert house.row("tickets", 1).version == 1
    assert house.refused(ANN, "reply", ticket_id="TK-1", body=" ").code == "invalid_arguments"
    assert house.refused(ANN, "reply", ticket_id="TK-3", body="x").code == "conflict"


def test_other_teams_are_asked_with_a_reason() -> None:
    house = House()
    told = house.call(ANN, "escalate", ticket_id="TK-1", team="billing", reason="over the limit")
    assert (told["ticket_id"], told["team"], told["author_id"]) == ("TK-1", "billing", ANN)
    blank = house.refused(ANN, "escalate", ticket_id="TK-1", team="", reason="x")
    assert blank.code == "invalid_arguments"
    assert house.refused(ANN, "escalate", ticket_id="TK-3", team="a", reason="x").code == "conflict"


# --- merging -------------------------------------------------------------------------------------


def test_a_merge_closes_the_source_and_moves_its_messages() -> None:
    house = House()
    house.call(ANN, "merge_tickets", source_id="TK-2", target_id="TK-1")
    source = house.row("tickets", 2)
    assert (source.status, source.merged_into) == ("closed", 1)
    moved = house.call(ANN, "list_messages", ticket_id="TK-1")["messages"]
    assert [m["id"] for m in moved] == [1, 2]
    assert house.refused(ANN, "reply", ticket_id="TK-2", body="x").message.endswith("into TK-1")
    for source_id, target_id, code in (
        ("TK-2", "TK-1", "conflict"),
        ("TK-1", "TK-2", "conflict"),
        ("TK-1", "TK-3", "conflict"),
        ("TK-1", "TK-4", "conflict"),
        ("TK-1", "TK-1", "invalid_arguments"),
        ("TK-1", "TK-9", "not_found"),
    ):
        told = house.refused(ANN, "merge_tickets", source_id=source_id, target_id=target_id)
        assert told.code == code
    assert house.desk.invariants() == []


CROSSED = (("TK-1", "TK-2"), ("TK-2", "TK-1"))


@pytest.mark.parametrize("mode", ["guarded", "blind"])
def test_tickets_that_are_merged_into_each_other_end_in_a_live_one_if_guarded(mode: str) -> None:
    house = House({"ticket.merge": mode})
    house.ended(
        *(
            house.start(ANN + i, "merge_tickets", source_id=s, target_id=t, db="50ms")
            for i, (s, t) in enumerate(CROSSED)
        )
    )
    broken = house.findings("H220")
    assert bool(broken) is (mode == "blind")


def test_a_blind_merge_leaves_a_message_behind_that_came_meanwhile() -> None:
    house = House({"ticket.merge": "blind"})
    house.ended(
        house.start(ANN, "merge_tickets", source_id="TK-2", target_id="TK-1", db="2s"),
        house.start(BOB, "reply", ticket_id="TK-2", body="One moment.", after="3s"),
    )
    (broken,) = house.findings("H220")
    assert broken.keys == ("messages:3", "tickets:2")


# --- what customers do ---------------------------------------------------------------------------


def test_a_customer_who_writes_opens_what_was_solved() -> None:
    house = House()
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved")
    told = house.call(ROBIN, "customer.write", ticket_id="TK-1", body="Still not.")
    assert told["author"] == "customers:1"
    assert house.row("tickets", 1).status == "open"
    house.call(ANN, "merge_tickets", source_id="TK-2", target_id="TK-1")
    moved = house.call(ROBIN, "customer.write", ticket_id="TK-2", body="And here?")
    assert moved["ticket_id"] == "TK-1"
    again = house.call(ROBIN, "customer.write", ticket_id="TK-3", body="Hello?")
    assert again["ticket_id"] == "TK-5"
    assert house.row("tickets", 5).subject == "Refund"


def mailed(config: dict[str, object], pause: str) -> House:
    house = House(config)
    for i in range(3):
        house.start(
            KAI,
            "customer.email",
            subject="Re: Photos" if i else "photos",
            body=f"{i}",
            after=f"{int(pause) * i}ms",
            db="200ms",
        )
    house.wait("60s")
    return house


def test_mails_of_one_thread_are_one_ticket() -> None:
    house = mailed({}, "50")
    assert [t.id for t in house.desk.tickets.table if t.customer_id == 2] == [4, 5]
    assert [m.ticket_id for m in house.desk.messages.table][-3:] == [5, 5, 5]
    assert house.findings("H220") == []


def test_mails_that_race_open_a_ticket_each() -> None:
    house = mailed({"inbound.group": "race"}, "50")
    assert [t.id for t in house.desk.tickets.table if t.customer_id == 2] == [4, 5, 6, 7]
    assert [f.keys for f in house.findings("H220")] == [
        ("tickets:6", "tickets:5"),
        ("tickets:7", "tickets:5"),
    ]
    assert mailed({"inbound.group": "race"}, "10000").findings("H220") == []


def test_a_mail_needs_somebody_who_writes_it() -> None:
    house = House()
    told = house.refused(ANYBODY, "customer.email", subject="x", body="y")
    assert told.code == "invalid_arguments"
    mail = house.call(ANYBODY, "customer.email", subject="x", body="y", customer_id=3)
    assert mail["author"] == "customers:3"
    named = house.call(ANYBODY, "customer.email", as_="kai@example.test", subject="x", body="y")
    assert named["author"] == "customers:2"


def test_what_is_solved_for_long_enough_is_closed() -> None:
    house = House({"ticket.auto_close": "1h"})
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved")
    house.wait("30min")
    house.call(ROBIN, "customer.write", ticket_id="TK-1", body="No.")
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved")
    house.wait("59min")
    assert house.row("tickets", 1).status == "solved"
    house.wait("1min")
    assert house.row("tickets", 1).status == "closed"
    assert house.desk.tickets.table.changes[-1].owner == "auto-closer"


def test_instants_are_told_as_text() -> None:
    house = House()
    house.wait("1s")
    told = house.call(ANN, "claim_ticket", ticket_id="TK-1")
    assert at(told["updated_at"]) == at("2026-03-02T09:00:01Z")
