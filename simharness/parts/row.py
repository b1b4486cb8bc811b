"""Immutable rows, and what is known of a row type: its columns and their kinds."""

from __future__ import annotations

import types
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from simharness.errors import UsageError
from simharness.kernel.calendar import format_instant, parse_instant
from simharness.parts.row_name import Prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INSTANT = "instant"
INT_MAX = 2**63
"""Ints of rows stay below this in size: recordings hold 64 bits."""
Instant = Annotated[int, INSTANT]
"""An int of microseconds since 1970-01-01T00:00:00Z; shown as ISO 8601 UTC text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table.

    Product rows subclass this with `@dataclass(frozen=True, slots=True, kw_only=True)`.
    """

    id: int
    version: int = 1
    """1 at birth, one more at each commit that changes the row."""
    created_at: Instant = 0
    updated_at: Instant = 0


R = TypeVar("R", bound=Row)

SYSTEM_COLUMNS = ("id", "version", "created_at", "updated_at")

KINDS: tuple[type, ...] = (int, str, bool, tuple)
"""What a column may hold, each perhaps with None."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a row type."""

    name: str
    kind: type
    """int, str, bool or tuple."""
    nullable: bool
    choices: tuple[str, ...]
    """Allowed texts; empty for any."""
    instant: bool
    prefix: Prefix | None = None
    """How its ids are shown; None for plain numbers."""

    def shown(self, value: Any) -> Any:
        """Give a value as answers show it: instants as text, ids with their prefix."""
        if value is None:
            return None
        if self.instant:
            return format_instant(value)
        return value if self.prefix is None else self.prefix.show(value)

    def read(self, value: object) -> object:
        """Give what a file or a caller has for this column as the column holds it.

        Instants and names are texts there, tuples are lists. Raises UsageError for what the column
        can't hold.
        """
        out = tuple(cast("list[object]", value)) if isinstance(value, list) else value
        if isinstance(out, str):
            if self.instant:
                return parse_instant(out)
            if self.prefix is not None:
                out = self.prefix.read(out)
        if not self.accepts(out) or (out is None and value is not None):
            raise UsageError(f"column {self.name} can't hold {value!a:.60}", f"give {self.forms}")
        return out

    @property
    def forms(self) -> str:
        """What may be given for this column, in words."""
        if self.prefix is not None:
            form = f"an id such as {self.prefix.show(7)}"
        elif self.instant:
            form = "an ISO 8601 UTC text"
        elif self.choices:
            form = "one of " + ", ".join(self.choices)
        else:
            form = {int: "a whole number", str: "a text", bool: "true or false"}.get(
                self.kind, "a list"
            )
        return f"{form}, or none" if self.nullable else form

    def accepts(self, value: object) -> bool:
        """Tell whether a value may stand in this column: exact types, no bool for an int."""
        if value is None:
            return self.nullable
        if type(value) is not self.kind:
            return False
        if isinstance(value, int) and not -INT_MAX <= value < INT_MAX:
            return False
        return not self.choices or value in self.choices


def column_of(name: str, hint: object, owner: str) -> Column:
    """Read a column from its type hint. Raises UsageError for a hint that rows can't have."""
    notes: tuple[object, ...] = ()
    nullable = False
    choices: tuple[str, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        notes = tuple(rest)
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [a for a in get_args(hint) if a is not type(None)]
        nullable = len(kinds) < len(get_args(hint))
        hint = kinds[0] if len(kinds) == 1 else hint
        if get_origin(hint) is Annotated:
            hint, *rest = get_args(hint)
            notes = tuple(rest)
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        hint = type(choices[0])
    if get_origin(hint) is tuple:
        hint = tuple
    if not isinstance(hint, type) or hint not in KINDS:
        raise UsageError(
            f"column {owner}.{name} has type {hint!r}",
            "use int, str, bool, Literal texts, Instant, a tuple, or | None",
        )
    prefix = next((note for note in notes if isinstance(note, Prefix)), None)
    if prefix is not None and hint is not int:
        raise UsageError(f"column {owner}.{name} has a prefix and is no int", "mark an int with it")
    return Column(name, hint, nullable, choices, INSTANT in notes, prefix)


class RowType(Generic[R]):
    """What is known of a row class: columns, a fast way to its values and to its JSON form."""

    __slots__ = (
        "_defaults",
        "_fillers",
        "_texts",
        "by_name",
        "cls",
        "columns",
        "index",
        "names",
        "values",
    )

    def __init__(self, cls: type[R]) -> None:
        hints = get_type_hints(cls, include_extras=True)
        self.cls = cls
        self.columns = tuple(column_of(f.name, hints[f.name], cls.__name__) for f in fields(cls))
        self.names = tuple(c.name for c in self.columns)
        self.by_name: dict[str, Column] = {c.name: c for c in self.columns}
        self.index: dict[str, int] = {name: i for i, name in enumerate(self.names)}
        self.values: Callable[[R], tuple[Any, ...]] = attrgetter(*self.names)
        if hasattr(cls, "__post_init__"):
            raise UsageError(
                f"row class {cls.__name__} has a __post_init__",
                "rows are plain data; check in the tool",
            )
        self._fillers: tuple[Callable[[R, Any], None], ...] = tuple(
            getattr(cls, name).__set__ for name in self.names
        )
        self._defaults = {field.name: field.default for field in fields(cls)}
        self._texts = tuple(c for c in self.columns if c.instant or c.prefix is not None)
        """Columns that are shown as something else than they hold."""

    def build(self, values: Mapping[str, object], table: str) -> R:
        """Make a row.

        Raises UsageError for an unknown column or a value of another type than the column's.
        """
        for name, value in values.items():
            self.check(name, value, table)
        return self.cls(**values)  # type: ignore[arg-type]  # checked just above

    def check(self, name: str, value: object, table: str) -> None:
        """Raise UsageError unless `value` may stand in column `name`."""
        column = self.by_name.get(name)
        if column is None:
            raise UsageError(
                f"table {table} has no column {name!r}", "columns: " + ", ".join(self.names)
            )
        if not column.accepts(value):
            expected = " | ".join(map(repr, column.choices)) or column.kind.__name__
            raise UsageError(
                f"column {table}.{name} can't hold {value!r} of type {type(value).__name__}",
                f"give {expected}{' or None' if column.nullable else ''}",
            )

    def evolve(self, row: R, changes: Mapping[str, object]) -> R:
        """Give the row with some columns changed; the changes have been checked."""
        values = list(self.values(row))
        index = self.index
        for name, value in changes.items():
            values[index[name]] = value
        # A frozen dataclass of twenty columns takes 9 us to build by keyword; its slots take 2 us
        # to fill.
        new = self.cls.__new__(self.cls)
        for fill, value in zip(self._fillers, values, strict=True):
            fill(new, value)
        return new

    def default(self, name: str) -> object:
        """Give what a column has where nobody says so; MISSING for one that has to be given."""
        return self._defaults[name]

    def json(self, row: R) -> dict[str, Any]:
        """Give the row as the agent sees it: columns by name, instants and names as text."""
        out: dict[str, Any] = dict(zip(self.names, self.values(row), strict=True))
        for column in self._texts:
            out[column.name] = column.shown(out[column.name])
        return out


def row_type_of(cls: type[Row]) -> RowType[Any]:
    """Give what is known of a row class: found out once a process, as hints take 300 us to read."""
    found = _ROW_TYPES.get(cls)
    if found is None:
        found = _ROW_TYPES[cls] = RowType(cls)
    return found


_ROW_TYPES: dict[type[Row], RowType[Any]] = {}
