"""Rates and the gate, against published values and SciPy; limit 5 %, one-sided 95 %."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.blame.statistics import (
    ONE_SIDED,
    TWO_SIDED,
    Gate,
    Method,
    clopper_pearson,
    deviations,
    further_episodes,
    gate,
    interval,
    rate,
    wilson,
)

# SciPy publishes no types.
stats: Any = import_module("scipy.stats")

LIMIT = 0.05

# Fewest episodes with which a number of failures passes: Wilson one-sided, Wilson two-sided,
# Clopper and Pearson one-sided.
FEWEST = {
    0: (52, 73, 59),
    1: (87, 110, 93),
    2: (118, 142, 124),
    3: (147, 173, 153),
    4: (175, 202, 181),
    5: (202, 230, 208),
    8: (280, 311, 286),
    10: (331, 363, 336),
}
# Episodes: most failures that pass, fewest that fail.
FIXED = {
    100: (1, 9),
    200: (4, 16),
    300: (8, 22),
    500: (16, 34),
    800: (29, 51),
    1000: (38, 62),
    2000: (83, 117),
}

limits = st.floats(0.0, 1.0)


@st.composite
def counts(draw: st.DrawFn, fewest: int = 0) -> tuple[int, int]:
    """Failures and episodes."""
    episodes = draw(st.integers(fewest, 5_000))
    return draw(st.integers(0, episodes)), episodes


@pytest.mark.parametrize(("failures", "fewest"), FEWEST.items())
def test_a_run_with_few_failures_passes_from_the_published_number_of_episodes_on(
    failures: int, fewest: tuple[int, int, int]
) -> None:
    one_sided, two_sided, exact = fewest
    passing = [n for n in range(failures, 2 * exact) if gate(failures, n, LIMIT) is Gate.PASS]
    assert passing == list(range(one_sided, 2 * exact))
    bounds = [wilson(failures, n, TWO_SIDED)[1] < LIMIT for n in (two_sided - 1, two_sided)]
    assert bounds == [False, True]
    answers = [gate(failures, n, LIMIT, Method.EXACT) for n in (exact - 1, exact)]
    assert answers == [Gate.INCONCLUSIVE, Gate.PASS]


@pytest.mark.parametrize(("episodes", "bounds"), FIXED.items())
def test_a_run_of_fixed_length_passes_and_fails_at_the_published_counts(
    episodes: int, bounds: tuple[int, int]
) -> None:
    passes, fails = bounds
    answers = [gate(failures, episodes, LIMIT) for failures in range(episodes + 1)]
    assert answers[: passes + 1] == [Gate.PASS] * (passes + 1)
    assert answers[passes + 1 : fails] == [Gate.INCONCLUSIVE] * (fails - passes - 1)
    assert answers[fails:] == [Gate.FAIL] * (episodes + 1 - fails)


def test_the_interval_is_the_published_one() -> None:
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29, two-sided 95 %.
    shown = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0000, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (failures, episodes), bounds in shown.items():
        assert tuple(round(bound, 4) for bound in wilson(failures, episodes)) == bounds


def test_twenty_clean_episodes_bound_the_rate_at_twelve_percent() -> None:
    low, high = wilson(0, 20, ONE_SIDED)
    assert (low, round(high, 3)) == (0.0, 0.119)


def test_no_episodes_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert gate(0, 0, LIMIT) is Gate.INCONCLUSIVE
    told = rate(0, 0).record()
    assert told == {"failures": 0, "episodes": 0, "point": 0.0, "low": 0.0, "high": 1.0}
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    assert further_episodes(0, 0, LIMIT) is None


def test_the_ends_are_exact_so_that_no_rounding_error_decides() -> None:
    for episodes in range(1, 400):
        assert wilson(0, episodes)[0] == 0.0
        assert wilson(episodes, episodes)[1] == 1.0
        assert gate(0, episodes, 0.0) is Gate.INCONCLUSIVE
        assert gate(episodes, episodes, 1.0) is Gate.INCONCLUSIVE


@given(counts(fewest=1))
def test_the_interval_holds_the_share_and_stays_within_0_and_1(count: tuple[int, int]) -> None:
    found = rate(*count)
    assert 0.0 <= found.low <= found.point <= found.high <= 1.0
    assert found.high > found.low


@given(counts(fewest=1))
def test_each_end_is_where_the_share_is_z_deviations_away(count: tuple[int, int]) -> None:
    failures, episodes = count
    z = deviations(ONE_SIDED)
    for bound in wilson(failures, episodes, ONE_SIDED):
        p = Fraction(bound)
        distance = (Fraction(failures, episodes) - p) ** 2
        assert abs(float(distance) - z * z * float(p * (1 - p)) / episodes) < 1e-12


@given(counts(fewest=1))
def test_one_more_failure_never_lowers_a_bound(count: tuple[int, int]) -> None:
    failures, episodes = count
    low, high = wilson(failures, episodes)
    more_low, more_high = wilson(failures + 1, episodes + 1)
    assert more_low >= low
    assert more_high >= high


@given(counts())
def test_one_more_success_never_raises_a_bound(count: tuple[int, int]) -> None:
    failures, episodes = count
    low, high = wilson(failures, episodes)
    more_low, more_high = wilson(failures, episodes + 1)
    assert more_low <= low
    assert more_high <= high


@given(counts(), limits)
def test_the_gate_never_answers_better_for_one_more_failure(
    count: tuple[int, int], limit: float
) -> None:
    failures, episodes = count
    order = [Gate.PASS, Gate.INCONCLUSIVE, Gate.FAIL]
    answer = gate(failures, episodes + 1, limit)
    worse = gate(failures + 1, episodes + 1, limit)
    assert order.index(worse) >= order.index(answer)


@given(counts(), limits)
def test_the_gate_only_answers_against_the_side_that_the_share_is_on(
    count: tuple[int, int], limit: float
) -> None:
    failures, episodes = count
    answer = gate(failures, episodes, limit)
    if answer is Gate.PASS:
        assert failures < limit * episodes
    if answer is Gate.FAIL:
        assert failures > limit * episodes


@given(counts(fewest=1))
def test_the_same_share_of_more_episodes_has_a_narrower_interval(count: tuple[int, int]) -> None:
    failures, episodes = count
    low, high = wilson(failures, episodes)
    narrow_low, narrow_high = wilson(4 * failures, 4 * episodes)
    assert narrow_high - narrow_low < high - low


@settings(max_examples=30)
@given(counts(fewest=1), st.sampled_from([ONE_SIDED, TWO_SIDED, 0.001]))
def test_both_intervals_are_those_of_scipy(count: tuple[int, int], tail: float) -> None:
    failures, episodes = count
    test = stats.binomtest(failures, episodes)
    for method, name in ((Method.WILSON, "wilson"), (Method.EXACT, "exact")):
        theirs = test.proportion_ci(confidence_level=1 - 2 * tail, method=name)
        assert interval(failures, episodes, tail, method) == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=40)
@given(st.floats(0.01, 800), st.floats(0.01, 800), st.sampled_from([ONE_SIDED, TWO_SIDED]))
def test_the_exact_interval_of_fractions_is_made_of_scipys_beta_laws(
    failures: float, rest: float, tail: float
) -> None:
    low, high = clopper_pearson(failures, failures + rest, tail)
    assert low == pytest.approx(stats.beta.ppf(tail, failures, rest + 1), abs=1e-9)
    assert high == pytest.approx(stats.beta.ppf(1 - tail, failures + 1, rest), abs=1e-9)


@settings(max_examples=50)
@given(counts(fewest=1), st.floats(1, 8), st.sampled_from(Method))
def test_the_further_episodes_decide_and_one_less_does_not(
    count: tuple[int, int], effect: float, method: Method
) -> None:
    failures, episodes = count
    more = further_episodes(failures, episodes, LIMIT, effect, method)
    if more is None:
        assert gate(failures / effect, episodes / effect, LIMIT, method) is Gate.INCONCLUSIVE
        return

    def answer(further: int) -> Gate:
        n = (episodes + further) / effect
        return gate(failures / episodes * n, n, LIMIT, method)

    assert answer(more) is not Gate.INCONCLUSIVE
    assert more == 1 or answer(more - 1) is Gate.INCONCLUSIVE
