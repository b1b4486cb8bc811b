"""A cache is right as long as its knobs are, and wrong in exactly the way that each knob says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.cache import QUERY, ROW, Cache
from simharness.parts.row import Row, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Transaction
from simharness.parts.where import every

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    color: str = "red"
    size: int = 0


class Bed:
    """A cache of a table of three rows; time passes by `at`."""

    def __init__(self, scope: str = ROW, ttl: int = 100) -> None:
        self.world = World(0)
        rows = [Thing(id=i, color="red" if i < 3 else "blue") for i in (1, 2, 3)]
        self.table: Table[Thing] = Table(self.world, Template("things", RowType(Thing), rows, ()))
        self.cache = Cache(self.world, self.table, "things.detail", of_queries=scope == QUERY)
        self.cache.ttl = ttl
        self.actor = Actor(self.world, "agent", 0)

    def at(self, ticks: int) -> None:
        self.world.advance_to(ticks)

    def begin(self) -> Transaction:
        return Transaction(Operation(self.world, self.actor, 1))

    def write(self, key: int, **fields: object) -> None:
        tx = self.begin()
        tx.update(self.table, key, fields)
        tx.commit()

    def insert(self, **fields: object) -> int:
        tx = self.begin()
        key = tx.insert(self.table, fields)
        tx.commit()
        return key

    def delete(self, key: int) -> None:
        tx = self.begin()
        tx.delete(self.table, key)
        tx.commit()

    def fill(self, key: int, wait: int = 0) -> None:
        self.cache.fill(key, self.table.get(key), self.world.order, wait)

    def ask(self, text: str, matches: Callable[[Thing], bool], wait: int = 0) -> None:
        rows = tuple(self.table.where(matches))
        self.cache.fill(text, rows, self.world.order, wait, matches)

    def hit(self, key: int | str) -> bool:
        return self.cache.lookup(key) is not None

    def held(self, *texts: str) -> list[str]:
        """Which answers are cached, without touching them."""
        return [text for text in texts if text in self.cache.entries]

    def rows(self, *kinds: str) -> list[tuple[int, str, object]]:
        decoded = Decoder().decode_all(self.world.rows)
        return [(r.t, r.kind, r.values["key"]) for r in decoded if r.kind in kinds]


# --- life of an entry -----------------------------------------------------------------------------


def test_an_entry_whose_age_equals_its_ttl_has_expired() -> None:
    bed = Bed(ttl=100)
    bed.at(7)
    bed.fill(1)
    bed.at(106)
    entry = bed.cache.lookup(1)
    assert entry is not None
    assert (entry.value, entry.order, entry.at) == (bed.table.get(1), 0, 7)
    bed.at(107)
    assert not bed.hit(1)
    assert bed.rows("FILL", "EXPIRE") == [(7, "FILL", 1), (107, "EXPIRE", 1)]
    assert not bed.hit(1)
    assert len(bed.rows("EXPIRE")) == 1


def test_a_ttl_of_0_caches_nothing() -> None:
    bed = Bed(ttl=0)
    bed.fill(1)
    assert not bed.hit(1)
    assert bed.rows("FILL") == []


def test_an_entry_keeps_the_ttl_that_it_was_filled_with() -> None:
    bed = Bed(ttl=100)
    bed.fill(1)
    bed.cache.ttl = 1_000
    bed.at(100)
    assert not bed.hit(1)


@pytest.mark.parametrize(("expire", "alive"), [("after_access", True), ("after_write", False)])
def test_a_hit_prolongs_the_life_of_an_entry_only_after_access(expire: str, alive: bool) -> None:
    bed = Bed(ttl=100)
    bed.cache.expire = expire
    bed.fill(1)
    bed.at(99)
    assert bed.hit(1)
    bed.at(198)
    assert bed.hit(1) is alive
    bed.at(298)
    assert not bed.hit(1)


def test_a_coarse_clock_counts_whole_units() -> None:
    bed = Bed(ttl=100)
    bed.cache.granularity = 60
    bed.at(59)
    bed.fill(1)  # counts as 0
    bed.at(119)  # counts as 60
    assert bed.hit(1)
    bed.at(120)  # counts as 120
    assert not bed.hit(1)


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 50), st.integers(0, 120))
def test_an_entry_lives_for_its_ttl_by_the_clock_that_the_cache_has(
    ttl: int, unit: int, start: int, age: int
) -> None:
    bed = Bed(ttl=ttl)
    bed.cache.granularity = unit
    bed.at(start)
    bed.fill(1)
    bed.at(start + age)
    units = (start + age) // unit - start // unit
    assert bed.hit(1) is (units * unit < ttl)


def test_misses_have_a_ttl_of_their_own() -> None:
    bed = Bed(ttl=100)
    bed.fill(9)
    assert not bed.hit(9)
    bed.cache.negative_ttl = 10
    bed.fill(9)
    bed.fill(1)
    entry = bed.cache.lookup(9)
    assert entry is not None
    assert entry.value is None
    bed.at(10)
    assert not bed.hit(9)
    assert bed.hit(1)


def test_misses_can_be_cached_where_rows_are_not() -> None:
    bed = Bed(ttl=0)
    bed.cache.negative_ttl = 10
    bed.fill(1)
    bed.fill(4)
    assert (bed.hit(1), bed.hit(4)) == (False, True)
    assert bed.insert() == 4
    assert not bed.hit(4)


# --- invalidation: when ---------------------------------------------------------------------------


def test_on_commit_removes_the_row_within_the_commit() -> None:
    bed = Bed()
    bed.fill(1)
    bed.fill(2)
    bed.write(1, size=5)
    assert (bed.hit(1), bed.hit(2)) == (False, True)
    assert bed.rows("INVALIDATE") == [(0, "INVALIDATE", 1)]


def test_on_commit_a_delete_removes_the_row_too() -> None:
    bed = Bed()
    bed.fill(1)
    bed.delete(1)
    assert not bed.hit(1)


def test_async_removes_the_row_later_in_the_instant() -> None:
    bed = Bed()
    bed.cache.invalidate = "async"
    bed.fill(1)
    bed.write(1, size=5)
    assert bed.hit(1)
    bed.world.settle()
    assert not bed.hit(1)


def test_on_statement_removes_the_row_before_the_commit_and_not_again() -> None:
    bed = Bed()
    bed.cache.invalidate = "on_statement"
    bed.fill(1)
    tx = bed.begin()
    tx.update(bed.table, 1, {"size": 5})
    assert not bed.hit(1)
    bed.fill(1)  # a reader puts the old row back before the commit
    tx.commit()
    bed.at(50)
    entry = bed.cache.lookup(1)
    assert entry is not None
    assert entry.value != bed.table.get(1)


def test_never_removes_nothing() -> None:
    bed = Bed()
    bed.cache.invalidate = "never"
    bed.fill(1)
    tx = bed.begin()
    tx.update(bed.table, 1, {"size": 5})
    tx.commit()
    bed.at(99)
    assert bed.hit(1)
    assert bed.rows("INVALIDATE") == []


@pytest.mark.parametrize("mode", ["on_commit", "async", "on_statement"])
def test_a_cache_that_is_off_invalidates_nothing(mode: str) -> None:
    bed = Bed(ttl=0)
    bed.cache.invalidate = mode
    bed.write(1, size=5)
    bed.at(10)
    assert bed.rows("INVALIDATE") == []


@pytest.mark.parametrize("mode", ["on_commit", "async"])
def test_an_invalidation_takes_its_delay(mode: str) -> None:
    bed = Bed()
    bed.cache.invalidate = mode
    bed.cache.invalidate_delay = 20
    bed.fill(1)
    bed.at(5)
    bed.write(1, size=5)
    bed.at(24)
    assert bed.hit(1)
    bed.at(25)
    assert not bed.hit(1)


def test_one_worker_invalidates_at_its_rate_and_in_turn() -> None:
    bed = Bed(ttl=1_000)
    bed.cache.invalidate = "async"
    bed.cache.invalidate_rate = 10
    for key in (3, 1, 2):
        bed.write(key, size=5)
    bed.at(25)
    bed.write(3, size=6)
    bed.at(100)
    bed.write(1, size=6)
    bed.at(200)
    assert bed.rows("INVALIDATE") == [
        (10, "INVALIDATE", 3),
        (20, "INVALIDATE", 1),
        (30, "INVALIDATE", 2),
        (40, "INVALIDATE", 3),
        (110, "INVALIDATE", 1),
    ]


def test_a_delay_that_is_shortened_lets_no_invalidation_overtake() -> None:
    bed = Bed(ttl=1_000)
    bed.cache.invalidate = "async"
    bed.cache.invalidate_delay = 50
    bed.write(1, size=5)
    bed.cache.invalidate_delay = 0
    bed.at(10)
    bed.write(2, size=5)
    bed.at(100)
    assert bed.rows("INVALIDATE") == [(50, "INVALIDATE", 1), (50, "INVALIDATE", 2)]


def test_a_full_queue_drops_what_comes_and_says_so() -> None:
    bed = Bed()
    bed.cache.invalidate = "async"
    bed.cache.invalidate_rate = 10
    bed.cache.invalidate_queue = 2
    heard: list[int] = []
    bed.cache.on_queue = heard.append
    for key in (1, 2, 3):
        bed.fill(key)
    for key in (1, 2, 3):
        bed.write(key, size=5)
    assert heard == [1, 2]
    assert bed.rows("DROP") == [(0, "DROP", 3)]
    bed.at(50)
    assert [bed.hit(key) for key in (1, 2, 3)] == [False, False, True]
    bed.write(3, size=6)  # there is room again
    bed.at(60)
    assert not bed.hit(3)


# --- fences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fence", "back"), [(True, False), (False, True)])
def test_a_late_put_brings_the_old_row_back_unless_a_fence_stands(fence: bool, back: bool) -> None:
    bed = Bed()
    bed.cache.fence = fence
    bed.fill(1, wait=10)
    bed.at(5)
    bed.write(1, size=5)
    bed.at(10)
    assert bed.hit(1) is back
    assert bed.rows("FENCED") == ([(10, "FENCED", 1)] if fence else [])


def test_a_fence_lets_the_new_row_and_other_rows_in() -> None:
    bed = Bed()
    bed.fill(2, wait=10)
    bed.write(1, size=5)
    bed.fill(1, wait=10)
    bed.at(10)
    assert (bed.hit(1), bed.hit(2)) == (True, True)


def test_a_fence_of_queries_stands_for_the_whole_table() -> None:
    bed = Bed(QUERY)
    bed.ask("blue", lambda row: row.color == "blue", wait=10)
    bed.write(1, size=5)
    bed.at(10)
    assert not bed.hit("blue")
    assert bed.rows("FENCED") == [(10, "FENCED", "blue")]


def test_an_invalidation_that_was_lost_leaves_no_fence() -> None:
    bed = Bed()
    bed.cache.invalidate = "never"
    bed.fill(1, wait=10)
    bed.write(1, size=5)
    bed.at(10)
    assert bed.hit(1)


@given(
    st.lists(
        st.tuples(st.sampled_from(["fill", "write", "read"]), st.integers(1, 2), st.integers(0, 9)),
        max_size=20,
    )
)
def test_a_fenced_cache_invalidated_on_commit_never_serves_an_old_row(
    steps: list[tuple[str, int, int]],
) -> None:
    bed = Bed(ttl=15)
    for kind, key, ticks in steps:
        if kind == "fill":
            bed.fill(key, wait=ticks)
        elif kind == "write":
            bed.write(key, size=bed.world.order)
        else:
            bed.at(bed.world.ticks + ticks)
        for held in (1, 2):
            entry = bed.cache.lookup(held)
            assert entry is None or entry.value is bed.table.get(held)


# --- queries --------------------------------------------------------------------------------------


def colored(color: str) -> Callable[[Thing], bool]:
    return lambda row: row.color == color


def asked() -> Bed:
    bed = Bed(QUERY)
    for color in ("red", "blue", "green"):
        bed.ask(color, colored(color))
    bed.ask("all", every)
    return bed


WRITES: list[tuple[Callable[[Bed], object], list[str]]] = [
    # The row is held, though neither of its colours changed.
    (lambda bed: bed.write(1, size=5), ["blue", "green"]),
    # The old version matches one answer and the new version another.
    (lambda bed: bed.write(1, color="blue"), ["green"]),
    (lambda bed: bed.write(3, color="green"), ["red"]),
    (lambda bed: bed.insert(color="green"), ["red", "blue"]),
    (lambda bed: bed.insert(color="black"), ["red", "blue", "green"]),
    (lambda bed: bed.delete(3), ["red", "green"]),
]


@pytest.mark.parametrize(("write", "kept"), WRITES)
def test_a_write_removes_the_answers_that_hold_its_row_or_match_either_version(
    write: Callable[[Bed], object], kept: list[str]
) -> None:
    bed = asked()
    write(bed)
    # An answer without a predicate is concerned by everything.
    assert bed.held("red", "blue", "green", "all") == kept


def test_an_old_version_that_matches_removes_an_answer_that_lacks_the_row() -> None:
    bed = Bed(QUERY)
    bed.cache.invalidate = "never"
    bed.ask("green", colored("green"))
    bed.write(1, color="green")
    bed.cache.invalidate = "on_commit"
    bed.write(1, color="red")
    assert not bed.hit("green")


def test_an_answer_that_still_holds_a_row_is_removed_when_the_row_matches_no_more() -> None:
    bed = Bed(QUERY)
    bed.cache.invalidate = "never"
    bed.ask("red", colored("red"))
    bed.write(1, color="blue")
    bed.cache.invalidate = "on_commit"
    bed.write(1, color="green")
    assert not bed.hit("red")


def test_an_empty_answer_lives_by_the_ttl_of_answers() -> None:
    bed = Bed(QUERY)
    bed.ask("green", colored("green"))
    entry = bed.cache.lookup("green")
    assert entry is not None
    assert entry.value == ()


COLORS = st.sampled_from(["red", "blue", "green"])


@given(
    st.lists(
        st.tuples(st.sampled_from(["ask", "write", "insert", "delete"]), st.integers(1, 5), COLORS),
        max_size=16,
    )
)
def test_cached_answers_are_always_those_that_the_table_would_give(
    steps: list[tuple[str, int, str]],
) -> None:
    bed = Bed(QUERY)
    for kind, key, color in steps:
        if kind == "ask":
            bed.ask(color, colored(color))
        elif kind == "insert":
            bed.insert(color=color)
        elif key in bed.table.rows:
            if kind == "write":
                bed.write(key, color=color)
            else:
                bed.delete(key)
        for text in ("red", "blue", "green"):
            entry = bed.cache.lookup(text)
            assert entry is None or list(entry.value) == bed.table.where(colored(text))
