"""A pool serves so many calls at a time and the others in turn, also when its size changes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import Event

from simharness.errors import HarnessError
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.workers import WorkerPool

Steps: TypeAlias = Generator[Event, Any, None]


class Bed:
    """A pool and calls that take a worker for a while."""

    def __init__(self, capacity: int) -> None:
        self.world = World(0)
        self.pool = WorkerPool(self.world, "api")
        self.pool.capacity = capacity
        self.served: list[tuple[int, str]] = []
        self.inside = 0
        self.most = 0

    def call(self, name: str, start: int, length: int) -> None:
        self.world.spawn(name, self._call(name, start, length))

    def _call(self, name: str, start: int, length: int) -> Steps:
        yield self.world.pause(start)
        op = Operation(self.world, Actor(self.world, name, 0), 1)
        yield from self.pool.acquire(op)
        self.served.append((self.world.ticks, name))
        self.inside += 1
        self.most = max(self.most, self.inside)
        yield self.world.pause(length)
        self.inside -= 1
        self.pool.release()


def test_calls_beyond_the_capacity_are_served_in_order_of_arrival() -> None:
    bed = Bed(2)
    for i, name in enumerate("dcba"):
        bed.call(name, start=i, length=10)
    bed.world.advance_to(3)
    assert bed.pool.full()
    bed.world.advance_to(100)
    assert bed.served == [(0, "d"), (1, "c"), (10, "b"), (11, "a")]
    assert (bed.pool.busy, bed.pool.full()) == (0, False)


def test_a_free_worker_is_taken_without_an_event() -> None:
    bed = Bed(1)
    op = Operation(bed.world, Actor(bed.world, "a", 0), 1)
    assert list(bed.pool.acquire(op)) == []
    assert bed.world.next_ticks() is None


def test_a_wait_for_a_worker_is_journalled_with_the_length_of_the_queue() -> None:
    bed = Bed(1)
    for name in "abc":
        bed.call(name, start=0, length=10)
    bed.world.advance_to(5)
    rows = [r for r in Decoder().decode_all(bed.world.rows) if r.kind == "BUSY"]
    assert [(r.values["owner"], r.values["pool"], r.values["waiting"]) for r in rows] == [
        ("b", "api", 1),
        ("c", "api", 2),
    ]
    assert "b waits for a worker of api (1 of 1 busy)" in bed.world.waiting()


def test_a_worker_that_was_never_given_cant_come_back() -> None:
    bed = Bed(1)
    with pytest.raises(HarnessError, match=r"^pool api gets back a worker"):
        bed.pool.release()


def test_raising_the_capacity_lets_the_waiting_in_before_newcomers() -> None:
    bed = Bed(1)
    for i, name in enumerate("abc"):
        bed.call(name, start=i, length=100)
    bed.call("late", start=10, length=100)
    bed.world.advance_to(10 - 1)
    bed.pool.capacity = 3
    bed.world.advance_to(50)
    assert bed.served == [(0, "a"), (9, "b"), (9, "c")]
    bed.world.advance_to(1_000)
    assert bed.served[3:] == [(100, "late")]


def test_cutting_the_capacity_takes_effect_as_calls_end() -> None:
    bed = Bed(3)
    for i in range(6):
        bed.call(f"c{i}", start=i, length=10)
    bed.world.advance_to(6)
    bed.pool.capacity = 1
    bed.world.advance_to(1_000)
    # The first three end at 10, 11 and 12; only the last of them leaves a place.
    assert bed.served == [(0, "c0"), (1, "c1"), (2, "c2"), (12, "c3"), (22, "c4"), (32, "c5")]


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12),
)
def test_no_more_calls_than_workers_and_every_call_is_served_in_turn(
    capacity: int, calls: list[tuple[int, int]]
) -> None:
    bed = Bed(capacity)
    for i, (start, length) in enumerate(calls):
        bed.call(f"c{i}", start, length)
    bed.world.advance_to(10_000)
    assert bed.most <= capacity
    served = {name: t for t, name in bed.served}
    order = sorted(range(len(calls)), key=lambda i: calls[i][0])
    times = [served[f"c{i}"] for i in order]
    assert times == sorted(times)
    assert bed.pool.busy == 0
