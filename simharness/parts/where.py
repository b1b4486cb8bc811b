"""Conditions on columns of a row: what an index can look up, as a predicate can't be."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def every(row: object) -> bool:
    """Match all rows."""
    return True


class Between(NamedTuple):
    """A span of values: `low <= value < high`; None for no bound. None itself lies in no span."""

    low: int | None
    high: int | None


class Where:
    """Columns that equal a value or lie in a span; all of it has to hold."""

    __slots__ = ("equal", "spans")

    def __init__(
        self, equal: Mapping[str, object], spans: Mapping[str, Between] | None = None
    ) -> None:
        self.equal = equal
        self.spans: Mapping[str, Between] = spans or {}

    def predicate(self, rest: Callable[[Any], bool] = every) -> Callable[[Any], bool]:
        """Give the predicate that a row meets when it meets these conditions and then `rest`."""
        if not self.equal and not self.spans:
            return rest
        names = [*self.equal, *self.spans]
        read = attrgetter(*names) if len(names) > 1 else _read_one(names[0])
        wanted = (*self.equal.values(),)
        count = len(wanted)
        if not self.spans:
            if rest is every:
                return lambda row: read(row) == wanted
            return lambda row: read(row) == wanted and rest(row)
        bounds = (*self.spans.values(),)

        def meets(row: Any) -> bool:
            values = read(row)
            if values[:count] != wanted:
                return False
            for value, (low, high) in zip(values[count:], bounds, strict=True):
                if value is None or (low is not None and value < low):
                    return False
                if high is not None and value >= high:
                    return False
            return rest(row)

        return meets


ANYWHERE = Where({})
"""No condition."""


def _read_one(name: str) -> Callable[[Any], tuple[Any, ...]]:
    read = attrgetter(name)
    return lambda row: (read(row),)


def where(**columns: object) -> Where:
    """Build conditions: a column equals a value, or lies in a `between(low, high)`.

    None is left out, so that a tool can pass on arguments that weren't given.
    """
    given = {name: value for name, value in columns.items() if value is not None}
    spans = {name: value for name, value in given.items() if isinstance(value, Between)}
    return Where({name: value for name, value in given.items() if name not in spans}, spans)


def between(low: int | None = None, high: int | None = None) -> Between | None:
    """Build a span of `where`: from `low` on and before `high`, None for no bound on that side."""
    return None if low is None and high is None else Between(low, high)
