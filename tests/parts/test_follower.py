"""A follower stands where its table stood some time ago: whole commits, in order, each on time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.follower import Follower
from simharness.parts.row import Row, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.operation import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    size: int = 0


class Bed:
    """A table of three rows, somebody who writes, and what follows the table."""

    def __init__(self, lag: Span = (10, 10), seed: int = 0) -> None:
        self.world = World(seed)
        rows = [Thing(id=i) for i in (1, 2, 3)]
        self.table: Table[Thing] = Table(self.world, Template("things", RowType(Thing), rows, ()))
        self.follower = Follower(self.world, self.table, "replica:things", "replicate")
        self.follower.lag = lag
        self.actor = Actor(self.world, "writer", 0)
        self._count = 0

    def at(self, ticks: int) -> None:
        self.world.advance_to(ticks)

    def begin(self, pins: Mapping[str, int] | None = None) -> Transaction:
        self._count += 1
        return Transaction(Operation(self.world, self.actor, self._count, pins))

    def write(self, *keys: int, pins: Mapping[str, int] | None = None) -> int:
        """Change rows in one commit; gives its order."""
        tx = self.begin(pins)
        for key in keys:
            tx.update(self.table, key, {"size": self._count})
        return tx.commit()

    def insert(self) -> int:
        tx = self.begin()
        key = tx.insert(self.table, {"size": self._count})
        tx.commit()
        return key

    def delete(self, key: int) -> None:
        tx = self.begin()
        tx.delete(self.table, key)
        tx.commit()

    def versions(self) -> dict[int, int]:
        """What the follower has now, row by row and then as a whole: both must say the same."""
        order = self.follower.order()
        rows = {row.id: row for row in self.follower.where(lambda _: True, order)}
        assert list(rows) == sorted(rows)
        for key in range(1, self.table.top + 1):
            assert self.follower.row(key, order) is rows.get(key)
        return {key: row.version for key, row in rows.items()}


# --- when -----------------------------------------------------------------------------------------


def test_a_commit_whose_age_equals_the_lag_has_been_taken_over() -> None:
    bed = Bed()
    bed.at(5)
    order = bed.write(1)
    assert bed.follower.order() == order - 1
    bed.at(14)
    assert bed.versions() == {1: 1, 2: 1, 3: 1}
    bed.at(15)
    assert bed.follower.order() == order
    assert bed.versions() == {1: 2, 2: 1, 3: 1}


def test_without_a_lag_it_is_the_table() -> None:
    bed = Bed((0, 0))
    bed.write(1)
    bed.delete(2)
    bed.insert()
    assert bed.versions() == {1: 2, 3: 1, 4: 1}
    assert bed.follower.order() == bed.world.order


def test_commits_elsewhere_let_it_stand_at_the_newest_order() -> None:
    bed = Bed()
    bed.world.order += 3  # three commits of other tables
    assert bed.follower.order() == 3
    order = bed.write(1)
    assert bed.follower.order() == order - 1 == 3


def test_a_row_that_is_made_changed_and_ended_comes_and_goes_in_turn() -> None:
    bed = Bed()
    assert bed.insert() == 4
    bed.at(2)
    bed.write(4)
    bed.at(4)
    bed.delete(4)
    seen: list[int | None] = []
    for t in (9, 10, 11, 12, 13, 14):
        bed.at(t)
        seen.append(bed.versions().get(4))
    assert seen == [None, 1, 1, 2, 2, None]


def test_a_filter_is_put_to_the_rows_as_the_follower_has_them() -> None:
    bed = Bed()
    bed.write(2)  # to size 1
    order = bed.follower.order()
    assert [row.id for row in bed.follower.where(lambda row: row.size == 0, order)] == [1, 2, 3]
    bed.at(10)
    order = bed.follower.order()
    assert [row.id for row in bed.follower.where(lambda row: row.size == 0, order)] == [1, 3]


# --- whole commits, in order ----------------------------------------------------------------------


def test_the_rows_of_a_transaction_come_together_as_late_as_the_latest() -> None:
    split = False
    for seed in range(20):
        bed = Bed((0, 1_000), seed)
        bed.write(1, 2, 3)
        alone = Bed((0, 1_000), seed)
        alone.write(1)
        arrivals: dict[str, int] = {}
        for t in range(1_001):
            for name, one in (("all", bed), ("alone", alone)):
                one.at(t)
                had = one.versions()
                assert name == "alone" or len(set(had.values())) == 1, "a part of a transaction"
                if had[1] == 2:
                    arrivals.setdefault(name, t)
        assert arrivals["all"] >= arrivals["alone"]
        split = split or arrivals["all"] > arrivals["alone"]
    assert split, "no row was ever held back by another of its transaction"


def test_a_commit_waits_for_those_before_it() -> None:
    bed = Bed()
    first = bed.write(1, pins={"replicate": 50})
    bed.at(5)
    second = bed.write(2)
    bed.at(49)
    assert bed.follower.order() == first - 1
    bed.at(50)
    assert bed.follower.order() == second


def test_a_lag_that_is_drawn_keeps_to_its_span_and_to_the_commit() -> None:
    def arrivals(bed: Bed, keys: tuple[int, ...]) -> dict[int, int]:
        out: dict[int, int] = {}
        for key in keys:
            start = bed.world.ticks
            bed.write(key)
            while bed.versions()[key] == 1:
                bed.at(bed.world.ticks + 1)
            out[key] = bed.world.ticks - start
            bed.at(start + 100)
        return out

    times = [arrivals(Bed((20, 40), seed), (1, 2, 3)) for seed in range(12)]
    every = [t for one in times for t in one.values()]
    assert min(every) >= 20
    assert max(every) <= 40
    assert len(set(every)) > 10
    assert times == [arrivals(Bed((20, 40), seed), (1, 2, 3)) for seed in range(12)]


# --- lags that change -----------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [False, True])
def test_a_lag_that_is_patched_holds_for_later_commits_only(asked: bool) -> None:
    bed = Bed((10, 10))
    first = bed.write(1)
    if asked:
        assert bed.follower.order() == first - 1
    bed.at(4)
    bed.follower.lag = (100, 100)
    bed.at(5)
    second = bed.write(2)
    bed.at(10)
    assert bed.follower.order() == first
    bed.at(20)
    bed.follower.lag = (0, 0)
    third = bed.write(3)
    bed.at(104)
    assert bed.follower.order() == first
    bed.at(105)
    assert bed.follower.order() == third == second + 1


def test_a_pinned_lag_beats_the_knob_for_its_own_commit() -> None:
    bed = Bed((10, 10))
    first = bed.write(1, pins={"replicate": 3})
    bed.at(3)
    assert bed.follower.order() == first
    second = bed.write(1, pins={"index": 0})  # another follower's
    bed.at(12)
    assert bed.follower.order() == first
    bed.at(13)
    assert bed.follower.order() == second


# --- as of when -----------------------------------------------------------------------------------


def test_it_is_as_of_its_lag_ago_and_never_later_than_what_it_lacks() -> None:
    bed = Bed((10, 20))
    bed.at(100)
    assert bed.follower.as_of() == 80
    bed.write(1, pins={"replicate": 500})
    bed.at(300)
    assert bed.follower.as_of() == 100
    bed.at(600)
    assert bed.follower.as_of() == 580
    bed.follower.lag = (0, 0)
    assert bed.follower.as_of() == 600


# --- against a plain model ------------------------------------------------------------------------


class Model:
    """A copy of the rows that takes over each commit when it is due, the plainest way."""

    def __init__(self) -> None:
        self.rows = {1: 1, 2: 1, 3: 1}
        self.queue: list[tuple[int, int, dict[int, int | None]]] = []
        """Commits under way: tick made, tick due, versions by key."""
        self.last_due = 0

    def commit(self, now: int, lag: int, rows: dict[int, int | None]) -> None:
        self.last_due = max(self.last_due, now + lag)
        self.queue.append((now, self.last_due, rows))

    def take_over(self, now: int) -> None:
        while self.queue and self.queue[0][1] <= now:
            for key, version in self.queue.pop(0)[2].items():
                if version is None:
                    self.rows.pop(key, None)
                else:
                    self.rows[key] = version


STEP = st.one_of(
    st.tuples(st.just("wait"), st.integers(0, 30)),
    st.tuples(st.just("lag"), st.integers(0, 40)),
    st.tuples(st.just("write"), st.sets(st.integers(1, 6), min_size=1, max_size=3)),
    st.tuples(st.just("pinned"), st.integers(0, 60)),
    st.tuples(st.just("insert"), st.none()),
    st.tuples(st.just("delete"), st.integers(1, 6)),
    st.tuples(st.just("look"), st.none()),
)


@given(st.integers(0, 40), st.lists(STEP, max_size=40))
def test_a_follower_has_what_a_plain_copy_has(lag: int, steps: list[tuple[str, Any]]) -> None:
    bed, model = Bed((lag, lag)), Model()
    table = bed.table
    for kind, given_ in steps:
        now = bed.world.ticks
        if kind == "wait":
            bed.at(now + given_)
        elif kind == "lag":
            lag = given_
            bed.follower.lag = (lag, lag)
        elif kind in ("write", "pinned"):
            keys = sorted(set(given_ if kind == "write" else {1, 2, 3}) & set(table.rows))
            if keys:
                bed.write(*keys, pins={"replicate": given_} if kind == "pinned" else None)
                late = given_ if kind == "pinned" else lag
                model.commit(now, late, {key: table.version(key) for key in keys})
        elif kind == "insert":
            model.commit(now, lag, {bed.insert(): 1})
        elif kind == "delete" and given_ in table.rows:
            bed.delete(given_)
            model.commit(now, lag, {given_: None})
        if kind == "look":
            model.take_over(bed.world.ticks)
            assert bed.versions() == dict(sorted(model.rows.items()))
            as_of = bed.follower.as_of()
            assert as_of <= bed.world.ticks
            assert all(made >= as_of for made, _, _ in model.queue)
    model.take_over(bed.world.ticks)
    assert bed.versions() == dict(sorted(model.rows.items()))


# --- cost -----------------------------------------------------------------------------------------


def commits_with_a_look_each(count: int) -> int:
    """How long it takes, in nanoseconds of this thread: always of one hot row, with a lag of 20."""
    bed = Bed((20, 20))
    start = time.thread_time_ns()
    for t in range(count):
        bed.at(t)
        bed.write(1)
        order = bed.follower.order()
        assert len(bed.follower.where(lambda row: row.size >= 0, order)) == 3
        row = bed.follower.row(1, order)
        assert row is not None
        assert bed.table.successor(1, row.version) is not None
    return time.thread_time_ns() - start


def test_looking_after_each_commit_costs_the_same_however_many_there_were() -> None:
    small, large = (min(commits_with_a_look_each(n) for _ in range(3)) for n in (500, 4_000))
    assert large < 8 * small * 2
