"""Rates and the gate, against published values: Wilson (1927), limit 5 %, one-sided 95 %."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.blame.statistics import Z_ONE_SIDED, Gate, gate, rate, wilson

LIMIT = 0.05

# Failures that a run may have, by its fewest episodes.
FEWEST = {0: 52, 1: 87, 2: 118, 3: 147, 4: 175, 5: 202, 8: 280, 10: 331}
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


@pytest.mark.parametrize(("failures", "episodes"), FEWEST.items())
def test_a_run_with_few_failures_passes_from_the_published_number_of_episodes_on(
    failures: int, episodes: int
) -> None:
    passing = [n for n in range(failures, 2 * episodes) if gate(failures, n, LIMIT) is Gate.PASS]
    assert passing == list(range(episodes, 2 * episodes))


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
    for (failures, episodes), interval in shown.items():
        assert tuple(round(bound, 4) for bound in wilson(failures, episodes)) == interval


def test_twenty_clean_episodes_bound_the_rate_at_twelve_percent() -> None:
    low, high = wilson(0, 20, Z_ONE_SIDED)
    assert (low, round(high, 3)) == (0.0, 0.119)


def test_no_episodes_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert gate(0, 0, LIMIT) is Gate.INCONCLUSIVE
    assert rate(0, 0).record() == {"point": 0.0, "low": 0.0, "high": 1.0}


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
    z = 1.5
    for bound in wilson(failures, episodes, z):
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
