"""A fault patches knobs while its trigger holds, says so in the journal, and takes it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simharness.api import SECOND, Fault, Trigger
from simharness.errors import UnknownName, UsageError
from simharness.product.fault import ALWAYS, arm, parse_fault, parse_load
from simharness.product.product import find_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench

TTL = "items.detail.cache.ttl"
KNOBS: dict[str, object] = {TTL: "10min", "items.detail.cache.fence": False}


def fault(id: str = "shop.x", knobs: dict[str, object] | None = None, **trigger: Any) -> Fault:
    return Fault(
        id=id, doc="x", knobs=KNOBS if knobs is None else knobs, trigger=Trigger(**trigger)
    )


def armed(b: Bench, *faults: Fault, load: int = 1_000) -> None:
    for one in faults:
        arm(one, b.world, b.settings, b.shop.caches(), load)


def ttl(b: Bench) -> int:
    """The knob as the part that reads it has it."""
    held = b.items.detail.cache.ttl
    assert held == b.settings.values[TTL]
    return held


def switches(b: Bench) -> list[tuple[int, str, int]]:
    return [(row.t, row.values["fault"], row.values["on"]) for row in b.rows("FAULT")]


def test_a_fault_without_a_trigger_is_in_force_from_the_start(bench: Callable[..., Bench]) -> None:
    b = bench({})
    armed(b, fault())
    cache = b.items.detail.cache
    assert (ttl(b), cache.fence) == (600 * SECOND, False)
    b.at(10_000 * SECOND)
    assert (ttl(b), cache.fence) == (600 * SECOND, False)
    assert switches(b) == [(0, "fault/shop.x", 1)]


def test_a_fault_is_in_force_from_its_first_tick_up_to_its_last(
    bench: Callable[..., Bench],
) -> None:
    b = bench({TTL: "1s"})
    armed(b, fault(start=10, until=20))
    seen: list[int] = []
    for at in (0, 9, 10, 19, 20, 50):
        b.at(at)
        seen.append(ttl(b) // SECOND)
    assert seen == [1, 1, 600, 600, 1, 1]
    assert b.items.detail.cache.fence is True
    assert switches(b) == [(10, "fault/shop.x", 1), (20, "fault/shop.x", 0)]


@pytest.mark.parametrize(("load", "on"), [(1_999, False), (2_000, False), (2_001, True)])
def test_a_load_must_be_exceeded(bench: Callable[..., Bench], load: int, on: bool) -> None:
    b = bench({})
    armed(b, fault(load_above=2_000), load=load)
    assert ttl(b) == (600 * SECOND if on else 0)
    assert len(switches(b)) == on


QUEUED: dict[str, object] = {
    TTL: "1s",
    "items.detail.cache.invalidate": "async",
    "items.detail.cache.invalidate_rate": "1/s",
}


def test_a_queue_must_be_exceeded_and_then_the_fault_stays(bench: Callable[..., Bench]) -> None:
    b = bench(QUEUED)
    armed(b, fault(queue_above=("items.detail", 2)))
    for at, key in ((1, 1), (2, 2), (3, 3)):
        assert ttl(b) == SECOND
        b.at(at)
        b.write(key, stock=1)
    assert ttl(b) == 600 * SECOND
    b.at(100 * SECOND)  # the queue is empty by now
    for _ in range(4):
        b.write(1, stock=2)
    assert ttl(b) == 600 * SECOND
    assert switches(b) == [(3, "fault/shop.x", 1)]


def test_a_queue_counts_only_while_the_trigger_holds(bench: Callable[..., Bench]) -> None:
    b = bench(QUEUED)
    armed(b, fault(queue_above=("items.detail", 0), start=10, until=20))
    b.at(9)
    b.write(1, stock=1)
    assert switches(b) == []
    b.at(10)
    b.write(1, stock=2)
    assert ttl(b) == 600 * SECOND
    b.at(20)
    assert ttl(b) == SECOND
    b.write(1, stock=3)
    assert [on for _, _, on in switches(b)] == [1, 0]


def test_a_queue_that_fills_after_the_end_switches_nothing_on(bench: Callable[..., Bench]) -> None:
    b = bench(QUEUED)
    armed(b, fault(queue_above=("items.detail", 0), until=20))
    b.at(25)
    b.write(1, stock=1)
    assert (switches(b), ttl(b)) == ([], SECOND)


def test_two_faults_can_hear_of_one_queue(bench: Callable[..., Bench]) -> None:
    b = bench(QUEUED)
    one = fault("shop.one", queue_above=("items.detail", 0))
    other = fault("shop.other", {"api.workers": 1}, queue_above=("items.detail", 1))
    armed(b, one, other)
    b.write(1, stock=1)
    assert ttl(b) == 600 * SECOND
    b.write(2, stock=1)
    assert b.shop.pool.capacity == 1
    assert [name for _, name, _ in switches(b)] == ["fault/shop.one", "fault/shop.other"]


def test_all_conditions_of_a_trigger_must_hold(bench: Callable[..., Bench]) -> None:
    b = bench({})
    armed(b, fault(start=10, load_above=2_000), load=1_000)
    b.at(50)
    assert switches(b) == []
    b = bench({})
    armed(b, fault(start=10, load_above=2_000), load=3_000)
    b.at(50)
    assert switches(b) == [(10, "fault/shop.x", 1)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spans=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(2, 9)), min_size=1, max_size=4
    )
)
def test_overlapping_faults_are_taken_back_to_what_the_others_leave(
    bench: Callable[..., Bench], spans: list[tuple[int, int, int]]
) -> None:
    b = bench({TTL: "1s"})
    for i, (start, length, value) in enumerate(spans):
        patch: dict[str, object] = {TTL: f"{value}s"}
        armed(b, fault(f"shop.{i}", patch, start=start, until=start + length))
    for at in range(12):
        b.at(at)
        live = [
            (start, i, value)
            for i, (start, length, value) in enumerate(spans)
            if start <= at < start + length
        ]
        assert ttl(b) == (max(live)[2] if live else 1) * SECOND


def test_a_fault_that_ends_before_it_starts_is_refused(bench: Callable[..., Bench]) -> None:
    b = bench({})
    for until in (10, 5):
        with pytest.raises(UsageError, match=r"^fault 'shop.x' ends at 0\.0000\d+s, not after"):
            armed(b, fault(start=10, until=until))


def test_a_fault_of_an_unknown_knob_value_or_view_is_refused(bench: Callable[..., Bench]) -> None:
    b = bench({})
    with pytest.raises(UnknownName, match=r"^no knob named 'items.detail.cache.tl' in fault"):
        armed(b, fault(knobs={"items.detail.cache.tl": "1s"}))
    with pytest.raises(UsageError, match=r"^knob items.detail.cache.ttl: unreadable duration"):
        armed(b, fault(knobs={TTL: "soon"}))
    with pytest.raises(UnknownName, match=r"^no cached view named 'items.details'; did you mean"):
        armed(b, fault(queue_above=("items.details", 1)))


# --- as text --------------------------------------------------------------------------------------


KNOWN = {
    "shop.x": fault(),
    "shop.late": fault("shop.late", start=5 * SECOND, load_above=2_000),
}


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("shop.x", ALWAYS),
        ("shop.x@from=60s", Trigger(start=60 * SECOND)),
        (
            "shop.x@from=1s,until=2s,load=2.5",
            Trigger(start=SECOND, until=2 * SECOND, load_above=2_500),
        ),
        ("shop.late", Trigger(start=5 * SECOND, load_above=2_000)),
        ("shop.late@load=4", Trigger(start=5 * SECOND, load_above=4_000)),
        ("shop.late@from=0s", Trigger(load_above=2_000)),
    ],
)
def test_a_fault_is_found_by_its_text_and_keeps_what_the_text_does_not_say(
    text: str, trigger: Trigger
) -> None:
    found = parse_fault(text, KNOWN)
    original = KNOWN[text.partition("@")[0]]
    assert found.trigger == trigger
    assert (found.id, found.knobs) == (original.id, original.knobs)
    assert original == (fault() if original.id == "shop.x" else KNOWN["shop.late"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shop.y", "no fault named 'shop.y'"),
        ("shop.x@from", "unreadable duration"),
        ("shop.x@from=soon", "unreadable duration"),
        ("shop.x@load=many", "load 'many' is not a number"),
        ("shop.x@when=1", "trigger 'when=1' of fault 'shop.x' is not readable"),
        ("shop.x@from=1s,", "trigger '' of fault 'shop.x' is not readable"),
    ],
)
def test_any_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_fault(text, KNOWN)
    assert message in caught.value.message


def test_a_product_finds_its_own_faults(bench: Callable[..., Bench]) -> None:
    product = type(bench({}).shop)
    assert find_fault(product, "shop.no-invalidation").id == "shop.no-invalidation"
    with pytest.raises(UnknownName, match=r"did you mean 'shop.no-invalidation'"):
        find_fault(product, "shop.invalidation")


@pytest.mark.parametrize(
    ("given", "load"),
    [
        (1, 1_000),
        (0, 0),
        ("2.5", 2_500),
        (0.5, 500),
        ("0.001", 1),
        (1000, 1_000_000),
        ("1.500", 1_500),
    ],
)
def test_a_load_is_read_in_thousandths(given: object, load: int) -> None:
    assert parse_load(given) == load


@pytest.mark.parametrize(
    "given",
    [True, None, "", "x", "-1", -1, "1e3", 1e-9, float("nan"), 1001, "1000.001", "0.0001", []],
)
def test_a_load_of_another_form_is_refused(given: object) -> None:
    with pytest.raises(
        UsageError, match=r"^load .* (is (not a number|out of range|below 0)|has more)"
    ):
        parse_load(given)
