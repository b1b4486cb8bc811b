"""An index of a table: the ids of its rows by the values of some columns.

It only says where to look. Whoever asks holds each row against the whole question, so an index
changes how long an answer takes and never what it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simharness.parts.row import Row
    from simharness.parts.where import Where

_Bucket = tuple[Any, ...]
"""Ids in order; of an index with an order, pairs of its value and an id. Never changed in place, so
that the worlds of one template can share it."""

_Found = tuple[_Bucket, int, int]
"""A bucket, and from where to where in it."""

_BEYOND = 1 << 63
"""More than any id."""


class Index:
    """The ids of a table's rows by columns that equal a value.

    With several columns the last one is ordered: in it, spans can be looked up too.
    """

    __slots__ = ("_buckets", "_keys", "_ordered", "_read", "columns")

    def __init__(self, columns: tuple[str, ...], rows: Iterable[Row] = ()) -> None:
        self.columns = columns
        self._ordered = columns[-1] if len(columns) > 1 else ""
        self._keys = columns[:-1] or columns
        self._read: Callable[[Any], Any] = attrgetter(*columns)
        grown: dict[Any, list[Any]] = {}
        for row in rows:
            bucket, entry = self._place(self._read(row), row.id)
            grown.setdefault(bucket, []).append(entry)
        self._buckets: dict[Any, _Bucket] = {
            bucket: tuple(sorted(entries)) for bucket, entries in grown.items()
        }

    def copy(self) -> Index:
        """Give an index of the same rows that can be changed apart from this one."""
        twin = Index(self.columns)
        twin._buckets = dict(self._buckets)
        return twin

    def move(self, key: int, old: Row | None, new: Row | None) -> None:
        """Follow a change of row `key`; None where there was or is no row."""
        if old is not None and new is not None and self._read(old) == self._read(new):
            return
        if old is not None:
            name, entry = self._place(self._read(old), key)
            bucket = self._buckets[name]
            at = bisect_left(bucket, entry)
            self._buckets[name] = bucket[:at] + bucket[at + 1 :]
        if new is not None:
            name, entry = self._place(self._read(new), key)
            bucket = self._buckets.get(name, ())
            at = bisect_left(bucket, entry)
            self._buckets[name] = (*bucket[:at], entry, *bucket[at:])

    def find(self, where: Where) -> _Found | None:
        """Give where the rows lie that may meet conditions; None if this index can't tell."""
        equal = where.equal
        try:
            name: Any = tuple([equal[column] for column in self._keys])
        except KeyError:
            return None
        ordered = self._ordered
        if not ordered:
            bucket = self._buckets.get(name[0], ())
            return bucket, 0, len(bucket)
        bucket = self._buckets.get(name, ())
        low, high = 0, len(bucket)
        if ordered in equal:
            value = equal[ordered]
            low = bisect_left(bucket, (value,))
            high = bisect_right(bucket, (value, _BEYOND))
        elif ordered in where.spans:
            first, end = where.spans[ordered]
            if first is not None:
                low = bisect_left(bucket, (first,))
            if end is not None:
                high = max(low, bisect_left(bucket, (end,)))
        return bucket, low, high

    def decides(self, where: Where) -> bool:
        """Tell whether all rows that it finds meet the conditions, given that it can tell."""
        ordered = self._ordered
        known = len(self._keys) + (ordered in where.equal or ordered in where.spans)
        return known == len(where.equal) + len(where.spans)

    def ids(self, found: _Found) -> Iterable[int]:
        """Give the ids of what was found, in order."""
        bucket, low, high = found
        if self._ordered:
            return sorted([key for _, key in bucket[low:high]])
        return bucket

    def _place(self, values: Any, key: int) -> tuple[Any, Any]:
        return (values[:-1], (values[-1], key)) if self._ordered else (values, key)


def narrowest(indexes: Iterable[Index], where: Where) -> tuple[Iterable[int], bool] | None:
    """Give the ids, in order, of rows that may meet conditions: by the index that leaves fewest.

    And whether all of them do. None if no index can tell.
    """
    best: tuple[Index, _Found] | None = None
    for index in indexes:
        found = index.find(where)
        if found is not None and (best is None or found[2] - found[1] < best[1][2] - best[1][1]):
            best = index, found
    if best is None:
        return None
    index, found = best
    return index.ids(found), index.decides(where)
