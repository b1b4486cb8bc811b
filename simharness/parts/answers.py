"""Cached answers, and a quick way to those of queries that a change concerns."""

from __future__ import annotations

from collections.abc import Hashable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from simharness.parts.where import ANYWHERE, every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simharness.parts.where import Where


class Entry:
    """One cached answer."""

    __slots__ = ("as_of", "at", "matches", "order", "ttl", "value", "where")

    def __init__(
        self,
        value: Any,
        order: int,
        at: int,
        ttl: int,
        as_of: int,
        matches: Callable[[Any], bool] = every,
        where: Where = ANYWHERE,
    ) -> None:
        self.value = value
        """A row or None; for a query, a tuple of rows."""
        self.order = order
        """The commit order as of which the answer was true."""
        self.at = at
        """Tick from which its age counts."""
        self.ttl = ttl
        self.as_of = as_of
        """Tick before which the answer surely holds every commit."""
        self.matches = matches
        """The predicate of a query."""
        self.where = where
        """Those parts of it that say which values columns have."""


class Answers(dict[Hashable, Entry]):
    """The cached answers of queries by text.

    A change of a row concerns few of them, and to find those it doesn't look at the others: it
    keeps which answers hold each row, and puts queries together that ask for the same values of the
    same columns.
    """

    __slots__ = ("_alike", "_holders")

    def __init__(self) -> None:
        super().__init__()
        self._holders: dict[int, dict[Hashable, None]] = {}
        self._alike: dict[tuple[str, ...], Alike] = {}

    def __setitem__(self, text: Hashable, entry: Entry) -> None:
        """Keep an answer, in place of an older one."""
        if text in self:
            del self[text]
        super().__setitem__(text, entry)
        holders = self._holders
        for row in entry.value:
            holders.setdefault(row.id, {})[text] = None
        columns = (*entry.where.equal,)
        alike = self._alike.get(columns)
        if alike is None:
            alike = self._alike[columns] = Alike(columns)
        alike.by_values.setdefault(values_of(entry), {})[text] = entry

    def __delitem__(self, text: Hashable) -> None:
        """Forget an answer. Raises KeyError."""
        entry = self[text]
        super().__delitem__(text)
        for row in entry.value:
            texts = self._holders[row.id]
            del texts[text]
            if not texts:
                del self._holders[row.id]
        by_values = self._alike[(*entry.where.equal,)].by_values
        values = values_of(entry)
        del by_values[values][text]
        if not by_values[values]:
            del by_values[values]

    def clear(self) -> None:
        """Forget all answers."""
        super().clear()
        self._holders.clear()
        self._alike.clear()

    def concerned(self, key: int, old: Any, new: Any, *, whole: bool) -> Iterable[Hashable]:
        """Name the answers that a change of row `key` concerns: those that hold it.

        `whole`: those too whose predicate the row met before, or meets now.
        """
        holders = self._holders.get(key)
        found: dict[Hashable, None] = {} if holders is None else dict(holders)
        if whole:
            for alike in self._alike.values():
                for row in (old, new):
                    if row is None:
                        continue
                    for text, entry in alike.by_values.get(alike.read(row), {}).items():
                        if text not in found and entry.matches(row):
                            found[text] = None
        return found


class Alike:
    """The answers of queries that ask for values of the same columns."""

    __slots__ = ("by_values", "read")

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.by_values: dict[Any, dict[Hashable, Entry]] = {}
        self.read: Callable[[Any], Any] = attrgetter(*columns) if columns else nothing
        """Reads the values of a row as `values_of` gives those of an answer."""


def nothing(row: object) -> tuple[()]:
    """Read the values of no columns."""
    return ()


def values_of(entry: Entry) -> Any:
    """Give the values that an answer's query asks for, as a getter of its columns reads them."""
    values = (*entry.where.equal.values(),)
    return values[0] if len(values) == 1 else values
