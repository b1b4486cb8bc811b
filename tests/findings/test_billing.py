"""Whole episodes of a product with an outbox, a webhook and a job queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simharness
from simharness.errors import UsageError

BILLING = f"{Path(__file__).parent / 'billing.py'}:Billing/settle"
BUSY: dict[str, Any] = {
    "db.latency": ["2ms", "50ms"],
    "outbox.latency": ["10ms", "2s"],
    "outbox.ack": ["1ms", "1s"],
    "webhook.delay": ["10ms", "20s"],
    "webhook.duplicates": 1,
    "webhook.order": "any",
    "mails.order": "any",
    "mails.workers": 2,
}
LATE = {"webhook.delay": ["1s", "20s"]}


def codes(outcome: Any) -> set[str]:
    return {finding.code for finding in outcome.verdict.findings if finding.code[0] == "H"}


@pytest.mark.parametrize("schedule", ["fifo", "random:3"])
@pytest.mark.parametrize("seed", range(6))
def test_sound_episodes_are_paid_valid_and_replay_to_the_byte(
    seed: int, schedule: str, tmp_path: Path
) -> None:
    outcome = simharness.run(BILLING, seed=seed, config=BUSY, schedule=schedule)
    verdict = outcome.verdict
    assert (str(verdict.kind), verdict.score, verdict.valid) == ("ok", 1_000_000, True)
    path = tmp_path / "billing.simrec"
    outcome.episode.save(path)
    assert simharness.replay(path).digest == outcome.episode.digest
    assert (
        codes(simharness.audit(path)) == set()
        if hasattr(simharness.audit(path), "verdict")
        else True
    )


def test_an_episode_waits_for_what_the_agent_has_caused() -> None:
    outcome = simharness.run(BILLING, seed=1, policy="hasty", config=LATE)
    assert (str(outcome.verdict.kind), outcome.verdict.score) == ("ok", 1_000_000)
    assert codes(outcome) == set()


def test_events_that_overtake_each_other_are_proved_to_have_cost_the_reward() -> None:
    headlines = [
        simharness.run(
            BILLING, seed=seed, config=LATE, faults=["billing.reordered"]
        ).verdict.headline
        for seed in range(8)
    ]
    assert "harness, H228, proved (closed)" in headlines
    assert set(headlines) <= {"harness, H228, proved (closed)", "ok"}


def test_a_lost_event_is_proved_to_have_cost_the_reward() -> None:
    verdict = simharness.run(BILLING, seed=1, faults=["billing.lost"]).verdict
    assert verdict.headline == "harness, H229, proved (closed)"


def test_a_message_before_its_commit_does_no_harm_if_that_comes_at_once() -> None:
    outcome = simharness.run(BILLING, seed=1, config=LATE, faults=["billing.early"])
    assert (outcome.verdict.headline, codes(outcome)) == ("ok", set())


@pytest.mark.parametrize(
    "setting",
    [{"webhook.events": ["charge.paid"]}, {"mails.workers": 0}, {"outbox.loss": -1}],
)
def test_knobs_of_parts_refuse_what_they_do_not_know(setting: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(setting))):
        simharness.run(BILLING, seed=1, config=setting)
