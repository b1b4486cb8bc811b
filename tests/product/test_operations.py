"""What background actors can do: keep transactions open, hold leases, pause, crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simharness.api import SECOND, Actor, Answer, Operation, Refused, operation
from simharness.errors import HarnessError, UnknownName, UsageError
from simharness.findings.detect import harness_findings
from simharness.findings.story import StepSpan, Story, tell
from simharness.kernel.journal import NAMES
from simharness.kernel.operation import AFTER_COMMIT, BEFORE_COMMIT
from simharness.parts.node import on_node
from simharness.product.tool import Renderer
from tests.product.conftest import Shop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from simharness.findings.finding import Finding
    from tests.product.conftest import Bench, Steps

THINK = {"db.latency": "10us"}
CACHED = {"items.detail.cache.ttl": "10min"}


class Harbour(Shop):
    """A shop whose goods come by ship."""

    name = "harbour"

    @operation("ship.land")
    def land(self, op: Operation, item_id: int, pieces: int) -> Answer[dict[str, Any]]:
        """Bring pieces of an item."""
        row = self.items.table.rows[item_id]
        yield from self.items.update(op, item_id, {"stock": row.stock + pieces})
        return {"landed": pieces}


def do(b: Bench, actor: Actor, name: str, **arguments: object) -> Any:
    """Do one operation to its end; gives the answer or the refusal."""
    return b.run(b.shop.perform(actor, name, arguments))


def later(b: Bench, at: int, actor: Actor, name: str, **arguments: object) -> Any:
    """Start an operation at a tick; gives its process."""

    def steps() -> Steps:
        yield b.world.pause(at - b.world.ticks)
        return (yield from b.shop.perform(actor, name, arguments))

    return b.start(steps())


def code(value: Any) -> Any:
    return value.code if isinstance(value, Refused) else "ok"


def ben(b: Bench, name: str = "ben") -> Actor:
    return Actor(b.world, name, 0)


def begun(b: Bench, *, actor: Actor | None = None, tx: str = "t") -> Actor:
    actor = actor or ben(b)
    assert do(b, actor, "db.begin", tx=tx) == {"tx": tx}
    return actor


def story(b: Bench) -> Story:
    return tell(b.rows(*NAMES.values()), [])


def found(b: Bench) -> list[Finding]:
    return harness_findings(story(b))


def codes(b: Bench) -> list[str]:
    return [f.code for f in found(b)]


# --- what there is, and what is refused -----------------------------------------------------------


def test_operations_are_no_tools() -> None:
    assert not set(Shop.tools) & set(Shop.operations)
    assert list(Shop.operations) == sorted(Shop.operations)
    assert {"db.begin", "lease.acquire", "node.pause", "clock.step"} <= set(Shop.operations)


def test_products_add_operations_of_their_own(bench: Callable[..., Bench]) -> None:
    assert set(Harbour.operations) == {*Shop.operations, "ship.land"}
    b = bench({})
    template = Shop.specs()["items"].template(b.table)
    harbour = Harbour(b.world, {"items": template}, b.settings, 1_000)
    steps = harbour.perform(ben(b), "ship.land", {"item_id": 1, "pieces": 5})
    assert b.run(steps) == {"landed": 5}
    assert harbour.items.table.rows[1].stock == 5


@pytest.mark.parametrize(
    ("name", "says"),
    [("ship.land", "two operations 'ship.land'"), ("land", "can't be called 'land'")],
)
def test_names_of_operations_are_unique_and_have_a_dot(name: str, says: str) -> None:
    def again(self: Shop, op: Operation) -> Answer[dict[str, Any]]:
        """Land again."""
        yield from ()
        return {}

    with pytest.raises(UsageError, match=says):
        type("Twin", (Harbour,), {"again": operation(name)(again)})


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("db.begin", {"tx": ""}, "invalid_arguments", "1 to 64 characters"),
    ("db.begin", {"tx": "t"}, "conflict", "open already"),
    ("db.begin", {}, "invalid_arguments", "'tx' is missing"),
    ("db.commit", {"tx": "u"}, "not_found", "begin it with db.begin"),
    (
        "db.update",
        {"tx": "t", "table": "item", "id": 1, "fields": {}},
        "invalid_arguments",
        "items",
    ),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {}},
        "invalid_arguments",
        "no f",
    ),
    ("db.update", {"tx": "t", "table": "items", "id": 9, "fields": {"stock": 1}}, "not_found", "9"),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": "1", "fields": {}},
        "invalid_arguments",
        "id",
    ),
    ("db.update", {"tx": "t", "table": "items", "id": 1, "fields": []}, "invalid_arguments", "obj"),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {"stok": 1}},
        "invalid_arguments",
        "stock",
    ),
    (
        "db.update",
        {"tx": "t", "table": "items", "id": 1, "fields": {"version": 7}},
        "invalid_arguments",
        "'version'",
    ),
    (
        "db.insert",
        {"tx": "t", "table": "items", "fields": {"color": "grey"}},
        "invalid_arguments",
        "color can't hold 'grey'",
    ),
    ("db.insert", {"tx": "t", "table": "items", "fields": {"code": "c1"}}, "conflict", "taken"),
    ("db.read", {"tx": "t", "view": "items.list", "id": 1}, "invalid_arguments", "items.detail"),
    ("db.read", {"tx": "t", "view": "items.detail", "id": 9}, "not_found", "9"),
    ("db.lock", {"tx": "t", "table": "items", "id": 9}, "not_found", "9"),
    ("db.delete", {"tx": "t", "table": "items", "id": 9}, "not_found", "9"),
    ("lease.renew", {"table": "items"}, "conflict", "ben holds no lease of items"),
    ("lease.release", {"table": "items"}, "conflict", "ben holds no lease of items"),
    ("lease.acquire", {"table": "itmes"}, "invalid_arguments", "items"),
    ("node.pause", {"seconds": 0}, "invalid_arguments", "from 1 to 86400"),
    ("clock.step", {"seconds": 1, "node": "ap"}, "invalid_arguments", "api"),
]


@pytest.mark.parametrize(("name", "arguments", "refused", "says"), BAD)
def test_what_does_not_fit_is_refused_and_says_why(
    bench: Callable[..., Bench], name: str, arguments: dict[str, object], refused: str, says: str
) -> None:
    b = bench({})
    actor = begun(b)
    before = b.table.digest()
    answer = do(b, actor, name, **arguments)
    assert code(answer) == refused
    assert says in answer.message
    assert b.table.digest() == before


def test_an_operation_that_is_unknown_names_the_nearest(bench: Callable[..., Bench]) -> None:
    b = bench({})
    with pytest.raises(UnknownName, match=r"db\.updat") as caught:
        b.run(b.shop.perform(ben(b), "db.updat", {}))
    assert "db.update" in caught.value.hint


def test_no_operation_is_the_agents(bench: Callable[..., Bench]) -> None:
    b = bench({})
    with pytest.raises(HarnessError, match=r"'agent' performs 'db\.begin'"):
        b.run(b.shop.perform(b.agent, "db.begin", {"tx": "t"}))


# --- open transactions ----------------------------------------------------------------------------


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


# --- any interleaving -----------------------------------------------------------------------------

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
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
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
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
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


# --- caches ---------------------------------------------------------------------------------------


def refilled(b: Bench) -> None:
    """Read a row between a statement and its commit, and after that."""
    b.write(1, stock=1)  # so that the statement's invalidation bears the order of this commit
    actor = begun(b)
    b.read(1)
    b.at(100)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    b.at(200)
    b.read(1)
    b.at(300)
    do(b, actor, "db.commit", tx="t")
    b.at(400)
    b.read(1)


def test_a_refill_between_statement_and_commit_is_stale(bench: Callable[..., Bench]) -> None:
    b = bench({**CACHED, "items.detail.cache.invalidate": "on_statement"})
    refilled(b)
    (finding,) = found(b)
    assert finding.code == "H110", "the invalidation was carried out, too early"
    assert finding.evidence["age"] == 100
    assert finding.mechanism == "cache:items.detail"


def test_an_invalidation_at_the_commit_comes_in_time(bench: Callable[..., Bench]) -> None:
    b = bench(CACHED)
    refilled(b)
    assert codes(b) == []


SHARED = {**CACHED, "items.detail.cache.shared_in_tx": True}


def leaked(b: Bench, end: str) -> None:
    """Read an own write, let the agent read the row, then end."""
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    b.at(100)
    b.read(1)
    b.at(200)
    do(b, actor, end, tx="t")


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_a_value_served_before_its_commit_is_a_phantom(
    bench: Callable[..., Bench], end: str
) -> None:
    b = bench(SHARED)
    alarms = b.world.alarms
    leaked(b, end)
    (finding,) = found(b)
    assert finding.code == "H230"
    assert (finding.evidence["served"], finding.evidence["true"]) == (2, 1)
    assert finding.mechanism == "cache:items.detail"
    assert b.world.alarms > alarms, "a live verdict looks closer"


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_only_the_read_of_the_phantom_is_blamed(bench: Callable[..., Bench], end: str) -> None:
    b = bench({**SHARED, "items.detail.cache.ttl": "1s"})
    actor = begun(b)
    do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 7})
    do(b, actor, "db.read", tx="t", view="items.detail", id=1)
    spans = [asked(b, 1)]
    do(b, actor, end, tx="t")
    b.at(2 * SECOND)
    spans.append(asked(b, 2))
    assert [span.results[0][1]["stock"] for span in spans] == [7, 0 if end == "db.rollback" else 7]
    findings = harness_findings(tell(b.rows(*NAMES.values()), spans))
    assert [(f.code, f.step) for f in findings] == [("H230", 1)]


def asked(b: Bench, step: int) -> StepSpan:
    """Let the agent get item 1 as an episode does; gives what is known of the step."""
    first = len(b.world.rows)
    op = Operation(b.world, b.agent, step << 16)
    answer = b.run(b.shop.call(op, b.shop.tools["get_item"], {"item_id": 1}))
    told = (True, dict(Renderer().render(answer)))
    return StepSpan(
        step,
        first,
        0,
        ended=False,
        aborted=False,
        calls=(("get_item", '{"item_id": 1}'),),
        results=(told,),
    )


@pytest.mark.parametrize("end", ["db.rollback", "db.commit"])
def test_a_cache_apart_from_open_transactions_is_silent(
    bench: Callable[..., Bench], end: str
) -> None:
    b = bench(CACHED)
    leaked(b, end)
    assert codes(b) == []
    b.read(1)
    assert b.seen()[:2] == ((2, 2) if end == "db.commit" else (1, 1))


# --- leases ---------------------------------------------------------------------------------------

TTL = 30 * SECOND


def outlived(b: Bench) -> tuple[Actor, Actor]:
    """Let a worker's lease run out, and another take it."""
    one, two = ben(b, "worker-a"), ben(b, "worker-b")
    assert do(b, one, "lease.acquire", table="items") == {
        "token": 1,
        "expires_at": "1970-01-01T00:00:30Z",
    }
    assert code(do(b, two, "lease.acquire", table="items")) == "locked"
    assert code(do(b, one, "lease.acquire", table="items")) == "conflict"
    b.at(TTL)
    assert do(b, two, "lease.acquire", table="items")["token"] == 2
    return one, two


def put(b: Bench, actor: Actor, how: str) -> Any:
    """Write a row in one of the ways that there are."""
    match how:
        case "insert":
            return b.run(b.items.insert(b.op(actor), {"title": "x"}))
        case "update":
            return b.run(b.items.update(b.op(actor), 1, {"stock": 1}))
        case "delete":
            return b.run(b.items.delete(b.op(actor), 1))
        case _:
            begun(b, actor=actor)
            do(b, actor, "db.update", tx="t", table="items", id=1, fields={"stock": 1})
            return do(b, actor, "db.commit", tx="t")


@pytest.mark.parametrize("how", ["insert", "update", "delete", "transaction"])
def test_a_write_under_a_lease_that_ended_is_fenced_off(
    bench: Callable[..., Bench], how: str
) -> None:
    b = bench({})
    one, two = outlived(b)
    before = b.table.digest()
    assert code(put(b, one, how)) == "conflict"
    assert b.table.digest() == before
    assert all(b.items.locks.holder(key) is None for key in (1, 2, 3))
    assert code(put(b, two, how)) == "ok"
    b.write(2, stock=5)
    assert b.table.rows[2].stock == 5, "who has no lease isn't checked"
    assert codes(b) == []


@pytest.mark.parametrize("how", ["insert", "update", "delete", "transaction"])
def test_without_fencing_the_late_write_is_found(bench: Callable[..., Bench], how: str) -> None:
    b = bench({"items.lease.fencing": False})
    one, _ = outlived(b)
    b.at(TTL + 5)
    assert code(put(b, one, how)) == "ok"
    (finding,) = [f for f in found(b) if f.code == "H315"]
    assert finding.mechanism == "lease:items"
    assert finding.evidence == {"key": "items", "holder": "worker-a", "expired_at": TTL}
    assert b.world.alarms > 0


def test_the_repair_of_leases_fences(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.fencing": False, "items.lease.granularity": "7s"})
    assert "lease:items" in b.shop.mechanisms()
    b.shop.repair(["lease:items"])
    one, _ = outlived(b)
    assert code(put(b, one, "update")) == "conflict"
    assert codes(b) == []


def test_a_lease_that_is_renewed_or_given_back(bench: Callable[..., Bench]) -> None:
    b = bench({})
    one, two = ben(b, "worker-a"), ben(b, "worker-b")
    do(b, one, "lease.acquire", table="items")
    b.at(20 * SECOND)
    assert do(b, one, "lease.renew", table="items") == {
        "token": 1,
        "expires_at": "1970-01-01T00:00:50Z",
    }
    b.at(40 * SECOND)
    assert code(put(b, one, "update")) == "ok"
    assert do(b, one, "lease.release", table="items") == {"released": True}
    assert do(b, two, "lease.acquire", table="items")["token"] == 2
    assert code(put(b, one, "update")) == "ok", "it believes in no lease any more"
    b.at(40 * SECOND + TTL)
    assert code(do(b, two, "lease.renew", table="items")) == "conflict"
    assert do(b, two, "lease.release", table="items") == {"released": False}
    assert codes(b) == []


def test_leases_renew_themselves_where_the_knob_says(bench: Callable[..., Bench]) -> None:
    b = bench({"items.lease.renew": "20s"})
    one = ben(b)
    do(b, one, "lease.acquire", table="items")
    b.at(300 * SECOND)
    assert code(put(b, one, "update")) == "ok"
    assert codes(b) == []


# --- the node -------------------------------------------------------------------------------------


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


def at_tick(b: Bench, at: int, steps: Steps) -> Steps:
    yield b.world.pause(at - b.world.ticks)
    return (yield from steps)


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


def update(b: Bench, actor: Actor, key: int) -> Steps:
    """Write a row as a call of a tool does, on the actor's node."""
    op = b.op(actor)
    return (yield from on_node(op, b.items.update(op, key, {"stock": 6})))


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


def taken(b: Bench, actor: Actor) -> Steps:
    """Wait for a lease as a call of a tool does, on the actor's node."""
    op = b.op(actor)
    return (yield from on_node(op, b.items.leases.acquire(op, 0, 20 * SECOND)))


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


def test_a_clock_is_stepped(bench: Callable[..., Bench]) -> None:
    b = bench({})
    assert do(b, ben(b), "clock.step", seconds=-90) == {"node": "api", "stepped": -90}
    assert b.shop.instant == b.world.instant - 90 * SECOND
    assert do(b, ben(b, "api"), "clock.step", seconds=90)["node"] == "api"
    assert b.shop.instant == b.world.instant
