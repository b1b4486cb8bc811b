"""Whole episodes of the helpdesk: what is found, what is paid, and what replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simharness
from simharness.blame.case import story_of_episode
from simharness.findings.model import findings_of
from simharness.findings.turns import Account
from simharness.models.helpdesk.faults import FAULTS
from tests.models import desk_lab

LAB = f"{Path(desk_lab.__file__).resolve()}:DeskLab/"
BUSY: dict[str, Any] = {
    "api.latency": ["1ms", "20ms"],
    "db.latency": ["2ms", "50ms"],
    "gateway.latency": ["10ms", "3s"],
    "gateway.settle_after": "20s",
    "webhook.delay": ["10ms", "20s"],
    "webhook.duplicates": 1,
    "webhook.order": "any",
}
LATE = {"gateway.settle_after": "120s"}
SLOW = {"gateway.latency": [["35s"], ["2s"]]}


def run(task: str, **how: Any) -> Any:
    settings: dict[str, Any] = {"seed": 1, **how}
    return simharness.run(LAB + task, **settings)


def codes(outcome: Any) -> list[str]:
    return [finding.code for finding in outcome.verdict.findings]


@pytest.mark.parametrize("schedule", ["fifo", "random:3"])
@pytest.mark.parametrize("task", ["refund", "charge", "answer"])
@pytest.mark.parametrize("seed", range(2))
def test_sound_episodes_are_paid_valid_and_replay_to_the_byte(
    task: str, seed: int, schedule: str, tmp_path: Path
) -> None:
    outcome = simharness.run(LAB + task, seed=seed, config=BUSY, schedule=schedule)
    verdict = outcome.verdict
    assert (verdict.score, verdict.valid) == (1_000_000, True)
    assert not any(code.startswith("H") for code in codes(outcome))
    path = tmp_path / "desk.simrec"
    outcome.episode.save(path)
    assert simharness.replay(path).digest == outcome.episode.digest


def test_a_well_run_helpdesk_pays_too() -> None:
    outcome = run("refund", profile="production")
    assert (outcome.verdict.score, codes(outcome)) == (1_000_000, [])


def test_refs_are_taken_as_they_are_shown() -> None:
    outcome = run("refund")
    ending = outcome.episode.product.ending
    assert ending.refs == ("tickets:1", "refunds:1", "charges:1", "orders:1")


def test_a_claim_that_the_gateway_gives_the_lie_is_the_models() -> None:
    config = {**LATE, "gateway.mode": "async_fail"}
    outcome = run("refund", policy="announce", config=config)
    assert (str(outcome.verdict.kind), outcome.verdict.score) == ("model", 0)
    honest = run("refund", policy="announce", config=LATE)
    assert (str(honest.verdict.kind), honest.verdict.score) == ("ok", 1_000_000)


@pytest.mark.parametrize(
    ("policy", "headline"), [("expert", "ok"), ("careful", "ok"), ("hasty", "model, M613")]
)
def test_a_second_charge_after_an_unknown_outcome(policy: str, headline: str) -> None:
    outcome = run("charge", policy=policy, config=SLOW)
    assert outcome.verdict.headline.startswith(headline)
    assert not any(code.startswith("H") for code in codes(outcome))


def test_a_solved_ticket_among_the_open_is_a_row_that_does_not_match() -> None:
    config = {
        "tickets.list.route": "index",
        "tickets.list.index.lag": "120s",
        "tickets.list.index.hydrate": "primary",
    }
    outcome = run("answer", config=config)
    found = {f.code: f for f in outcome.verdict.findings}
    assert found["H114"].keys == ("tickets:1",)
    assert found["H114"].evidence["view"] == "tickets.list"


def test_a_second_reply_to_a_ticket_that_was_solved_is_a_repetition() -> None:
    story = story_of_episode(run("answer", policy="forget").episode)
    (found,) = (f for f in findings_of(Account(story)) if f.code == "M613")
    assert found.keys == ("messages:2", "messages:3")


def test_a_stale_row_with_a_prefix_is_told_with_what_was_shown() -> None:
    config = {
        "tickets.list.cache.ttl": "10min",
        "tickets.list.cache.invalidate": "never",
    }
    outcome = run("answer", config=config)
    found = [f for f in outcome.verdict.findings if f.code.startswith("H")]
    assert {f.code for f in found} == {"H111", "H112"}
    assert {f.keys for f in found} == {("tickets:1",)}


def test_an_id_that_nobody_told_of_is_ungrounded() -> None:
    outcome = run("refund", policy="stranger")
    found = [f for f in outcome.verdict.findings if f.code == "M111"]
    assert [f.evidence["value"] for f in found] == ["TK-77", "tickets:88", "CH-66"]
    assert found[0].keys == ("tickets:77",)


def patch(name: str) -> dict[str, Any]:
    (defect,) = (d for d in FAULTS if d.id == f"helpdesk.{name}")
    return dict(defect.knobs)


@pytest.mark.parametrize("mode", ["silence", "status"])
def test_a_reward_for_words_is_paid_although_the_money_is_not_back(mode: str) -> None:
    failing = {**LATE, "gateway.mode": "async_fail", "order.status_moves_money": False}
    config = {**failing, **patch("status-reward"), "reward.mode": mode}
    outcome = run("refund", policy="pretend", config=config)
    assert "H511" in codes(outcome)
    assert (str(outcome.verdict.kind), outcome.verdict.score) == ("harness", 1_000_000)
    assert run("refund", policy="pretend", config=failing).verdict.score == 0


def test_a_grade_before_the_refund_settles_is_stale() -> None:
    config = patch("early-grade")
    outcome = run("refund", policy="announce", config=config)
    (found,) = (f for f in outcome.verdict.findings if f.code == "H514")
    assert str(found.effect) == "hindered"
    assert (outcome.verdict.score, outcome.episode.passed) == (0, True)
    assert outcome.verdict.headline == "harness, H514, proved (open)"
    # Who waits for the refund is graded on what is so.
    assert codes(run("refund", config=config)) == []
    assert run("refund", policy="announce", config=LATE).verdict.score == 1_000_000
