"""Whatever several callers do at once, and whatever webhooks do, what must always hold holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simharness.api import Actor, Draws, Operation, Refused, Stream, money
from simharness.errors import ProcessFailed
from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.rules import tax_back
from simharness.models.helpdesk.tables import Charge, Order, Refund
from tests.effort import times
from tests.models.desk_house import ROWS, House

if TYPE_CHECKING:
    from collections.abc import Generator

CALLS = 70
IDENTITIES = (0, 0, 0, 0, 1, 2, 3, -1, -2)
TOOLS = sorted(name for name, spec in Helpdesk.tools.items() if not spec.local)
OWN = ("customer.write", "customer.email", "gateway.settle")
CLOSE = ("merge_tickets", "claim_ticket")
# What others build on is tried more often.
OFTEN = (*("charge", "refund", "refund", "set_order_status", "reply", *OWN) * 2, *CLOSE * 3)
# Few of each, so that callers meet.
IDS = {"customer_id": 3, "order_id": 4, "assignee_id": 5}
CURRENCY = {1: "USD", 2: "JPY", 3: "KWD", 4: "USD"}


class Caller:
    """Calls one thing after the other with arguments that fit their schemas."""

    def __init__(self, house: House, number: int, seed: int, noted: Counter[str]) -> None:
        self.house = house
        self.actor = Actor(house.world, f"caller/{number}", IDENTITIES[number])
        self.noted = noted
        self.draw = Stream(Draws(seed), self.actor.name, 0)
        self.k = 0

    def below(self, bound: int) -> int:
        self.k += 1
        return self.draw.below(bound, "dice", self.k)

    def live(self) -> Generator[Any, Any, None]:
        house, desk = self.house, self.house.desk
        names = (*TOOLS, *OFTEN)
        for n in range(1, CALLS + 1):
            yield house.world.pause(1 + self.below(1_500_000))
            name = names[self.below(len(names))]
            spec = desk.tools.get(name) or desk.operations[name]
            order_id = 1 + self.below(4)
            arguments = spec.check(
                {
                    p.name: self.worth(p.name, order_id, p.schema)
                    for p in spec.parameters
                    # A version that is drawn is hardly ever that of the row.
                    if p.required or not self.below(8 if p.name == "if_version" else 2)
                }
            )
            status = "ok"
            try:
                op = Operation(house.world, self.actor, n)
                yield from desk.call(op, spec, arguments)
            except Refused as refusal:
                status = refusal.code
            self.noted[f"{name} {status}"] += 1
            written = sum(
                change.owner == self.actor.name and change.n == n
                for store in desk.stores.values()
                for change in store.table.changes
            )
            if status not in ("ok", "unknown_outcome"):
                assert not written, (name, arguments, status)
            elif status == "ok" and spec.writes and "idempotency_key" not in arguments:
                assert written, (name, arguments)
            broken = desk.invariants()
            assert not broken, (broken, name, arguments)
            over = [charge.id for charge in desk.charges.table if desk.left_of(charge) < 0]
            assert not over, (over, name, arguments)

    def worth(self, name: str, order_id: int, schema: dict[str, Any]) -> Any:
        tables = self.house.desk.stores
        choices: list[str] = schema.get("anyOf", [schema])[0].get("enum", [])
        if choices:
            return choices[self.below(len(choices))]
        match name:
            case "ticket_id" | "source_id" | "target_id":
                table = self.house.desk.tickets.table
                some = [t.id for t in table if t.status != "closed" or not self.below(5)]
                return f"TK-{some[-1 - self.below(min(4, len(some)))] if some else 1}"
            case "charge_id":
                return f"CH-{max(1, tables['charges'].table.top - self.below(6))}"
            case "refund_id" | "ref":
                return f"RF-{max(1, tables['refunds'].table.top - self.below(6))}"
            case "order_id":
                return order_id
            case "currency":
                return "USD" if not self.below(9) else CURRENCY[order_id]
            case "amount":
                return (1, 333, 1_000, 2_500, 9_800)[self.below(5)]
            case "idempotency_key":
                return f"k{self.below(8)}"
            case "query":
                return ("printer", "status<solved", "customer:1", "priority<high x")[self.below(4)]
            case "subject":
                return ("Printer", "re: printer", "Photos")[self.below(3)]
            case "public" | "inclusive":
                return self.below(2) == 1
            case "agent_id":  # none of those who call
                return 4 + self.below(3)
            case "page" | "wait" | "if_version":
                return 1
            case "fields":
                given = ({"priority": "high"}, {"tags": ["vip"]}, {"assignee_id": None})
                return (*given, {"assignee_id": 3})[self.below(4)]
            case "since":
                return "2026-03-02T09:00:00Z"
            case "reason" | "body" | "team" | "text":
                return "text"
            case _:
                return 1 + self.below(IDS[name])


def lively(house: House, seed: int, noted: Counter[str]) -> None:
    """Let all callers live, and everything settle."""
    for number in range(len(IDENTITIES)):
        caller = Caller(house, number, seed, noted)
        house.world.spawn(caller.actor.name, caller.live())
    house.wait("20min")


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_broken_by_any_mix_of_calls(seed: int) -> None:
    config: dict[str, object] = {
        "db.latency": ["5ms", "1500ms"],
        "gateway.latency": ["100ms", "4s"],
        "gateway.settle_after": "20s" if seed % 2 else "0s",
        "gateway.mode": ["ok", "async_fail", "ok", "fail", "ok"] if seed % 3 else ["ok"],
        "webhook.delay": ["0s", "40s"],
        "webhook.order": "any" if seed % 2 else "fifo",
        "webhook.duplicates": seed % 3,
        "ticket.auto_close": "1min",
    }
    noted: Counter[str] = Counter()
    house = House(config, seed=seed, drawn=True)
    lively(house, seed, noted)
    assert house.balanced()
    assert house.findings("H220", "H224", "H225", "H226", "H227", "H228", "H121", "H122") == []
    for wanted in ("refund ok", "charge ok", "merge_tickets ok", "claim_ticket ok", "reply ok"):
        assert noted[wanted], (wanted, noted)


def test_the_same_calls_are_not_survived_by_an_unsound_helpdesk() -> None:
    noted: Counter[str] = Counter()
    config = {
        "ticket.merge": "blind",
        "ticket.claim": "last_writer",
        "db.latency": ["5ms", "1500ms"],
    }

    def live() -> None:
        for seed in range(4):
            lively(House(config, seed=seed, drawn=True), seed, noted)

    with pytest.raises(ProcessFailed, match="tickets:"):
        live()


# --- money ---------------------------------------------------------------------------------------

CURRENCIES = ("JPY", "USD", "KWD")


@settings(max_examples=times(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10_000),
    currency=st.sampled_from(CURRENCIES),
    delay=st.sampled_from(["0s", "200ms", "30s"]),
    order=st.sampled_from(["fifo", "any"]),
    duplicates=st.integers(0, 2),
    modes=st.lists(st.sampled_from(["ok", "fail", "async_fail"]), min_size=1, max_size=4),
    settle=st.sampled_from(["0s", "5s", "60s"]),
    parts=st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 20)), max_size=7),
)
def test_money_is_conserved_whatever_webhooks_do(
    seed: int,
    currency: str,
    delay: str,
    order: str,
    duplicates: int,
    modes: list[str],
    settle: str,
    parts: list[tuple[int, int]],
) -> None:
    rows: dict[str, Any] = {
        "customers": [ROWS["customers"][0]],
        "orders": [
            Order(
                id=1, customer_id=1, title="x", total=9_999, tax=1_597, net=8_402, currency=currency
            )
        ],
        "charges": [],
    }
    config: dict[str, object] = {
        "db.latency": ["1ms", "2s"],
        "gateway.latency": ["1ms", "3s"],
        "gateway.mode": ["ok", *modes],
        "gateway.settle_after": settle,
        "webhook.delay": ["0s", delay] if delay != "0s" else "0s",
        "webhook.order": order,
        "webhook.duplicates": duplicates,
    }
    house = House(config, rows=rows, seed=seed, drawn=True)
    house.call(0, "charge", order_id=1, amount=9_999, currency=currency)
    house.wait("3min")
    asked = [
        house.start(0, "refund", charge_id="CH-1", amount=amount, after=f"{after}s")
        for amount, after in parts
    ]
    house.wait("1h")
    desk = house.desk
    # What is refused has made no row; nobody knows of an unknown outcome.
    codes = [p.value.code for p in asked if isinstance(p.value, Refused)]
    made = len(asked) - len(codes) + codes.count("unknown_outcome")
    assert len(desk.refunds.table.rows) == made
    assert set(codes) <= {"over_refund", "unknown_outcome"}
    charge = house.row("charges", 1)
    assert charge.status == "succeeded"
    assert house.balanced()
    back = desk.gateway.ledger.sum("refund", "charges:1")
    assert 0 <= back <= 9_999
    assert back == sum(r.amount for r in desk.refunds.table if r.status == "succeeded")
    assert all(r.net + r.tax == r.amount for r in desk.refunds.table)
    kept = [r for r in desk.refunds.table if r.status == "succeeded"]
    assert sum(r.tax for r in kept) <= 1_597
    assert sum(r.net for r in kept) <= 8_402
    assert not any(r.status == "pending" for r in desk.refunds.table)
    want = "refunded" if back == 9_999 else "partially_refunded" if back else "paid"
    assert house.row("orders", 1).status == want
    assert house.findings("H220", "H224", "H225", "H226", "H227", "H228", "H229") == []


@given(
    st.integers(1, 10**9).flatmap(
        lambda charged: st.tuples(
            st.just(charged),
            st.integers(0, charged),
            st.lists(st.tuples(st.integers(1, charged), st.booleans()), max_size=8),
        )
    )
)
def test_shares_of_tax_never_exceed_what_there_was(
    drawn: tuple[int, int, list[tuple[int, bool]]],
) -> None:
    charged, tax, steps = drawn
    live: list[Refund] = []
    for amount, fails in steps:
        left = charged - sum(r.amount for r in live)
        if not left:
            break
        amount = min(amount, left)
        part = tax_back(tax, charged, amount, live, "cumulative")
        assert 0 <= part <= amount
        made = Refund(id=1, charge_id=1, amount=amount, tax=part, net=amount - part)
        # One of those before may fail meanwhile.
        if fails and live:
            live.pop(0)
        live.append(made)
        assert sum(r.tax for r in live) <= tax
        assert sum(r.net for r in live) <= charged - tax
    left = charged - sum(r.amount for r in live)
    if left:
        part = tax_back(tax, charged, left, live, "cumulative")
        assert sum(r.tax for r in live) + part == tax


def test_the_base_is_sound_and_its_money_adds_up() -> None:
    from simharness.models.helpdesk.base import base_rows

    rows = base_rows()
    house = House(rows=rows)
    assert house.desk.invariants() == []
    assert rows.keys() <= Helpdesk.specs().keys()
    derived = House(rows={**rows, "ledger": ()})
    assert derived.desk.entries.table.digest() == house.desk.entries.table.digest()
    orders = {order.id: order for order in rows["orders"] if isinstance(order, Order)}
    assert {order.currency for order in orders.values()} >= {*CURRENCIES, "EUR"}
    statuses = {order.status for order in orders.values()}
    assert statuses == {"paid", "unpaid", "refunded", "partially_refunded", "refund_pending"}
    for order in orders.values():
        assert order.net + order.tax == order.total
        assert order.currency in money.EXPONENTS
    for charge in rows["charges"]:
        assert isinstance(charge, Charge)
        house.desk.ref_of(f"CH-{charge.id}")
    assert house.balanced()
