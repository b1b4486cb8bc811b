"""Operations: what background actors can do besides calling tools. The agent is never told of them.

Statements of transactions that stay open, leases, and what happens to the node that an actor runs
on. Arguments are checked as those of tools are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from simharness.errors import UnknownName, UsageError
from simharness.kernel.calendar import format_instant
from simharness.kernel.operation import Operation  # noqa: TC001  (hints are read)
from simharness.parts.clock import API, OFFSET_MAX
from simharness.parts.node import crash, pause
from simharness.parts.refusal import Refused
from simharness.parts.row import SYSTEM_COLUMNS, Row
from simharness.product.open_transaction import OpenTransaction
from simharness.product.tool import Answer, AnyId, Bounds, ToolSpec, shown, tool_spec
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from simharness.kernel.world import World
    from simharness.parts.clock import Clock
    from simharness.product.store import Shared, Store

T = TypeVar("T")

NAME = re.compile(r"[a-z][a-z_]*\.[a-z][a-z_]*")
"""What an operation may be called; the dot keeps it apart from tools."""
NAME_MAX = 64
"""Longest name of a transaction, in characters."""
STEP_MAX = OFFSET_MAX // SECOND


def operation(name: str) -> Callable[[Callable[..., Answer[T]]], Callable[..., Answer[T]]]:
    """Mark a product's generator method as an operation, such as `gateway.deliver`.

    No latency of the API, no worker, no permission; its docstring says what it does.
    """

    def mark(function: Callable[..., Answer[T]]) -> Callable[..., Answer[T]]:
        function.__dict__["__operation__"] = name
        return function

    return mark


def operations_of(product: type) -> dict[str, ToolSpec]:
    """Read the operations of a product class, by name in order.

    Raises UsageError for one that can't be published, or for two of one name.
    """
    marked: list[Any] = [getattr(product, name, None) for name in dir(product)]
    specs = [tool_spec(f) for f in marked if "__operation__" in getattr(f, "__dict__", {})]
    out: dict[str, ToolSpec] = {}
    for spec in sorted(specs, key=lambda spec: spec.name):
        if spec.name in out:
            raise UsageError(
                f"{product.__name__} has two operations {spec.name!r}", "give each its own name"
            )
        if not NAME.fullmatch(spec.name):
            raise UsageError(
                f"an operation can't be called {spec.name!r}", "name it as 'gateway.deliver' is"
            )
        out[spec.name] = spec
    return out


class Operations:
    """The operations of every product."""

    world: World
    shared: Shared
    stores: dict[str, Store[Row]]
    clocks: dict[str, Clock]
    transactions: dict[tuple[str, str], OpenTransaction]
    """Open transactions by actor and name."""

    # --- transactions -----------------------------------------------------------------------------

    @operation("db.begin")
    def db_begin(self, op: Operation, tx: str) -> Answer[dict[str, Any]]:
        """Begin a transaction of that name, which stays open until its commit or rollback."""
        yield from ()  # a generator, like all operations
        if not 0 < len(tx) <= NAME_MAX:
            text = f"tx {shown(tx)} is no name of 1 to {NAME_MAX} characters"
            raise Refused("invalid_arguments", text)
        place = op.actor.name, tx
        if place in self.transactions:
            raise Refused("conflict", f"transaction {tx!a} of {op.actor.name} is open already")
        self.transactions[place] = OpenTransaction(op, tx)
        return {"tx": tx}

    @operation("db.insert")
    def db_insert(self, op: Operation, tx: str, table: str, fields: dict[str, Any]) -> Answer[Row]:
        """Add a row within a transaction."""
        store = self._table(table)
        return (yield from self._open(op, tx).insert(op, store, values_of(store, fields)))

    @operation("db.update")
    def db_update(
        self, op: Operation, tx: str, table: str, id: AnyId, fields: dict[str, Any]
    ) -> Answer[Row]:
        """Change columns of a row within a transaction."""
        store = self._table(table)
        key = key_of(store, id)
        return (yield from self._open(op, tx).update(op, store, key, values_of(store, fields)))

    @operation("db.delete")
    def db_delete(self, op: Operation, tx: str, table: str, id: AnyId) -> Answer[dict[str, Any]]:
        """Remove a row within a transaction."""
        store = self._table(table)
        yield from self._open(op, tx).delete(op, store, key_of(store, id))
        return {"deleted": id}

    @operation("db.read")
    def db_read(self, op: Operation, tx: str, view: str, id: AnyId) -> Answer[Row]:
        """Read a row through a view within a transaction, which sees its own writes."""
        table, _, kind = view.partition(".")
        store = self._table(table)
        views = store.details
        if kind not in views:
            named = {f"{table}.{kind}": None for kind in views}
            raise unknown("view of one row", view, named)
        row = yield from self._open(op, tx).read(op, views[kind], key_of(store, id))
        if row is None:
            raise Refused("not_found", f"no {table} row {id}")
        return row

    @operation("db.lock")
    def db_lock(self, op: Operation, tx: str, table: str, id: AnyId) -> Answer[Row]:
        """Read a row to change it later in a transaction, and lock it until then."""
        store = self._table(table)
        return (yield from self._open(op, tx).lock(op, store, key_of(store, id)))

    @operation("db.commit")
    def db_commit(self, op: Operation, tx: str) -> Answer[dict[str, Any]]:
        """Make the writes of a transaction the truth; if that is refused, they are dropped."""
        opened = self._open(op, tx)
        try:
            return {"rows": (yield from opened.commit(op, self.shared.waits.db))}
        finally:
            self._forget(op, opened)

    @operation("db.rollback")
    def db_rollback(self, op: Operation, tx: str) -> Answer[dict[str, Any]]:
        """Drop the writes of a transaction."""
        opened = self._open(op, tx)
        try:
            yield from opened.rollback()
        finally:
            self._forget(op, opened)
        return {"rolled_back": tx}

    def _open(self, op: Operation, tx: str) -> OpenTransaction:
        opened = self.transactions.get((op.actor.name, tx))
        if opened is None:
            text = f"{op.actor.name} has no open transaction {shown(tx)}; begin it with db.begin"
            raise Refused("not_found", text)
        return opened

    def _forget(self, op: Operation, opened: OpenTransaction) -> None:
        place = op.actor.name, opened.name
        if opened.ended and self.transactions.get(place) is opened:
            del self.transactions[place]

    # --- leases -----------------------------------------------------------------------------------

    @operation("lease.acquire")
    def lease_acquire(self, op: Operation, table: str) -> Answer[dict[str, Any]]:
        """Take the lease of a table; later writes of that table carry its token."""
        store = self._table(table)
        actor, number = op.actor, store.table.number
        tokens = actor.tokens
        if number in tokens and store.leases.runs(0, tokens[number]):
            raise Refused("conflict", f"{actor.name} holds the lease of {table} already")
        grant = yield from store.leases.acquire(op)
        actor.note_token(number, grant.token)
        return {"token": grant.token, "expires_at": self._told(grant.expires)}

    @operation("lease.renew")
    def lease_renew(self, op: Operation, table: str) -> Answer[dict[str, Any]]:
        """Let a lease last for its whole length from now."""
        yield from ()  # a generator, like all operations
        store, token = self._lease(op, table)
        grant = store.leases.renew(0, token)
        return {"token": grant.token, "expires_at": self._told(grant.expires)}

    @operation("lease.release")
    def lease_release(self, op: Operation, table: str) -> Answer[dict[str, Any]]:
        """Give a lease back; released is false when it had ended before."""
        yield from ()  # a generator, like all operations
        store, token = self._lease(op, table)
        op.actor.note_token(store.table.number, 0)
        return {"released": store.leases.release(0, token)}

    def _lease(self, op: Operation, table: str) -> tuple[Store[Row], int]:
        store = self._table(table)
        token = op.actor.tokens.get(store.table.number)
        if token is None:
            raise Refused("conflict", f"{op.actor.name} holds no lease of {table}")
        return store, token

    def _told(self, ticks: int) -> str:
        return format_instant(self.world.epoch + ticks)

    # --- the node ---------------------------------------------------------------------------------

    @operation("node.pause")
    def node_pause(
        self, op: Operation, seconds: Annotated[int, Bounds(1, 86_400)]
    ) -> Answer[dict[str, Any]]:
        """Hold up everything that the actor does; its leases aren't renewed meanwhile."""
        world, actor = self.world, op.actor
        until = world.ticks + seconds * SECOND
        pause(world, actor, until, op)
        for store in self.stores.values():
            token = actor.tokens.get(store.table.number)
            if token is not None:
                store.leases.freeze(0, token, until)
        yield world.timer(until - world.ticks)
        return {"paused": seconds}

    @operation("node.crash")
    def node_crash(self, op: Operation) -> Answer[dict[str, Any]]:
        """End the actor's calls where they are, roll its transactions back, let its leases run out.

        What it does afterwards starts afresh.
        """
        yield from ()  # a generator, like all operations
        actor = op.actor
        crash(self.world, actor, op)
        for place, opened in list(self.transactions.items()):
            if place[0] == actor.name:
                opened.crash()
                del self.transactions[place]
        for store in self.stores.values():
            token = actor.tokens.get(store.table.number)
            if token is not None:
                actor.note_token(store.table.number, 0)
                store.leases.abandon(0, token)
        return {"crashed": True}

    @operation("clock.step")
    def clock_step(
        self,
        op: Operation,
        seconds: Annotated[int, Bounds(-STEP_MAX, STEP_MAX)],
        node: str | None = None,
    ) -> Answer[dict[str, Any]]:
        """Move a node's clock forward, or back by a number below 0, as a correction by hand does.

        The node is the one of that name, by default the one called as the actor, else `api`.
        """
        yield from ()  # a generator, like all operations
        if node is None:
            node = op.actor.name if op.actor.name in self.clocks else API
        if node not in self.clocks:
            raise unknown("node", node, self.clocks)
        self.clocks[node].step(seconds * SECOND)
        return {"node": node, "stepped": seconds}

    # --- arguments --------------------------------------------------------------------------------

    def _table(self, name: str) -> Store[Row]:
        """Find a table that can be written row by row. Raises Refused `invalid_arguments`."""
        tables = {n: store for n, store in self.stores.items() if "detail" in store.details}
        if name not in tables:
            raise unknown("table", name, tables)
        return tables[name]


def unknown(what: str, name: str, known: Mapping[str, object]) -> Refused:
    """Build the refusal of an argument that names nothing."""
    error = UnknownName.among(what, name, known)
    return Refused("invalid_arguments", f"{error.message}; {error.hint}")


def key_of(store: Store[Row], id: int | str) -> int:
    """Give the number of a row's id. Raises Refused `invalid_arguments` for another's prefix."""
    if isinstance(id, int):
        return id
    prefix = store.spec.row_type.by_name["id"].prefix
    key = prefix.read(id) if prefix is not None else None
    if key is None:
        raise Refused("invalid_arguments", f"{id!a} is no id of a row of {store.spec.name}")
    return key


def values_of(store: Store[Row], fields: Mapping[str, object]) -> dict[str, object]:
    """Read columns as JSON gives them: instants and names as texts, tuples as lists.

    Raises Refused `invalid_arguments` naming the field.
    """
    row_type = store.spec.row_type
    columns = {n: c for n, c in row_type.by_name.items() if n not in SYSTEM_COLUMNS}
    out: dict[str, object] = {}
    for name, given in fields.items():
        column = columns.get(name)
        if column is None:
            raise unknown(f"field of {store.spec.name}", name, columns)
        try:
            value = column.read(given)
        except UsageError as error:
            text = f"field {store.spec.name}.{name} can't hold {shown(given)}"
            if column.instant and isinstance(given, str):
                text = f"field {name}: {error.message}"
            raise Refused("invalid_arguments", text) from None
        out[name] = value
    if not out:
        raise Refused("invalid_arguments", f"no field is named; fields: {', '.join(columns)}")
    return out
