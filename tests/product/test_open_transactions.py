"""Transactions that stay open between calls: what others see, who waits, what remains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT
from tests.product.harbour import CACHED, THINK, begun, ben, code, codes, do, found, later

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench


def test_nobody_else_sees_a_transaction_before_its_commit(bench: Callable[..., Bench]) -> None:
    b = bench(CACHED)
    actor = begun(b)
    before = b.table.digest()
    assert do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7}).stock == 7
    new = do(b, actor, "db.insert", tx="t", table="items", fields={"title": "new"})
    do(b, actor, "db.delete", tx="t", table="items", id=3)
    seen = do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    assert (seen.stock, seen.version, seen.title) == (7, 2, "t1")
    assert do(b, actor, "db.read", tx="t", view="items.detail", id=new.id).title == "new"
    assert code(do(b, actor, "db.read", tx="t", view="items.detail", id=3)) == "not_found"
    assert code(do(b, actor, "db.update", tx="t", table="items", id=3, fields={"stock": 1})) == (
        "not_found"
    )
    assert [b.read(key).stock if b.read(key) else None for key in (1, 3, 4)] == [0, 0, None]  # type: ignore[union-attr]
    assert b.table.digest() == before
    assert do(b, actor, "db.commit", tx="t") == {"rows": 3}
    assert [(key, row.stock) for key, row in b.table.rows.items()] == [(1, 7), (2, 0), (4, 0)]
    assert {row.values["order"] for row in b.rows("COMMIT")} == {1}
    assert codes(b) == []
    assert code(do(b, actor, "db.commit", tx="t")) == "not_found"


def test_a_rollback_leaves_no_trace(bench: Callable[..., Bench]) -> None:
    b = bench(CACHED)
    heard: list[object] = []
    b.table.listeners.append(heard.append)
    before = b.table.digest()
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.delete", tx="t", table="items", id=2)
    assert do(b, actor, "db.insert", tx="t", table="items", fields={"title": "a"}).id == 4
    assert do(b, actor, "db.rollback", tx="t") == {"rolled_back": "t"}
    assert (b.table.digest(), b.table.changes, heard) == (before, [], [])
    assert b.shop.transactions == {}
    assert [b.items.locks.holder(key) for key in (1, 2)] == [None, None]
    assert b.insert(title="b") == 5, "an id that was given out is not given out again"
    assert codes(b) == []


def test_rows_stay_locked_until_the_end(bench: Callable[..., Bench]) -> None:
    b = bench(THINK)
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.lock", tx="t", table="items", id=2)
    waiting = [b.start(b.items.update(b.op(b.other), key, {"color": "blue"})) for key in (1, 2, 3)]
    b.at(1_000)
    assert [process.is_alive for process in waiting] == [True, True, False]
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 8})
    do(b, actor, "db.commit", tx="t")
    b.at(2_000)
    assert (b.table.rows[1].stock, b.table.rows[1].color) == (8, "blue")
    assert b.table.rows[2].color == "blue"
    assert codes(b) == [], "they outlive no call: they are the transaction's"


def test_optimistic_transactions_are_refused_at_their_commit(bench: Callable[..., Bench]) -> None:
    b = bench({"items.write.lock": "optimistic"})
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=2, fields={"stock": 7})
    do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    b.write(1, stock=3)
    before = b.table.digest()
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    refused = do(b, actor, "db.commit", tx="t")
    assert (code(refused), refused.details) == ("conflict", {"version": 2})
    assert b.table.digest() == before
    assert code(do(b, actor, "db.rollback", tx="t")) == "not_found"
    assert codes(b) == []


@pytest.mark.parametrize(("lock", "read"), [("none", False), ("none", True), ("row", True)])
def test_a_write_on_an_older_version_is_a_lost_update(
    bench: Callable[..., Bench], lock: str, read: bool
) -> None:
    b = bench({"items.write.lock": lock})
    actor = begun(b)
    if read:
        do(b, actor, "db.read", tx="t", view="items.detail", id=1)
        b.write(1, stock=3)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    if not read:
        b.write(1, stock=3)
    do(b, actor, "db.commit", tx="t")
    (finding,) = found(b)
    assert (finding.code, finding.evidence["lost"]) == ("H310", 3)


def test_two_statements_on_a_row_name_the_columns_of_both(bench: Callable[..., Bench]) -> None:
    b = bench({})
    b.write(1, title="x", stock=1)
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 2})
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"title": "y"})
    do(b, actor, "db.commit", tx="t")
    assert b.last("COMMIT")["unmeant"] == []
    assert codes(b) == []


def test_a_circle_of_transactions_is_refused_and_found(bench: Callable[..., Bench]) -> None:
    b = bench({})
    one, two = begun(b), begun(b, actor=ben(b, "eve"))
    do(b, one, "db.lock", tx="t", table="items", id=1)
    do(b, two, "db.lock", tx="t", table="items", id=2)
    waits = later(b, 5, one, "db.update", tx="t", table="items", id=2, fields={"stock": 1})
    closes = later(b, 9, two, "db.update", tx="t", table="items", id=1, fields={"stock": 2})
    b.at(10)
    assert waits.is_alive
    assert code(closes.value) == "locked"
    do(b, two, "db.rollback", tx="t")
    assert code(waits.value) == "ok"
    do(b, one, "db.commit", tx="t")
    (finding,) = found(b)
    assert finding.code == "H311"
    assert "ben#1" in finding.explanation
    assert "eve#1" in finding.explanation


def test_statements_of_one_transaction_run_in_the_order_of_sending(
    bench: Callable[..., Bench],
) -> None:
    b = bench({})
    blocker, actor = begun(b), begun(b, actor=ben(b, "eve"))
    do(b, blocker, "db.lock", tx="t", table="items", id=1)
    first = later(b, 1, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 1})
    second = later(b, 2, actor, "db.update", tx="t", table="items", id=2, fields={"stock": 2})
    commit = later(b, 3, actor, "db.commit", tx="t")
    late = later(b, 4, actor, "db.read", tx="t", view="items.detail", id=1)
    b.at(10)
    assert b.table.changes == []
    do(b, blocker, "db.rollback", tx="t")
    assert [code(p.value) for p in (first, second, commit, late)] == ["ok", "ok", "ok", "not_found"]
    assert {row.stock for row in (b.table.rows[1], b.table.rows[2])} == {1, 2}


@pytest.mark.parametrize(("crash", "stock"), [(BEFORE_COMMIT, 0), (AFTER_COMMIT, 7)])
def test_a_worker_dies_around_the_commit_of_a_transaction(
    bench: Callable[..., Bench], crash: int, stock: int
) -> None:
    b = bench({})
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    died = b.run(b.shop.perform(actor, "db.commit", {"tx": "t"}, {"crash": crash}))
    assert code(died) == "unknown_outcome"
    assert b.table.rows[1].stock == stock
    assert b.items.locks.holder(1) is None
    assert b.last("TXEND")["reason"] == ("committed" if stock else "crashed")
    begun(b, actor=actor)
    assert codes(b) == []
