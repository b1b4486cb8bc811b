"""A shop whose one table can be read in every way, and ways to do so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Answer, Operation, Page, Product, World, paged, store, tool
from simharness.product.product import resolve_settings
from tests.product.conftest import Bench, Item, of_color

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.product.view import Breach

EVERY = ("detail", "list", "search", "feed", "export")


class Depot(Product):
    """Keeps items."""

    name = "depot"
    items = store(Item, views=EVERY)

    @tool
    def list_items(self, op: Operation, color: str) -> Answer[Page[Item]]:
        """List the items of a colour."""
        return paged("items", (yield from self.items.list.read(op, of_color(color))), 1)


class Desk(Bench):
    """A depot in a world of its own; the epoch is 0, so that instants are ticks."""

    def __init__(self, config: Mapping[str, object], seed: int = 0) -> None:
        self.world = World(seed)
        self.settings = resolve_settings(Depot, "bare", config)
        rows = [Item(id=i, title=f"t{i}", color="red") for i in (1, 2, 3)]
        template = Depot.specs()["items"].template(rows)
        self.depot = Depot(self.world, {"items": template}, self.settings, 1_000)
        self.items = self.depot.items
        self.table = self.items.table
        self.agent = Actor(self.world, "agent", 0, audited=True)
        self.other = Actor(self.world, "other", 0)
        self._count = 0

    def versions(self, color: str, op: Operation | None = None) -> dict[int, int]:
        """What a list says: version by id."""
        rows = self.run(self.items.list.read(op or self.op(), of_color(color)))
        return {row.id: row.version for row in rows}

    def changed(
        self, since: int | None = None, wait: int = 0, op: Operation | None = None
    ) -> dict[int, int]:
        """What the feed says: version by id."""
        rows = self.run(self.items.feed.read(op or self.op(), since, wait))
        return {row.id: row.version for row in rows}

    def exported(
        self, since: int, inclusive: bool | None = None, op: Operation | None = None
    ) -> dict[int, int]:
        """What the export says: version by id."""
        rows = self.run(self.items.export.read(op or self.op(), since, inclusive))
        return {row.id: row.version for row in rows}

    def do(self, operation: str, **arguments: Any) -> None:
        """Let the other one do an operation."""
        self.run(self.depot.perform(self.other, operation, arguments))

    def breaches(self) -> list[tuple[str, int, int, int, int, bool]]:
        """Breaches so far: view, key, served, true, age, own."""
        found: list[Breach] = self.depot.shared.breaches
        return [(b.view, b.key, b.served, b.true, b.age, b.own) for b in found]

    def source(self, kind: str = "LIST") -> str:
        """Where the last answer came from."""
        return str(self.last(kind)["source"])
