"""Rows of a report: values as the tables hold them, and what they refer to."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

from simharness.product.script import Match
from simharness.reports.reader import pairs, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.parts.row import RowType
    from simharness.product.product import Product
    from simharness.reports.lines import Path
    from simharness.reports.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The rows of one table, with where they stand."""

    place: Path
    rows: Sequence[Mapping[str, Any]]


class RowReader:
    """Reads the tables of one file."""

    def __init__(self, reader: Reader, product: type[Product]) -> None:
        self.reader = reader
        self.specs = product.specs()

    def tables(self, at: Path, value: object) -> dict[str, Listed]:
        """Read `[rows]`."""
        out: dict[str, Listed] = {}
        for where, name, listed in pairs(self.reader.table(at, value), at):
            if name not in self.specs:
                self.reader.unknown(where, "table", name, self.specs)
            row_type = self.specs[name].row_type
            found = [self.row(p, row, row_type) for p, row in self.reader.tables(where, listed)]
            self._check_unique(where, name, found)
            out[name] = Listed(place=where, rows=found)
        return out

    def row(self, at: Path, table: Mapping[str, Any], row_type: RowType[Any]) -> dict[str, Any]:
        """Read one row."""
        out = values(self.reader, at, table, row_type)
        required = [
            field.name
            for field in fields(row_type.cls)
            if field.default is MISSING and field.default_factory is MISSING
        ]
        for name in required:
            if name not in out:
                column = row_type.by_name[name]
                self.reader.fail(at, f"the row has no {name!r}", f"give {column.forms}")
        if type(out["id"]) is int and out["id"] < 1:
            self.reader.fail((*at, "id"), f"got {out['id']}", "ids are whole numbers from 1 on")
        return out

    def _check_unique(self, at: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for column in ("id", *self.specs[name].unique):
            first: dict[object, int] = {}
            for i, row in enumerate(rows):
                value = row.get(column)
                if value is None:
                    continue
                if value in first:
                    text = f"{value!r} is the {column} of an earlier row of {name} as well"
                    self.reader.fail((*at, i, column), text, f"{name}.{column} is unique")
                first[value] = i


def values(
    reader: Reader, at: Path, table: Mapping[str, Any], row_type: RowType[Any]
) -> dict[str, Any]:
    """Read values of columns."""
    out: dict[str, Any] = {}
    for where, name, raw in pairs(table, at):
        column = row_type.by_name.get(name)
        if column is None:
            reader.unknown(where, "column", name, row_type.by_name)
        told = plain(raw)
        out[name] = reader.tried(where, column.read, told)
    return out


def read_match(reader: Reader, product: type[Product], at: Path, table: Mapping[str, Any]) -> Match:
    """Read rows that a goal is about."""
    if "table" not in table:
        reader.fail(at, "no key 'table'", "name the table whose rows are meant")
    name = reader.text((*at, "table"), table["table"])
    specs = product.specs()
    if name not in specs:
        reader.unknown((*at, "table"), "table", name, specs)
    given = reader.table((*at, "where"), table.get("where", {}))
    where = values(reader, (*at, "where"), given, specs[name].row_type)
    count = reader.whole((*at, "count"), table.get("count", 1))
    return Match(table=name, where=where, count=count)


def check_rows(reader: Reader, product: type[Product], rows: Mapping[str, Listed]) -> None:
    """Make sure that what rows name by its id is there."""
    ids = {name: {row["id"] for row in listed.rows} for name, listed in rows.items()}
    for table, listed in rows.items():
        for column, other in product.references(table).items():
            for i, row in enumerate(listed.rows):
                value = row.get(column)
                if value is not None and value not in ids.get(other, ()):
                    where = (*listed.place, i, column)
                    hint = f"add that row to {other} in [rows], or name one that is there"
                    reader.fail(where, f"there is no row {other}:{value}", hint)
