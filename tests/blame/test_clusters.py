"""Episodes that share an instance: the design effect, and resampling by instance."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.blame.clusters import bootstrap, design_effect, intraclass
from simharness.blame.statistics import Gate, gate

stats: Any = import_module("scipy.stats")


@st.composite
def clusters(draw: st.DrawFn) -> list[tuple[int, int]]:
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=60))
    return [(draw(st.integers(0, size)), size) for size in sizes]


def test_episodes_of_different_instances_are_independent() -> None:
    assert design_effect([(1, 1)] * 3 + [(0, 1)] * 97) == 1.0


def test_an_instance_counts_once_where_nothing_says_that_its_episodes_differ() -> None:
    assert design_effect([(0, 8)] * 40) == 8.0
    assert design_effect([(8, 8)] * 40) == 8.0
    assert design_effect([(8, 8)] * 2 + [(0, 8)] * 38) == 8.0


def test_many_failures_that_come_alone_show_that_they_do() -> None:
    alone = design_effect([(1, 8)] * 160 + [(0, 8)] * 40)
    few = design_effect([(1, 8)] + [(0, 8)] * 199)
    assert alone < 1.2
    assert few > 6


@pytest.mark.parametrize(
    "failures", [[0, 1, 4, 2, 0, 3], [4, 4, 0, 0, 1, 3], [1, 1, 1, 2, 1, 1], [2, 2, 2, 2, 2, 2]]
)
def test_the_correlation_is_that_of_scipys_analysis_of_variance(failures: list[int]) -> None:
    size = 4
    ratio = stats.f_oneway(*([1] * k + [0] * (size - k) for k in failures)).statistic
    expected = max(0.0, (ratio - 1) / (ratio - 1 + size))
    assert intraclass([(k, size) for k in failures]) == pytest.approx(expected)


@given(clusters())
def test_the_effect_lies_between_none_and_the_size_of_the_instances(
    found: list[tuple[int, int]],
) -> None:
    total = sum(size for _, size in found)
    largest = sum(size * size for _, size in found) / total
    assert 1.0 <= design_effect(found) <= largest + 1e-9


@given(clusters(), st.integers(0, 59))
def test_one_more_failure_of_a_sound_instance_never_makes_a_gate_pass(
    found: list[tuple[int, int]], at: int
) -> None:
    at %= len(found)
    _, size = found[at]
    before = [*found[:at], (0, size), *found[at + 1 :]]
    after = [*found[:at], (1, size), *found[at + 1 :]]

    def answer(episodes: list[tuple[int, int]]) -> Gate:
        effect = design_effect(episodes)
        failures, total = map(sum, zip(*episodes, strict=True))
        return gate(failures / effect, total / effect, 0.1)

    order = [Gate.PASS, Gate.INCONCLUSIVE, Gate.FAIL]
    assert order.index(answer(after)) >= order.index(answer(before))


def test_the_bootstrap_comes_near_the_normal_interval_of_many_instances() -> None:
    # 300 instances of 4 episodes, of which 60 fail throughout: the error is that of 300.
    low, high = bootstrap([4] * 60 + [0] * 240, [4] * 300)
    error = (0.2 * 0.8 / 300) ** 0.5
    assert (low, high) == pytest.approx((0.2 - 1.96 * error, 0.2 + 1.96 * error), abs=0.006)


def test_the_bootstrap_is_the_same_each_time() -> None:
    values = [0.5, 0.25, 1.0, 0.0, 0.75]
    assert bootstrap(values) == bootstrap(list(values))
    assert bootstrap([]) == (0.0, 1.0)
    assert bootstrap([0.5]) == (0.5, 0.5)
