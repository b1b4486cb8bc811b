"""The world takes ints alone, names whoever fails or is stuck, and never hangs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import simpy

from simharness import errors
from simharness.errors import (
    Deadlock,
    HarnessError,
    ProcessFailed,
    SimharnessError,
    UnknownName,
    UsageError,
)
from simharness.kernel import journal
from simharness.kernel import world as world_module
from simharness.kernel.process import Process, Wait
from simharness.kernel.world import World

Steps: TypeAlias = Generator[simpy.Event, Any, Any]
ROOT = Path(__file__).resolve().parents[2]


def sleeper(world: World, ticks: int, log: list[int] | None = None) -> Steps:
    yield world.pause(ticks)
    if log is not None:
        log.append(world.ticks)
    return ticks


def waiter(event: simpy.Event) -> Steps:
    return (yield event)


# --- ints alone -----------------------------------------------------------------------------------

BAD_DELAYS = [1.0, 0.0, True, False, np.int64(1), np.int64(0), np.uint8(3), -1, "1", None]


@pytest.mark.parametrize("delay", BAD_DELAYS, ids=repr)
@pytest.mark.parametrize("ask", ["pause", "timer", "after", "schedule"])
def test_a_delay_that_is_no_tick_count_is_refused(ask: str, delay: Any) -> None:
    world = World(0)

    def ignore(_: simpy.Event) -> None:
        pass

    asked: dict[str, Callable[[], object]] = {
        "pause": lambda: world.pause(delay),
        "timer": lambda: world.timer(delay),
        "after": lambda: world.after(delay, ignore),
        "schedule": lambda: world.schedule(world.event(), delay=delay),
    }
    with pytest.raises(UsageError, match=r"^delay .* is not a number of ticks; give an int >= 0"):
        asked[ask]()
    assert world.next_ticks() is None


@pytest.mark.parametrize("delay", [1.5, np.int64(2)])
def test_simpys_own_timeout_takes_ints_alone(delay: Any) -> None:
    with pytest.raises(UsageError, match="is not a number of ticks"):
        World(0).timeout(delay)


@pytest.mark.parametrize("ticks", [1.0, True, np.int64(5), -1, 2])
def test_the_clock_is_set_by_ints_alone_and_never_back(ticks: Any) -> None:
    world = World(0)
    world.advance_to(3)
    with pytest.raises(UsageError, match=r"^can't advance to tick .* from tick 3"):
        world.advance_to(ticks)
    assert world.ticks == 3


@pytest.mark.parametrize("ranked", [False, True])
def test_the_clock_stays_an_int(ranked: bool) -> None:
    from simharness.kernel.schedule import Random

    world = World(0, scheduler=Random(1) if ranked else None, epoch=1_000)
    world.spawn("a", sleeper(world, 7))
    world.advance_to(10)
    assert (type(world.ticks), world.ticks, world.instant) == (int, 10, 1_010)


# --- names ----------------------------------------------------------------------------------------


def test_two_live_processes_cant_share_a_name() -> None:
    world = World(0)
    world.spawn("a", sleeper(world, 5))
    second = sleeper(world, 5)
    with pytest.raises(HarnessError, match=r"^process 'a' is already running"):
        world.spawn("a", second)
    assert list(second) == [], "the refused generator is closed"
    world.advance_to(5)
    assert world.alive == {}
    world.spawn("a", sleeper(world, 5))
    assert list(world.alive) == ["a"]


def test_a_process_bears_its_name_and_gives_its_value() -> None:
    world = World(0)
    process = world.spawn("booking/api/3", sleeper(world, 5))
    assert process.name == "booking/api/3"
    assert world.drive(process, 10)
    assert process.value == 5


def test_a_name_is_introduced_once_in_the_journal() -> None:
    world = World(0)
    numbers = [world.intern(name) for name in ("a", "b", "a")]
    assert numbers == [0, 1, 0]
    assert world.names == ["a", "b"]
    assert [row[2:] for row in world.rows] == [(0, "a"), (1, "b")]
    assert {row[0] for row in world.rows} == {journal.STR}


# --- failures -------------------------------------------------------------------------------------


class TwoArgumentsError(Exception):
    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")
        self.one = one


class AttributeBearingError(Exception):
    pass


def raiser(world: World, error: BaseException) -> Steps:
    yield world.pause(3)
    raise error


def bearer() -> AttributeBearingError:
    error = AttributeBearingError("text")
    error.__dict__["extra"] = [1, 2]
    return error


def run_by_advance(world: World) -> None:
    world.advance_to(9)


def run_by_drive(world: World) -> None:
    world.drive(world.event(), 9)


def run_by_settle(world: World) -> None:
    world.advance_to(2)
    world.after(1, lambda _: None)
    world._now = 3  # pyright: ignore[reportPrivateUsage]  # settle works at the instant that it is
    world.settle()


@pytest.mark.parametrize("run", [run_by_advance, run_by_drive, run_by_settle])
@pytest.mark.parametrize("error", [ValueError("bad"), TwoArgumentsError("x", "y"), bearer()])
def test_a_failed_process_is_named_and_its_error_kept(
    run: Callable[[World], None], error: Exception
) -> None:
    world = World(0)
    world.spawn("user/7", raiser(world, error))
    with pytest.raises(ProcessFailed, match=r"^process 'user/7' raised") as caught:
        run(world)
    assert type(error).__name__ in str(caught.value)
    assert str(error) in str(caught.value)
    assert "0.000003s" in str(caught.value)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [ValueError("bad"), TwoArgumentsError("x", "y"), bearer()])
def test_whoever_waits_for_a_process_gets_its_error_whole(error: Exception) -> None:
    world = World(0)

    def parent() -> Steps:
        try:
            yield world.spawn("child", raiser(world, error))
        except (ValueError, TwoArgumentsError, AttributeBearingError) as got:
            return got

    process = world.spawn("parent", parent())
    assert world.drive(process, 9)
    assert process.value is error


def test_a_failure_is_thrown_into_everybody_who_waits_for_it() -> None:
    world = World(0)
    child = world.spawn("child", raiser(world, TwoArgumentsError("x", "y")))
    got: list[str] = []

    def parent() -> Steps:
        try:
            yield child
        except TwoArgumentsError as error:
            got.append(error.one)

    for i in range(3):
        world.spawn(f"parent/{i}", parent())
    world.advance_to(9)
    assert got == ["x", "x", "x"]
    assert world.alive == {}


def test_an_error_of_our_own_tree_comes_out_as_it_is() -> None:
    world = World(0)
    error = Deadlock("stuck", "hint", 3)
    world.spawn("a", raiser(world, error))
    with pytest.raises(Deadlock) as caught:
        world.advance_to(9)
    assert caught.value is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_by_the_user_comes_out_as_itself(kind: type[BaseException]) -> None:
    world = World(0)
    error = kind()
    world.spawn("a", raiser(world, error))
    with pytest.raises(kind) as caught:
        world.advance_to(9)
    assert caught.value is error


def test_yielding_something_else_than_an_event_names_the_process() -> None:
    world = World(0)

    def wrong() -> Any:
        yield world.pause(1)
        yield 5

    world.spawn("user/7", wrong())
    with pytest.raises(HarnessError, match=r"^process 'user/7' yields a int, not an event"):
        world.advance_to(9)
    assert world.active_process is None


def test_an_event_that_fails_with_nobody_to_hear_is_a_failure() -> None:
    world = World(0)
    world.event().fail(ValueError("lost"))
    with pytest.raises(ProcessFailed, match=r"^process 'Event' raised ValueError: lost"):
        world.advance_to(9)


def test_a_world_whose_process_failed_can_still_be_driven() -> None:
    world = World(0)
    log: list[int] = []
    world.spawn("a", raiser(world, ValueError("bad")))
    world.spawn("b", sleeper(world, 5, log))
    with pytest.raises(ProcessFailed):
        world.advance_to(9)
    assert world.ticks == 3
    world.advance_to(9)
    assert log == [5]
    assert world.ticks == 9


# --- driving --------------------------------------------------------------------------------------


def test_advancing_includes_the_events_of_its_last_instant() -> None:
    world = World(0)
    log: list[int] = []
    for ticks in (4, 5, 6):
        world.spawn(f"s{ticks}", sleeper(world, ticks, log))
    world.advance_to(5)
    assert log == [4, 5]
    assert world.ticks == 5
    assert world.next_ticks() == 6


def test_advancing_includes_what_its_last_instant_adds_to_itself() -> None:
    world = World(0)
    log: list[str] = []

    def chain() -> Steps:
        yield world.pause(5)
        yield world.point("preemption")
        yield world.spawn("child", sleeper(world, 0))
        log.append("done")

    world.spawn("chain", chain())
    world.advance_to(5)
    assert log == ["done"]


def test_drive_stops_as_soon_as_its_event_has_been_processed() -> None:
    world = World(0)
    log: list[int] = []
    process = world.spawn("first", sleeper(world, 5, log))
    world.spawn("second", sleeper(world, 5, log))
    assert world.drive(process, 100)
    assert world.ticks == 5
    world.settle()
    assert log == [5, 5]


def test_drive_says_false_at_its_deadline_and_includes_it() -> None:
    world = World(0)
    late = world.spawn("late", sleeper(world, 8))
    assert not world.drive(late, 7)
    assert world.ticks == 7
    assert world.drive(late, 8)
    assert world.ticks == 8


def test_drive_never_turns_the_clock_back() -> None:
    world = World(0)
    late = world.spawn("late", sleeper(world, 9))
    world.advance_to(5)
    assert not world.drive(late, 3)
    assert world.ticks == 5


def test_settling_runs_this_instant_alone() -> None:
    world = World(0)
    log: list[int] = []
    world.spawn("now", sleeper(world, 0, log))
    world.spawn("soon", sleeper(world, 1, log))
    world.settle()
    assert log == [0]
    world.settle()
    assert (log, world.ticks) == ([0], 0)


def test_a_pause_of_0_goes_straight_on_and_a_point_lets_others_run() -> None:
    world = World(0)
    log: list[str] = []

    def steps(name: str, stop: Callable[[], simpy.Event]) -> Steps:
        for i in range(2):
            yield stop()
            log.append(f"{name}{i}")

    world.spawn("a", steps("a", lambda: world.pause(0)))
    world.spawn("b", steps("b", lambda: world.point("between")))
    world.spawn("c", steps("c", lambda: world.point("between")))
    world.settle()
    assert log == ["a0", "a1", "b0", "c0", "b1", "c1"]


def test_a_world_without_anything_to_do_names_who_waits_for_what() -> None:
    world = World(0)
    never = world.event()
    child = world.spawn("child", waiter(never))
    world.spawn("parent", waiter(child))
    world.spawn("worker", waiter(Wait(world, "lock deals:7, held by user/2#4")))
    with pytest.raises(Deadlock, match=r"^nobody can move at 0\.000000s: ") as caught:
        world.drive(never, 100)
    message = str(caught.value)
    assert "child waits for an event that nobody has triggered" in message
    assert "parent waits for the end of child" in message
    assert "worker waits for lock deals:7, held by user/2#4" in message


def test_waiting_says_of_a_sleeper_that_it_sleeps() -> None:
    world = World(0)
    world.spawn("a", sleeper(world, 5))
    world.advance_to(1)
    assert world.waiting() == ["a waits for a timer"]


def spinner(world: World) -> Steps:
    while True:
        yield world.point("again")


@pytest.mark.parametrize("run", [run_by_advance, run_by_drive, World.settle])
def test_an_instant_that_never_ends_is_a_deadlock(
    run: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "EVENTS_PER_INSTANT", 500)
    world = World(0)
    world.spawn("spinner", spinner(world))
    with pytest.raises(Deadlock, match=r"^the instant 0\.000000s has not ended") as caught:
        run(world)
    assert "spinner waits for again" in str(caught.value)


@pytest.mark.parametrize("run", [run_by_advance, run_by_drive])
def test_many_events_over_many_instants_are_no_deadlock(
    run: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "EVENTS_PER_INSTANT", 50)
    world = World(0)

    def busy() -> Steps:
        while True:
            for _ in range(20):
                yield world.point("work")
            yield world.pause(1)

    world.spawn("busy", busy())
    run(world)
    assert world.ticks == 9


def test_a_loop_of_pauses_of_0_ends_as_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module, "EVENTS_PER_INSTANT", 500)
    world = World(0)

    def spin() -> Steps:
        yield world.pause(2)
        while True:
            yield world.pause(0)

    world.spawn("spin", spin())
    with pytest.raises(Deadlock, match=r"^the instant 0\.000002s has not ended"):
        world.advance_to(9)


# --- the error tree -------------------------------------------------------------------------------


def subclasses(root: type[SimharnessError]) -> list[type[SimharnessError]]:
    return [root, *(leaf for child in root.__subclasses__() for leaf in subclasses(child))]


@pytest.mark.parametrize("kind", subclasses(SimharnessError), ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_pickles_and_is_rebuilt_from_its_arguments(
    kind: type[SimharnessError],
) -> None:
    error = kind("what went wrong", "what to do", 7, "more")
    for copy in (pickle.loads(pickle.dumps(error)), kind(*error.args)):
        assert type(copy) is kind
        assert copy.args == error.args
        assert str(copy) == str(error) == "what went wrong; what to do"
        assert (copy.message, copy.hint, copy.code) == (error.message, error.hint, error.code)


def test_every_class_of_the_errors_file_is_in_the_tree_with_a_code() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    tree = [kind for kind in kinds if issubclass(kind, Exception)]
    assert all(issubclass(kind, SimharnessError) for kind in tree)
    assert len({kind.code for kind in tree if issubclass(kind, SimharnessError)}) == len(tree)
    drawn = errors.__doc__ or ""
    assert [kind.__name__ for kind in tree if kind.__name__ not in drawn] == []


def test_an_unknown_name_lists_the_near_ones_or_all_of_a_few() -> None:
    near = UnknownName.among("knob", "deals.detail.cach.ttl", ["deals.detail.cache.ttl", "load"])
    assert str(near) == (
        "no knob named 'deals.detail.cach.ttl'; did you mean 'deals.detail.cache.ttl'?"
    )
    few = UnknownName.among("policy", "zzz", ["expert", "idle"])
    assert few.hint == "known: expert, idle"
    many = UnknownName.among("knob", "zzz", [f"knob{i:02d}" for i in range(20)])
    assert many.hint.endswith("knob07 and 12 more")


# --- across processes -----------------------------------------------------------------------------


SCRIPT = """
from simharness.kernel.schedule import Random
from simharness.kernel.world import World
world = World(5, scheduler=Random(5))
def steps(name):
    for lap in range(5):
        yield world.pause(world.draws.word(name, lap, "length") % 3)
        world.intern(f"{name}.{lap}")
for name in {"a", "b", "c", "d"} if UNSEEDED else ("a", "b", "c", "d"):
    world.spawn(name, steps(name))
world.advance_to(99)
print(world.rows)
"""


def rows_under(hash_seed: int, unseeded: bool) -> bytes:
    script = f"UNSEEDED = {unseeded}\n{SCRIPT}"
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONHASHSEED": str(hash_seed)},
        check=True,
        capture_output=True,
    ).stdout


def test_the_journal_is_the_same_under_every_hash_seed() -> None:
    assert rows_under(1, False) == rows_under(2, False)


def test_a_set_decides_an_order_by_the_hash_seed() -> None:
    # Or the test above couldn't fail.
    assert len({rows_under(seed, True) for seed in range(4)}) > 1


def test_a_process_is_one_of_simpys() -> None:
    world = World(0)
    assert isinstance(world.spawn("a", sleeper(world, 1)), Process)
    assert isinstance(world.alive["a"], simpy.Process)
