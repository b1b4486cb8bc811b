"""Clocks of nodes: integer maps of the true time that run forward, and what moves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import HarnessError
from simharness.kernel.journal import Decoder
from simharness.kernel.world import World
from simharness.parts.clock import DRIFT_MAX, EXACT, PPM, Clock, Skew
from simharness.units import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

OFFSETS = st.integers(-DAY, DAY)
DRIFTS = st.integers(-DRIFT_MAX, DRIFT_MAX)
TICKS = st.integers(0, 400 * DAY)


def clock_of(offset: int, drift: int, at: int = 0) -> Clock:
    world = World(0, epoch=1_000 * DAY)
    world.advance_to(at)
    clock = Clock(world, "api")
    clock.skew = Skew(offset, drift)
    return clock


def rows(world: World) -> list[tuple[int, tuple[object, ...]]]:
    decoded = Decoder().decode_all(world.rows)
    return [(row.t, tuple(row.values.values())) for row in decoded if row.kind == "CLOCK"]


def test_an_exact_clock_shows_the_true_time_and_writes_nothing() -> None:
    world = World(0, epoch=7)
    clock = Clock(world, "api")
    clock.skew = EXACT
    clock.step(0)
    world.advance_to(30)
    assert (clock.ticks, clock.instant, clock.span(12), clock.at(40)) == (30, 37, 12, 40)
    assert (world.rows, world.alarms) == ([], 0)


def test_a_clock_is_off_by_its_offset_and_drifts_in_whole_ticks() -> None:
    clock = clock_of(-2 * SECOND, 120)
    assert clock.ticks == -2 * SECOND
    clock.world.advance_to(DAY)
    assert clock.ticks == DAY - 2 * SECOND + 86_400 * 120
    assert clock.instant == clock.world.epoch + clock.ticks
    assert rows(clock.world) == [(0, ("api", -2 * SECOND, 120, "set"))]


def test_a_step_moves_the_clock_from_now_on() -> None:
    clock = clock_of(5, 0, at=10)
    clock.step(-20)
    clock.world.advance_to(14)
    assert clock.ticks == -1
    clock.step(15)
    assert (clock.ticks, clock.exact) == (14, True)
    assert rows(clock.world) == [
        (10, ("api", 5, 0, "set")),
        (10, ("api", -15, 0, "step")),
        (14, ("api", 0, 0, "step")),
    ]
    assert clock.world.alarms == 1


def test_a_new_drift_holds_from_now_on_and_steps_outlive_it() -> None:
    clock = clock_of(0, DRIFT_MAX)
    clock.world.advance_to(100)
    clock.step(7)
    assert clock.ticks == 157
    clock.skew = EXACT
    assert clock.ticks == 157
    clock.world.advance_to(200)
    assert (clock.ticks, clock.exact) == (257, False)


def test_a_step_is_a_whole_number_of_ticks() -> None:
    with pytest.raises(HarnessError, match="no number of ticks"):
        clock_of(0, 0).step(1.5)  # type: ignore[arg-type]


def test_a_clock_knows_nothing_of_before_its_last_step() -> None:
    clock = clock_of(3, 0, at=10)
    with pytest.raises(HarnessError, match="before its step at 10"):
        clock.at(9)


def test_what_was_given_as_monotone_never_goes_back() -> None:
    clock = clock_of(50, 0)
    given = [clock.monotone()]
    clock.step(-40)
    given.append(clock.monotone())
    clock.world.advance_to(45)
    given.append(clock.monotone())
    assert given == [50, 50, 55]


def test_a_timer_counts_by_its_clock_and_no_step_moves_it() -> None:
    clock = clock_of(0, DRIFT_MAX)
    ended: list[int] = []

    def steps() -> Generator[Event, None, None]:
        yield clock.timer(300)
        ended.append(clock.world.ticks)

    clock.world.spawn("p", steps())
    clock.world.advance_to(100)
    clock.step(-1_000)
    clock.world.advance_to(400)
    assert ended == [200]


@given(OFFSETS, DRIFTS, TICKS, TICKS)
def test_a_clock_runs_forward_at_its_rate(offset: int, drift: int, t: int, more: int) -> None:
    clock = clock_of(offset, drift)
    ahead = clock.at(t + more) - clock.at(t)
    assert ahead >= 0
    assert abs(ahead * PPM - more * (PPM + drift)) < PPM
    assert clock.at(t) == offset + t * (PPM + drift) // PPM


@given(OFFSETS, DRIFTS, TICKS, st.integers(0, 10 * DAY))
def test_the_maps_of_a_clock_are_inverse(offset: int, drift: int, t: int, start: int) -> None:
    clock = clock_of(offset, drift, at=start)
    shown = clock.at(start + t)
    first = clock.world_ticks(shown)
    assert first <= start + t
    assert clock.at(first) == shown
    if drift >= 0:
        assert first == start + t
    if first > start:
        assert clock.at(first - 1) < shown


@given(OFFSETS, DRIFTS, TICKS, st.integers(-DAY, DAY), st.integers(0, 10 * DAY))
def test_a_span_of_a_clock_ends_when_it_has_gone_so_far(
    offset: int, drift: int, t: int, by: int, span: int
) -> None:
    clock = clock_of(offset, drift)
    clock.world.advance_to(t)
    clock.step(by)
    begun = clock.ticks
    needed = clock.span(span)
    assert clock.at(t + needed) >= begun + span
    if needed:
        assert clock.at(t + needed - 1) < begun + span
