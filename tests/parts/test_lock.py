"""Locks: one holder at a time, first come first served, and nobody waits for ever."""

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
from simharness.parts.lock import Locks
from simharness.parts.refusal import Refused

Steps: TypeAlias = Generator[Event, Any, None]


class Bed:
    """A world with one table's locks, and a log of who did what when."""

    def __init__(self) -> None:
        self.world = World(0)
        self.locks = Locks(self.world, "deals")
        self.log: list[tuple[int, str]] = []

    def op(self, name: str) -> Operation:
        return Operation(self.world, Actor(self.world, name, 0), 1)

    def note(self, what: str) -> None:
        self.log.append((self.world.ticks, what))

    def take(
        self, op: Operation, keys: list[int], start: int, hold: int, patience: int = 1_000
    ) -> Steps:
        """Take locks one after the other, `hold` ticks apart, and give all of them back."""
        yield self.world.pause(start)
        held: list[int] = []
        try:
            for key in keys:
                yield from self.locks.acquire(op, key, patience)
                held.append(key)
                self.note(f"{op.owner} has {key}")
                yield self.world.pause(hold)
        except Refused as refusal:
            self.note(f"{op.owner} refused {refusal.code}")
        for key in held:
            self.locks.release(op, key)

    def spawn(
        self, name: str, keys: list[int], start: int, hold: int, patience: int = 1_000
    ) -> Operation:
        op = self.op(name)
        self.world.spawn(name, self.take(op, keys, start, hold, patience))
        return op

    def rows(self, *kinds: str) -> list[tuple[int, str, str]]:
        """The journal's rows of locks: when, kind, by whom."""
        decoded = Decoder().decode_all(self.world.rows)
        return [(r.t, r.kind, r.values["owner"]) for r in decoded if r.kind in kinds]


def test_a_free_lock_is_taken_without_an_event() -> None:
    bed = Bed()
    op = bed.op("a")
    assert list(bed.locks.acquire(op, 1, 0)) == []
    assert bed.locks.holder(1) is op
    assert bed.world.next_ticks() is None


def test_locks_of_different_rows_have_nothing_to_do_with_each_other() -> None:
    bed = Bed()
    one, other = bed.op("a"), bed.op("b")
    assert list(bed.locks.acquire(one, 1, 0)) == []
    assert list(bed.locks.acquire(other, 2, 0)) == []
    assert (bed.locks.holder(1), bed.locks.holder(2)) == (one, other)


def test_a_lock_is_handed_over_in_order_of_asking_at_the_instant_of_release() -> None:
    bed = Bed()
    for i, name in enumerate("cab"):
        bed.spawn(name, [1], start=i, hold=10)
    bed.world.advance_to(100)
    assert bed.log == [(0, "c has 1"), (10, "a has 1"), (20, "b has 1")]
    assert bed.rows("LOCKWAIT", "LOCK", "UNLOCK") == [
        (0, "LOCK", "c"),
        (1, "LOCKWAIT", "a"),
        (2, "LOCKWAIT", "b"),
        (10, "UNLOCK", "c"),
        (10, "LOCK", "a"),
        (20, "UNLOCK", "a"),
        (20, "LOCK", "b"),
        (30, "UNLOCK", "b"),
    ]
    assert bed.locks.holder(1) is None


def test_a_wait_names_the_lock_and_its_holder() -> None:
    bed = Bed()
    bed.spawn("a", [7], start=0, hold=50)
    bed.spawn("b", [7], start=1, hold=1)
    bed.world.advance_to(5)
    assert "b waits for lock deals:7, held by a#1" in bed.world.waiting()


def test_patience_ends_in_a_refusal_and_leaves_the_queue() -> None:
    bed = Bed()
    bed.spawn("a", [1], start=0, hold=50)
    bed.spawn("b", [1], start=1, hold=1, patience=9)
    bed.spawn("c", [1], start=2, hold=1)
    bed.world.advance_to(100)
    assert bed.log == [(0, "a has 1"), (10, "b refused locked"), (50, "c has 1")]
    assert bed.rows("LOCKTIMEOUT") == [(10, "LOCKTIMEOUT", "b")]


def test_a_lock_that_comes_free_at_the_last_instant_goes_to_whoever_was_first_then() -> None:
    # Released at 10 by an event that was scheduled before the deadline of the same instant.
    bed = Bed()
    bed.spawn("a", [1], start=0, hold=10)
    bed.spawn("b", [1], start=1, hold=1, patience=9)
    bed.world.advance_to(100)
    assert bed.log == [(0, "a has 1"), (10, "b has 1")]
    # And the other way round.
    bed = Bed()
    bed.spawn("b", [1], start=1, hold=1, patience=9)
    op = bed.op("a")
    assert list(bed.locks.acquire(op, 1, 0)) == []

    def late() -> Steps:
        yield bed.world.pause(5)
        yield bed.world.pause(5)
        bed.locks.release(op, 1)

    bed.world.spawn("late", late())
    bed.world.advance_to(100)
    assert bed.log == [(10, "b refused locked")]
    assert bed.locks.holder(1) is None


def test_a_refusal_can_be_retried() -> None:
    bed = Bed()
    holder, other = bed.op("a"), bed.op("b")
    assert list(bed.locks.acquire(holder, 1, 0)) == []
    refusals: list[Refused] = []

    def steps() -> Steps:
        try:
            yield from bed.locks.acquire(other, 1, 5)
        except Refused as refusal:
            refusals.append(refusal)
        bed.locks.release(holder, 1)
        yield from bed.locks.acquire(other, 1, 5)

    bed.world.spawn("b", steps())
    bed.world.advance_to(50)
    (refusal,) = refusals
    assert refusal.value()["retryable"] is True
    assert bed.locks.holder(1) is other


@pytest.mark.parametrize("length", [2, 3, 5])
def test_a_wait_that_would_close_a_circle_is_refused_at_once(length: int) -> None:
    bed = Bed()
    for i in range(length):
        bed.spawn(f"p{i}", [i, (i + 1) % length], start=i, hold=20, patience=10_000)
    bed.world.advance_to(1_000)
    last = length - 1
    assert bed.log[length] == (20 + last, f"p{last} refused locked")
    # Its locks go back, so that everybody else gets both of his.
    assert sum("has" in what for _, what in bed.log) == 2 * length - 1
    assert all(bed.locks.holder(i) is None for i in range(length))


def test_somebody_who_has_just_given_up_closes_no_circle() -> None:
    # At 10, a stops waiting for b's lock; b asks for a's lock at that very instant.
    bed = Bed()
    bed.spawn("a", [1, 2], start=0, hold=2, patience=8)
    bed.spawn("b", [2, 3, 1], start=0, hold=5, patience=50)
    bed.world.advance_to(1_000)
    assert bed.log == [
        (0, "a has 1"),
        (0, "b has 2"),
        (5, "b has 3"),
        (10, "a refused locked"),
        (10, "b has 1"),
    ]


def test_whoever_is_handed_a_lock_waits_for_nothing() -> None:
    bed = Bed()
    a, b = bed.op("a"), bed.op("b")
    assert list(bed.locks.acquire(a, 1, 0)) == []
    bed.world.spawn("b", bed.locks.acquire(b, 1, 99))
    bed.world.settle()
    assert b.blocked_on is not None
    bed.locks.release(a, 1)
    assert bed.locks.holder(1) is b
    assert b.blocked_on is None


def test_taking_a_lock_twice_is_a_fault_of_the_harness() -> None:
    bed = Bed()
    op = bed.op("a")
    assert list(bed.locks.acquire(op, 1, 0)) == []
    with pytest.raises(HarnessError, match=r"^a#1 takes lock deals:1 twice"):
        next(bed.locks.acquire(op, 1, 0))


def test_giving_back_a_lock_that_one_does_not_hold_is_a_fault_of_the_harness() -> None:
    bed = Bed()
    holder, other = bed.op("a"), bed.op("b")
    assert list(bed.locks.acquire(holder, 1, 0)) == []
    for op, key in ((other, 1), (holder, 2)):
        with pytest.raises(HarnessError, match=rf"^{op.name} releases lock deals:{key}, which"):
            bed.locks.release(op, key)
    bed.locks.release(holder, 1)
    with pytest.raises(HarnessError):
        bed.locks.release(holder, 1)


PLANS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
        st.integers(0, 6),
        st.integers(0, 4),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


@given(PLANS)
def test_a_lock_never_has_two_holders_and_always_comes_free(
    plans: list[tuple[list[int], int, int, int]],
) -> None:
    bed = Bed()
    for i, (keys, start, hold, patience) in enumerate(plans):
        bed.spawn(f"p{i}", keys, start, hold, patience)
    bed.world.advance_to(1_000)
    assert bed.world.alive == {}
    holders: dict[str, str] = {}
    asked = granted = refused = 0
    for row in Decoder().decode_all(bed.world.rows):
        match row.kind:
            case "LOCK":
                assert row.values["lock"] not in holders
                holders[row.values["lock"]] = row.values["owner"]
                granted += 1
            case "UNLOCK":
                assert holders.pop(row.values["lock"]) == row.values["owner"]
            case "LOCKTIMEOUT":
                refused += 1
            case "LOCKWAIT":
                assert holders[row.values["lock"]] == row.values["holder"].removesuffix("#1")
                asked += 1
            case _:
                pass
    assert holders == {}
    assert refused <= asked
    assert sum("has" in what for _, what in bed.log) == granted
    assert sum("refused" in what for _, what in bed.log) == refused
