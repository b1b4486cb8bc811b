"""Whole episodes of a product that charges and refunds through a payment gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simharness
from simharness.errors import UsageError
from simharness.kernel.operation import Actor
from simharness.parts.refusal import Refused

TILL = f"{Path(__file__).parent / 'till.py'}:Till/"
BUSY: dict[str, Any] = {
    "db.latency": ["2ms", "50ms"],
    "gateway.latency": ["10ms", "8s"],
    "gateway.settle_after": "20s",
    "gateway.timeout": "5s",
    "webhook.delay": ["10ms", "20s"],
    "webhook.duplicates": 2,
    "webhook.order": "any",
}
SLOW = {"gateway.latency": [["35s"], ["2s"]]}
UNREADABLE: list[dict[str, Any]] = [
    {"gateway.mode": "never"},
    {"gateway.mode": []},
    {"gateway.mode": ["ok", 1]},
    {"gateway.latency": ["2s", "1s"]},
    {"gateway.latency": [["1s"], ["1s", "2s", "3s"]]},
    {"gateway.latency": [[]]},
    {"gateway.attempts": 0},
    {"gateway.idempotency.scope": "world"},
    {"gateway.retry": True},
]


def run(scenario: str, **how: Any) -> Any:
    settings: dict[str, Any] = {"seed": 1, **how}
    return simharness.run(TILL + scenario, **settings).verdict


def codes(verdict: Any) -> list[str]:
    return [finding.code for finding in verdict.findings if finding.code[0] == "H"]


@pytest.mark.parametrize("schedule", ["fifo", "random:3"])
@pytest.mark.parametrize("scenario", ["refund", "race", "charge"])
@pytest.mark.parametrize("seed", range(3))
def test_sound_episodes_are_paid_valid_and_replay_to_the_byte(
    scenario: str, seed: int, schedule: str, tmp_path: Path
) -> None:
    outcome = simharness.run(TILL + scenario, seed=seed, config=BUSY, schedule=schedule)
    verdict = outcome.verdict
    assert (str(verdict.kind), verdict.score, verdict.valid) == ("ok", 1_000_000, True)
    path = tmp_path / "till.simrec"
    outcome.episode.save(path)
    assert simharness.replay(path).digest == outcome.episode.digest


@pytest.mark.parametrize(
    ("fault", "scenario", "code"),
    [
        ("till.retry", "refund", "H225"),
        ("till.cents", "refund", "H227"),
        ("till.race", "race", "H224"),
    ],
)
def test_a_defect_of_money_is_proved_to_have_cost_the_reward(
    fault: str, scenario: str, code: str
) -> None:
    verdict = run(scenario, faults=[fault])
    assert verdict.headline == f"harness, {code}, proved (closed)"
    assert set(codes(verdict)) == {code}
    assert {f.mechanism for f in verdict.findings if f.code == code} == {"gateway:gateway"}


def test_currencies_with_cents_are_not_mistaken() -> None:
    dollars = [s for s in range(8) if codes(run("refund", seed=s, faults=["till.cents"])) == []]
    assert 0 < len(dollars) < 8


@pytest.mark.parametrize("mode", ["ok", "fail", "async_fail"])
def test_books_that_run_ahead_are_found_where_the_gateway_fails(mode: str) -> None:
    config = {"gateway.mode": mode, "gateway.settle_after": "20s"}
    assert codes(run("refund", config=config)) == []
    found = codes(run("refund", config=config, faults=["till.early"]))
    # What is refused at once is told by the answer, and is not booked any better.
    assert found == ([] if mode == "ok" else ["H226"])


def test_books_that_miss_an_event_are_found() -> None:
    config = {"gateway.settle_after": "20s"}
    verdict = run("refund", config=config, faults=["till.deaf"])
    assert (verdict.headline, verdict.valid, codes(verdict)) == ("ok", False, ["H226"])


@pytest.mark.parametrize(
    ("policy", "headline"), [("expert", "ok"), ("careful", "ok"), ("hasty", "model, M613")]
)
def test_a_second_charge_after_an_unknown_outcome(policy: str, headline: str) -> None:
    verdict = run("charge", policy=policy, config=SLOW)
    assert verdict.headline.startswith(headline)
    assert (verdict.valid, codes(verdict)) == (True, [])


def test_a_key_that_is_ignored_is_proved_to_have_cost_the_reward() -> None:
    verdict = run("charge", config=SLOW, faults=["till.keyless"])
    assert verdict.headline == "harness, H225, proved (closed)"


def test_a_charge_that_failed_may_be_tried_again() -> None:
    config = {"gateway.mode": ["fail", "ok"]}
    verdict = run("charge", policy="hasty", config=config)
    assert (verdict.headline, codes(verdict)) == ("ok", [])


@pytest.mark.parametrize("setting", UNREADABLE)
def test_knobs_of_the_gateway_refuse_what_they_do_not_know(setting: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(setting))):
        run("refund", config=setting)


# --- what background actors can do ----------------------------------------------------------------


def perform(product: Any, operation: str, **arguments: Any) -> Any:
    """Do an operation of the gateway's; gives its answer, or the code of its refusal."""
    out: list[Any] = []

    actor = Actor(product.world, f"bank/{product.world.scheduled}", 0)

    def steps() -> Any:
        try:
            out.append((yield from product.perform(actor, operation, arguments)))
        except Refused as refusal:
            out.append(refusal.code)

    product.world.spawn("bank", steps())
    product.world.settle()
    return out[0]


def opened(**config: Any) -> Any:
    env = simharness.make(TILL + "refund", seed=1, config=config)
    env.reset()
    return env.episode.product


def event(**more: str) -> dict[str, str]:
    return {
        "event_id": "ev-1",
        "kind": "charge.updated",
        "created": "2026-03-02T08:59:59Z",
        "ref": "charges:1",
        "status": "disputed",
        **more,
    }


def test_an_event_is_delivered_by_hand() -> None:
    product = opened()
    assert perform(product, "gateway.deliver", event=event()) == {"event_id": "ev-1", "heard": True}
    assert product.charges.table.rows[1].status == "disputed"
    assert perform(product, "gateway.deliver", event=event(ref="charges:99")) == "not_found"


def test_an_event_that_nobody_listens_to_changes_nothing() -> None:
    product = opened(**{"webhook.events": ["charge.failed"]})
    before = product.digests()
    assert perform(product, "gateway.deliver", event=event())["heard"] is False
    assert product.digests() == before


@pytest.mark.parametrize(
    "wrong",
    [{"created": "yesterday"}, {"created": 5}, {"more": "x"}, {"ref": None}, {"status": ["x"]}],
)
def test_an_event_that_is_none_is_refused_and_changes_nothing(wrong: dict[str, Any]) -> None:
    product = opened()
    before = product.digests()
    answer = perform(product, "gateway.deliver", event={**event(), **wrong})
    assert (answer, product.digests()) == ("invalid_arguments", before)


@pytest.mark.parametrize(
    ("ref", "status", "answer"),
    [
        ("charges:1", "disputed", {"ref": "charges:1", "status": "disputed"}),
        ("charges:1", "failed", "conflict"),
        ("charges:99", "failed", "not_found"),
        ("charges:1", "gone", "invalid_arguments"),
    ],
)
def test_a_settlement_by_hand(ref: str, status: str, answer: Any) -> None:
    product = opened()
    before = product.digests()
    assert perform(product, "gateway.settle", ref=ref, status=status) == answer
    assert (product.digests() == before) == isinstance(answer, str)
    assert product.ledger()["charges:1"] == (10_000 if isinstance(answer, str) else 0)
