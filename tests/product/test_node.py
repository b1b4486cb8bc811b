"""Nodes that pause and crash: what stands still, and what is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND, Actor, Refused
from simharness.parts.node import on_node
from tests.product.harbour import TTL, at_tick, begun, ben, code, codes, do, later, put, update

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Bench, Steps


def taken(b: Bench, actor: Actor) -> Steps:
    """Wait for a lease as a call of a tool does, on the actor's node."""
    op = b.op(actor)
    return (yield from on_node(op, b.items.leases.acquire(op, 0, 20 * SECOND)))


def test_a_paused_holder_is_fenced_off_when_it_comes_back(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "10s"})
    one, two = ben(b, "worker-a"), ben(b, "worker-b")
    do(b, one, "lease.acquire", table="items")
    later(b, 25 * SECOND, one, "node.pause", seconds=60)
    slow = b.start(at_tick(b, 26 * SECOND, b.shop.request(one, "get_item", item_id=1)))
    b.at(50 * SECOND)  # renewed last at 20s
    assert do(b, two, "lease.acquire", table="items")["token"] == 2
    b.at(84 * SECOND)
    assert slow.is_alive
    assert code(put(b, two, "update")) == "ok"
    b.at(85 * SECOND)
    assert slow.value.id == 1, "a call of a paused node is made when the pause is over"
    assert code(put(b, one, "update")) == "conflict"
    assert codes(b) == []


def test_a_short_pause_costs_no_lease(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "10s"})
    one = ben(b)
    do(b, one, "lease.acquire", table="items")
    later(b, 15 * SECOND, one, "node.pause", seconds=20)
    b.at(100 * SECOND)
    assert code(put(b, one, "update")) == "ok"
    renewed = [row.t // SECOND for row in b.rows("LEASE")]
    assert renewed[:4] == [0, 10, 35, 45]
    assert codes(b) == []


def test_calls_under_way_stand_still_in_a_pause(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s"})
    actor = ben(b)
    blocker = begun(b, actor=ben(b, "eve"))
    do(b, blocker, "db.lock", tx="t", table="items", id=2)
    begun(b, actor=actor)
    reads = later(b, 3 * SECOND, actor, "db.read", tx="t", view="items.detail", id=1)
    locks = b.start(at_tick(b, 3 * SECOND, update(b, actor, 2)))
    later(b, 4 * SECOND, actor, "node.pause", seconds=10)
    later(b, 9 * SECOND, actor, "node.pause", seconds=10)  # the longer one counts
    later(b, 6 * SECOND, blocker, "db.rollback", tx="t")
    b.at(19 * SECOND - 1)
    assert reads.is_alive
    assert b.items.locks.holder(2) is not None, "granted, and kept all through the pause"
    b.at(19 * SECOND)
    assert not reads.is_alive
    assert locks.is_alive
    b.at(21 * SECOND)
    assert b.table.rows[2].stock == 6
    assert codes(b) == []


def test_a_crash_amid_an_open_transaction_leaves_nothing(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s", "items.lease.renew": "10s"})
    actor, other = begun(b), ben(b, "eve")
    before = b.table.digest()
    do(b, actor, "lease.acquire", table="items")
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    begun(b, actor=other, tx="u")
    do(b, other, "db.lock", tx="u", table="items", id=2)
    now = b.world.ticks
    blocked = later(
        b, now + 1, actor, "db.update", tx="t", table="items", id=2, fields={"stock": 7}
    )
    queued = later(b, now + 2, actor, "db.commit", tx="t")
    editing = b.start(at_tick(b, now + 2, update(b, actor, 3)))
    waits = b.start(at_tick(b, now + 3, update(b, ben(b, "zoe"), 1)))
    crash = later(b, now + SECOND, actor, "node.crash")
    b.at(now + SECOND)
    assert crash.value == {"crashed": True}
    for dead in (blocked, queued, editing):
        assert code(dead.value) == "unknown_outcome"
    assert b.table.digest() == before
    assert list(b.shop.transactions) == [("eve", "u")]
    assert b.items.locks.holder(3) is None
    holder = b.items.locks.holder(1)
    assert holder is not None
    assert holder.actor.name == "zoe", "the lock went to whoever waited"
    do(b, other, "db.rollback", tx="u")
    assert b.items.locks.holder(2) is None
    b.at(b.world.ticks + 2 * SECOND)
    assert code(waits.value) == "ok"
    # It starts afresh at once: without its lease, which runs out by itself.
    begun(b, actor=actor)
    assert code(do(b, actor, "lease.acquire", table="items")) == "locked"
    assert code(put(b, actor, "update")) == "ok"
    b.at(b.world.ticks + TTL)
    assert do(b, actor, "lease.acquire", table="items")["token"] == 2
    assert [row.values["reason"] for row in b.rows("TXEND")][:1] == ["crashed"]
    assert codes(b) == []


def test_a_crash_gives_workers_back(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s", "api.workers": 1})
    actor = ben(b)
    busy = b.start(b.shop.request(actor, "get_item", item_id=1))
    queued = b.start(b.shop.request(actor, "get_item", item_id=2))
    behind = b.start(b.shop.request(ben(b, "eve"), "get_item", item_id=3))
    later(b, SECOND, actor, "node.crash")
    b.at(3 * SECOND)
    assert [code(p.value) for p in (busy, queued)] == ["unknown_outcome"] * 2
    assert behind.value.id == 3
    assert (b.shop.pool.busy, len(b.shop.pool.waiters)) == (0, 0)
    assert {row.values["status"] for row in b.rows("RETURN")} == {"unknown_outcome", "ok"}
    assert codes(b) == []


def test_a_crash_leaves_the_queue_of_a_lease(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "10s"})
    holder, actor, behind = ben(b, "ann"), ben(b), ben(b, "zoe")
    do(b, holder, "lease.acquire", table="items")
    waits = [b.start(taken(b, who)) for who in (actor, behind)]
    later(b, SECOND, actor, "node.crash")
    b.at(SECOND)
    assert code(waits[0].value) == "unknown_outcome"
    do(b, holder, "lease.release", table="items")
    assert waits[1].value.token == 2
    assert codes(b) == []


def test_a_lease_granted_in_a_pause_runs_out_after_the_crash(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "10s"})
    holder, actor = ben(b, "ann"), ben(b)
    do(b, holder, "lease.acquire", table="items")
    b.start(taken(b, actor))
    later(b, SECOND, actor, "node.pause", seconds=5)
    later(b, 2 * SECOND, holder, "lease.release", table="items")
    later(b, 3 * SECOND, actor, "node.crash")
    b.at(2 * SECOND + TTL)
    assert b.items.leases.holder() is None
    assert codes(b) == []


def test_a_crash_leaves_the_queues_that_it_stood_in(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s", "api.workers": 1})
    actor, other = ben(b), ben(b, "eve")
    busy = b.start(b.shop.request(other, "get_item", item_id=1))
    queued = b.start(b.shop.request(actor, "get_item", item_id=2))
    later(b, SECOND, actor, "node.crash")
    b.at(2 * SECOND)
    assert busy.value.id == 1
    assert code(queued.value) == "unknown_outcome"
    assert (b.shop.pool.busy, len(b.shop.pool.waiters)) == (0, 0)


def test_a_lock_granted_in_a_pause_is_given_back_in_the_crash(
    bench: Callable[..., Bench],
) -> None:
    b = bench({})
    actor, other = ben(b), begun(b, actor=ben(b, "eve"))
    do(b, other, "db.lock", tx="t", table="items", id=1)
    b.start(update(b, actor, 1))
    later(b, SECOND, actor, "node.pause", seconds=60)
    later(b, 2 * SECOND, other, "db.rollback", tx="t")
    b.at(3 * SECOND)
    holder = b.items.locks.holder(1)
    assert holder is not None
    assert holder.actor is actor
    do(b, actor, "node.crash")
    assert b.items.locks.holder(1) is None
    assert codes(b) == []


def test_a_pause_after_a_crash_lasts_as_long_as_it_says(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s"})
    actor = ben(b)
    told: list[tuple[int, str]] = []

    def habit() -> Steps:
        for _ in range(2):
            try:
                yield from b.shop.request(actor, "get_item", item_id=1)
                told.append((b.world.ticks // SECOND, "ok"))
            except Refused as refusal:
                told.append((b.world.ticks // SECOND, refusal.code))

    b.start(habit())
    later(b, SECOND, actor, "node.pause", seconds=3600)
    later(b, 10 * SECOND, actor, "node.crash")
    later(b, 11 * SECOND, actor, "node.pause", seconds=5)
    b.at(20 * SECOND)
    assert told == [(10, "unknown_outcome"), (16, "ok")]


def test_a_crash_ends_a_pause(bench: Callable[..., Bench]) -> None:
    b = bench({"db.latency": "2s"})
    actor = ben(b)
    held = b.start(b.shop.request(actor, "get_item", item_id=1))
    paused = later(b, SECOND, actor, "node.pause", seconds=60)
    waits = b.start(at_tick(b, 5 * SECOND, b.shop.request(actor, "get_item", item_id=1)))
    later(b, 9 * SECOND, actor, "node.crash")
    b.at(9 * SECOND)
    assert [code(p.value) for p in (held, paused, waits)] == ["unknown_outcome"] * 3
    afresh = b.start(b.shop.request(actor, "get_item", item_id=1))
    b.at(11 * SECOND)
    assert afresh.value.id == 1
    b.at(100 * SECOND)
    assert codes(b) == []
