"""Scenarios are tasks: their references get there, and nobody else does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from benchmarks.faults import TWIN
from simharness import env
from simharness.models.helpdesk import Helpdesk
from simharness.models.ide import Ide
from simharness.models.marketplace import Marketplace
from simharness.product.registry import load_scenario
from simharness.validate.plays import taking_over
from tests.effort import times
from tests.models.playing import play, roads

if TYPE_CHECKING:
    from collections.abc import Sequence


class Case(NamedTuple):
    """One scenario, and how much of it is played."""

    seeds: range
    ways: int
    """Least number of ways that its reference takes on those."""
    busy: Sequence[int]
    """Seeds that are played in a crowd."""


TOP_MAX = 0.4
"""Largest share of the commonest way."""
CASES = {
    "marketplace/book": Case(range(10), 6, (100, 101)),
    "marketplace/reschedule": Case(range(10), 6, (100, 101)),
    "marketplace/group": Case(range(10), 6, (100, 102)),
    "marketplace/earliest": Case(range(10), 5, (100, 142)),
    "marketplace/waitlist": Case(range(10), 6, (101,)),
    "helpdesk/double-charge": Case(range(10), 8, (100, 101)),
    "helpdesk/legit-charge": Case(range(10), 8, (100, 101)),
    "helpdesk/escalate": Case(range(10), 6, (0, 3)),
    "helpdesk/triage": Case(range(10), 10, (1, 2)),
    "helpdesk/partial-refund": Case(range(10), 7, (100, 101)),
    "helpdesk/refund-pending": Case(range(10), 7, (100, 101)),
    "ide/fix": Case(range(8), 4, (1,)),
    "ide/conflict": Case(range(5), 4, (1,)),
    "ide/flaky": Case(range(5), 4, (1,)),
    "ide/refactor": Case(range(8), 5, (1,)),
    "ide/impossible": Case(range(8), 4, (1,)),
}
COPING = {"marketplace": "email-instead", "helpdesk": "close-fast", "ide": "hardcode"}
IDLE = ("null", "refuse", "random", "spam")
scenarios = pytest.mark.parametrize("scenario", CASES)


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    """Leave out what can't be played here."""
    scenario = request.node.callspec.params.get("scenario") if "[" in request.node.name else None
    if scenario and (missing := load_scenario(scenario)[0].missing()):
        pytest.skip(f"needs {missing}")


def test_each_scenario_is_played() -> None:
    products = (Marketplace, Helpdesk, Ide)
    assert {scenario.id for product in products for scenario in product.scenarios} == CASES.keys()


@scenarios
def test_the_expert_gets_there_on_many_roads(scenario: str) -> None:
    case = CASES[scenario]
    shapes = roads(scenario, case.seeds, load=1)
    assert len(shapes) >= case.ways
    assert shapes.most_common(1)[0][1] <= TOP_MAX * len(case.seeds)


@pytest.mark.parametrize(
    ("scenario", "seed"), [(name, seed) for name, case in CASES.items() for seed in case.busy]
)
def test_the_expert_copes_with_a_crowd(scenario: str, seed: int) -> None:
    roads(scenario, [seed], load=8)


@pytest.mark.parametrize(
    ("scenario", "name"),
    [(case, name) for case in CASES for name in (*IDLE, COPING[case.partition("/")[0]])],
)
def test_whoever_does_something_else_gets_nothing(scenario: str, name: str) -> None:
    assert [play(scenario, name, seed, load=1).reward for seed in range(times(2))] == [0] * times(2)


@pytest.mark.parametrize("seed", range(times(2)))
@scenarios
def test_the_expert_takes_over_what_others_began(scenario: str, seed: int) -> None:
    policy = taking_over(load_scenario(scenario)[1].policies["expert"])
    assert play(scenario, policy, seed, load=1).reward == 1_000_000


@pytest.mark.parametrize("scenario", [scenario.id for scenario in Marketplace.scenarios])
def test_the_expert_copes_with_calls_that_nobody_answers_in_time(scenario: str) -> None:
    late = TWIN["marketplace.lost-confirmation"]
    outcome = env.run(scenario, seed=1, load=1, config=late)
    assert outcome.verdict.headline == "ok"
    assert any(
        result.value["code"] == "unknown_outcome"
        for step in outcome.episode.steps
        for result in step.results
        if not result.ok
    )
