"""pass^k and McNemar's test, against enumeration, published values and SciPy."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.blame.paired import mcnemar
from simharness.blame.trials import ceiling, pass_hat, pass_k

stats: Any = import_module("scipy.stats")


@given(st.integers(1, 9), st.data())
def test_it_is_the_share_of_choices_of_k_trials_that_all_succeed(
    trials: int, data: st.DataObject
) -> None:
    successes, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    chosen = list(combinations([True] * successes + [False] * (trials - successes), k))
    assert pass_hat(successes, trials, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_tasks_with_too_few_trials_are_dropped_and_counted() -> None:
    found = pass_k([(4, 4), (2, 4), (1, 1), (0, 0)], 2)
    assert (found.tasks, found.dropped) == (2, 2)
    point = (1 + 1 / 6) / 2
    assert found.point == pytest.approx(point)
    assert found.low <= point <= found.high
    assert pass_k([(1, 1)], 2).point is None


def test_a_failing_harness_caps_it() -> None:
    assert [round(ceiling(rate, 8), 2) for rate in (0.01, 0.05, 0.1)] == [0.92, 0.66, 0.43]


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemars_p_is_scipys_sign_test(gained: int, lost: int) -> None:
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)


def test_mcnemars_p_of_published_and_of_very_many_flips() -> None:
    # Fagerland et al. (2013), airway hyper-responsiveness: 1 against 7 discordant pairs, 0.0703.
    assert mcnemar(1, 7) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(5, 0) > 0.05 > mcnemar(6, 0)
    assert mcnemar(0, 3000) == 0.0
