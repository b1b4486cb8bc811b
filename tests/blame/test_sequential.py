"""The sequential test: Wald's bounds for 2 % against 5 %, and what stops a run at once."""

from __future__ import annotations

import numpy as np
import pytest

from simharness.blame.sequential import SequentialTest
from simharness.blame.statistics import Gate


def feed(test: SequentialTest, *verdicts: bool) -> Gate:
    answer = test.answer
    for failed in verdicts:
        answer = test.add(failed)
    return answer


@pytest.mark.parametrize("episodes", [20, 100, 500])
def test_the_bounds_are_the_published_ones(episodes: int) -> None:
    test = SequentialTest(episodes=episodes)
    passes, fails = test.bounds
    assert passes == pytest.approx(0.0328 * episodes - 3.11, abs=0.02)
    assert fails == pytest.approx(0.0328 * episodes + 3.11, abs=0.02)


def test_it_passes_at_the_95th_episode_at_the_earliest() -> None:
    test = SequentialTest()
    answers = [test.add(False) for _ in range(95)]
    assert answers == [Gate.INCONCLUSIVE] * 94 + [Gate.PASS]
    assert "0 of 95" in test.reason


def test_before_20_episodes_only_a_series_of_failures_stops_a_run() -> None:
    test = SequentialTest()
    assert feed(test, *[True, False] * 9, True) is Gate.INCONCLUSIVE
    assert test.add(False) is Gate.FAIL
    assert "10 of 20" in test.reason


def test_eight_failures_in_a_row_stop_it_at_once_and_for_good() -> None:
    test = SequentialTest()
    assert feed(test, *[False] * 400) is Gate.PASS
    assert feed(test, *[True] * 7, False, *[True] * 7) is Gate.INCONCLUSIVE
    assert test.add(True) is Gate.FAIL
    assert feed(test, *[False] * 1000) is Gate.FAIL
    assert test.reason == "the harness failed 8 episodes in a row"


def test_of_one_instance_only_the_first_episode_counts() -> None:
    test = SequentialTest()
    for _ in range(8):
        test.add(True, instance=("crm/negotiation", 7))
    assert (test.episodes, test.failures, test.answer) == (1, 1, Gate.INCONCLUSIVE)


@pytest.mark.parametrize(("per_mille", "wrong"), [(20, Gate.FAIL), (50, Gate.PASS)])
def test_it_is_wrong_in_no_more_than_one_run_of_twenty(per_mille: int, wrong: Gate) -> None:
    errors = 0
    words = np.random.Philox(key=per_mille)
    fails = ((words.random_raw(1_000_000) % np.uint64(1000)) < per_mille).tolist()
    for _ in range(300):
        test = SequentialTest(fewest=1, series=10**9)
        while test.add(fails.pop()) is Gate.INCONCLUSIVE:
            pass
        errors += test.answer is wrong
    # At most 5 % of 300 are 15; 24 would be too many for that by chance (p = 0.01).
    assert errors < 24
