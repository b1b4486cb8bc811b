"""What a view notes of each read: the version served, the true one, the age, and any breach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.product.store import query

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.product.view import Breach
    from tests.product.conftest import Bench

STALE = {
    "items.detail.cache.ttl": "10min",
    "items.detail.cache.negative_ttl": "10min",
    "items.detail.cache.invalidate": "never",
    "items.list.cache.ttl": "10min",
    "items.list.cache.invalidate": "never",
}
"""Caches that nobody tells of a change."""


def is_red(row: Any) -> bool:
    return bool(row.color == "red")


RED = query(is_red, color="red")


def breaches(bench: Bench) -> list[Breach]:
    return bench.shop.shared.breaches


# --- one row --------------------------------------------------------------------------------------


def test_a_read_of_the_primary_is_fresh(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "5us"})
    b.write(1, stock=1)
    row = b.read(1)
    assert row is not None
    assert (row.stock, b.world.ticks) == (1, 5)
    assert b.seen() == (2, 2, 0, "primary")
    assert breaches(b) == []


def test_a_row_that_is_committed_during_the_read_of_the_primary_is_served(
    bench: Callable[..., Bench],
) -> None:
    b = bench({"db.latency": "5us"})
    process = b.start(b.items.detail.read(b.op(), 1))
    b.at(3)
    b.write(1, stock=1)
    b.at(5)
    assert process.value.stock == 1
    assert b.seen() == (2, 2, 0, "primary")


def test_a_stale_row_is_noted_with_its_age_since_the_version_after_it(
    bench: Callable[..., Bench],
) -> None:
    b = bench(STALE)
    b.read(1)
    b.at(100)
    b.write(1, stock=1)
    b.at(130)
    b.write(1, stock=2)
    b.at(190)
    row = b.read(1)
    assert row is not None
    assert row.stock == 0
    # The entry is 190 old and the last commit 60: neither counts.
    assert b.seen() == (1, 3, 90, "cache")
    (breach,) = breaches(b)
    assert breach[1:] == ("items.detail", 1, 1, 3, 90, False)
    assert b.world.rows[breach.row][0] == b.world.rows[-1][0]
    assert breach.row == len(b.world.rows) - 1


def test_a_commit_after_the_call_began_makes_no_read_stale(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.read(1)
    op = b.op()
    b.at(50)
    b.write(1, stock=1)
    b.at(60)
    b.read(1, op)
    assert b.seen() == (1, 1, 0, "cache")
    assert op.breaches == 0


def test_a_commit_at_the_instant_of_the_call_counts_by_its_order(
    bench: Callable[..., Bench],
) -> None:
    b = bench(STALE)
    b.read(1)
    b.write(1, stock=1)
    op = b.op()  # at the same instant, after it
    b.read(1, op)
    assert b.seen() == (1, 2, 0, "cache")
    assert breaches(b) == [], "age 0 is within any contract"


@pytest.mark.parametrize(("age", "breached"), [(29, False), (30, False), (31, True)])
def test_an_age_equal_to_the_contract_is_fine(
    bench: Callable[..., Bench], age: int, breached: bool
) -> None:
    b = bench({**STALE, "items.detail.staleness": "30us", "items.list.staleness": "30us"})
    b.read(1)
    b.listed("red")
    b.write(1, stock=1)
    b.at(age)
    op = b.op()
    b.read(1, op)
    b.listed("red", op)
    assert b.last("READ")["bound"] == b.last("LIST")["bound"] == 30
    assert [breach.view for breach in breaches(b)] == (
        ["items.detail", "items.list"] if breached else []
    )
    assert op.breaches == len(breaches(b))


def test_an_absent_row_has_version_0_and_its_absence_can_be_stale(
    bench: Callable[..., Bench],
) -> None:
    b = bench(STALE)
    assert b.read(4) is None
    assert b.seen() == (0, 0, 0, "primary")
    assert b.read(4) is None
    assert b.seen() == (0, 0, 0, "cache")
    b.at(10)
    assert b.insert(title="new") == 4
    b.at(25)
    assert b.read(4) is None
    assert b.seen() == (0, 1, 15, "cache")
    assert len(breaches(b)) == 1


def test_a_deletion_is_a_version(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.read(1)
    b.at(10)
    b.delete(1)
    b.at(30)
    assert b.read(1) is not None
    assert b.seen() == (1, 2, 20, "cache")
    b = bench({})
    b.delete(1)
    assert b.read(1) is None
    assert b.seen() == (2, 2, 0, "primary")


def test_only_the_audited_actor_can_be_let_down(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.read(1)
    b.write(1, stock=1)
    b.at(9)
    op = b.op(b.other)
    b.read(1, op)
    assert b.seen() == (1, 2, 9, "cache")
    assert (breaches(b), op.breaches) == ([], 0)


@pytest.mark.parametrize("promised", [True, False])
def test_not_seeing_ones_own_write_is_a_breach_within_any_staleness(
    bench: Callable[..., Bench], promised: bool
) -> None:
    contract = {
        f"items.{kind}.{key}": value
        for kind in ("detail", "list")
        for key, value in (("staleness", "1h"), ("read_your_writes", promised))
    }
    b = bench({**STALE, **contract})
    b.read(1)
    b.listed("red")
    b.write(2, stock=1)  # somebody else's
    b.write(1, actor=b.agent, stock=1)
    b.at(9)
    b.read(1)
    b.read(2)
    b.listed("red")
    expected = [("items.detail", 1, 1, 2, 9, True), ("items.list", 1, 1, 2, 9, True)]
    assert [breach[1:] for breach in breaches(b)] == (expected if promised else [])


def test_a_reader_remembers_what_it_was_served(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.read(1)
    b.write(1, stock=1)
    b.read(1)
    b.listed("red")
    number = b.table.number
    assert b.agent.reads[number, 1] == (2, b.table.get(1)), "the list was of the primary"
    b.read(1)
    version, row = b.agent.reads[number, 1]
    assert (version, row) != (2, b.table.get(1))
    assert version == 1


# --- many rows ------------------------------------------------------------------------------------


def test_a_list_of_the_primary_is_in_order_of_id_with_nothing_wrong(
    bench: Callable[..., Bench],
) -> None:
    b = bench({"db.latency": "5us"})
    b.write(2, color="blue")
    assert b.listed("red") == [1, 3]
    values = b.last("LIST")
    assert (values["order"], values["rows"], values["wrong"]) == (1, [1, 1, 3, 1], [])
    assert (values["source"], values["query"]) == ("primary", "color=red")


def test_a_cached_list_names_each_row_that_is_out_of_date(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    assert b.listed("red") == [1, 2, 3]
    b.at(10)
    b.write(1, stock=1)  # still red, another version
    b.at(20)
    b.write(2, color="blue")  # red no more: an extra row
    b.at(30)
    b.delete(3)
    b.at(40)
    assert b.insert(color="red") == 4  # a missing row
    b.at(50)
    assert b.insert(color="blue") == 5  # none of this list's business
    b.at(100)
    assert b.listed("red") == [1, 2, 3]
    assert b.wrong() == [(1, 1, 2, 90), (2, 1, 2, 80), (3, 1, 2, 70), (4, 0, 1, 60)]
    assert [breach.key for breach in breaches(b)] == [1, 2, 3, 4]


def test_a_missing_row_counts_since_it_began_to_match(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    assert b.listed("blue") == []
    b.at(10)
    b.write(1, stock=1)  # not blue yet
    b.at(20)
    b.write(1, color="blue")
    b.at(30)
    b.write(1, stock=2)  # still blue
    b.at(100)
    assert b.listed("blue") == []
    assert b.wrong() == [(1, 2, 4, 80)]


def test_a_row_that_matched_in_between_is_not_missing(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.listed("blue")
    b.write(1, color="blue")
    b.write(1, color="red")
    b.at(100)
    assert b.listed("blue") == []
    assert b.wrong() == []


def test_changes_after_the_call_began_make_no_list_wrong(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.listed("red")
    b.write(1, stock=1)
    op = b.op()
    b.at(10)
    b.write(2, stock=1)
    b.insert(color="red")
    b.at(30)
    b.listed("red", op)
    assert b.wrong() == [(1, 1, 2, 30)]


def test_a_row_that_came_to_match_during_the_call_is_not_missing(
    bench: Callable[..., Bench],
) -> None:
    b = bench(STALE)
    b.listed("blue")
    b.write(1, stock=1)  # before the call, and no change of colour
    op = b.op()
    b.at(10)
    b.write(1, color="blue")
    b.at(30)
    assert b.listed("blue", op) == []
    assert b.wrong() == []


# --- repair ---------------------------------------------------------------------------------------


def played(b: Bench) -> list[tuple[int, str]]:
    """Read through both caches while somebody writes; when, and which version or ids came."""
    answers: list[tuple[int, str]] = []

    def steps() -> Any:
        for _ in range(6):
            row = yield from b.items.detail.read(b.op(), 1)
            answers.append((b.world.ticks, str(row.version if row is not None else None)))
            rows = yield from b.items.list.read(b.op(), RED)
            answers.append((b.world.ticks, str([r.id for r in rows])))
            yield b.world.pause(40)

    process = b.start(steps())
    for at in (50, 90, 130):
        b.at(at)
        b.write(1, stock=at)
    b.write(2, color="blue")
    assert b.world.drive(process, 10_000)
    return answers


def test_a_repaired_cache_tells_the_truth_at_the_same_instants(
    bench: Callable[..., Bench],
) -> None:
    config = {
        **STALE,
        "items.detail.cache.ttl": "120us",
        "items.list.cache.ttl": "120us",
        "db.latency": ["1us", "9us"],
        "put.latency": ["1us", "5us"],
    }
    actual, repaired = bench(config), bench(config)
    repaired.world.repair = frozenset({"cache:items.detail", "cache:items.list"})
    lied, told = played(actual), played(repaired)
    assert [t for t, _ in told] == [t for t, _ in lied]
    assert told != lied
    assert breaches(actual) != []
    assert breaches(repaired) == []
    for b in (actual, repaired):
        sources = [row.values["source"] for row in b.rows("READ", "LIST")]
        assert {"cache", "primary"} == set(sources)
    # Hits, misses, fills and expiries are where they were; only what was served differs.
    kinds = ("MISS", "FILL", "EXPIRE", "COMMIT")
    assert [str(row.values) for row in actual.rows(*kinds)] == [
        str(row.values) for row in repaired.rows(*kinds)
    ]


def test_repairing_one_cache_leaves_the_other_as_it_is(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.world.repair = frozenset({"cache:items.detail"})
    b.read(1)
    b.listed("red")
    b.write(1, color="blue")
    b.at(9)
    row = b.read(1)
    assert row is not None
    assert row.color == "blue"
    assert b.seen() == (2, 2, 0, "cache")
    assert b.listed("red") == [1, 2, 3]


def test_a_repaired_absence_is_the_row(bench: Callable[..., Bench]) -> None:
    b = bench(STALE)
    b.world.repair = frozenset({"cache:items.detail"})
    b.read(4)
    b.insert(title="new")
    assert b.read(4) is not None
    assert breaches(b) == []
