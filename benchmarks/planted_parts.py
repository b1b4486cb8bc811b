"""Defects of locks, caches, views and writes, each planted for one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Refused
from simharness.kernel import journal
from simharness.parts.cache import Cache
from simharness.parts.lock import Locks
from simharness.parts.table import Table
from simharness.parts.transaction import Transaction
from simharness.product.product import Product
from simharness.product.store import Edit, Store
from simharness.product.view import DetailView

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import pytest

    from simharness.product.tool import ToolSpec

    Plant = Callable[[pytest.MonkeyPatch], None]
    Steps = Generator[Any, Any, Any]


def original(owner: object, name: str) -> Any:
    """Give what is about to be replaced, private or not."""
    return getattr(owner, name)


def every(n: int) -> Callable[[], bool]:
    """Give a function that is true each n-th time."""
    count = 0

    def due() -> bool:
        nonlocal count
        count += 1
        return count % n == 0

    return due


# --- locks ----------------------------------------------------------------------------------------


def release_dropped(patch: pytest.MonkeyPatch) -> None:
    release = original(Locks, "release")
    due = every(5)

    def dropped(self: Locks, op: Any, key: int) -> None:
        if not due():
            release(self, op, key)

    patch.setattr(Locks, "release", dropped)


def gone_when_locked(patch: pytest.MonkeyPatch) -> None:
    """Tell whoever gave up waiting for a record that there is none; some are never given back."""
    release_dropped(patch)
    acquire = original(Locks, "acquire")

    def told(self: Locks, op: Any, key: int, patience: int) -> Steps:
        try:
            yield from acquire(self, op, key, patience)
        except Refused:
            raise Refused("not_found", f"there is no record {key}") from None

    patch.setattr(Locks, "acquire", told)


def lock_given_to_two(patch: pytest.MonkeyPatch) -> None:
    acquire, release = original(Locks, "acquire"), original(Locks, "release")

    def given(self: Locks, op: Any, key: int, patience: int) -> Steps:
        holder = self.holder(key)
        if holder is None or holder is op:
            yield from acquire(self, op, key, patience)
            return
        number = self.world.numbers[f"{self.prefix}:{key}"]
        self.world.emit((journal.LOCK, self.world.ticks, op.owner_number, op.n, number))

    def released(self: Locks, op: Any, key: int) -> None:
        if self.holder(key) is op:
            release(self, op, key)
            return
        number = self.world.numbers[f"{self.prefix}:{key}"]
        self.world.emit((journal.UNLOCK, self.world.ticks, op.owner_number, op.n, number))

    patch.setattr(Locks, "acquire", given)
    patch.setattr(Locks, "release", released)


def lock_given_back_early(patch: pytest.MonkeyPatch) -> None:
    check = original(Edit, "check")

    def early(self: Edit[Any], if_version: int | None) -> None:
        check(self, if_version)
        self.close()

    patch.setattr(Edit, "check", early)


# --- caches ---------------------------------------------------------------------------------------


def looked_up(lives: Callable[[int, int], bool]) -> Plant:
    """Make caches decide by another rule of age and ttl."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        def lookup(self: Cache, key: Any) -> Any:
            entry = self.entries.get(key)
            if entry is None:
                return None
            now, unit = self.world.ticks, self.granularity
            if lives(now // unit * unit - entry.at // unit * unit, entry.ttl):
                return entry
            del self.entries[key]
            shown = key if isinstance(key, int) else -1 - self.world.numbers[str(key)]
            self.world.emit((journal.EXPIRE, now, self.number, shown))
            return None

        patch.setattr(Cache, "lookup", lookup)

    return plant


def wrong_key_invalidated(patch: pytest.MonkeyPatch) -> None:
    apply = original(Cache, "_apply")

    def wrong(self: Cache, key: int, old: Any, new: Any, order: int) -> None:
        apply(self, key + 1, old, new, order)

    patch.setattr(Cache, "_apply", wrong)


def invalidated_before_commit(patch: pytest.MonkeyPatch) -> None:
    def silent(self: Cache, change: Any) -> None:
        pass

    def wants(self: Cache) -> bool:
        return bool(self.ttl)

    # The listeners are bound when a world is made, so this comes before.
    patch.setattr(Cache, "_on_commit", silent)
    patch.setattr(Cache, "wants_statements", wants)


def one_view_not_invalidated(patch: pytest.MonkeyPatch) -> None:
    on_commit = original(Cache, "_on_commit")

    def deaf(self: Cache, change: Any) -> None:
        if self.name != "deals.list":
            on_commit(self, change)

    patch.setattr(Cache, "_on_commit", deaf)


def put_changed(**changes: object) -> Plant:
    """Let every third row of deals that is cached be another one; `version` counts from its own."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        put = original(Cache, "_put")
        due = every(3)

        def changed(self: Cache, key: Any, value: Any, *rest: Any) -> None:
            if not self.of_queries and self.table.name == "deals" and value is not None and due():
                fields = {**changes}
                if "version" in fields:
                    fields["version"] = value.version + 1
                value = self.table.row_type.evolve(value, fields)
            put(self, key, value, *rest)

        patch.setattr(Cache, "_put", changed)

    return plant


def view_hides_its_age(patch: pytest.MonkeyPatch) -> None:
    def deaf(self: Cache, change: Any) -> None:
        pass

    def note(self: DetailView[Any], op: Any, key: int, row: Any, order: int, source: int) -> None:
        served = row.version if row is not None else 0
        head = (journal.READ, self.world.ticks, op.owner_number, op.n, self.number)
        self.world.emit((*head, key, served, served, 0, source, 0, 1))

    patch.setattr(Cache, "_on_commit", deaf)
    patch.setattr(DetailView, "_note", note)


def torn_list(patch: pytest.MonkeyPatch) -> None:
    """Let the first half of a list be as it was two minutes ago."""
    meeting = original(Table, "meeting")

    def torn(self: Table[Any], *asked: Any) -> list[Any]:
        rows: list[Any] = meeting(self, *asked)
        past = [c.order for c in self.changes if c.t < self.world.ticks - 120 * SECOND]
        cut = len(rows) // 2
        older = [self.row_at(row.id, past[-1] if past else 0) or row for row in rows[:cut]]
        return older + rows[cut:]

    patch.setattr(Table, "meeting", torn)


# --- writes ---------------------------------------------------------------------------------------


def not_committed(patch: pytest.MonkeyPatch) -> None:
    commit = original(Transaction, "commit")
    due = every(3)

    def lost(self: Transaction) -> int:
        writes = original(self, "_writes").values()
        if not any(w.insert for w in writes) and due():
            return self.op.world.order
        done: int = commit(self)
        return done

    patch.setattr(Transaction, "commit", lost)


def done_but_refused(patch: pytest.MonkeyPatch) -> None:
    call = original(Product, "call")
    due = every(3)

    def refusing(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Steps:
        steps: Steps = call(self, op, tool, arguments)
        answer = yield from steps
        if tool.writes and due():
            raise Refused("unavailable", "try again later")
        return answer

    patch.setattr(Product, "call", refusing)


def version_not_checked(patch: pytest.MonkeyPatch) -> None:
    check = original(Edit, "check")

    def unchecked(self: Any, _: int | None) -> None:
        check(self, None)

    patch.setattr(Edit, "check", unchecked)


def whole_record_written(patch: pytest.MonkeyPatch) -> None:
    init = original(Store, "__init__")

    def whole(self: Any, *args: Any) -> None:
        init(self, *args)
        self.scope = "whole_record"

    patch.setattr(Store, "__init__", whole)
