"""A process whose harness is broken is stopped, and says why; a sound one is not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from simharness.adapters.health import Health
from simharness.blame.verdict import Class, Proof, Verdict
from simharness.episode.plan import Plan
from simharness.errors import HarnessUnhealthy

PLAN = Plan(scenario="shop/buy", faults=("shop.lies",))
SPOILED = Verdict(
    kind=Class.HARNESS,
    primary="H112",
    proof=Proof.NONE,
    valid=False,
    score=None,
    goal=None,
    findings=(),
)
SOUND = replace(SPOILED, kind=Class.OK, primary="", valid=True, score=1_000_000, goal=True)


def feed(health: Health, verdicts: list[Verdict]) -> None:
    for seed, verdict in enumerate(verdicts):
        health.add(replace(PLAN, seed=seed), verdict, f"simharness run shop/buy --seed {seed}")


def test_eight_failures_in_a_row_raise_with_rate_bound_code_and_command() -> None:
    health = Health()
    feed(health, [SOUND, *[SPOILED] * 7])
    with pytest.raises(HarnessUnhealthy) as caught:
        health.add(replace(PLAN, seed=9), replace(SPOILED, primary="H310"), "unused")
    error = caught.value
    assert error.message == (
        "the breaker stopped this process: the harness failed 8 episodes in a row: H112 7, H310 1"
    )
    assert error.hint == "to see one: simharness run shop/buy --seed 1"
    assert (error.rate, error.worst) == (8 / 9, "H112")
    assert 0 < error.bound < error.rate
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.args) == (str(error), error.args)


def test_a_rate_is_too_high_from_twenty_episodes_on() -> None:
    health = Health()
    verdicts = [SPOILED if seed % 3 == 0 else SOUND for seed in range(20)]
    feed(health, verdicts[:19])
    with pytest.raises(HarnessUnhealthy, match="8 of 20 episodes failed by the harness"):
        health.add(replace(PLAN, seed=19), SPOILED, "")


def test_after_that_nothing_begins_until_it_is_forgotten() -> None:
    health = Health()
    with pytest.raises(HarnessUnhealthy):
        feed(health, [SPOILED] * 8)
    with pytest.raises(HarnessUnhealthy, match="8 episodes in a row"):
        health.check()
    with pytest.raises(HarnessUnhealthy, match="8 episodes in a row"):
        health.add(PLAN, SOUND, "")
    health.forget()
    health.check()
    feed(health, [SPOILED] * 7)


def test_of_several_episodes_of_one_plan_the_first_counts() -> None:
    health = Health()
    for seed in range(7):
        for _ in range(8):
            health.add(replace(PLAN, seed=seed), SPOILED, "")
    other = replace(PLAN, config={"deals.detail.cache.ttl": "1h"})
    with pytest.raises(HarnessUnhealthy):
        health.add(other, SPOILED, "")


def test_a_sound_harness_goes_on() -> None:
    health = Health()
    feed(health, [SPOILED if seed % 60 == 9 else SOUND for seed in range(2_000)])
