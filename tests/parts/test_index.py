"""An index finds the rows that a look at all of them finds, in their order, whatever was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import UsageError
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.follower import Follower
from simharness.parts.row import Row, RowType
from simharness.parts.table import Table, Template
from simharness.parts.transaction import Transaction
from simharness.parts.where import Between, Where, between, every, where
from simharness.product.store import query
from simharness.product.store_spec import StoreSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Crate(Row):
    dock: int = 0
    owner: str | None = None
    weight: int = 0


TYPE = RowType(Crate)
INDEXES = (("dock",), ("owner",), ("dock", "weight"), ("owner", "dock", "weight"))

docks = st.integers(0, 2)
owners = st.sampled_from([None, "ann", "bob"])
weights = st.integers(-3, 3)
columns = st.fixed_dictionaries({"dock": docks, "owner": owners, "weight": weights})
keys = st.integers(1, 8)
NOTHING: dict[str, int | str | None] = {}
NO_SPAN: dict[str, Between] = {}
writes = st.one_of(
    st.tuples(st.just("insert"), keys, columns),
    st.tuples(
        st.just("update"),
        keys,
        st.fixed_dictionaries({}, optional={"dock": docks, "owner": owners, "weight": weights}),
    ),
    st.tuples(st.just("delete"), keys, st.just(NOTHING)),
)
commits = st.lists(st.tuples(st.integers(0, 4), st.lists(writes, max_size=3)), max_size=8)
spans = st.builds(Between, st.none() | weights, st.none() | weights)
wheres = st.builds(
    Where,
    st.fixed_dictionaries({}, optional={"dock": docks, "owner": owners, "weight": weights}),
    st.one_of(st.just(NO_SPAN), st.fixed_dictionaries({"weight": spans})),
)


def tables(rows: list[Crate], indexes: tuple[tuple[str, ...], ...]) -> Table[Crate]:
    return Table(World(0), Template("crates", TYPE, rows, (), indexes))


def meets(row: Crate, asked: Where) -> bool:
    """What `Where` says, in other words."""
    for name, value in asked.equal.items():
        if getattr(row, name) != value:
            return False
    return all(
        (low is None or low <= getattr(row, name)) and (high is None or getattr(row, name) < high)
        for name, (low, high) in asked.spans.items()
    )


def commit(table: Table[Crate], n: int, statements: list[tuple[str, int, dict[str, Any]]]) -> None:
    tx = Transaction(Operation(table.world, Actor(table.world, "writer", 0), n))
    for kind, key, fields in statements:
        if kind == "insert":
            tx.insert(table, fields)
        elif key in table.rows and tx.row(table, key) is not None:
            tx.delete(table, key) if kind == "delete" else tx.update(table, key, fields)
    tx.commit()


@given(
    st.lists(columns, max_size=6),
    st.lists(st.tuples(keys, columns), max_size=2),
    commits,
    wheres,
    weights,
)
def test_rows_are_found_as_by_a_look_at_all(
    first: list[dict[str, Any]],
    put: list[tuple[int, dict[str, Any]]],
    done: list[tuple[int, list[tuple[str, int, dict[str, Any]]]]],
    asked: Where,
    light: int,
) -> None:
    rows = [Crate(id=i, **fields) for i, fields in enumerate(first, 1)]
    template = Template("crates", TYPE, rows, (), INDEXES)
    table: Table[Crate] = Table(World(0), template)
    follower = Follower(table.world, table, "replica:crates", "replicate")
    follower.lag = (3, 5)
    for key, fields in put:
        table.start_with(Crate(id=key, **fields))

    def light_enough(row: Crate) -> bool:
        return row.weight >= light

    for n, (wait, statements) in enumerate(done, 1):
        commit(table, n, statements)
        table.world.advance_to(table.world.ticks + wait)
        wanted = [row for row in table if meets(row, asked) and light_enough(row)]
        assert table.meeting(asked, light_enough) == wanted
        if not asked.spans:
            assert table.where(light_enough, **asked.equal) == wanted
        order = follower.order()
        had = [follower.row(key, order) for key in range(1, table.top + 1)]
        late = [r for r in had if r is not None and meets(r, asked) and light_enough(r)]
        assert follower.where(light_enough, order, asked) == late
    # Other worlds of the template start as it did.
    fresh: Table[Crate] = Table(World(0), template)
    assert fresh.meeting(asked, light_enough) == [
        r for r in rows if meets(r, asked) and light_enough(r)
    ]


class Looked(dict[int, Crate]):
    """Rows that count how many of them are looked at."""

    at = 0

    def __getitem__(self, key: int) -> Crate:
        self.at += 1
        return super().__getitem__(key)

    def values(self) -> Any:
        self.at += len(self)
        return super().values()


@pytest.mark.parametrize(
    ("asked", "looked_at"),
    [
        (where(dock=1), 20),
        (where(dock=1, weight=between(10, 20)), 5),
        (where(dock=1, weight=between(95)), 5),
        (where(dock=1, weight=between(None, 20)), 10),
        (where(dock=1, weight=15), 1),
        (where(dock=1, owner="ann"), 2),
        (where(weight=15), 40),
        (where(), 40),
    ],
)
def test_only_what_an_index_leaves_is_looked_at(asked: Where, looked_at: int) -> None:
    rows = [
        Crate(id=i, dock=i % 2, weight=i if i <= 20 else 80 + i // 2, owner="ann" if i < 3 else "")
        for i in range(1, 41)
    ]
    table = tables(rows, (("dock", "weight"), ("owner",)))
    table.rows = looked = Looked(table.rows)
    assert table.meeting(asked) == [row for row in rows if meets(row, asked)]
    assert looked.at == looked_at


def test_what_is_not_given_is_no_condition_of_a_query_and_names_nothing() -> None:
    asked = query(every, where(dock=None, owner="ann", weight=between(None, None)), page=2)
    assert asked.where.equal == {"owner": "ann"}
    assert not asked.where.spans
    assert asked.text == "owner=ann,page=2"
    assert asked.matches(Crate(id=1, owner="ann"))
    assert not asked.matches(Crate(id=1))


def test_a_column_that_may_be_none_lies_in_no_span() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Parcel(Row):
        due: int | None = None

    meets_it = where(due=between(None, 5)).predicate()
    assert [meets_it(Parcel(id=1, due=due)) for due in (4, 5, None)] == [True, False, False]


@pytest.mark.parametrize("index", ["size", ("dock", "size"), ("dock", "owner"), ("dock", "full")])
def test_an_index_is_of_columns_and_ends_in_a_number(index: str | tuple[str, ...]) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Box(Row):
        dock: int
        owner: str
        full: Literal["yes", "no"] = "no"

    with pytest.raises(UsageError, match=r"indexed column|index dock"):
        StoreSpec(Box, (), (), indexes=(index,))
