"""A table forks its template, remembers every version, and has a digest free of any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import HarnessError, UsageError
from simharness.kernel.world import World
from simharness.parts.row import Row, RowType
from simharness.parts.table import Table, Template

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    title: str = ""
    code: str | None = None
    tags: tuple[str, ...] = ()


TYPE = RowType(Thing)


def template(rows: Iterable[Thing] = ()) -> Template[Thing]:
    return Template("things", TYPE, rows, ("code",))


def three() -> Template[Thing]:
    return template(Thing(id=i, title=f"t{i}", code=f"c{i}") for i in (3, 1, 2))


def fork(of: Template[Thing]) -> Table[Thing]:
    return Table(World(0), of)


def change(table: Table[Thing], order: int, key: int, title: str | None) -> None:
    """Commit one row as a transaction does; a title of None deletes it."""
    old = table.rows.get(key)
    new = None
    if title is not None:
        code = old.code if old is not None else f"c{key}"
        new = Thing(id=key, version=table.version(key) + 1, title=title, code=code)
    table.apply(order, key, new, "agent", order)


# --- the template ---------------------------------------------------------------------------------


def test_a_fork_shares_the_template_until_it_writes() -> None:
    base = three()
    table = fork(base)
    assert table.rows is base.rows
    change(table, 1, 2, "new")
    assert table.rows is not base.rows
    assert table.rows[1] is base.rows[1]


def test_writing_leaves_the_template_and_other_forks_alone() -> None:
    base = three()
    before = (dict(base.rows), {"code": dict(base.unique["code"])}, base.digest)
    one, other = fork(base), fork(base)
    change(one, 1, 2, "new")
    change(one, 2, 1, None)
    change(one, 3, 4, "born")
    one.digest()
    assert (base.rows, base.unique, base.digest) == before
    assert [row.title for row in other] == ["t1", "t2", "t3"]
    assert other.digest() == fork(base).digest() != one.digest()
    assert (one.taken_by("code", "c1"), other.taken_by("code", "c1")) == (None, 1)
    assert (one.top, other.top) == (4, 3)


def test_a_template_is_in_order_of_id_and_refuses_a_breach_of_a_unique_column() -> None:
    assert list(three().rows) == [1, 2, 3]
    with pytest.raises(UsageError, match=r"^things:2 and things:1 share code 'x'"):
        template([Thing(id=1, code="x"), Thing(id=2, code="x")])
    template([Thing(id=1, code=None), Thing(id=2, code=None)])


def test_rows_of_the_start_state_can_be_put_anywhere_but_not_after_the_start() -> None:
    table = fork(template([Thing(id=1), Thing(id=5)]))
    table.start_with(Thing(id=3, code="x"))
    table.start_with(Thing(id=1, title="replaced"))
    assert list(table.rows) == [1, 3, 5]
    assert table.taken_by("code", "x") == 3
    assert table.top == 5
    same = fork(template([Thing(id=1, title="replaced"), Thing(id=3, code="x"), Thing(id=5)]))
    assert table.digest() == same.digest()
    change(table, 1, 1, "new")
    with pytest.raises(HarnessError, match=r"^things:2 is put into the start state after"):
        table.start_with(Thing(id=2))


# --- history, against a model that keeps every state ----------------------------------------------

Edits: TypeAlias = list[tuple[int, str | None]]
State: TypeAlias = dict[int, tuple[int, str | None]]
"""Version and title of every key ever seen; a title of None is absence."""

EDITS = st.lists(
    st.tuples(st.integers(1, 5), st.none() | st.sampled_from(["a", "b", "c"])), max_size=14
)


def play(edits: Edits) -> tuple[Table[Thing], list[State]]:
    """Apply edits to a table that starts with rows 1 to 3, and keep the state after each order."""
    table = fork(three())
    state: State = {i: (1, f"t{i}") for i in (1, 2, 3)}
    states = [state]
    for key, title in edits:
        version, held = state.get(key, (0, None))
        if title is None and held is None:
            continue
        state = {**state, key: (version + 1, title)}
        states.append(state)
        change(table, len(states) - 1, key, title)
    return table, states


@given(EDITS)
def test_versions_and_rows_of_every_order_are_those_of_the_model(edits: Edits) -> None:
    table, states = play(edits)
    for order, state in enumerate(states):
        for key in range(1, 7):
            version, title = state.get(key, (0, None))
            row = table.row_at(key, order)
            assert table.version_at(key, order) == version
            assert (row.title if row is not None else None) == title
            assert row is None or row.version == version
    for key in range(1, 7):
        version, title = states[-1].get(key, (0, None))
        held = table.get(key)
        assert table.version(key) == version
        assert (held.title if held is not None else None) == title


@given(EDITS)
def test_the_successor_of_a_version_is_the_commit_that_replaced_it(edits: Edits) -> None:
    table, states = play(edits)
    for key in range(1, 7):
        last = states[-1].get(key, (0, None))[0]
        for version in range(last + 1):
            found = table.successor(key, version)
            orders: list[int | None] = [
                order
                for order in range(1, len(states))
                if states[order].get(key) != states[order - 1].get(key)
                and states[order][key][0] > version
            ]
            assert (found.order if found is not None else None) == (orders or [None])[0]


@given(EDITS)
def test_the_changes_after_an_order_are_the_rest_of_all_changes(edits: Edits) -> None:
    table, states = play(edits)
    for order in range(-1, len(states) + 1):
        expected = [c for c in table.changes if c.order > order]
        assert table.changes_after(order) == expected
    assert [c.order for c in table.changes] == list(range(1, len(states)))


@given(EDITS)
def test_rows_stay_in_order_of_id_and_the_unique_index_follows(edits: Edits) -> None:
    table, states = play(edits)
    live = {key: title for key, (_, title) in states[-1].items() if title is not None}
    assert list(table.rows) == sorted(live)
    assert [row.id for row in table.where(lambda row: row.title == "a")] == sorted(
        key for key, title in live.items() if title == "a"
    )
    for key in range(1, 7):
        assert table.taken_by("code", f"c{key}") == (key if key in live else None)


def test_the_largest_id_is_never_given_out_again() -> None:
    table = fork(three())
    change(table, 1, 3, None)
    assert table.top == 3


# --- digest ---------------------------------------------------------------------------------------


@given(EDITS, st.lists(st.booleans(), max_size=14))
def test_the_digest_kept_up_equals_the_digest_from_scratch(edits: Edits, asked: list[bool]) -> None:
    table = fork(three())
    order = 0
    for (key, title), ask in zip(edits, asked + [False] * len(edits), strict=False):
        if title is None and key not in table.rows:
            continue
        order += 1
        change(table, order, key, title)
        if ask:
            assert table.digest() == fork(template(table)).digest()
    assert table.digest() == fork(template(table)).digest()
    assert table.digest() == f"{template(table).digest:032x}"


@given(st.permutations(range(1, 8)))
def test_the_digest_depends_on_no_order_of_writing(order: list[int]) -> None:
    table = fork(template())
    for at, key in enumerate(order, start=1):
        change(table, at, key, f"t{key}")
    plain = fork(template(Thing(id=k, title=f"t{k}", code=f"c{k}") for k in range(1, 8)))
    assert table.digest() == plain.digest()


def test_the_digest_tells_rows_columns_and_tables_apart() -> None:
    digests = {
        template().digest,
        template([Thing(id=1)]).digest,
        template([Thing(id=2)]).digest,
        template([Thing(id=1, version=2)]).digest,
        template([Thing(id=1, title="x")]).digest,
        template([Thing(id=1, code="x")]).digest,
        template([Thing(id=1, code="")]).digest,
        template([Thing(id=1, tags=("x",))]).digest,
        Template("others", TYPE, [Thing(id=1)], ()).digest,
    }
    assert len(digests) == 9


def test_a_row_that_changes_back_gives_the_old_digest_only_with_the_old_version() -> None:
    table = fork(three())
    start = table.digest()
    change(table, 1, 1, "new")
    change(table, 2, 1, "t1")
    assert table.digest() != start  # the version went on


def test_any_text_can_be_digested() -> None:
    table = fork(template([Thing(id=1, title="\ud800 \x00 \U0001f600")]))
    assert len(table.digest()) == 32
