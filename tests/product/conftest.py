"""A shop with one table: the smallest product that has views, writes, a cache and a fault."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest
from simpy.events import Event

from simharness.api import (
    Actor,
    Answer,
    Fault,
    Operation,
    Page,
    Product,
    Refused,
    Row,
    Transaction,
    World,
    paged,
    query,
    store,
    tool,
)
from simharness.kernel import journal
from simharness.product.product import resolve_settings

if TYPE_CHECKING:
    from simharness.product.rows_view import Query

Steps: TypeAlias = Generator[Event, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(Row):
    title: str = ""
    color: Literal["red", "blue", "green"] = "red"
    stock: int = 0
    code: str | None = None


class Shop(Product):
    """Sells items."""

    name = "shop"
    profiles = {"bare": {}, "cached": {"items.detail.cache.ttl": "10min"}}  # noqa: RUF012
    faults = (
        Fault(
            id="shop.no-invalidation",
            doc="nothing tells the cache of a change",
            knobs={"items.detail.cache.invalidate": "never"},
        ),
    )
    items = store(Item, views=("detail", "list"), unique=("code",))

    @tool
    def get_item(self, op: Operation, item_id: int) -> Answer[Item]:
        """Read one item."""
        row = yield from self.items.detail.read(op, item_id)
        if row is None:
            raise Refused("not_found", f"no item {item_id}")
        return row

    @tool
    def list_items(self, op: Operation, color: str) -> Answer[Page[Item]]:
        """List the items of a colour."""
        rows = yield from self.items.list.read(op, of_color(color))
        return paged("items", rows, 1)


def of_color(color: str) -> Query:
    def matches(row: Item) -> bool:
        return row.color == color

    return query(matches, color=color)


class Bench:
    """A shop in a world of its own, and ways to act in it at stated instants."""

    def __init__(self, config: Mapping[str, object], load: int = 1_000) -> None:
        self.world = World(0)
        self.settings = resolve_settings(Shop, "bare", config)
        rows = [Item(id=i, title=f"t{i}", color="red", code=f"c{i}") for i in (1, 2, 3)]
        template = Shop.specs()["items"].template(rows)
        self.shop = Shop(self.world, {"items": template}, self.settings, load)
        self.items = self.shop.items
        self.table = self.items.table
        self.agent = Actor(self.world, "agent", 0, audited=True)
        self.other = Actor(self.world, "other", 0)
        self._count = 0

    # --- acting -----------------------------------------------------------------------------------

    def at(self, ticks: int) -> None:
        self.world.advance_to(ticks)

    def op(self, actor: Actor | None = None, pins: Mapping[str, int] | None = None) -> Operation:
        self._count += 1
        return Operation(self.world, actor or self.agent, self._count, pins)

    def run(self, steps: Steps) -> Any:
        """Run steps to their end and give what they return, also a refusal."""
        process = self.start(steps)
        assert self.world.drive(process, self.world.ticks + 1_000_000_000)
        self.world.settle()
        return process.value

    def start(self, steps: Steps) -> Any:
        self._count += 1
        return self.world.spawn(f"process/{self._count}", answered(steps))

    def write(self, key: int, actor: Actor | None = None, **fields: object) -> None:
        """Commit a change right now."""
        tx = Transaction(self.op(actor or self.other))
        tx.update(self.table, key, fields)
        tx.commit()

    def delete(self, key: int) -> None:
        tx = Transaction(self.op(self.other))
        tx.delete(self.table, key)
        tx.commit()

    def insert(self, **fields: object) -> int:
        tx = Transaction(self.op(self.other))
        key = tx.insert(self.table, fields)
        tx.commit()
        return key

    def read(self, key: int, op: Operation | None = None) -> Item | None:
        row: Item | None = self.run(self.items.detail.read(op or self.op(), key))
        return row

    def listed(self, color: str, op: Operation | None = None) -> list[int]:
        rows = self.run(self.items.list.read(op or self.op(), of_color(color)))
        return [int(row.id) for row in rows]

    # --- looking ----------------------------------------------------------------------------------

    def rows(self, *kinds: str) -> list[journal.Row]:
        decoded = journal.Decoder().decode_all(self.world.rows)
        return [row for row in decoded if row.kind in kinds]

    def last(self, kind: str) -> dict[str, Any]:
        return dict(self.rows(kind)[-1].values)

    def seen(self) -> tuple[int, int, int, str]:
        """Of the last READ: version served, version true, age, source."""
        values = self.last("READ")
        return values["served"], values["true"], values["age"], values["source"]

    def wrong(self) -> list[tuple[int, int, int, int]]:
        """Of the last LIST: key, served, true and age of each row that was out of date."""
        flat = self.last("LIST")["wrong"]
        return [tuple(flat[i : i + 4]) for i in range(0, len(flat), 4)]


def answered(steps: Steps) -> Steps:
    try:
        return (yield from steps)
    except Refused as refusal:
        return refusal


@pytest.fixture(name="bench")
def make_bench() -> Callable[..., Bench]:
    """Open a shop: knob values first, by key with dots written as they are."""
    return Bench
