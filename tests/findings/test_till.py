"""Whole episodes of a product that charges and refunds through a payment gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simharness
from simharness.api import Call
from simharness.errors import UsageError
from simharness.kernel.operation import Actor
from simharness.parts.refusal import Refused
from tests.effort import times

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


@pytest.mark.parametrize(
    ("created", "apply", "found"),
    [
        ("08:59:58Z", "last_arrived", ["H228", "H226"]),
        ("08:59:59Z", "last_arrived", ["H226"]),  # neither is older: the later arrival wins
        ("08:59:58Z", "newest", []),
    ],
)
def test_an_older_event_over_a_newer_one_leaves_the_books_wrong(
    created: str, apply: str, found: list[str]
) -> None:
    env = simharness.make(TILL + "refund", seed=1, config={"webhook.apply": apply})
    env.reset()
    product: Any = env.episode.product
    told = (("ev-2", "08:59:59Z", "succeeded"), ("ev-1", created, "pending"))
    for event_id, at, status in told:
        made = event(event_id=event_id, created=f"2026-03-02T{at}", status=status)
        perform(product, "gateway.deliver", event=made)
    step = env.step(Call("finish", {"message": "Nothing was asked for."}))
    findings = {f["code"]: f for f in step.info["verdict"]["findings"] if f["code"][0] == "H"}
    assert list(findings) == found
    if "H228" in findings:
        evidence = findings["H228"]["evidence"]
        assert (evidence["older"], evidence["newer"], evidence["by"]) == ("ev-1", "ev-2", 10**6)
    if found:
        evidence = findings["H226"]["evidence"]
        assert (evidence["books"], evidence["ledger"]) == (0, 10_000)


def test_an_answer_is_pending_until_the_gateway_has_settled_and_the_episode_waits_for_it() -> None:
    config = {"gateway.mode": "async_fail", "gateway.settle_after": "120s", "gateway.retry": "none"}
    env = simharness.make(TILL + "refund", seed=1, config=config)
    env.reset()
    told = env.step(Call("refund", {"charge_id": 1, "amount": 6_000})).observation
    assert told.value["status"] == "pending"
    env.step(Call("finish", {"message": "It is under way."}), think="1s")
    product: Any = env.episode.product
    assert product.world.ticks >= 120_000_000
    assert product.refunds.table.rows[1].status == "failed"
    assert product.ledger()["charges:1"] == product.books()["charges:1"] == 10_000


CHARGED = st.fixed_dictionaries(
    {
        "order_id": st.integers(1, 2),
        "amount": st.sampled_from((1, 500)),
        "currency": st.sampled_from(("USD", "JPY")),
    },
    optional={"idempotency_key": st.sampled_from(("k1", "k2"))},
).map(lambda arguments: Call("charge", arguments))
REFUNDED = st.fixed_dictionaries(
    {"charge_id": st.integers(1, 6), "amount": st.sampled_from((1, 5_000, 9_999, 10_001))}
).map(lambda arguments: Call("refund", arguments))


@given(
    calls=st.lists(CHARGED | REFUNDED, min_size=1, max_size=6),
    mode=st.lists(st.sampled_from(("ok", "fail", "async_fail")), min_size=1, max_size=3),
    latency=st.sampled_from(("0s", "3s", "35s")),
)
@settings(max_examples=times(10), deadline=None)
def test_an_error_changes_no_row_unless_its_outcome_is_unknown(
    calls: list[Call], mode: list[str], latency: str
) -> None:
    config = {
        "gateway.mode": mode,
        "gateway.latency": latency,
        "gateway.settle_after": "280s",
        "webhook.delay": "280s",
    }
    env = simharness.make(TILL + "refund", seed=1, config=config)
    env.reset()
    product: Any = env.episode.product
    for call in calls:
        before = product.digests()
        told = env.step(call, think="1s").observation
        if told.error not in ("", "unknown_outcome"):
            assert product.digests() == before, told.error
    verdict = env.step(Call("finish", {"message": "Done."})).info["verdict"]
    assert [f["code"] for f in verdict["findings"] if f["code"][0] == "H"] == []
    assert {r: left for r, left in product.books().items() if left} == {
        r: left for r, left in product.ledger().items() if left
    }
