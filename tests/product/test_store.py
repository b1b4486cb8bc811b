"""How a row is written: what guards it, what the caller's version is held against, which fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simharness.api import Actor, Refused, Transaction
from simharness.errors import UsageError
from simharness.product.store import query, store
from simharness.product.store_spec import StoreSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench, Steps

THINK = {"db.latency": "10us"}


def sell(b: Bench, actor: Actor | None = None, if_version: int | None = None) -> Steps:
    """Take one more item out of stock: read, think, write."""
    op = b.op(actor)
    edit = yield from b.items.edit(op, 1, if_version)
    try:
        tx = Transaction(op)
        tx.update(b.table, 1, edit.merged({"stock": edit.row.stock - 1}))
        tx.commit()
    finally:
        edit.close()
    return b.table.rows[1].stock


def sold(b: Bench, number: int) -> list[Any]:
    """Sell `number` items at once; what each seller was told."""
    processes = [b.start(sell(b, Actor(b.world, f"seller/{i}", 0))) for i in range(number)]
    b.at(10_000)
    return [code(process.value) for process in processes]


def code(value: Any) -> Any:
    return value.code if isinstance(value, Refused) else value


def test_a_row_lock_loses_no_update(bench: Callable[..., Bench]) -> None:
    b = bench({**THINK, "items.write.lock": "row"})
    assert sold(b, 3) == [-1, -2, -3]
    assert [row.t for row in b.rows("COMMIT")] == [10, 20, 30]
    assert b.items.locks.holder(1) is None


def test_optimistic_writing_refuses_instead_of_losing(bench: Callable[..., Bench]) -> None:
    b = bench({**THINK, "items.write.lock": "optimistic"})
    assert sold(b, 3) == [-1, "conflict", "conflict"]
    assert [row.t for row in b.rows("COMMIT")] == [10]


def test_no_guard_loses_updates(bench: Callable[..., Bench]) -> None:
    b = bench({**THINK, "items.write.lock": "none"})
    assert sold(b, 3) == [-1, -1, -1]
    assert b.table.version(1) == 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    lock=st.sampled_from(["row", "optimistic", "none"]),
    starts=st.lists(st.integers(0, 30), min_size=1, max_size=6),
)
def test_stock_falls_by_what_was_sold_unless_nothing_guards_it(
    bench: Callable[..., Bench], lock: str, starts: list[int]
) -> None:
    b = bench({**THINK, "items.write.lock": lock})

    def later(start: int) -> Steps:
        yield b.world.pause(start)
        return (yield from sell(b, b.other))

    processes = [b.start(later(start)) for start in starts]
    b.at(10_000)
    done = sum(isinstance(process.value, int) for process in processes)
    apart = all(abs(x - y) > 10 for i, x in enumerate(starts) for y in starts[:i])
    if lock == "row":
        assert done == len(starts)
    if lock != "none" or apart:
        assert b.table.rows[1].stock == -done
    else:
        assert -done <= b.table.rows[1].stock < 0


def test_a_lock_is_waited_for_with_patience_and_then_refused(
    bench: Callable[..., Bench],
) -> None:
    b = bench({"db.latency": "100us", "items.write.lock_wait": "50us"})
    assert sold(b, 2) == [-1, "locked"]
    assert [row.t for row in b.rows("LOCKTIMEOUT")] == [50]


# --- the caller's version -------------------------------------------------------------------------


@pytest.mark.parametrize("lock", ["row", "optimistic", "none"])
def test_a_write_on_an_old_version_is_a_conflict_with_the_current_one(
    bench: Callable[..., Bench], lock: str
) -> None:
    b = bench({"items.write.lock": lock})
    b.write(1, stock=5)
    refusal = b.run(b.items.update(b.op(), 1, {"title": "mine"}, if_version=1))
    assert refusal.value() == {
        "code": "conflict",
        "message": "items row 1 is at version 2, the call rests on 1",
        "retryable": False,
        "version": 2,
    }
    assert b.table.version(1) == 2
    assert b.items.locks.holder(1) is None
    row = b.run(b.items.update(b.op(), 1, {"title": "mine"}, if_version=2))
    assert (row.title, row.version) == ("mine", 3)


@pytest.mark.parametrize("token", ["refreshed", "ignored"])
def test_a_token_that_is_not_the_one_read_lets_an_old_version_through(
    bench: Callable[..., Bench], token: str
) -> None:
    b = bench({"items.write.token": token})
    b.write(1, stock=5)
    row = b.run(b.items.update(b.op(), 1, {"stock": 6}, if_version=1))
    assert (row.stock, row.version) == (6, 3)


def test_a_commit_during_the_wait_is_seen_by_the_check(bench: Callable[..., Bench]) -> None:
    b = bench({**THINK, "items.write.lock": "none"})
    process = b.start(b.items.update(b.op(), 1, {"stock": 6}, if_version=1))
    b.at(5)
    b.write(1, stock=5)
    b.at(20)
    assert code(process.value) == "conflict"


# --- which fields ---------------------------------------------------------------------------------


def test_fields_alone_keep_what_others_wrote(bench: Callable[..., Bench]) -> None:
    b = bench({"items.write.scope": "fields"})
    b.read(1)
    b.write(1, stock=5, color="blue")
    b.run(b.items.update(b.op(), 1, {"title": "mine"}))
    row = b.table.rows[1]
    assert (row.title, row.stock, row.color) == ("mine", 5, "blue")


def test_the_whole_record_undoes_what_others_wrote_since_it_was_read(
    bench: Callable[..., Bench],
) -> None:
    b = bench({"items.write.scope": "whole_record"})
    b.read(1)
    b.write(1, stock=5, color="blue")
    b.write(1, title="theirs")
    b.run(b.items.update(b.op(), 1, {"title": "mine"}))
    row = b.table.rows[1]
    assert (row.title, row.stock, row.color, row.version) == ("mine", 0, "red", 4)


def test_the_whole_record_of_a_caller_without_a_read_is_that_of_the_call(
    bench: Callable[..., Bench],
) -> None:
    b = bench({"items.write.scope": "whole_record"})
    b.write(1, stock=5)
    b.run(b.items.update(b.op(), 1, {"title": "mine"}))
    assert b.table.rows[1].stock == 5
    b = bench({**THINK, "items.write.scope": "whole_record", "items.write.lock": "none"})
    process = b.start(b.items.update(b.op(), 1, {"title": "mine"}))
    b.at(5)
    b.write(1, stock=5)
    b.at(20)
    assert (process.value.title, process.value.stock) == ("mine", 0)


# --- insert, delete, refusals ---------------------------------------------------------------------


def test_an_insert_gives_the_committed_row_after_the_wait(bench: Callable[..., Bench]) -> None:
    b = bench(THINK)
    row = b.run(b.items.insert(b.op(), {"title": "new"}))
    assert (row.id, row.version, row.title, b.world.ticks) == (4, 1, "new", 10)
    refusal = b.run(b.items.insert(b.op(), {"code": "c2"}))
    assert (refusal.code, refusal.details) == ("conflict", {"id": 2})


def test_a_delete_is_held_against_the_version_too(bench: Callable[..., Bench]) -> None:
    b = bench({})
    b.write(1, stock=5)
    assert code(b.run(b.items.delete(b.op(), 1, if_version=1))) == "conflict"
    assert b.run(b.items.delete(b.op(), 1, if_version=2)) is None
    assert 1 not in b.table.rows


def test_writing_a_row_that_is_not_there_takes_as_long_as_any_write(
    bench: Callable[..., Bench],
) -> None:
    b = bench(THINK)
    for steps in (b.items.update(b.op(), 9, {"stock": 1}), b.items.delete(b.op(), 9)):
        before = b.world.ticks
        assert code(b.run(steps)) == "not_found"
        assert b.world.ticks == before + 10
    assert b.items.locks.holder(9) is None


@pytest.mark.parametrize("lock", ["row", "optimistic", "none"])
def test_a_row_that_vanishes_during_the_wait_is_not_found(
    bench: Callable[..., Bench], lock: str
) -> None:
    b = bench({**THINK, "items.write.lock": lock})
    process = b.start(b.items.update(b.op(), 1, {"stock": 1}))
    b.at(5)
    b.delete(1)
    b.at(20)
    assert code(process.value) == "not_found"
    assert b.items.locks.holder(1) is None


def test_a_write_that_breaks_off_gives_its_lock_back(bench: Callable[..., Bench]) -> None:
    b = bench({})
    assert code(b.run(b.items.update(b.op(), 1, {"code": "c2"}))) == "conflict"
    assert b.items.locks.holder(1) is None


def test_an_edit_can_be_closed_twice(bench: Callable[..., Bench]) -> None:
    b = bench({})

    def steps() -> Steps:
        edit = yield from b.items.edit(b.op(), 1)
        edit.close()
        edit.close()

    b.run(steps())
    assert len(b.rows("UNLOCK")) == 1


# --- declarations ---------------------------------------------------------------------------------


def test_a_store_of_an_unknown_view_or_column_is_refused(bench: Callable[..., Bench]) -> None:
    row = bench({}).items.spec.row_type.cls
    with pytest.raises(UsageError, match=r"^no view kind 'report'"):
        store(row, views=("report",))
    with pytest.raises(UsageError, match=r"^unique column 'colour' is no column of Item"):
        store(row, unique=("colour",))


def test_a_store_registers_the_knobs_that_it_reads_and_no_others(
    bench: Callable[..., Bench],
) -> None:
    row = bench({}).items.spec.row_type.cls
    silent = StoreSpec(row, (), ())
    listed = StoreSpec(row, ("list",), ())
    silent.name = listed.name = "x"
    assert silent.knobs() == []
    keys = [knob.key for knob in listed.knobs()]
    assert "x.list.cache.ttl" in keys
    assert not any(".write." in key or "negative" in key for key in keys)


def test_a_query_is_named_by_its_fields() -> None:
    def anything(_: object) -> bool:
        return True

    assert query(anything, stage="won", owner=None, page=2).text == "stage=won,page=2"
    assert query(anything).text == ""


FIELDS = st.dictionaries(
    st.sampled_from("ab"), st.none() | st.text(alphabet="a1=,\\\\", max_size=6), max_size=2
)


@given(FIELDS, FIELDS)
@example({"a": "1,b=2"}, {"a": "1", "b": "2"})
@example({"a": "1\\"}, {"a": "1\\\\"})
def test_two_queries_have_one_text_only_when_they_ask_the_same(
    one: dict[str, str | None], other: dict[str, str | None]
) -> None:
    def text(fields: dict[str, str | None]) -> str:
        return query(bool, **{key: fields.get(key) for key in "ab"}).text

    def given(fields: dict[str, str | None]) -> dict[str, str]:
        return {key: value for key, value in fields.items() if value is not None}

    assert (text(one) == text(other)) == (given(one) == given(other))
