"""A feed tells every reader what has changed, once, and waits for it if asked to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.product.readers import Desk

BY_ID: dict[str, object] = {
    "items.feed.route": "replica",
    "items.feed.payload": "id",
    "items.replica.lag": "100us",
}


def woken(b: Desk, process: Any) -> tuple[int, dict[int, int]] | None:
    """When a read under way has ended and what it gave; None while it waits."""
    if process.is_alive:
        return None
    return b.rows("LIST")[-1].t, {row.id: row.version for row in process.value}


# --- since ----------------------------------------------------------------------------------------


def test_a_reader_is_told_of_each_change_once_by_id() -> None:
    b = Desk({})
    assert b.changed() == {}
    b.write(2, stock=1)
    b.write(1, stock=1)
    b.write(2, stock=2)
    assert list(b.changed().items()) == [(1, 2), (2, 3)]
    assert b.changed() == {}
    b.write(3, stock=1)
    assert b.changed() == {3: 2}
    assert (b.last("LIST")["query"], b.source(), b.breaches()) == ("new", "primary", [])


def test_every_reader_has_a_place_of_its_own() -> None:
    b = Desk({})
    b.write(1, stock=1)
    assert b.changed() == {1: 2}
    b.write(2, stock=1)
    assert b.changed(op=b.op(b.other)) == {1: 2, 2: 2}
    assert b.changed() == {2: 2}


@pytest.mark.parametrize(("since", "keys"), [(10, [1, 2]), (11, [2]), (20, [2]), (21, [])])
def test_since_an_instant_means_at_it_or_later(since: int, keys: list[int]) -> None:
    b = Desk({})
    b.at(10)
    b.write(1, stock=1)
    b.at(20)
    b.write(2, stock=1)
    b.at(30)
    for _ in range(2):  # an instant asks for the same again
        assert list(b.changed(since)) == keys
    assert b.last("LIST")["query"] == f"since={since}"
    assert b.changed() == {}, "all of that has been told"


def test_a_row_that_ended_is_in_no_answer() -> None:
    b = Desk({})
    b.write(1, stock=1)
    b.delete(1)
    assert b.changed() == {}
    assert b.breaches() == []


# --- waiting --------------------------------------------------------------------------------------


def test_who_waits_is_told_within_the_instant_of_the_commit() -> None:
    b = Desk({})
    process = b.start(b.items.feed.read(b.op(), None, 100))
    b.at(40)
    assert woken(b, process) is None
    b.write(1, stock=1)
    b.world.settle()
    assert woken(b, process) == (40, {1: 2})


def test_who_waits_in_vain_is_answered_at_the_deadline() -> None:
    b = Desk({"db.latency": "5us"})
    process = b.start(b.items.feed.read(b.op(), None, 100))
    b.at(104)
    assert woken(b, process) is None
    b.at(105)  # the wait begins when the database has answered
    assert woken(b, process) == (105, {})
    b.write(1, stock=1)
    assert b.changed() == {1: 2}


def test_nobody_waits_when_there_is_something_to_tell() -> None:
    b = Desk({})
    b.write(1, stock=1)
    process = b.start(b.items.feed.read(b.op(), None, 100))
    b.world.settle()
    assert woken(b, process) == (0, {1: 2})


def test_all_who_wait_are_told() -> None:
    b = Desk({})
    waiting = [b.start(b.items.feed.read(b.op(who), None, 100)) for who in (b.agent, b.other)]
    b.at(10)
    b.write(1, stock=1)
    b.world.settle()
    assert [[row.id for row in process.value] for process in waiting] == [[1], [1]]


@pytest.mark.parametrize("first", ["commit", "deadline"])
def test_a_commit_at_the_instant_of_the_deadline_is_told_now_or_next_time(first: str) -> None:
    b = Desk({})

    def writer(ticks: int) -> Any:
        yield b.world.timer(ticks)
        b.write(1, stock=1)

    if first == "commit":
        b.start(writer(100))
    process = b.start(b.items.feed.read(b.op(), None, 100))
    b.at(50)
    if first == "deadline":
        b.start(writer(50))
    b.at(100)
    ended = woken(b, process)
    assert ended is not None
    assert ended[0] == 100
    assert [ended[1], b.changed()] in ([{1: 2}, {}], [{}, {1: 2}])
    assert len(b.rows("LIST")) == 2


def test_a_filter_by_instant_waits_too() -> None:
    b = Desk({})
    b.write(1, stock=1)
    b.at(10)
    process = b.start(b.items.feed.read(b.op(), 5, 100))
    b.at(20)
    assert woken(b, process) is None
    b.write(2, stock=1)
    b.world.settle()
    assert woken(b, process) == (20, {2: 2})


# --- payload --------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["primary", "replica", "sticky"])
def test_a_notice_with_the_row_shows_it_whatever_the_route(route: str) -> None:
    b = Desk({**BY_ID, "items.feed.payload": "version", "items.feed.route": route})
    b.write(1, stock=1)
    assert b.changed() == {1: 2}
    assert (b.wrong(), b.source()) == ([], "primary")


def test_a_notice_with_the_id_is_read_again_and_may_be_older_than_it_says() -> None:
    b = Desk(BY_ID)
    b.write(1, stock=1)
    b.insert(color="red")
    b.at(30)
    assert b.changed() == {1: 1}
    assert (b.wrong(), b.source()) == ([(1, 1, 2, 30), (4, 0, 1, 30)], "replica")
    assert [breach[1:5] for breach in b.breaches()] == [(1, 1, 2, 30), (4, 0, 1, 30)]
    b.at(500)
    assert b.changed() == {}, "nobody comes back to it"


def test_a_notice_with_the_id_is_right_where_the_route_is() -> None:
    for route in ("primary", "sticky"):
        b = Desk({**BY_ID, "items.feed.route": route})
        b.write(1, actor=b.agent, stock=1)
        assert b.changed() == {1: 2}
        assert (b.wrong(), b.breaches()) == ([], [])


def test_a_change_during_the_second_reading_is_told_next_time() -> None:
    b = Desk({**BY_ID, "items.feed.route": "primary", "db.latency": "5us"})
    b.write(1, stock=1)
    process = b.start(b.items.feed.read(b.op()))
    b.at(7)
    b.write(2, stock=1)
    b.at(10)
    assert [row.id for row in process.value] == [1]
    assert b.changed() == {2: 2}


# --- poll -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "seen"), [(229, {}), (230, {1: 2})])
def test_a_back_stop_reads_again_what_was_shown_old(at: int, seen: dict[int, int]) -> None:
    b = Desk({**BY_ID, "items.feed.poll": "200us"})
    b.write(1, stock=1)
    b.at(30)
    assert b.changed() == {1: 1}
    b.at(at)
    assert b.changed() == seen


def test_a_back_stop_goes_on_until_the_row_is_new() -> None:
    b = Desk({**BY_ID, "items.feed.poll": "40us"})
    b.write(1, stock=1)
    seen: list[dict[int, int]] = []
    for t in (10, 50, 90, 130, 170):
        b.at(t)
        seen.append(b.changed())
    assert seen == [{1: 1}, {1: 1}, {1: 1}, {1: 2}, {}]


def test_who_waits_is_woken_by_the_back_stop() -> None:
    b = Desk({**BY_ID, "items.feed.poll": "200us"})
    b.write(1, stock=1)
    assert b.changed() == {1: 1}
    process = b.start(b.items.feed.read(b.op(), None, 1_000))
    b.at(199)
    assert woken(b, process) is None
    b.at(200)
    assert woken(b, process) == (200, {1: 2})


# --- nothing is lost ------------------------------------------------------------------------------

SOUND = st.fixed_dictionaries(
    {
        "items.feed.payload": st.sampled_from(("version", "id")),
        "items.feed.route": st.sampled_from(("primary", "replica", "sticky")),
        "items.feed.poll": st.just("20us"),
        "items.replica.lag": st.sampled_from(("0s", "30us", ["0us", "60us"])),
        "db.latency": st.sampled_from(("0s", "7us", ["0us", "12us"])),
    }
)
STEPS = st.lists(
    st.tuples(st.sampled_from(("write", "insert", "wait")), st.integers(1, 4), st.integers(0, 40)),
    max_size=25,
)


@given(SOUND, STEPS, st.sampled_from((0, 15, 50)))
def test_a_reader_that_comes_back_has_seen_everything_in_the_end(
    config: dict[str, object], steps: list[tuple[str, int, int]], wait: int
) -> None:
    b = Desk(config)
    known: dict[int, int] = {}

    def reader() -> Any:
        while b.world.ticks < 2_000:
            rows = yield from b.items.feed.read(b.op(), None, wait)
            for row in rows:
                known[row.id] = max(known.get(row.id, 0), row.version)
            yield b.world.pause(9)

    b.start(reader())
    for i, (kind, key, ticks) in enumerate(steps):
        if kind == "write" and key in b.table.rows:
            b.write(key, stock=i + 1)
        elif kind == "insert":
            b.insert(stock=i)
        b.at(b.world.ticks + ticks)
    b.at(2_500)
    assert known == {key: past[-1].version for key, past in b.table.history.items()}
