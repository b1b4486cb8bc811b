"""Rate limits: a bucket for each actor, which never lets through more than it may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.limit import Rate, RateLimit
from simharness.parts.refusal import Refused
from simharness.units import SECOND
from tests.product.conftest import Bench

if TYPE_CHECKING:
    from collections.abc import Sequence


def limited(rate: Rate | None) -> RateLimit:
    limit = RateLimit(World(0), "api")
    limit.rate = rate
    return limit


def call(limit: RateLimit, at: int, name: str = "a") -> dict[str, Any] | None:
    """Ask at an instant; gives the refusal, or None."""
    world = limit.world
    world.advance_to(at)
    try:
        limit.take(Operation(world, Actor(world, name, 0), 1))
    except Refused as refusal:
        return refusal.value()
    return None


def outcomes(rate: Rate, instants: Sequence[int]) -> list[bool]:
    limit = limited(rate)
    return [call(limit, t) is None for t in instants]


def test_without_a_rate_nothing_is_limited() -> None:
    limit = limited(None)
    assert [call(limit, 0) for _ in range(100)] == [None] * 100


def test_a_full_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    rate = Rate(2, SECOND, 3)
    instants = [0, 0, 0, 0, 499_999, 500_000, 500_000, 1_000_000, 9_000_000] + [9_000_000] * 3
    assert outcomes(rate, instants) == [
        *(True, True, True, False),
        *(False, True, False, True),
        *(True, True, True, False),
    ]


def test_a_refusal_is_retryable_says_when_and_is_written_down() -> None:
    limit = limited(Rate(1, 10 * SECOND, 1))
    assert call(limit, 0) is None
    assert call(limit, 7 * SECOND + 1) == {
        "code": "rate_limited",
        "message": "too many calls: 1 in 10 s are let through",
        "retryable": True,
        "retry_after": 3,
    }
    (row,) = [r for r in Decoder().decode_all(limit.world.rows) if r.kind == "LIMITED"]
    assert row.values == {"owner": "a", "n": 1, "limit": "api", "wait": 3 * SECOND - 1}


def test_each_actor_has_a_bucket_of_its_own() -> None:
    limit = limited(Rate(1, SECOND, 1))
    assert call(limit, 0, "a") is None
    assert call(limit, 0, "b") is None
    assert call(limit, 0, "a") is not None


def test_a_new_rate_begins_with_full_buckets() -> None:
    limit = limited(Rate(1, SECOND, 1))
    assert call(limit, 0) is None
    limit.rate = Rate(1, SECOND, 2)
    assert [call(limit, 0) is None for _ in range(3)] == [True, True, False]


RATES = st.builds(Rate, st.integers(1, 50), st.integers(1, 1_000), st.integers(1, 8))
INSTANTS = st.lists(st.integers(0, 400), max_size=60).map(sorted)


@given(RATES, INSTANTS)
def test_no_window_lets_more_through_than_rate_and_burst(rate: Rate, instants: list[int]) -> None:
    passed = [t for t, ok in zip(instants, outcomes(rate, instants), strict=True) if ok]
    for i, first in enumerate(passed):
        for j in range(i, len(passed)):
            over = j - i + 1 - rate.burst
            assert over * rate.period <= rate.calls * (passed[j] - first)


@given(RATES, INSTANTS)
def test_it_is_a_token_bucket_to_the_tick(rate: Rate, instants: list[int]) -> None:
    expected: list[bool] = []
    level, last = rate.burst * rate.period, 0
    for t in instants:
        level = min(rate.burst * rate.period, level + (t - last) * rate.calls)
        last = t
        expected.append(level >= rate.period)
        level -= rate.period if expected[-1] else 0
    assert outcomes(rate, instants) == expected


@given(RATES, INSTANTS)
def test_the_wait_that_a_refusal_names_is_just_enough(rate: Rate, instants: list[int]) -> None:
    limit = limited(rate)
    for t in instants:
        if call(limit, t) is not None:
            row = list(Decoder().decode_all(limit.world.rows))[-1]
            wait = int(row.values["wait"])
            assert call(limit, t + wait - 1) is not None
            assert call(limit, t + wait) is None
            return


# --- at the door of a product ---------------------------------------------------------------------


def asked(bench: Bench, tool: str, **arguments: Any) -> Any:
    spec = bench.shop.tools[tool]
    return bench.run(bench.shop.call(bench.op(), spec, arguments))


def test_a_product_refuses_before_a_worker_is_taken() -> None:
    bench = Bench({"api.rate_limit": "1/s", "api.workers": 1})
    assert asked(bench, "get_item", item_id=1).id == 1
    refusal = asked(bench, "get_item", item_id=1)
    assert isinstance(refusal, Refused)
    assert (refusal.code, refusal.details) == ("rate_limited", {"retry_after": 1})
    assert bench.last("RETURN")["status"] == "rate_limited"
    assert bench.shop.pool.busy == 0


def test_what_never_reaches_the_api_is_not_limited() -> None:
    bench = Bench({"api.rate_limit": "1/h"})
    for _ in range(5):
        assert asked(bench, "say", text="hello") == {"said": True}
    assert asked(bench, "get_item", item_id=1).id == 1


def test_the_default_limits_nothing() -> None:
    bench = Bench({})
    assert [asked(bench, "get_item", item_id=1).id for _ in range(50)] == [1] * 50


@pytest.mark.parametrize(("setting", "let"), [("3/s", 3), (["3/s", 5], 5)])
def test_the_burst_is_the_number_in_the_rate_unless_declared(setting: object, let: int) -> None:
    bench = Bench({"api.rate_limit": setting})
    answers = [asked(bench, "get_item", item_id=1) for _ in range(8)]
    assert sum(not isinstance(answer, Refused) for answer in answers) == let
