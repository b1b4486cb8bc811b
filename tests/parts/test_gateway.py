"""The payment gateway: what it answers, what it moves, what it tells, and what a key is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.errors import HarnessError, UsageError
from simharness.kernel.operation import Actor
from simharness.kernel.schedule import Fifo, Random
from simharness.parts.gateway import Gateway
from simharness.parts.ledger import Movement
from simharness.parts.refusal import Refused
from simharness.parts.transaction import Transaction
from simharness.parts.webhook import Inbox, Notice, Webhook
from simharness.units import DAY, SECOND
from tests.effort import times
from tests.parts.posts import Bed

if TYPE_CHECKING:
    from simharness.kernel.operation import Operation, Span
    from simharness.parts.payment import Reply
    from simharness.parts.reaction import Reaction
    from tests.parts.posts import Steps


class Shop(Bed):
    """Whoever is paid: a row for each charge and refund, and books by what the events say."""

    def __init__(self, seed: int = 0, *, drawn: bool = False) -> None:
        super().__init__(seed, Random(seed) if drawn else Fifo())
        self.hook = Webhook(self.world, "webhook", self.take)
        self.inbox = Inbox(self.world, "books")
        self.gateway = Gateway(self.world, self.hook)
        self.told: list[tuple[int, str, str, str]] = []
        self.replies: dict[str, Reply | str] = {}
        self.at: dict[str, int] = {}
        self.of: dict[int, str] = {}
        self.think: Span = (0, 0)

    def take(self, op: Reaction, notice: Notice) -> Steps:
        status = str(notice.payload["status"])
        self.told.append((self.world.ticks, notice.kind, notice.ref, status))
        yield op.latency(self.think, "db")
        tx = Transaction(op)
        tx.update(self.table, int(notice.ref.partition(":")[2]), {"status": status})
        if self.inbox.take(tx, notice):
            tx.commit()

    def book(self, op: Operation, amount: int, of: str) -> str:
        tx = Transaction(op)
        key = tx.insert(self.table, {"status": "pending", "amount": amount})
        tx.commit()
        self.of[key] = of
        return f"charges:{key}"

    def pay(
        self,
        name: str,
        amount: int = 500,
        *,
        at: int = 0,
        currency: str = "USD",
        key: str = "",
        ref: str = "",
        of: str = "",
        refund: str = "",
        actor: Actor | None = None,
        pins: dict[str, int] | None = None,
        method: str = "card",
    ) -> None:
        """Charge at a tick, or refund what `refund` names, and note what comes of it."""
        op = self.op(actor, pins)

        def steps() -> Steps:
            yield self.world.timer(at)
            row = ref or (lambda: self.book(op, amount, refund))
            try:
                if refund:
                    self.replies[name] = yield from self.gateway.refund(
                        op, refund, amount, currency, row, key=key, method=method
                    )
                else:
                    self.replies[name] = yield from self.gateway.charge(
                        op, amount, currency, row, of=of, key=key
                    )
            except Refused as refusal:
                self.replies[name] = refusal.code
            self.at[name] = self.world.ticks

        self.world.spawn(f"pay/{name}", steps())

    def status(self, name: str) -> str:
        reply = self.replies[name]
        return reply if isinstance(reply, str) else reply.status

    def ref(self, name: str) -> str:
        reply = self.replies[name]
        assert not isinstance(reply, str)
        return reply.ref

    def moved(self) -> list[tuple[str, str, int]]:
        return [(m.kind, m.ref, m.amount) for m in self.gateway.ledger.movements]

    def books(self) -> dict[str, int]:
        """What the rows say, by charge."""
        out: dict[str, int] = {}
        for key, charge in self.of.items():
            row = self.table.rows[key]
            if row.status == "succeeded":
                sign = -1 if charge else 1
                ref = charge or f"charges:{key}"
                out[ref] = out.get(ref, 0) + sign * row.amount
        return out

    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings()]


# --- what it answers and moves --------------------------------------------------------------------


def test_a_charge_is_answered_and_moved_after_the_latency_and_told_by_webhook() -> None:
    shop = Shop()
    shop.gateway.latency = ((7, 7),)
    shop.pay("a", of="orders:1")
    assert shop.world.reactions == 0
    shop.world.settle()
    assert shop.world.reactions == 1
    shop.end()
    assert shop.replies["a"] == ("succeeded", "", "charges:4", "charge-1")
    assert shop.at["a"] == 7
    moved = Movement("charge", "charges:4", "orders:1", 500, "USD", 7)
    assert shop.gateway.ledger.movements == [moved]
    assert shop.told == [(7, "charge.succeeded", "charges:4", "succeeded")]
    assert (shop.table.rows[4].status, shop.world.reactions) == ("succeeded", 0)
    assert (shop.codes(), shop.world.alarms) == ([], 0)


def test_the_rows_tell_what_was_asked_and_moved() -> None:
    shop = Shop()
    shop.pay("a", ref="charges:1", of="orders:1", key="k")
    shop.end()
    asked, ended = shop.rows("GATEWAY")[0][1], shop.rows("GATEWAYEND")[0][1]
    assert asked[:7] == ("gateway", "charge", "charges:1", "orders:1", 500, "USD", "k")
    assert asked[8:] == (DAY, 0)
    assert ended == ("gateway", "succeeded")
    assert shop.rows("LEDGER") == [
        (0, ("gateway", "charge", "charges:1", "orders:1", 500, "USD", 0))
    ]


def test_the_request_and_its_events_are_reactions_to_the_call() -> None:
    """Side by side, so that what an event causes may ask the gateway again."""
    shop = Shop()
    shop.gateway.settle_after = 30
    shop.pay("a")
    shop.end()
    assert [by for _, by in shop.rows("CAUSED") if by[0] == "agent"] == [("agent", 1)] * 3


def test_what_settles_later_is_pending_until_then() -> None:
    shop = Shop()
    shop.gateway.settle_after = 30
    shop.pay("a")
    shop.world.advance_to(29)
    assert shop.status("a") == "pending"
    assert (shop.moved(), shop.world.reactions) == ([], 1)
    assert shop.gateway.fate("charges:4") == ("pending", 0)
    shop.end()
    assert shop.moved() == [("charge", "charges:4", 500)]
    assert shop.gateway.fate("charges:4") == ("succeeded", 30)
    assert shop.gateway.fate("charges:9") == ("", 0)
    assert [(t, kind, status) for t, kind, _, status in shop.told] == [
        (0, "charge.updated", "pending"),
        (30, "charge.succeeded", "succeeded"),
    ]


@pytest.mark.parametrize(
    ("mode", "answer", "events"),
    [
        ("fail", "failed", ["charge.failed"]),
        ("async_fail", "pending", ["charge.updated", "charge.failed"]),
    ],
)
@pytest.mark.parametrize("after", [0, 30])
def test_what_fails_moves_nothing(mode: str, answer: str, events: list[str], after: int) -> None:
    shop = Shop()
    shop.gateway.mode, shop.gateway.settle_after = (mode,), after
    shop.pay("a")
    shop.end()
    assert (shop.status("a"), shop.moved()) == (answer, [])
    assert [kind for _, kind, _, _ in shop.told] == events
    assert (shop.table.rows[4].status, shop.codes()) == ("failed", [])


def test_modes_and_latencies_are_one_a_call_and_the_last_stays() -> None:
    shop = Shop()
    shop.gateway.mode = ("fail", "ok")
    shop.gateway.latency = ((9, 9), (2, 2))
    for i in range(3):
        shop.pay(str(i), at=i * 100)
    shop.end()
    assert [shop.status(str(i)) for i in range(3)] == ["failed", "succeeded", "succeeded"]
    assert [shop.at[str(i)] for i in range(3)] == [9, 102, 202]


def test_a_pinned_wait_is_as_long_as_pinned() -> None:
    shop = Shop()
    shop.gateway.latency = ((5, 500),)
    shop.pay("a", pins={"gateway": 35})
    shop.end()
    assert shop.at["a"] == 35


@pytest.mark.parametrize(
    ("method", "kind"), [("card", "charge.refunded"), ("sepa", "refund.updated")]
)
def test_a_refund_is_told_by_an_event_of_its_method(method: str, kind: str) -> None:
    shop = Shop()
    shop.pay("a")
    shop.pay("b", 200, at=1, refund="charges:4", method=method)
    shop.end()
    assert shop.told[-1] == (1, kind, "charges:5", "succeeded")
    assert shop.gateway.ledger.net() == {"charges:4": 300}
    assert shop.gateway.ledger.sum("refund", "charges:4") == 200


@pytest.mark.parametrize(
    ("charge", "currency", "code"),
    [("charges:9", "USD", "no_such_charge"), ("charges:4", "EUR", "wrong_currency")],
)
def test_a_refund_needs_its_charge_and_its_currency(charge: str, currency: str, code: str) -> None:
    shop = Shop()
    shop.pay("a")
    shop.pay("b", 200, at=1, refund=charge, currency=currency)
    shop.end()
    reply = shop.replies["b"]
    assert not isinstance(reply, str)
    assert (reply.status, reply.code) == ("failed", code)
    assert shop.moved() == [("charge", "charges:4", 500)]


def test_a_charge_that_has_not_settled_has_nothing_to_pay_back() -> None:
    shop = Shop()
    shop.gateway.settle_after = 30
    shop.pay("a")
    shop.pay("b", 200, at=29, refund="charges:4")
    shop.end()
    assert shop.status("b") == "failed"


def test_sums_are_not_checked() -> None:
    shop = Shop()
    shop.pay("a")
    for name in "bc":
        shop.pay(name, 300, at=1, refund="charges:4")
    shop.end()
    assert shop.gateway.ledger.net() == {"charges:4": -100}
    assert shop.codes() == ["H224"]
    assert shop.world.alarms == 1


@pytest.mark.parametrize(
    ("currency", "amount", "moved"),
    [("JPY", 5_800, 58), ("USD", 5_800, 5_800), ("KWD", 5_800, 58_000), ("JPY", 99, 0)],
)
def test_amounts_as_if_all_currencies_had_cents(currency: str, amount: int, moved: int) -> None:
    shop = Shop()
    shop.gateway.minor_units = "always_100"
    shop.pay("a", amount, currency=currency)
    shop.end()
    assert shop.moved() == [("charge", "charges:4", moved)]
    assert shop.codes() == (["H227"] if moved != amount else [])
    assert bool(shop.world.alarms) == (moved != amount)


@pytest.mark.parametrize("amount", [0, -1])
def test_no_amount_below_one_reaches_the_gateway(amount: int) -> None:
    shop = Shop()
    with pytest.raises(HarnessError, match="asks for a charge"):
        next(shop.gateway.charge(shop.op(), amount, "USD", "charges:1"))
    with pytest.raises(UsageError, match="no currency named 'DEM'"):
        next(shop.gateway.charge(shop.op(), 1, "DEM", "charges:1"))
    assert shop.rows("GATEWAY") == []


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [3, 40, DAY - 1])
def test_a_key_repeats_the_request_while_it_is_under_way_and_afterwards(at: int) -> None:
    shop = Shop()
    shop.gateway.latency = ((35, 35), (2, 2))
    shop.pay("a", key="k")
    shop.pay("b", at=at, key="k")
    shop.end()
    assert shop.replies["b"] == shop.replies["a"]
    assert shop.at["b"] == max(35, at + 2)
    assert len(shop.moved()) == len(shop.told) == 1
    assert len(shop.of) == 1  # no second row
    assert (shop.codes(), shop.world.reactions) == ([], 0)


def test_what_failed_is_repeated_as_failed() -> None:
    shop = Shop()
    shop.gateway.mode = ("fail", "ok")
    shop.pay("a", key="k")
    shop.pay("b", at=1, key="k")
    shop.pay("c", at=1, key="k2")
    shop.end()
    assert [shop.status(name) for name in "abc"] == ["failed", "failed", "succeeded"]


def test_a_key_is_forgotten_when_it_is_as_old_as_its_retention() -> None:
    shop = Shop()
    shop.gateway.retention = 50
    for name, at in (("a", 0), ("b", 49), ("c", 50)):
        shop.pay(name, at=at, key="k")
    shop.end()
    assert shop.ref("a") == shop.ref("b") != shop.ref("c")
    assert len(shop.moved()) == 2
    assert shop.codes() == []


def test_a_key_is_kept_while_its_request_is_under_way() -> None:
    shop = Shop()
    shop.gateway.retention, shop.gateway.latency = 50, ((90, 90), (0, 0))
    shop.pay("a", key="k")
    shop.pay("b", at=80, key="k")
    shop.end()
    assert shop.ref("a") == shop.ref("b")


@pytest.mark.parametrize(
    "other", [{"amount": 501}, {"currency": "EUR"}, {"of": "orders:2"}, {"refund": "charges:4"}]
)
def test_a_key_with_another_body_is_refused_and_changes_nothing(other: dict[str, Any]) -> None:
    shop = Shop()
    shop.pay("a", key="k")
    shop.world.settle()
    before = shop.table.digest()
    shop.pay("b", at=1, key="k", **other)
    shop.end()
    assert shop.replies["b"] == "conflict"
    assert (shop.table.digest(), len(shop.moved())) == (before, 1)
    assert (shop.world.reactions, shop.codes()) == (0, [])


def test_a_key_without_its_body_repeats_whatever_is_asked() -> None:
    shop = Shop()
    shop.gateway.bind_body = False
    shop.pay("a", key="k")
    shop.pay("b", 900, at=1, key="k")
    shop.end()
    assert shop.replies["a"] == shop.replies["b"]
    assert shop.moved() == [("charge", "charges:4", 500)]


@pytest.mark.parametrize(
    ("scope", "charges", "codes"), [("account", 1, []), ("session", 2, []), ("call", 3, ["H225"])]
)
def test_a_scope_says_whose_keys_are_told_apart(scope: str, charges: int, codes: list[str]) -> None:
    shop = Shop()
    shop.gateway.scope = scope
    shop.pay("a", key="k")
    shop.pay("b", at=1, key="k")
    shop.pay("c", at=2, key="k", actor=shop.user)
    shop.end()
    assert len(shop.moved()) == charges
    assert shop.codes() == codes


def test_the_row_is_the_key_where_none_is_given() -> None:
    """A worker that is handed a job twice."""
    shop = Shop()
    shop.pay("a", ref="charges:1")
    shop.pay("b", at=5, ref="charges:1", actor=shop.user)
    shop.pay("c", at=5, ref="charges:2", key="charge charges:1")
    shop.end()
    assert shop.replies["a"] == shop.replies["b"]
    assert [ref for _, ref, _ in shop.moved()] == ["charges:1", "charges:2"]
    assert shop.codes() == []


def test_a_gateway_that_ignores_keys_moves_twice() -> None:
    shop = Shop()
    shop.gateway.idempotency = "none"
    shop.pay("a", ref="charges:1")
    shop.pay("b", at=5, ref="charges:1", actor=shop.user)
    shop.end()
    assert len(shop.moved()) == 2
    assert shop.codes() == ["H225"]
    assert shop.world.alarms


# --- without an answer ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "status", "at", "charges", "codes"),
    [
        ("none", "unknown_outcome", 10, 1, []),
        ("with_key", "succeeded", 35, 1, []),
        ("new_key", "unknown_outcome", 33 + 3 * SECOND, 3, ["H225", "H225"]),
    ],
)
@pytest.mark.parametrize("key", ["", "k"])
def test_the_app_that_has_waited_in_vain(
    retry: str, status: str, at: int, charges: int, codes: list[str], key: str
) -> None:
    shop = Shop()
    gateway = shop.gateway
    gateway.timeout, gateway.retry = 10, retry
    gateway.latency = ((35, 35), (5, 5)) if retry == "with_key" else ((35, 35),)
    if retry == "with_key":
        gateway.backoff = 20
    else:
        at = 10 if retry == "none" else 30 + 3 * SECOND
    shop.pay("a", key=key)
    shop.end()
    assert (shop.status("a"), shop.at["a"]) == (status, at)
    assert shop.moved() == [("charge", "charges:4", 500)] * charges
    assert len(shop.of) == 1
    assert shop.table.rows[4].status == "succeeded"  # the event says so
    assert (shop.codes(), shop.world.reactions) == (codes, 0)
    assert bool(shop.world.alarms) == bool(codes)


def test_attempts_are_counted_and_a_patience_of_nothing_is_endless() -> None:
    shop = Shop()
    shop.gateway.timeout, shop.gateway.attempts, shop.gateway.latency = 10, 1, ((99, 99),)
    shop.pay("a")
    shop.end()
    assert (shop.status("a"), shop.at["a"]) == ("unknown_outcome", 10)
    shop.gateway.timeout = 0
    begin = shop.world.ticks
    shop.pay("b")
    shop.world.advance_to(begin + 200)
    assert (shop.status("b"), shop.at["b"]) == ("succeeded", begin + 99)


# --- by hand --------------------------------------------------------------------------------------


def test_a_settlement_by_hand_is_a_reaction_to_the_call() -> None:
    shop = Shop()
    shop.gateway.settle_after, shop.hook.delay = 1_000, (5, 5)
    shop.pay("a")
    shop.world.advance_to(9)
    reply = shop.gateway.settle(shop.op(Actor(shop.world, "bank", 0)), "charges:4", "failed")
    assert reply.status == "failed"
    assert shop.world.reactions == 1  # the event is on its way, and it is the agent's
    shop.end()
    assert (shop.moved(), shop.table.rows[4].status) == ([], "failed")
    assert shop.told[-1] == (14, "charge.failed", "charges:4", "failed")
    assert shop.codes() == []


def test_a_charge_that_was_taken_can_be_disputed() -> None:
    shop = Shop()
    bank = Actor(shop.world, "bank", 0)
    shop.pay("a")
    shop.world.settle()
    shop.gateway.settle(shop.op(bank), "charges:4", "disputed")
    shop.end()
    assert shop.moved()[-1] == ("chargeback", "charges:4", 500)
    assert shop.gateway.ledger.net() == {"charges:4": 0}
    assert shop.told[-1] == (0, "charge.updated", "charges:4", "disputed")
    for status in ("disputed", "succeeded", "failed"):
        with pytest.raises(Refused, match="is disputed"):
            shop.gateway.settle(shop.op(bank), "charges:4", status)
    with pytest.raises(Refused, match="knows no"):
        shop.gateway.settle(shop.op(bank), "charges:9", "failed")
    assert shop.codes() == []


def test_what_was_before_the_start_is_known() -> None:
    shop = Shop()
    heard: list[Movement] = []
    shop.gateway.ledger.listeners.append(lambda _, moved: heard.append(moved))
    shop.gateway.open(Movement("charge", "charges:1", "", 900, "USD", -5))
    shop.gateway.open(Movement("charge", "charges:2", "", 700, "USD", -5), status="pending")
    with pytest.raises(HarnessError, match="twice"):
        shop.gateway.open(Movement("charge", "charges:1", "", 900, "USD", -5))
    assert shop.gateway.ledger.net() == {"charges:1": 900}
    shop.pay("a", 400, refund="charges:1")
    shop.world.settle()
    shop.gateway.settle(shop.op(shop.user), "charges:2", "succeeded")
    shop.end()
    assert shop.gateway.ledger.net() == {"charges:1": 500, "charges:2": 700}
    assert [moved.ref for moved in heard] == ["charges:4", "charges:2"]
    assert shop.table.rows[2].status == "succeeded"
    assert (shop.codes(), shop.world.reactions) == ([], 0)


def test_each_event_of_a_row_is_newer_than_those_before() -> None:
    shop = Shop()
    shop.gateway.mode, shop.hook.order, shop.hook.delay = ("async_fail",), "any", (0, 50)
    for i in range(8):
        shop.pay(str(i))
    shop.end()
    assert {row.status for key, row in shop.table.rows.items() if key > 3} == {"failed"}


# --- whatever happens on the way ------------------------------------------------------------------

SPANS = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda s: (min(s), max(s)))
PAYMENT = st.tuples(
    st.integers(0, 120),  # when
    st.integers(1, 900),  # how much
    st.sampled_from(("", "", "k1", "k2")),
    st.sampled_from(("", "charges:4", "charges:5")),  # of which charge it is a refund
    st.booleans(),  # whose
)


@given(
    payments=st.lists(PAYMENT, min_size=1, max_size=8),
    seed=st.integers(0, 2**32),
    latency=SPANS,
    delay=SPANS,
    think=SPANS,
    modes=st.lists(st.sampled_from(("ok", "fail", "async_fail")), min_size=1, max_size=4),
    settle_after=st.integers(0, 60),
    timeout=st.integers(0, 30),
    retry=st.sampled_from(("with_key", "none")),
    duplicates=st.integers(0, 2),
    order=st.sampled_from(("fifo", "any")),
)
@settings(max_examples=times(20), deadline=None)
def test_money_is_conserved_and_the_books_equal_the_ledger(
    payments: list[tuple[int, int, str, str, bool]],
    seed: int,
    latency: Span,
    delay: Span,
    think: Span,
    modes: list[str],
    settle_after: int,
    timeout: int,
    retry: str,
    duplicates: int,
    order: str,
) -> None:
    shop = Shop(seed, drawn=True)
    gateway = shop.gateway
    gateway.latency, gateway.mode, gateway.settle_after = (latency,), tuple(modes), settle_after
    gateway.timeout, gateway.retry, gateway.backoff = timeout, retry, 3
    shop.hook.delay, shop.hook.duplicates, shop.hook.order = delay, duplicates, order
    shop.hook.timeout, shop.think = 15, think
    for i, (at, amount, key, refund, agents) in enumerate(payments):
        actor = shop.agent if agents else shop.user
        shop.pay(str(i), amount, at=at, key=key, refund=refund, actor=actor)
    shop.end()
    assert shop.world.reactions == 0
    # Each row moved once, or never; every movement belongs to a row.
    refs = [ref for _, ref, _ in shop.moved()]
    assert len(refs) == len(set(refs))
    assert {int(ref.partition(":")[2]) for ref in refs} <= set(shop.of)
    for kind, ref, amount in shop.moved():
        row = int(ref.partition(":")[2])
        assert (amount, kind == "refund") == (shop.table.rows[row].amount, bool(shop.of[row]))
    # The same key, the same answer, or none at all.
    for name in ("k1", "k2"):
        keyed = [str(i) for i, p in enumerate(payments) if p[2] == name]
        known = {shop.ref(i) for i in keyed if not isinstance(shop.replies[i], str)}
        assert len(known) <= 1
    # What was told as final was so.
    for reply in shop.replies.values():
        if not isinstance(reply, str) and reply.status != "pending":
            assert (reply.ref in refs) == (reply.status == "succeeded")
    net = {ref: left for ref, left in gateway.ledger.net().items() if left}
    assert {ref: left for ref, left in shop.books().items() if left} == net
    over = any(left < 0 for left in net.values())
    assert set(shop.codes()) <= ({"H224"} if over else set())
