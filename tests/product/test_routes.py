"""Where a view reads and what that does to its answers: replica, sticky, index, refilled cache."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.product.conftest import of_color
from tests.product.readers import Desk

LAG: dict[str, object] = {"items.replica.lag": "100us"}
DETAIL_REPLICA = {**LAG, "items.detail.route": "replica"}
LIST_REPLICA = {**LAG, "items.list.route": "replica"}
INDEX: dict[str, object] = {"items.list.route": "index", "items.list.index.lag": "100us"}
HYDRATED = {**INDEX, "items.list.index.hydrate": "primary"}


# --- replica --------------------------------------------------------------------------------------


def test_a_replica_serves_what_was_true_its_lag_ago() -> None:
    b = Desk(DETAIL_REPLICA)
    b.at(10)
    b.write(1, stock=5)
    b.at(109)
    row = b.read(1)
    assert row is not None
    assert row.stock == 0
    assert b.seen() == (1, 2, 99, "replica")
    assert b.breaches() == [("items.detail", 1, 1, 2, 99, False)]
    b.at(110)
    row = b.read(1)
    assert row is not None
    assert row.stock == 5
    assert b.seen() == (2, 2, 0, "replica")
    assert len(b.breaches()) == 1


def test_a_replica_has_neither_a_new_row_nor_the_end_of_one() -> None:
    b = Desk({**DETAIL_REPLICA, **LIST_REPLICA})
    b.insert(color="red")
    b.delete(2)
    b.at(50)
    assert b.read(4) is None
    assert b.seen() == (0, 1, 50, "replica")
    assert b.read(2) is not None
    assert b.seen() == (1, 2, 50, "replica")
    assert b.listed("red") == [1, 2, 3]
    assert b.wrong() == [(2, 1, 2, 50), (4, 0, 1, 50)]
    b.at(100)
    assert b.read(4) is not None
    assert b.read(2) is None
    assert b.seen() == (2, 2, 0, "replica")
    assert b.listed("red") == [1, 3, 4]
    assert b.wrong() == []


def test_a_route_is_of_one_view_and_a_lag_of_the_table() -> None:
    b = Desk(LIST_REPLICA)
    b.write(1, stock=5)
    b.at(50)
    assert b.versions("red")[1] == 1
    assert b.source() == "replica"
    b.read(1)
    assert b.seen() == (2, 2, 0, "primary")


def test_a_lag_within_the_contract_is_no_breach_and_an_own_write_is_one() -> None:
    b = Desk({**DETAIL_REPLICA, "items.detail.staleness": "100us"})
    b.write(1, stock=5)
    b.write(2, actor=b.agent, stock=5)
    b.at(50)
    b.read(1)
    assert b.breaches() == []
    b.read(2)
    assert b.breaches() == [("items.detail", 2, 1, 2, 50, True)]


# --- sticky ---------------------------------------------------------------------------------------

STICKY = {
    **LAG,
    "items.detail.route": "sticky",
    "items.list.route": "sticky",
    "items.detail.staleness": "100us",
    "items.list.staleness": "100us",
}


def test_sticky_reads_the_replica_but_for_those_who_wait_for_their_own_write() -> None:
    b = Desk(STICKY)
    b.write(1, stock=5)
    b.at(20)
    b.read(1)
    assert b.seen() == (1, 2, 20, "replica")
    b.write(2, actor=b.agent, stock=5)
    b.at(119)
    b.read(2)
    assert b.seen() == (2, 2, 0, "primary")
    b.read(1, b.op(b.other))
    assert b.seen()[3] == "replica", "who wrote long ago, and has it back"
    b.at(120)
    b.read(2)
    assert b.seen() == (2, 2, 0, "replica")
    assert b.breaches() == []


def test_sticky_lists_follow_the_same_rule() -> None:
    b = Desk(STICKY)
    b.write(1, actor=b.agent, color="blue")
    b.at(50)
    assert b.versions("blue") == {1: 2}
    assert b.source() == "primary"
    assert b.versions("blue", b.op(b.other)) == {}
    assert b.source() == "replica"
    b.at(100)
    assert b.versions("blue") == {1: 2}
    assert b.source() == "replica"
    assert b.breaches() == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("mine", "theirs", "read", "list")),
            st.integers(1, 3),
            st.integers(0, 60),
        ),
        max_size=25,
    )
)
def test_a_sticky_reader_never_misses_what_it_wrote(steps: list[tuple[str, int, int]]) -> None:
    b = Desk({**STICKY, "items.replica.lag": ["0us", "100us"]})
    for kind, key, ticks in steps:
        if kind in ("mine", "theirs"):
            b.write(key, actor=b.agent if kind == "mine" else b.other, stock=ticks)
        elif kind == "read":
            b.read(key)
        else:
            b.versions("red")
        b.at(b.world.ticks + ticks)
    assert b.breaches() == []


# --- index ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [INDEX, HYDRATED])
def test_a_new_row_is_missing_until_the_index_has_it(config: dict[str, object]) -> None:
    b = Desk(config)
    b.at(5)
    b.insert(color="blue")
    b.at(104)
    assert b.versions("blue") == {}
    assert (b.wrong(), b.source()) == ([(4, 0, 1, 99)], "index")
    assert b.breaches() == [("items.list", 4, 0, 1, 99, False)]
    b.at(105)
    assert b.versions("blue") == {4: 1}
    assert b.wrong() == []


def test_an_index_that_holds_the_rows_shows_them_as_it_has_them() -> None:
    b = Desk(INDEX)
    b.at(5)
    b.write(1, color="blue")
    b.write(2, stock=9)
    b.at(25)
    assert b.versions("red") == {1: 1, 2: 1, 3: 1}
    assert b.wrong() == [(1, 1, 2, 20), (2, 1, 2, 20)]


def test_hydrated_rows_are_new_and_may_no_longer_match() -> None:
    b = Desk(HYDRATED)
    b.at(5)
    b.write(1, color="blue")
    b.write(2, stock=9)
    b.at(15)
    b.write(1, stock=9)  # it goes on not matching
    b.delete(3)
    b.at(25)
    assert b.versions("red") == {1: 3, 2: 2}
    # Its age counts since it stopped matching; what is as it should be isn't named.
    assert b.wrong() == [(1, 3, 3, 20)]
    assert b.breaches() == [("items.list", 1, 3, 3, 20, False)]


def test_a_hydrated_row_that_matches_again_is_right() -> None:
    b = Desk(HYDRATED)
    b.write(1, color="blue")
    b.at(10)
    b.write(1, color="red")
    b.at(20)
    assert b.versions("red")[1] == 3
    assert b.wrong() == []


def test_a_row_that_stops_matching_during_the_call_is_right() -> None:
    b = Desk(HYDRATED)
    b.write(1, stock=1)
    op = b.op()
    b.at(10)
    b.write(1, color="blue")
    b.at(20)
    assert b.versions("red", op)[1] == 3
    assert b.wrong() == []


def test_indexes_of_two_views_lag_on_their_own() -> None:
    b = Desk({**INDEX, "items.search.route": "index"})
    b.write(1, color="blue")
    b.at(50)
    assert b.versions("blue") == {}
    found = b.run(b.items.search.read(b.op(), of_color("blue")))
    assert [row.id for row in found] == [1]


# --- caches that are refilled from the replica ----------------------------------------------------

REFILL: dict[str, object] = {
    **LAG,
    "items.detail.cache.ttl": "10ms",
    "items.list.cache.ttl": "10ms",
    "items.detail.cache.refill": "replica",
    "items.list.cache.refill": "replica",
}


@pytest.mark.parametrize("fence", [True, False])
def test_a_fence_refuses_the_old_row_that_a_replica_puts_back(fence: bool) -> None:
    b = Desk({**REFILL, "items.detail.cache.fence": fence, "items.list.cache.fence": fence})
    b.read(1)
    b.versions("red")
    b.at(10)
    b.write(1, stock=5)  # both caches are told
    b.at(20)
    b.read(1)
    assert b.seen() == (1, 2, 10, "replica")
    assert b.versions("red")[1] == 1
    assert len(b.rows("FENCED")) == (2 if fence else 0)
    b.at(500)  # long since in the replica
    b.read(1)
    assert b.seen() == ((2, 2, 0, "replica") if fence else (1, 2, 490, "cache"))
    assert b.versions("red")[1] == (2 if fence else 1)


def test_there_is_nothing_to_refill_where_nothing_is_cached() -> None:
    b = Desk({**REFILL, "items.detail.cache.ttl": "0s", "items.list.cache.ttl": "0s"})
    b.write(1, stock=5)
    b.read(1)
    assert b.seen() == (2, 2, 0, "primary")
    assert b.versions("red")[1] == 2
    assert b.source() == "primary"


@pytest.mark.parametrize("route", ["sticky", "index"])
def test_a_refill_goes_to_the_replica_whatever_the_route(route: str) -> None:
    b = Desk({**REFILL, "items.list.route": route})
    b.write(1, actor=b.agent, color="blue")
    assert b.versions("blue") == {}
    assert b.source() == "replica"


# --- what an invalidation removes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "seen"), [("row", {}), ("query", {1: 2, 4: 1}), ("table", {1: 2, 4: 1})]
)
def test_scope_row_leaves_a_query_without_what_has_come_to_match(
    scope: str, seen: dict[int, int]
) -> None:
    b = Desk({"items.list.cache.ttl": "10ms", "items.list.cache.scope": scope})
    assert b.versions("blue") == {}
    b.at(10)
    b.write(1, color="blue")
    assert b.insert(color="blue") == 4
    b.at(30)
    assert b.versions("blue") == seen
    missing = [(1, 1, 2, 20), (4, 0, 1, 20)]
    assert b.wrong() == ([] if seen else missing)
    assert [breach[1:5] for breach in b.breaches()] == ([] if seen else missing)


def test_scope_row_does_remove_the_answers_that_hold_the_row() -> None:
    b = Desk({"items.list.cache.ttl": "10ms", "items.list.cache.scope": "row"})
    b.versions("red")
    b.write(1, stock=5)
    assert b.versions("red")[1] == 2


@pytest.mark.parametrize(("scope", "source"), [("query", "cache"), ("table", "primary")])
def test_scope_table_removes_the_answers_of_other_queries_too(scope: str, source: str) -> None:
    b = Desk({"items.list.cache.ttl": "10ms", "items.list.cache.scope": scope})
    b.versions("green")
    b.write(1, stock=5)
    b.versions("green")
    assert b.source() == source


@pytest.mark.parametrize(("scope", "source"), [("row", "cache"), ("table", "primary")])
def test_scope_table_removes_the_other_rows_too(scope: str, source: str) -> None:
    b = Desk({"items.detail.cache.ttl": "10ms", "items.detail.cache.scope": scope})
    b.read(2)
    b.write(1, stock=5)
    b.read(2)
    assert b.source("READ") == source


def test_scope_table_fences_every_row() -> None:
    b = Desk(
        {
            "items.detail.cache.ttl": "10ms",
            "items.detail.cache.scope": "table",
            "put.latency": "20us",
        }
    )
    b.read(2)
    b.at(10)
    b.write(1, stock=5)
    b.at(30)
    assert len(b.rows("FENCED")) == 1


# --- what an answer says of itself ----------------------------------------------------------------


def test_only_views_whose_contract_signals_it_date_an_answer() -> None:
    b = Desk({**LIST_REPLICA, "items.list.signals": ["as_of"]})
    b.at(500)
    op = b.op()
    b.read(1, op)
    assert not op.dated
    b.versions("red", op)
    assert (op.dated, op.as_of) == (True, 400)
    assert b.last("LIST")["promises"] == b.last("READ")["promises"] == 1


def test_the_oldest_part_of_an_answer_dates_it_whether_it_signals_or_not() -> None:
    b = Desk({**DETAIL_REPLICA, "items.list.signals": ["as_of"]})
    b.at(500)
    op = b.op()
    b.read(1, op)
    b.versions("red", op)
    assert (op.dated, op.as_of) == (True, 400)


@pytest.mark.parametrize("kind", ["detail", "list"])
def test_a_cached_answer_is_as_of_its_reading(kind: str) -> None:
    b = Desk({f"items.{kind}.cache.ttl": "10ms", f"items.{kind}.signals": ["as_of"]})
    read: Any = b.read if kind == "detail" else b.versions
    asked: Any = 1 if kind == "detail" else "red"
    b.at(100)
    read(asked)
    b.at(700)
    op = b.op()
    read(asked, op)
    assert (op.dated, op.as_of) == (True, 100)
    other = b.op()
    b.versions("blue", other)
    assert other.as_of == 700


def test_a_contract_that_is_patched_promises_something_else_at_once() -> None:
    b = Desk({})
    contract = b.items.detail.contract
    for patch, promises, dated in (
        ({"items.detail.signals": ("version",)}, 3, False),
        ({"items.detail.read_your_writes": False}, 2, False),
        ({"items.detail.signals": ("as_of",)}, 0, True),
    ):
        b.settings.patch(patch)
        assert (contract.promises, contract.dated) == (promises, dated)
        b.read(1)
        assert b.last("READ")["promises"] == promises


ROUTES = st.fixed_dictionaries(
    {
        "items.replica.lag": st.sampled_from(("0s", "40us", ["0us", "90us"])),
        "items.list.index.lag": st.sampled_from(("0s", "60us", ["0us", "90us"])),
        "items.detail.route": st.sampled_from(("primary", "replica", "sticky")),
        "items.list.route": st.sampled_from(("primary", "replica", "sticky", "index")),
        "items.detail.cache.ttl": st.sampled_from(("0s", "80us")),
        "items.list.cache.ttl": st.sampled_from(("0s", "80us")),
        "items.detail.cache.invalidate": st.sampled_from(("on_commit", "never")),
        "items.list.cache.invalidate": st.sampled_from(("on_commit", "never")),
        "items.detail.cache.refill": st.sampled_from(("primary", "replica")),
        "items.list.cache.refill": st.sampled_from(("primary", "replica")),
        "items.list.cache.fence": st.booleans(),
        "items.feed.route": st.sampled_from(("primary", "replica")),
        "items.feed.payload": st.sampled_from(("version", "id")),
        "items.export.route": st.sampled_from(("primary", "replica", "sticky")),
        "db.latency": st.sampled_from(("0s", ["0us", "15us"])),
        "put.latency": st.sampled_from(("0s", ["0us", "15us"])),
    }
)
DATED = {f"items.{view}.signals": ["as_of"] for view in ("detail", "list", "feed", "export")}
ACT = st.tuples(
    st.sampled_from(("write", "blue", "lag", "read", "list", "feed", "export")),
    st.integers(1, 3),
    st.integers(0, 50),
)


@given(ROUTES, st.lists(ACT, max_size=25), st.integers(0, 3))
def test_an_answer_holds_every_commit_made_before_its_as_of(
    config: dict[str, object], steps: list[tuple[str, int, int]], seed: int
) -> None:
    b = Desk({**config, **DATED}, seed)

    def lives() -> Any:
        for i, (kind, key, ticks) in enumerate(steps):
            if kind == "write":
                b.write(key, stock=i)
            elif kind == "blue":
                row = b.table.rows[key]
                b.write(key, color="red" if row.color == "blue" else "blue")
            yield b.world.pause(ticks // 2)

    b.start(lives())
    for kind, key, ticks in steps:
        op = b.op()
        if kind == "lag":
            b.items.replica.lag = (ticks, ticks)
            continue
        if kind == "read":
            row = b.read(key, op)
            served = {key: row.version if row is not None else 0}
        elif kind == "list":
            served = b.versions("red", op)
        elif kind == "feed":
            served = b.changed(op=op)
        elif kind == "export":
            served = b.exported(0, op=op)
        else:
            b.at(b.world.ticks + ticks)
            continue
        assert op.dated
        assert op.as_of <= op.begin
        for row_key, past in b.table.history.items():
            known = [change for change in past if change.t < op.as_of]
            if not known:
                continue
            newest = known[-1]
            if row_key in served:
                assert served[row_key] >= newest.version
            elif kind == "export":
                raise AssertionError(f"{newest} is missing")
            elif kind == "list" and newest.new.color == "red":
                # It is missing for a reason that came later.
                assert any(c.new.color == "blue" for c in past if c.version > newest.version)
        b.at(b.world.ticks + ticks)


# --- repair ---------------------------------------------------------------------------------------

REPAIRS = [
    ({**DETAIL_REPLICA}, "replica:items", "detail"),
    ({**LIST_REPLICA}, "replica:items", "list"),
    (INDEX, "index:items.list", "list"),
    (HYDRATED, "index:items.list", "list"),
]


@pytest.mark.parametrize(("config", "mechanism", "kind"), REPAIRS)
@pytest.mark.parametrize("repaired", [False, True])
def test_a_repair_replaces_what_was_out_of_date_and_no_fresh_answer(
    config: dict[str, object], mechanism: str, kind: str, repaired: bool
) -> None:
    b = Desk({**config, "db.latency": "20us"})
    if repaired:
        b.world.repair = frozenset({mechanism})

    def stock_seen() -> Any:
        if kind == "detail":
            return b.items.detail.read(b.op(), 1)
        return b.items.list.read(b.op(), of_color("red"))

    def of_answer(process: Any) -> int:
        answer = process.value
        row = answer if kind == "detail" else answer[0]
        return int(row.stock)

    now = config is HYDRATED  # which shows what is new, whatever the index knows
    process = b.start(stock_seen())
    b.at(10)
    b.write(1, stock=5)  # during the call
    b.at(20)
    assert of_answer(process) == (5 if now else 0)
    process = b.start(stock_seen())
    b.at(40)
    assert of_answer(process) == (5 if now or repaired else 0)
    expected = {"replica" if mechanism.startswith("replica") else "index"}
    assert {row.values["source"] for row in b.rows("READ", "LIST")} == expected
    assert bool(b.breaches()) == (not repaired and not now)


CACHED = [
    ({f"items.{kind}.cache.ttl": "10ms", f"items.{kind}.cache.invalidate": "never"},
     f"cache:items.{kind}", kind)
    for kind in ("detail", "list")
]  # fmt: skip


@pytest.mark.parametrize(("config", "mechanism", "kind"), [*REPAIRS[:3], *CACHED])
def test_an_answer_is_of_now_where_a_repair_changes_it_and_as_it_was_where_not(
    config: dict[str, object], mechanism: str, kind: str
) -> None:
    def told(*, written: bool, repaired: bool) -> int:
        b = Desk({**config, f"items.{kind}.signals": ["as_of"]})
        b.world.repair = frozenset({mechanism} if repaired else ())
        read: Any = b.read if kind == "detail" else b.versions
        asked: Any = 1 if kind == "detail" else "red"
        b.at(100)
        read(asked)
        b.at(695)
        if written:
            b.write(1, stock=5)
        b.at(700)
        op = b.op()
        read(asked, op)
        assert op.dated
        return op.as_of

    before = told(written=False, repaired=False)
    assert before < 700
    assert told(written=False, repaired=True) == before
    assert told(written=True, repaired=False) <= before
    assert told(written=True, repaired=True) == 700


def test_a_repaired_feed_and_a_repaired_export_give_what_was_lacking() -> None:
    config: dict[str, object] = {
        **LAG,
        "items.feed.route": "replica",
        "items.feed.payload": "id",
        "items.export.boundary": "strict",
    }
    seen: list[object] = []
    for repair in ((), ("feed:items", "export:items")):
        b = Desk(config)
        b.world.repair = frozenset(repair)
        b.at(10)
        b.write(1, stock=5)
        first = b.exported(5)
        b.write(2, stock=5)
        b.at(30)
        seen.append((first, b.exported(10), b.exported(10, False), b.changed()))
        assert bool(b.breaches()) == (not repair)
    assert seen == [
        ({1: 2}, {}, {}, {1: 1, 2: 1}),
        ({1: 2}, {2: 2}, {}, {1: 2, 2: 2}),
    ]


def test_a_repaired_feed_leaves_alone_what_is_as_new_as_its_notice() -> None:
    for repair in ((), ("replica:items",), ("feed:items",)):
        b = Desk(
            {
                "items.replica.lag": "15us",
                "items.feed.route": "replica",
                "items.feed.payload": "id",
                "db.latency": "20us",
            }
        )
        b.world.repair = frozenset(repair)
        b.write(1, stock=1)
        process = b.start(b.items.feed.read(b.op()))
        b.at(30)  # after the notice was taken, before the row is read again
        b.write(1, stock=2)
        b.at(40)
        assert [row.version for row in process.value] == [2]
        assert b.wrong() == []


def test_an_export_that_a_repair_makes_new_is_right_about_rows_that_are_not_due() -> None:
    b = Desk({**LAG, "items.export.route": "replica", "items.export.resolution": "1ms"})
    b.world.repair = frozenset({"replica:items"})
    b.at(10)
    b.write(1, stock=1)
    b.at(60)
    assert b.exported(40) == {1: 2, 2: 1, 3: 1}
    assert (b.wrong(), b.breaches()) == ([], [])
