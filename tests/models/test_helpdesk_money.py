"""Charges, refunds, orders, the ledger, and the gateway's events."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.api import Actor, Refused
from simharness.models.helpdesk.tables import Charge, Entry, Order, Refund
from tests.models.desk_house import ANN, ANYBODY, BOB, LEAD, House, at

USD = {"currency": "USD"}


def event(event_id: str, ref: str, status: str, created: str, kind: str = "") -> dict[str, Any]:
    kind = kind or f"{'charge' if ref.startswith('CH') else 'refund'}.updated"
    stamp = f"2026-03-02T{created}Z"
    return {"event_id": event_id, "kind": kind, "created": stamp, "ref": ref, "status": status}


# --- charges -------------------------------------------------------------------------------------


def test_a_charge_is_taken_and_the_order_says_so() -> None:
    house = House()
    told = house.call(ANN, "charge", order_id=4, amount=2_500, **USD)
    assert (told["id"], told["status"], told["customer_id"]) == ("CH-4", "succeeded", 1)
    assert told["gateway"] == {"status": "succeeded", "code": "", "ref": "charge-1"}
    assert house.row("orders", 4).status == "paid"
    (entry,) = house.call(ANN, "get_ledger", order_id=4)["ledger"]
    assert (entry["kind"], entry["ref"], entry["amount"]) == ("charge", "CH-4", 2_500)
    house.wait("1s")
    assert house.balanced()
    assert house.findings() == []


def test_charges_are_found_by_order_and_customer() -> None:
    house = House()
    house.call(ANN, "charge", order_id=4, amount=2_500, **USD)
    assert house.call(ANN, "list_charges", order_id=4)["ids"] == ["CH-4"]
    assert house.call(ANN, "list_charges", customer_id=1)["ids"] == ["CH-1", "CH-4"]
    assert house.call(ANN, "get_charge", charge_id="CH-2")["currency"] == "JPY"
    assert house.refused(ANN, "get_charge", charge_id="CH-9").code == "not_found"


@pytest.mark.parametrize(
    ("order_id", "currency", "code"),
    [(9, "USD", "not_found"), (4, "EUR", "invalid_arguments"), (4, "usd", "invalid_arguments")],
)
def test_a_charge_is_for_an_order_in_its_currency(order_id: int, currency: str, code: str) -> None:
    house = House()
    told = house.refused(ANN, "charge", order_id=order_id, amount=100, currency=currency)
    assert told.code == code


def test_the_same_key_waits_for_the_first_and_another_charges_again() -> None:
    house = House()
    wanted: dict[str, Any] = {"order_id": 4, "amount": 2_500, **USD}
    first = house.start(ANN, "charge", as_="ann", gateway="35s", idempotency_key="k1", **wanted)
    house.wait("31s")
    again = house.start(ANN, "charge", as_="ann", gateway="2s", idempotency_key="k1", **wanted)
    told = house.ended(first, again)
    assert [answer["id"] for answer in told] == ["CH-4", "CH-4"]
    assert house.call(ANN, "charge", idempotency_key="k2", **wanted)["id"] == "CH-5"
    other = house.refused(ANN, "charge", idempotency_key="k1", **{**wanted, "amount": 1})
    assert other.code == "conflict"
    assert house.findings() == []


def test_a_declined_charge_is_answered_as_failed_and_tried_again() -> None:
    house = House({"gateway.mode": ["fail", "ok"]})
    wanted: dict[str, Any] = {"order_id": 4, "amount": 2_500, **USD}
    told = house.call(ANN, "charge", **wanted)
    assert (told["status"], told["gateway"]["code"]) == ("failed", "declined")
    assert house.row("orders", 4).status == "unpaid"
    again = house.call(ANN, "charge", **wanted)
    assert (again["status"], again["attempt_of"]) == ("succeeded", "CH-4")


# --- refunds -------------------------------------------------------------------------------------


def test_a_refund_takes_what_is_left_and_no_more() -> None:
    house = House()
    told = house.call(ANN, "refund", charge_id="CH-1", amount=6_000, **USD)
    assert (told["id"], told["charge_id"], told["status"]) == ("RF-1", "CH-1", "succeeded")
    assert told["gateway_ref"] == told["gateway"]["ref"] == "refund-2"
    assert house.row("orders", 1).status == "partially_refunded"
    over = house.refused(ANN, "refund", charge_id="CH-1", amount=4_001)
    assert (over.code, over.details["left"]) == ("over_refund", 4_000)
    rest = house.call(ANN, "refund", charge_id="CH-1")
    assert rest["amount"] == 4_000
    assert (told["tax"] + rest["tax"], told["net"] + rest["net"]) == (1_600, 8_400)
    assert house.row("orders", 1).status == "refunded"
    assert house.refused(ANN, "refund", charge_id="CH-1").code == "over_refund"
    assert house.call(ANN, "list_refunds", charge_id="CH-1")["ids"] == ["RF-1", "RF-2"]
    ledger = house.call(ANN, "get_ledger", order_id=1)["ledger"]
    assert [e["ref"] for e in ledger] == ["CH-1", "RF-1", "RF-2"]
    assert house.balanced()
    assert house.findings() == []


def test_what_cannot_be_refunded_is_refused() -> None:
    house = House(rows={"charges": [
        Charge(id=1, order_id=1, customer_id=1, amount=10_000, status="failed"),
        Charge(id=2, order_id=2, customer_id=2, amount=9_800, currency="JPY", status="succeeded"),
    ]})  # fmt: skip
    assert house.refused(ANN, "refund", charge_id="CH-1", amount=1).code == "conflict"
    assert house.refused(ANN, "refund", charge_id="CH-9", amount=1).code == "not_found"
    wrong = house.refused(ANN, "refund", charge_id="CH-2", amount=1, **USD)
    assert wrong.code == "invalid_arguments"


@pytest.mark.parametrize("mode", ["atomic", "check_then_insert"])
def test_two_refunds_of_60_on_a_charge_of_100(mode: str) -> None:
    house = House({"refund.check": mode})
    told = house.ended(
        house.start(ANN, "refund", charge_id="CH-1", amount=6_000, db="50ms", as_="agent"),
        house.start(BOB, "refund", charge_id="CH-1", amount=6_000, db="50ms", after="10ms"),
    )
    house.wait("1s")
    codes = [answer.code for answer in told if isinstance(answer, Refused)]
    over = house.findings("H224")
    if mode == "atomic":
        assert (codes, over) == (["over_refund"], [])
    else:
        assert codes == []
        assert [(f.evidence["refunded"], f.evidence["charged"]) for f in over] == [(12_000, 10_000)]
    assert house.findings("H226", "H225") == []
    assert house.balanced()


def test_a_repeated_key_gives_the_first_refund_whatever_is_left() -> None:
    house = House()
    first = house.call(ANN, "refund", charge_id="CH-1", idempotency_key="k")
    again = house.call(ANN, "refund", charge_id="CH-1", idempotency_key="k")
    assert (first["id"], again["id"], again["amount"]) == ("RF-1", "RF-1", 10_000)
    assert house.findings() == []


def test_a_refund_that_fails_later_gives_the_order_back_its_status() -> None:
    house = House({"gateway.mode": "async_fail", "gateway.settle_after": "120s"})
    told = house.call(ANN, "refund", charge_id="CH-1", amount=8_000, **USD)
    assert (told["status"], told["gateway"]["status"]) == ("pending", "pending")
    assert house.row("orders", 1).status == "refund_pending"
    house.wait("121s")
    assert house.call(ANN, "get_refund", refund_id="RF-1")["status"] == "failed"
    assert house.row("orders", 1).status == "paid"
    assert house.balanced()
    assert house.call(ANN, "refund", charge_id="CH-1")["amount"] == 10_000


def test_an_answer_that_never_comes_is_an_unknown_outcome() -> None:
    config = {"gateway.latency": "10min", "gateway.timeout": "5s", "gateway.retry": "none"}
    house = House(config)
    told = house.call(ANN, "refund", charge_id="CH-1", amount=8_000)
    assert told.code == "unknown_outcome"
    assert house.row("refunds", 1).status == "pending"
    house.wait("10min")
    assert house.row("refunds", 1).status == "succeeded"
    assert house.balanced()


@pytest.mark.parametrize(("key", "amount"), [(2, 5_800), (1, 5_800), (3, 5_800)])
def test_amounts_are_sent_in_the_minor_units_of_their_currency(key: int, amount: int) -> None:
    for rule in ("iso", "always_100"):
        house = House({"gateway.minor_units": rule})
        house.call(ANN, "refund", charge_id=f"CH-{key}", amount=amount)
        moved = house.desk.gateway.ledger.sum("refund", f"charges:{key}")
        wrong = {2: 58, 1: 5_800, 3: 58_000}[key]
        assert moved == (amount if rule == "iso" else wrong)
        assert len(house.findings("H227")) == (moved != amount)


@pytest.mark.parametrize("rounding", ["cumulative", "per_step"])
def test_taxes_of_refunds_add_up_unless_each_is_rounded_alone(rounding: str) -> None:
    order = Order(id=1, customer_id=1, title="Desk", total=300, net=250, tax=50, status="paid")
    charge = Charge(id=1, order_id=1, customer_id=1, amount=300, status="succeeded")
    house = House({"refund.rounding": rounding}, rows={"orders": [order], "charges": [charge]})
    taxes = [house.call(ANN, "refund", charge_id="CH-1", amount=100)["tax"] for _ in range(3)]
    assert sum(taxes) == (50 if rounding == "cumulative" else 51)
    assert [f.keys for f in house.findings("H220")] == (
        [] if rounding == "cumulative" else [("charges:1",)]
    )


def test_credit_is_given_in_the_customers_currency() -> None:
    house = House()
    told = house.call(ANN, "add_credit", customer_id=2, amount=500, currency="JPY", reason="sorry")
    assert (told["customer_id"], told["amount"]) == (2, 500)
    wrong = house.refused(ANN, "add_credit", customer_id=2, amount=5, currency="USD", reason="x")
    assert wrong.code == "invalid_arguments"


# --- orders --------------------------------------------------------------------------------------


def test_only_leads_and_admins_set_an_order() -> None:
    house = House()
    told = house.refused(ANN, "set_order_status", order_id=1, status="refunded")
    assert told.code == "forbidden"


@pytest.mark.parametrize("status", ["refunded", "cancelled"])
def test_an_order_that_is_set_to_refunded_or_cancelled_is_paid_back(status: str) -> None:
    house = House()
    told = house.call(LEAD, "set_order_status", order_id=1, status=status)
    assert told["status"] == status
    assert house.desk.gateway.ledger.sum("refund", "charges:1") == 10_000
    assert house.row("refunds", 1).reason == f"order {status}"
    assert house.balanced()
    assert house.findings() == []


def test_an_order_follows_its_money_under_its_lock() -> None:
    house = House({"gateway.latency": "60s"})
    flip: dict[str, Any] = {"order_id": 1, "status": "refunded"}
    first = house.start(LEAD, "set_order_status", **flip)
    second = house.start(LEAD, "set_order_status", after="1s", **flip)
    third = house.start(ANN, "charge", after="2s", order_id=1, amount=1, currency="USD")
    house.ended(first, second, third)
    assert [r.amount for r in house.desk.refunds.table] == [10_000]
    assert house.row("orders", 1).status == "partially_refunded"
    assert house.balanced()
    assert house.findings() == []


def test_what_nobody_can_write_down_is_an_unknown_outcome() -> None:
    house = House({"gateway.latency": "1s", "gateway.sweep": "2min"})
    clerk = house.worker("clerk")
    paying = house.start(ANN, "refund", charge_id="CH-1")
    house.wait("500ms")
    house.perform(clerk, "db.begin", tx="t")
    house.perform(clerk, "db.lock", tx="t", table="orders", id=1)
    assert house.ended(paying).code == "unknown_outcome"
    house.perform(clerk, "db.rollback", tx="t")
    house.wait("5min")
    assert house.row("refunds", 1).status == "succeeded"
    assert house.row("orders", 1).status == "refunded"
    assert house.balanced()


def test_other_statuses_have_to_be_what_the_money_says() -> None:
    house = House()
    for status in ("unpaid", "partially_refunded", "refund_pending"):
        told = house.refused(LEAD, "set_order_status", order_id=1, status=status)
        assert told.code == "conflict"
    assert house.refused(LEAD, "set_order_status", order_id=4, status="refunded").code == "conflict"
    assert house.call(LEAD, "set_order_status", order_id=1, status="paid")["version"] == 2


def test_without_money_a_status_is_a_mere_word() -> None:
    house = House({"order.status_moves_money": False})
    told = house.call(LEAD, "set_order_status", order_id=1, status="refunded")
    assert told["status"] == "refunded"
    assert house.call(ANN, "get_ledger", order_id=1)["ids"] == [1]
    assert list(house.desk.refunds.table) == []


def test_orders_customers_and_rules_are_read() -> None:
    house = House()
    assert house.call(ANN, "get_order", order_id=3)["tax"] == 5_000
    assert house.call(ANN, "get_customer", customer_id=2)["currency"] == "JPY"
    assert house.call(ANN, "search_policy", text="14 DAYS")["ids"] == [1]
    assert house.refused(ANN, "search_policy", text=" ").code == "invalid_arguments"
    for tool, name in (("get_order", "order_id"), ("get_customer", "customer_id")):
        assert house.refused(ANN, tool, **{name: 9}).code == "not_found"
    assert house.refused(ANN, "get_ledger", order_id=9).code == "not_found"


# --- events --------------------------------------------------------------------------------------


def pending() -> dict[str, Any]:
    """Rows in which the gateway has the money, and the books don't know yet."""
    charge = Charge(id=1, order_id=1, customer_id=1, amount=8_000)
    entry = Entry(id=1, kind="charge", ref="CH-1", amount=8_000, at=at("2026-03-02T08:59:59Z"))
    return {"charges": [charge], "ledger": [entry]}


@pytest.mark.parametrize("apply", ["newest", "last_arrived"])
def test_an_older_event_is_ignored_unless_the_last_to_arrive_is_believed(apply: str) -> None:
    house = House({"webhook.apply": apply}, rows=pending())
    newer = event("ev-2", "CH-1", "succeeded", "08:59:59")
    older = event("ev-1", "CH-1", "pending", "08:59:58")
    house.wait("2s")
    house.call(ANYBODY, "gateway.deliver", event=newer)
    house.wait("1s")
    house.call(ANYBODY, "gateway.deliver", event=older)
    told = house.call(ANN, "get_charge", charge_id="CH-1")
    told_of = {f.code: f.evidence for f in house.findings("H228", "H226")}
    if apply == "newest":
        assert (told["status"], told["version"]) == ("succeeded", 2)
        assert [e.status for e in house.desk.webhooks.table] == ["applied", "ignored"]
        assert told_of == {}
    else:
        assert (told["status"], told["version"]) == ("pending", 3)
        assert (told_of["H228"]["older"], told_of["H228"]["newer"]) == ("ev-1", "ev-2")
        assert (told_of["H226"]["books"], told_of["H226"]["ledger"]) == (0, 8_000)


def test_at_equal_times_the_later_arrival_wins() -> None:
    house = House(rows=pending())
    house.call(ANYBODY, "gateway.deliver", event=event("ev-2", "CH-1", "succeeded", "08:59:59"))
    house.call(ANYBODY, "gateway.deliver", event=event("ev-1", "CH-1", "pending", "08:59:59"))
    assert house.row("charges", 1).status == "pending"
    assert [f.code for f in house.findings("H228", "H226")] == ["H226"]


def test_events_of_nothing_and_with_no_such_status_are_not_taken() -> None:
    house = House()
    for ref in ("CH-9", "TK-1", "nothing", "charges:²"):
        told = house.refused(
            ANYBODY, "gateway.deliver", event=event("e", ref, "failed", "09:00:00")
        )
        assert told.code == "not_found"
    wrong = event("e", "CH-1", "refunded", "09:00:00")
    assert house.refused(ANYBODY, "gateway.deliver", event=wrong).code == "invalid_arguments"


def test_a_refund_of_the_start_is_settled_by_hand() -> None:
    refund = Refund(id=1, charge_id=1, amount=4_000, net=3_360, tax=640)
    house = House(rows={"refunds": [refund]})
    assert house.refused(ANN, "refund", charge_id="CH-1", amount=6_001).code == "over_refund"
    house.call(ANYBODY, "gateway.settle", ref="RF-1", status="succeeded")
    house.wait("1s")
    assert house.row("refunds", 1).status == "succeeded"
    assert house.row("orders", 1).status == "partially_refunded"
    assert house.balanced()
    assert house.refused(ANYBODY, "gateway.settle", ref="RF-1", status="failed").code == "conflict"


def test_a_disputed_charge_is_money_that_is_gone() -> None:
    house = House()
    house.call(ANYBODY, "gateway.settle", ref="CH-1", status="disputed")
    house.wait("1s")
    assert house.row("charges", 1).status == "disputed"
    assert house.balanced()
    assert [e["kind"] for e in house.call(ANN, "get_ledger", order_id=1)["ledger"]] == [
        "charge",
        "chargeback",
    ]
    assert house.refused(ANN, "refund", charge_id="CH-1", amount=1).code == "conflict"


def test_a_lease_that_has_ended_writes_no_charge() -> None:
    for fencing in (True, False):
        house = House({"charges.lease.ttl": "1800s", "charges.lease.fencing": fencing})
        workers: dict[str, Actor] = {}
        for name, after in (("worker-a", 0), ("worker-b", 1801)):
            house.world.advance_to(after * 1_000_000)
            workers[name] = house.worker(name)
            house.perform(workers[name], "lease.acquire", table="charges")
        told = [
            house.request(workers[n], "charge", order_id=4, amount=2_500, **USD)
            for n in ("worker-a", "worker-b")
        ]
        found = house.findings()
        if fencing:
            assert (told[0].code, told[1]["order_id"], found) == ("conflict", 4, [])
            assert len(house.call(ANN, "list_charges", order_id=4)["ids"]) == 1
        else:
            assert [answer["id"] for answer in told] == ["CH-4", "CH-5"]
            by_code = {f.code: f for f in found}
            assert set(by_code) == {"H315", "H225"}
            assert by_code["H315"].evidence["holder"] == "worker-a"
            assert by_code["H225"].evidence["charges"] == ["charges:4", "charges:5"]


@pytest.mark.parametrize(("dedupe", "credits"), [(True, 1), (False, 2)])
@pytest.mark.parametrize("after", ["0s", "60s"])
def test_a_top_up_that_is_delivered_again_adds_credit_once(
    dedupe: bool, credits: int, after: str
) -> None:
    house = House({"webhook.dedupe": dedupe, "db.latency": "11s"})
    told = event("ev-1", "CH-1", "succeeded", "09:00:00", "topup.succeeded")
    first = house.start(ANYBODY, "gateway.deliver", event=told)
    again = house.start(ANYBODY, "gateway.deliver", event=told, after=after)
    house.ended(first, again)
    rows = list(house.desk.credits.table)
    assert [(row.customer_id, row.amount, row.event_id) for row in rows] == [
        (1, 10_000, "ev-1")
    ] * credits
    assert [f.code for f in house.findings()] == ["H314"] * (credits - 1)


@pytest.mark.parametrize(("ref", "status"), [("CH-1", "failed"), ("RF-1", "succeeded")])
def test_a_top_up_is_about_a_charge_that_has_succeeded(ref: str, status: str) -> None:
    house = House()
    house.call(ANN, "refund", charge_id="CH-1", amount=1)
    told = event("ev-1", ref, status, "09:00:00", "topup.succeeded")
    house.call(ANYBODY, "gateway.deliver", event=told)
    assert list(house.desk.credits.table) == []
