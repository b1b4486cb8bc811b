"""Background users think, act and think again; what one does never shifts what another does."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import Event

from simharness.errors import HarnessError, ProcessFailed
from simharness.kernel.world import World
from simharness.parts.refusal import Refused
from simharness.parts.users import Population, scaled

if TYPE_CHECKING:
    from simharness.kernel.draws import Stream
    from simharness.kernel.operation import Actor

Steps: TypeAlias = Generator[Event, Any, None]
Log: TypeAlias = list[tuple[int, str, int]]


def crowd(size: int, *, pause: int = 0, refuse: bool = False, until: int = 100_000) -> Log:
    """When each of `size` users acts and what he then draws."""
    world = World(3)
    log: Log = []

    def habit(actor: Actor, stream: Stream) -> Steps:
        log.append((world.ticks, actor.name, stream.below(1_000)))
        if refuse:
            raise Refused("locked", "not now")
        yield world.pause(pause)

    population = Population(world, think_mean=1_000)
    population.grow(size, lambda k: 100 + k, habit)
    assert population.size == size
    world.advance_to(until)
    assert list(world.alive) == [f"user/{k}" for k in range(1, size + 1)]
    return log


def of(log: Log, name: str) -> Log:
    return [entry for entry in log if entry[1] == name]


def test_users_act_again_and_again_with_the_mean_think_time() -> None:
    log = crowd(20)
    for k in range(1, 21):
        assert 60 < len(of(log, f"user/{k}")) < 140
    assert 1_850 < len(log) < 2_150


def test_a_user_does_the_same_whoever_else_is_there() -> None:
    alone = crowd(1)
    assert of(crowd(7), "user/1") == alone
    assert len({entry[2] for entry in alone}) > 50


def test_users_differ_from_each_other() -> None:
    log = crowd(2)
    assert [t for t, _, _ in of(log, "user/1")] != [t for t, _, _ in of(log, "user/2")]


def test_a_longer_act_delays_later_cycles_and_changes_no_draw() -> None:
    quick, slow = crowd(1), crowd(1, pause=500)
    assert [entry[2] for entry in slow] == [entry[2] for entry in quick][: len(slow)]
    assert [t + 500 * i for i, (t, _, _) in enumerate(quick)][: len(slow)] == [
        t for t, _, _ in slow
    ]


def test_a_refusal_is_shrugged_at() -> None:
    assert crowd(2, refuse=True) == crowd(2)


def test_any_other_error_of_a_habit_stops_the_world_and_names_the_user() -> None:
    world = World(3)

    def habit(actor: Actor, stream: Stream) -> Steps:
        yield world.pause(1)
        raise ValueError(actor.name)

    Population(world, think_mean=10, prefix="rep").grow(1, lambda k: k, habit)
    with pytest.raises(ProcessFailed, match=r"^process 'rep/1' raised ValueError: rep/1"):
        world.advance_to(10_000)


def test_each_user_is_signed_in_as_somebody() -> None:
    world = World(3)
    identities: dict[str, int] = {}

    def habit(actor: Actor, stream: Stream) -> Steps:
        identities[actor.name] = actor.identity
        assert not actor.audited
        yield world.pause(1)

    population = Population(world, think_mean=10)
    population.grow(2, lambda k: 100 + k, habit)
    population.grow(1, lambda k: 200 + k, habit)
    world.advance_to(1_000)
    assert identities == {"user/1": 101, "user/2": 102, "user/3": 203}


def test_two_populations_need_two_prefixes() -> None:
    world = World(3)

    def habit(actor: Actor, stream: Stream) -> Steps:
        yield world.pause(1)

    Population(world, think_mean=10).grow(1, lambda k: k, habit)
    with pytest.raises(HarnessError, match="is already running"):
        Population(world, think_mean=10).grow(1, lambda k: k, habit)


@pytest.mark.parametrize(
    ("base", "load", "number"),
    [(20, 1000, 20), (20, 4000, 80), (20, 500, 10), (20, 0, 0), (3, 100, 1), (3, 999, 2)],
)
def test_load_scales_a_team(base: int, load: int, number: int) -> None:
    assert scaled(base, load) == number


@given(st.integers(1, 100), st.integers(1, 1_000_000))
def test_a_team_under_load_is_never_empty_nor_larger_than_in_proportion(
    base: int, load: int
) -> None:
    number = scaled(base, load)
    assert number >= 1
    assert number == 1 or number * 1000 <= base * load < (number + 1) * 1000
