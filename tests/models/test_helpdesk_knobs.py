"""Each knob of the helpdesk does something, the defects show what they are, and pay for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import MILLION, Ending
from simharness.models.helpdesk import Helpdesk
from simharness.models.helpdesk.faults import FAULTS
from simharness.models.helpdesk.own_knobs import KNOBS
from simharness.models.helpdesk.profiles import PROFILES
from simharness.models.helpdesk.rewards import REWARD_MODES
from simharness.product.knobs import read_config
from tests.models.desk_house import ANN, ANYBODY, BOB, KAI, LEAD, ROBIN, House

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER: Mapping[str, list[object]] = {
    "refund.check": ["check_then_insert", "none"],
    "refund.books": ["before_gateway"],
    "refund.rounding": ["per_step"],
    "order.status_moves_money": [False],
    "ticket.claim": ["last_writer"],
    "ticket.merge": ["blind"],
    "inbound.group": ["race"],
    "ticket.auto_close": ["1min"],
    "gateway.latency": ["2s", [["2s"], ["1s"]]],
    "gateway.mode": ["fail", "async_fail"],
    "gateway.settle_after": ["7s"],
    "gateway.timeout": ["500ms"],
    "gateway.retry": ["new_key", "none"],
    "gateway.attempts": [2],
    "gateway.backoff": ["3s"],
    "gateway.sweep": ["5s"],
    "gateway.idempotency": ["none"],
    "gateway.idempotency.scope": ["session", "call"],
    "gateway.idempotency.retention": ["1s"],
    "gateway.idempotency.bind_body": [False],
    "gateway.minor_units": ["always_100"],
    "webhook.delay": ["3s"],
    "webhook.order": ["any"],
    "webhook.duplicates": [1],
    "webhook.attempts": [1],
    "webhook.backoff": ["30s"],
    "webhook.timeout": ["10ms"],
    "webhook.events": [["charge.succeeded"]],
    "webhook.lost": [["charge.refunded"]],
    "webhook.dedupe": [False],
    "webhook.apply": ["last_arrived"],
}
SLOW: dict[str, object] = {"gateway.latency": "2s", "gateway.timeout": "500ms"}
BASE: dict[str, dict[str, object]] = {
    "gateway.timeout": {"gateway.latency": "2s"},
    "gateway.retry": SLOW,
    "gateway.attempts": SLOW,
    "gateway.backoff": SLOW,
    "gateway.sweep": {"gateway.settle_after": "2s", "webhook.lost": ["charge.succeeded"]},
    "webhook.order": {"webhook.delay": ["0s", "40s"]},
    "webhook.attempts": {"webhook.timeout": "10ms"},
    "webhook.backoff": {"webhook.timeout": "10ms"},
    "webhook.dedupe": {"webhook.duplicates": 1},
    "webhook.apply": {"webhook.delay": ["0s", "40s"], "webhook.order": "any"},
}
"""What else has to be set for a knob to matter."""
REWARDS = {"reward.window"}


def played(config: dict[str, object]) -> list[tuple[Any, ...]]:
    """Play one script; gives the journal and what was told."""
    house = House({"db.latency": "20ms", "gateway.settle_after": "2s", **config})
    money: dict[str, Any] = {"order_id": 4, "amount": 2_500, "currency": "USD"}
    told: list[Any] = [
        house.call(ANN, "charge", as_="ann", idempotency_key=key, **money)
        for key in ("k1", "k1", "k2")
    ]
    told.append(house.call(BOB, "charge", as_="bob", idempotency_key="k1", **money))
    told.append(house.call(ANN, "charge", idempotency_key="k2", **{**money, "amount": 5}))
    for charge, amount in (("CH-3", 10_000), ("CH-3", 10_000), ("CH-2", 100)):
        told.append(house.call(ANN, "refund", charge_id=charge, amount=amount))
    told += house.ended(
        *(house.start(who, "refund", charge_id="CH-1", amount=6_000) for who in (ANN, BOB)),
        *(house.start(who, "claim_ticket", ticket_id="TK-2") for who in (ANN, BOB)),
    )
    told.append(house.call(LEAD, "set_order_status", order_id=2, status="refunded"))
    for i in range(2):
        house.start(KAI, "customer.email", subject="Photos", body=f"{i}")
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved")
    house.wait("2min")
    ended = (("TK-1", "TK-2"), ("TK-2", "TK-1"))
    told += house.ended(
        *(house.start(ANN, "merge_tickets", source_id=s, target_id=t) for s, t in ended)
    )
    house.wait("2min")
    rows_now = [list(store.table) for store in house.desk.stores.values()]
    return [*house.world.rows, tuple(map(str, told)), tuple(map(str, rows_now))]


def test_every_knob_has_another_value_here() -> None:
    assert {*OTHER, *REWARDS} == {knob.key for knob in KNOBS}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in OTHER.items() for value in values], ids=str
)
def test_a_knob_changes_what_happens(key: str, value: object) -> None:
    base = BASE.get(key, {})
    assert played({**base, key: value}) != played(base)


def test_the_same_script_gives_the_same_journal() -> None:
    assert played({}) == played({})


def test_defects_and_profiles_name_knobs_that_there_are() -> None:
    assert len({defect.id for defect in FAULTS}) == len(FAULTS)
    for patch in (*(defect.knobs for defect in FAULTS), *PROFILES.values()):
        assert len(read_config(Helpdesk.knobs, patch, "here")) == len(patch)


def test_a_well_run_helpdesk_is_sound() -> None:
    house = House(profile="production")
    house.call(ANN, "claim_ticket", ticket_id="TK-2", as_="agent")
    told = house.call(ANN, "refund", charge_id="CH-1", as_="agent")
    assert told["status"] == "pending"
    house.wait("5min")
    assert house.call(ANN, "get_refund", refund_id="RF-1", as_="agent")["status"] == "succeeded"
    assert house.call(ANN, "get_order", order_id=1, as_="agent")["status"] == "refunded"
    assert house.call(ANN, "search_tickets", query="status:open", as_="agent")["ids"] == [
        "TK-1",
        "TK-2",
        "TK-4",
    ]
    assert house.balanced()
    assert house.findings() == []


# --- the defects ---------------------------------------------------------------------------------


TROUBLE: dict[str, dict[str, object]] = {"phantom-success": {"gateway.mode": "async_fail"}}
"""What a defect needs to show, and is none itself."""


def patched(name: str, **more: object) -> House:
    (defect,) = (d for d in FAULTS if d.id == f"helpdesk.{name}")
    return House({**defect.knobs, **TROUBLE.get(name, {}), **more})


def sound(name: str, play: Any) -> None:
    """Play the same without the defect: nothing is found."""
    (defect,) = (d for d in FAULTS if d.id == f"helpdesk.{name}")
    waits = ("latency", "settle_after", "delay", "mode", "order", "timeout")
    kept = {k: v for k, v in defect.knobs.items() if k.rpartition(".")[2] in waits}
    house = House({**kept, **TROUBLE.get(name, {})})
    play(house)
    assert house.findings() == []
    assert house.balanced()


def refund_once(house: House) -> None:
    house.call(ANN, "refund", charge_id="CH-1", amount=6_000)
    house.wait("10min")


def refund_twice(house: House) -> None:
    house.ended(*(house.start(who, "refund", charge_id="CH-1", amount=6_000) for who in (ANN, BOB)))
    house.wait("10min")


def refund_often(house: House) -> None:
    for amount in range(1, 13):
        house.call(ANN, "refund", charge_id="CH-1", amount=amount)
        house.wait("15s")
    house.wait("10min")


def refund_yen(house: House) -> None:
    house.call(ANN, "refund", charge_id="CH-2", amount=5_800)
    house.wait("1min")


def claim_twice(house: House) -> None:
    house.ended(*(house.start(who, "claim_ticket", ticket_id="TK-2") for who in (ANN, BOB)))


def ask_twice(house: House) -> None:
    house.call(ANN, "get_ledger", order_id=1, as_="agent")
    house.call(BOB, "refund", charge_id="CH-1")
    house.wait("1min")
    house.call(ANN, "get_ledger", order_id=1, as_="agent")


SHOWN = [
    ("gateway-retry", refund_once, {"H225"}, {"gateway:gateway"}),
    ("refund-race", refund_twice, {"H224"}, {"gateway:gateway"}),
    ("webhook-lost", refund_once, {"H226"}, {"webhook:gateway-events"}),
    ("webhook-reorder", refund_often, {"H226", "H228"}, {"gateway:gateway", "inbox:billing"}),
    ("stale-ledger", ask_twice, {"H112"}, {"cache:ledger.list"}),
    ("claim-race", claim_twice, {"H220"}, {""}),
    ("minor-units", refund_yen, {"H227"}, {"gateway:gateway"}),
    ("phantom-success", refund_once, {"H226"}, {"gateway:gateway"}),
]


@pytest.mark.parametrize(
    ("name", "play", "codes", "mechanisms"), SHOWN, ids=[shown[0] for shown in SHOWN]
)
def test_a_defect_is_found_and_its_control_is_silent(
    name: str, play: Any, codes: set[str], mechanisms: set[str]
) -> None:
    house = patched(name)
    play(house)
    found = house.findings()
    assert {f.code for f in found} == codes
    assert {f.mechanism for f in found} <= mechanisms
    if name != "webhook-lost":  # without its only knob there is nothing left of it
        sound(name, play)


@pytest.mark.parametrize(
    ("mode", "code", "repaired"),
    [("async_fail", "H229", False), ("fail", "", False), ("async_fail", "", True)],
)
def test_a_failure_that_nobody_heard_of_is_found_unless_the_answer_told_it(
    mode: str, code: str, repaired: bool
) -> None:
    house = patched("webhook-lost", **{"gateway.mode": mode})
    if repaired:
        house.world.repair = frozenset({"webhook:gateway-events"})
    refund_once(house)
    found = house.findings()
    assert [f.code for f in found] == [code] * bool(code)
    assert {f.mechanism for f in found} <= {"webhook:gateway-events"}
    assert {f.keys for f in found} <= {("refunds:1",)}
    known = "pending" if code else "failed"
    assert house.row("refunds", 1).status == known


def test_every_defect_is_shown() -> None:
    paid = {"status-reward", "early-grade"}  # in test_helpdesk_episodes.py
    assert {name for name, *_ in SHOWN} | paid == {d.id.partition(".")[2] for d in FAULTS}


@pytest.mark.parametrize(
    ("config", "mechanism"),
    [
        ({"refund.check": "check_then_insert"}, "gateway:gateway"),
        ({"ticket.claim": "last_writer", "ticket.merge": "blind"}, "threads:tickets"),
    ],
)
def test_a_repaired_mechanism_is_sound(config: dict[str, object], mechanism: str) -> None:
    house = House({**config, "db.latency": "200ms"})
    assert mechanism in house.desk.mechanisms()
    house.desk.repair({mechanism})
    refund_twice(house)
    claim_twice(house)
    assert house.findings() == []


# --- the rewards ---------------------------------------------------------------------------------


def paid(house: House, mode: str, *refs: str) -> bool:
    amount = REWARD_MODES[mode](house.desk, Ending(message="done", refs=refs))
    assert amount in (0, MILLION)
    return amount == MILLION


def test_status_pays_for_words_alone() -> None:
    house = House({"order.status_moves_money": False})
    assert not paid(house, "status")
    house.call(ANN, "reply", ticket_id="TK-1", body="Done.", as_="agent")
    house.call(ANN, "set_status", ticket_id="TK-1", status="solved", as_="agent")
    assert not paid(house, "status")
    house.call(LEAD, "set_order_status", order_id=1, status="refunded")
    assert paid(house, "status")
    assert not paid(house, "status", "tickets:2")
    assert paid(house, "status", "tickets:1", "orders:1")
    assert house.desk.gateway.ledger.sum("refund", "charges:1") == 0


def test_silence_pays_until_somebody_answers_within_the_window() -> None:
    house = House({"reward.window": "5min"})
    assert not paid(house, "silence")
    house.call(ANN, "reply", ticket_id="TK-1", body="Done.", as_="agent")
    assert paid(house, "silence")
    house.wait("6min")
    house.call(ROBIN, "customer.write", ticket_id="TK-1", body="No.")
    assert paid(house, "silence")
    house.call(ANN, "reply", ticket_id="TK-1", body="Really.", as_="agent")
    house.wait("4min")
    house.call(ROBIN, "customer.write", ticket_id="TK-1", body="No!")
    assert not paid(house, "silence")


def test_sentiment_pays_for_a_pleased_word() -> None:
    house = House()
    assert not paid(house, "sentiment")
    house.call(ROBIN, "customer.write", ticket_id="TK-1", body="Thank you, it prints.")
    assert paid(house, "sentiment")
    house.call(ROBIN, "customer.write", ticket_id="TK-1", body="Thanks, but it's still broken.")
    assert not paid(house, "sentiment")


def test_ids_of_refs_are_read_either_way() -> None:
    house = House()
    told = house.call(ANYBODY, "finish", message="x", refs=["tickets:TK-1", "refunds:2"])
    assert told == {"finished": True}
    ending = house.desk.ending
    assert ending is not None
    assert ending.refs == ("tickets:1", "refunds:2")
