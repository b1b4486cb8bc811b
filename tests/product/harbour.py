"""Ways to let background actors do what operations do, and to look at what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Answer, Operation, Refused, operation
from simharness.findings.detect import harness_findings
from simharness.findings.story import Story, tell
from simharness.kernel.journal import NAMES
from simharness.parts.node import on_node
from tests.product.conftest import Shop

if TYPE_CHECKING:
    from simharness.findings.finding import Finding
    from tests.product.conftest import Bench, Steps


THINK = {"db.latency": "10us"}
TTL = 30 * SECOND
"""How long a lease lasts, in ticks, where nothing else is set."""
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


def at_tick(b: Bench, at: int, steps: Steps) -> Steps:
    yield b.world.pause(at - b.world.ticks)
    return (yield from steps)


def update(b: Bench, actor: Actor, key: int) -> Steps:
    """Write a row as a call of a tool does, on the actor's node."""
    op = b.op(actor)
    return (yield from on_node(op, b.items.update(op, key, {"stock": 6})))
