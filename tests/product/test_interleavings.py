"""Open transactions in any order, amid crashes and pauses, come to a serial order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simharness.api import SECOND, Actor, Refused
from tests.effort import times
from tests.product.harbour import ben, codes, later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.product.conftest import Bench, Steps


Step = tuple[int, str, int, int]
"""Actor, what it does, row, value."""
STEPS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["update", "update", "lock", "delete", "insert", "add", "commit", "rollback"]),
    st.integers(1, 3),
    st.integers(1, 9),
)


def play(b: Bench, actor: Actor, number: int, steps: Sequence[Step], log: list[Any]) -> Steps:
    """Do one actor's steps, each transaction begun when there is none; logs what commits."""
    done: list[tuple[str, int, int]] = []
    for _, what, key, value in [*steps, (number, "commit", 0, 0)]:
        yield b.world.pause(1 + value)
        at: dict[str, object] = {"tx": "t", "table": "items", "id": key}
        try:
            if (actor.name, "t") not in b.shop.transactions:
                done = []
                yield from b.shop.perform(actor, "db.begin", {"tx": "t"})
            match what:
                case "commit":
                    yield from b.shop.perform(actor, "db.commit", {"tx": "t"})
                    log.append(done)
                case "rollback":
                    yield from b.shop.perform(actor, "db.rollback", {"tx": "t"})
                case "insert":
                    new = {"tx": "t", "table": "items", "fields": {"stock": value}}
                    row = yield from b.shop.perform(actor, "db.insert", new)
                    done.append(("set", row.id, value))
                case "add":
                    row = yield from b.shop.perform(actor, "db.lock", at)
                    stock = {"stock": row.stock + value}
                    yield from b.shop.perform(actor, "db.update", {**at, "fields": stock})
                    done.append(("add", key, value))
                case "update":
                    yield from b.shop.perform(
                        actor, "db.update", {**at, "fields": {"stock": value}}
                    )
                    done.append(("set", key, value))
                case "delete":
                    yield from b.shop.perform(actor, "db.delete", at)
                    done.append(("delete", key, 0))
                case _:
                    yield from b.shop.perform(actor, "db.lock", at)
        except Refused as refusal:
            if refusal.code not in ("locked", "not_found", "unknown_outcome"):
                raise


def in_turn(log: Iterable[Iterable[tuple[str, int, int]]]) -> dict[int, int]:
    """Give what the transactions come to one after the other."""
    stock = {1: 0, 2: 0, 3: 0}
    for done in log:
        for what, key, value in done:
            if what == "delete":
                del stock[key]
            else:
                stock[key] = value + (stock[key] if what == "add" else 0)
    return dict(sorted(stock.items()))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=times(40),
)
@given(steps=st.lists(STEPS, max_size=24))
@example(steps=[(0, "add", 1, 1), (1, "add", 1, 2)])
@example(steps=[(0, "update", 1, 1), (1, "update", 2, 1), (0, "update", 2, 3), (1, "lock", 1, 2)])
def test_under_row_locks_every_interleaving_is_a_serial_one(
    bench: Callable[..., Bench], steps: list[Step]
) -> None:
    b = bench({"db.latency": ["1us", "6us"]})
    log = played(b, steps, [])
    assert_serial(b, log)
    assert len({row.values["order"] for row in b.rows("COMMIT")}) == sum(bool(d) for d in log)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=times(40),
)
@given(
    steps=st.lists(STEPS, max_size=24),
    blows=st.lists(
        st.tuples(st.integers(0, 2), st.booleans(), st.integers(1, 80)), min_size=1, max_size=4
    ),
)
@example(
    steps=[(0, "update", 1, 1), (0, "update", 2, 1), (1, "update", 2, 1)],
    blows=[(0, False, 8), (0, True, 12)],  # a lock is granted in the pause
)
def test_crashes_and_pauses_leave_neither_halves_nor_locks(
    bench: Callable[..., Bench], steps: list[Step], blows: list[tuple[int, bool, int]]
) -> None:
    b = bench({"db.latency": ["1us", "6us"]})
    assert_serial(b, played(b, steps, blows))


def played(b: Bench, steps: list[Step], blows: list[tuple[int, bool, int]]) -> list[Any]:
    """Let three users do their steps; `blows` crashes (or pauses) nodes: whose, which, when."""
    log: list[Any] = []
    actors = [ben(b, f"user/{number}") for number in range(3)]
    for number, actor in enumerate(actors):
        mine = [step for step in steps if step[0] == number]
        b.start(play(b, actor, number, mine, log))
    for number, crash, at in blows:
        name, arguments = ("node.crash", {}) if crash else ("node.pause", {"seconds": 1})
        later(b, at, actors[number], name, **arguments)
    b.at(200 * SECOND)
    return log


def assert_serial(b: Bench, log: list[Any]) -> None:
    """Check that the rows are what the transactions come to in turn, and that nothing is left."""
    assert {key: row.stock for key, row in b.table.rows.items()} == in_turn(log)
    assert b.shop.transactions == {}
    assert all(b.items.locks.holder(key) is None for key in range(1, 30))
    assert not b.world.alive
    assert set(codes(b)) <= {"H311"}, "waits in a circle, or too long, may occur"
