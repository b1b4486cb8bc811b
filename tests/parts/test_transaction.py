"""A transaction becomes the truth as a whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import HarnessError, UsageError
from simharness.kernel.journal import Decoder
from simharness.kernel.operation import Actor, Operation
from simharness.kernel.world import World
from simharness.parts.refusal import Refused
from simharness.parts.row import Row, RowType
from simharness.parts.table import Change, Table, Template
from simharness.parts.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    title: str = ""
    email: str | None = None
    amount: int = 0
    status: Literal["open", "shut"] = "open"


class Bed:
    """A table of three rows in a world, and somebody who writes."""

    def __init__(self) -> None:
        self.world = World(0, epoch=1_000_000)
        rows = [Thing(id=i, title=f"t{i}", email=f"{i}@x") for i in (1, 2, 3)]
        self.table: Table[Thing] = Table(
            self.world, Template("things", RowType(Thing), rows, ("email",))
        )
        self.actor = Actor(self.world, "agent", 0)
        self.heard: list[Change] = []
        self.table.listeners.append(self.heard.append)

    def begin(self) -> Transaction:
        return Transaction(Operation(self.world, self.actor, 5))

    def commits(self) -> list[dict[str, Any]]:
        rows = Decoder().decode_all(self.world.rows)
        return [row.values for row in rows if row.kind == "COMMIT"]

    def state(self) -> tuple[object, ...]:
        table = self.table
        held = {email: table.taken_by("email", email) for email in ("1@x", "2@x", "3@x", "new@x")}
        return (
            dict(table.rows),
            held,
            table.digest(),
            len(table.changes),
            self.world.order,
            len(self.commits()),
            len(self.heard),
            dict(self.actor.writes),
        )


def test_nothing_is_true_before_the_commit_and_everything_after_it() -> None:
    bed = Bed()
    before = bed.state()
    tx = bed.begin()
    key = tx.insert(bed.table, {"title": "new", "email": "new@x"})
    tx.update(bed.table, 1, {"amount": 5})
    tx.delete(bed.table, 2)
    assert bed.state() == before
    bed.world.advance_to(7)
    assert tx.commit() == 1
    assert bed.table.rows == {
        1: Thing(id=1, version=2, title="t1", email="1@x", amount=5, updated_at=1_000_007),
        3: Thing(id=3, title="t3", email="3@x"),
        key: Thing(id=4, title="new", email="new@x", created_at=1_000_007, updated_at=1_000_007),
    }
    assert [(c.order, c.key, c.version, c.t, c.owner, c.n) for c in bed.heard] == [
        (1, 4, 1, 7, "agent", 5),
        (1, 1, 2, 7, "agent", 5),
        (1, 2, 2, 7, "agent", 5),
    ]
    assert bed.actor.writes == {(bed.table.number, k): v for k, v in [(4, 1), (1, 2), (2, 2)]}


def test_the_journal_has_each_row_with_versions_and_what_changed() -> None:
    bed = Bed()
    tx = bed.begin()
    tx.update(bed.table, 1, {"title": "t1", "amount": 5})  # the title is as before
    tx.insert(bed.table, {"title": "new"})
    tx.delete(bed.table, 2)
    tx.commit()
    common = {"owner": "agent", "n": 5, "order": 1, "table": "things"}
    names = ("owner", "n", "order", "table", "key", "before", "after", "delta")
    assert [{name: row[name] for name in names} for row in bed.commits()] == [
        {**common, "key": 1, "before": 1, "after": 2, "delta": [6, 5]},
        {
            **common,
            "key": 4,
            "before": 0,
            "after": 1,
            "delta": [4, "new", 5, None, 6, 0, 7, "open"],
        },
        {**common, "key": 2, "before": 1, "after": -2, "delta": []},
    ]


def delete_a_row(bed: Bed) -> None:
    tx = bed.begin()
    tx.delete(bed.table, 3)
    tx.commit()


def take_an_email(bed: Bed) -> None:
    tx = bed.begin()
    tx.update(bed.table, 3, {"email": "new@x"})
    tx.commit()


LAST: list[tuple[Callable[[Transaction, Table[Thing]], object], Callable[[Bed], None], str]] = [
    (lambda tx, table: tx.update(table, 3, {"amount": 1}), delete_a_row, "not_found"),
    (lambda tx, table: tx.delete(table, 3), delete_a_row, "not_found"),
    (lambda tx, table: tx.update(table, 2, {"email": "new@x"}), take_an_email, "conflict"),
    (lambda tx, table: tx.insert(table, {"email": "new@x"}), take_an_email, "conflict"),
]


@pytest.mark.parametrize(("last", "meanwhile", "code"), LAST)
def test_a_commit_that_is_refused_changes_nothing(
    last: Callable[[Transaction, Table[Thing]], object],
    meanwhile: Callable[[Bed], None],
    code: str,
) -> None:
    bed = Bed()
    tx = bed.begin()
    tx.update(bed.table, 1, {"amount": 5})
    tx.insert(bed.table, {"title": "new"})
    last(tx, bed.table)
    meanwhile(bed)
    before = bed.state()
    with pytest.raises(Refused) as caught:
        tx.commit()
    assert caught.value.code == code
    assert bed.state() == before


@pytest.mark.parametrize("fields", [{"nonsense": 1}, {"amount": 1.5}, {"status": "ajar"}])
def test_a_value_that_a_column_cant_hold_stops_the_whole_commit(fields: dict[str, object]) -> None:
    for insert in (False, True):
        bed = Bed()
        before = bed.state()
        tx = bed.begin()
        tx.update(bed.table, 1, {"amount": 5})
        if insert:
            tx.insert(bed.table, fields)
        else:
            tx.update(bed.table, 2, fields)
        with pytest.raises(UsageError, match="things"):
            tx.commit()
        assert bed.state() == before


def test_a_transaction_commits_once() -> None:
    bed = Bed()
    tx = bed.begin()
    tx.update(bed.table, 1, {"amount": 5})
    tx.commit()
    with pytest.raises(HarnessError, match=r"^agent#5 commits a transaction twice"):
        tx.commit()
    assert bed.world.order == 1


# --- unique columns -------------------------------------------------------------------------------


def test_a_unique_value_that_is_taken_is_a_conflict_with_the_id_of_its_holder() -> None:
    bed = Bed()
    attempts: list[Callable[[Transaction], object]] = [
        lambda tx: tx.insert(bed.table, {"email": "2@x"}),
        lambda tx: tx.update(bed.table, 1, {"email": "2@x"}),
    ]
    for attempt in attempts:
        with pytest.raises(Refused) as caught:
            attempt(bed.begin())
        assert caught.value.value() == {
            "code": "conflict",
            "message": "things.email '2@x' is taken",
            "retryable": False,
            "id": 2,
        }


def test_a_row_may_keep_its_own_unique_value_and_none_is_never_taken() -> None:
    bed = Bed()
    tx = bed.begin()
    tx.update(bed.table, 1, {"email": "1@x", "amount": 1})
    tx.insert(bed.table, {"email": None})
    tx.insert(bed.table, {"email": None})
    tx.commit()
    assert len(bed.table.rows) == 5


def test_a_value_that_was_given_up_can_be_taken() -> None:
    bed = Bed()
    tx = bed.begin()
    tx.delete(bed.table, 1)
    tx.update(bed.table, 2, {"email": None})
    tx.commit()
    tx = bed.begin()
    tx.update(bed.table, 3, {"email": "1@x"})
    tx.insert(bed.table, {"email": "2@x"})
    tx.commit()
    assert [bed.table.taken_by("email", f"{i}@x") for i in (1, 2, 3)] == [3, 4, None]


def test_one_transaction_cant_give_a_unique_value_to_two_rows() -> None:
    bed = Bed()
    tx = bed.begin()
    key = tx.insert(bed.table, {"email": "new@x"})
    attempts: list[Callable[[], object]] = [
        lambda: tx.insert(bed.table, {"email": "new@x"}),
        lambda: tx.update(bed.table, 1, {"email": "new@x"}),
    ]
    for attempt in attempts:
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.details == {"id": key}


# --- ids and versions -----------------------------------------------------------------------------


def test_ids_go_on_from_the_largest_and_are_never_given_out_twice() -> None:
    bed = Bed()
    one, other = bed.begin(), bed.begin()
    first, second = one.insert(bed.table, {}), other.insert(bed.table, {})
    assert (first, second) == (4, 5)
    other.commit()
    one.commit()
    assert list(bed.table.rows) == [1, 2, 3, 4, 5], "in order of id, not of commit"
    tx = bed.begin()
    tx.delete(bed.table, 5)
    tx.commit()
    assert bed.begin().insert(bed.table, {}) == 6


def test_each_commit_raises_the_version_of_a_row_by_one() -> None:
    bed = Bed()
    for version in (2, 3):
        tx = bed.begin()
        tx.update(bed.table, 1, {"amount": version})
        tx.update(bed.table, 1, {"title": "twice in one commit"})
        tx.commit()
        row = bed.table.rows[1]
        assert (row.version, row.amount, row.title) == (version, version, "twice in one commit")
    assert [c.order for c in bed.table.changes] == [1, 2]


def test_a_row_inserted_in_a_transaction_can_be_changed_and_removed_in_it() -> None:
    bed = Bed()
    tx = bed.begin()
    kept = tx.insert(bed.table, {"title": "a"})
    gone = tx.insert(bed.table, {"title": "b"})
    tx.update(bed.table, kept, {"amount": 7})
    tx.delete(bed.table, gone)
    tx.commit()
    assert [row.title for row in bed.table] == ["t1", "t2", "t3", "a"]
    assert (bed.table.rows[kept].amount, bed.table.rows[kept].version) == (7, 1)
    assert len(bed.heard) == 1


def test_a_row_deleted_in_a_transaction_is_gone_for_its_later_statements() -> None:
    bed = Bed()
    tx = bed.begin()
    tx.update(bed.table, 1, {"amount": 1})
    tx.delete(bed.table, 1)
    statements: list[Callable[[], None]] = [
        lambda: tx.update(bed.table, 1, {}),
        lambda: tx.delete(bed.table, 1),
    ]
    for statement in statements:
        with pytest.raises(Refused) as caught:
            statement()
        assert caught.value.code == "not_found"
    tx.commit()
    assert [(c.key, c.new, c.version) for c in bed.heard] == [(1, None, 2)]


@pytest.mark.parametrize("key", [0, 4, -1])
def test_a_row_that_does_not_exist_is_not_found(key: int) -> None:
    bed = Bed()
    tx = bed.begin()
    statements: list[Callable[[], None]] = [
        lambda: tx.update(bed.table, key, {}),
        lambda: tx.delete(bed.table, key),
    ]
    for statement in statements:
        with pytest.raises(Refused, match="not_found"):
            statement()


def test_an_update_is_built_on_what_is_committed_when_it_commits() -> None:
    bed = Bed()
    one, other = bed.begin(), bed.begin()
    one.update(bed.table, 1, {"amount": 5})
    other.update(bed.table, 1, {"title": "other"})
    other.commit()
    one.commit()
    row = bed.table.rows[1]
    assert (row.version, row.amount, row.title) == (3, 5, "other")


def test_listeners_hear_of_a_commit_when_all_of_it_is_true() -> None:
    bed = Bed()
    seen: list[list[int]] = []
    bed.table.listeners.append(lambda _: seen.append([row.amount for row in bed.table]))
    tx = bed.begin()
    tx.update(bed.table, 1, {"amount": 5})
    tx.update(bed.table, 2, {"amount": 6})
    tx.commit()
    assert seen == [[5, 6, 0], [5, 6, 0]]


class Listener:
    """Hears of statements while it wants to."""

    wants = True

    def __init__(self) -> None:
        self.heard: list[tuple[int, int | None, int | None]] = []

    def wants_statements(self) -> bool:
        return self.wants

    def on_statement(self, key: int, old: Any, new: Any) -> None:
        self.heard.append((key, old.amount if old else None, new.amount if new else None))


def test_statement_listeners_hear_before_the_commit_while_they_want_to() -> None:
    bed = Bed()
    listener = Listener()
    bed.table.statement_listeners.append(listener)
    tx = bed.begin()
    tx.update(bed.table, 1, {"amount": 5})
    key = tx.insert(bed.table, {"amount": 6})
    tx.delete(bed.table, 2)
    assert listener.heard == [(1, 0, 5), (key, None, 6), (2, 0, None)]
    listener.wants = False
    tx.update(bed.table, 3, {"amount": 5})
    tx.delete(bed.table, key)
    assert len(listener.heard) == 3
    assert bed.heard == []


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["insert", "update", "delete"]),
        st.integers(1, 6),
        st.sampled_from(["1@x", "2@x", "3@x", "new@x", None]),
    ),
    max_size=6,
)


@given(st.lists(WRITES, max_size=4))
def test_whatever_is_committed_keeps_ids_versions_and_unique_columns_sound(
    transactions: list[list[tuple[str, int, str | None]]],
) -> None:
    bed = Bed()
    begun = [bed.begin() for _ in transactions]
    # Interleaved: first statement of each, second of each, and so on; then all commits.
    for at in range(max(map(len, transactions), default=0)):
        for tx, writes in zip(begun, transactions, strict=True):
            for kind, key, email in writes[at : at + 1]:
                try:
                    if kind == "insert":
                        tx.insert(bed.table, {"email": email})
                    elif kind == "update":
                        tx.update(bed.table, key, {"email": email})
                    else:
                        tx.delete(bed.table, key)
                except Refused:
                    pass
    for tx in begun:
        before = bed.state()
        try:
            tx.commit()
        except Refused:
            assert bed.state() == before
    rows = list(bed.table)
    emails = [row.email for row in rows if row.email is not None]
    assert len(set(emails)) == len(emails)
    assert {email: bed.table.taken_by("email", email) for email in emails} == {
        row.email: row.id for row in rows if row.email is not None
    }
    assert [row.id for row in rows] == sorted(row.id for row in rows)
    for key, past in bed.table.history.items():
        first = 2 if key <= 3 else 1
        assert [c.version for c in past] == list(range(first, first + len(past)))
        assert len({c.order for c in past}) == len(past)


def test_what_is_to_follow_happens_within_the_commit_and_only_then() -> None:
    bed = Bed()
    heard: list[tuple[int, str]] = []
    tx = bed.begin()
    tx.update(bed.table, 1, {"title": "new"})
    tx.then(lambda order: heard.append((order, bed.table.rows[1].title)))
    tx.then(lambda order: heard.append((order, "second")))
    assert heard == []
    assert tx.commit() == 1
    assert heard == [(1, "new"), (1, "second")]


def test_nothing_follows_a_transaction_that_is_refused() -> None:
    bed = Bed()
    heard: list[int] = []
    tx = bed.begin()
    tx.update(bed.table, 1, {"title": "new"})
    tx.then(heard.append)
    other = bed.begin()
    other.delete(bed.table, 1)
    other.commit()
    with pytest.raises(Refused):
        tx.commit()
    assert heard == []
