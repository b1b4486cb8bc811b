"""Skeletons of reports from what people have: a chat with its tool calls, a table of rows.

What is understood is what can't mean anything else; all else is refused with its place.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.transcript import parse_arguments, read_transcript
from simharness.errors import SimharnessError, UnknownName, UsageError
from simharness.kernel.calendar import format_instant
from simharness.kernel.zones import zone as zone_of
from simharness.product.reference import escaped
from simharness.product.registry import load_product
from simharness.product.script import AGENT
from simharness.product.tool import BadArgument
from simharness.reports.calendars import read_events
from simharness.reports.write import document, duration, holds
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from simharness.episode.transcript import RawCall
    from simharness.parts.row import Column
    from simharness.product.product import Product

APART = 5 * SECOND
"""Ticks between the turns of a chat, which says nothing of time."""
TRUE = ("true", "yes", "1")
FALSE = ("false", "no", "0")
NOTHING = ("", "null", "none")
DELIMITERS = ",;\t"
LOCAL = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,6})?)?")
"""A time without a zone, as spreadsheets write it."""
CELL_MAX = 1 << 20
"""Characters of the longest cell."""


def report_of_chat(path: Path, product: str, conversation: int = 1) -> str:
    """Write a report of the tool calls of a chat; its rows are left to be filled in.

    Calls that fit no tool are sent as they stand. Raises UsageError for a file that is no chat.
    """
    cls = load_product(product)
    found = read_transcript(path)
    if not 1 <= conversation <= len(found):
        raise UsageError(
            f"no conversation {conversation} in {str(path)!r}", f"it holds {len(found)}"
        )
    actions: list[dict[str, Any]] = []
    turns = [turn for turn in found[conversation - 1].turns if turn.calls]
    if not turns:
        text = f"no call of a tool in conversation {conversation} of {str(path)!r}"
        raise UsageError(text, "give a chat whose assistant has tool_calls")
    for n, turn in enumerate(turns):
        for call in turn.calls:
            at = duration(n * APART)
            actions.append({"label": str(len(actions) + 1), "at": at, **sent(cls, call)})
    tables = ", ".join(cls.specs())
    return document(
        head_of(path, product),
        {},
        {"actions": actions},
        {},
        comment=f"The calls of a chat. What was there is to be put under [rows]: {tables}.",
    )


def sent(product: type[Product], call: RawCall) -> dict[str, Any]:
    """Write a call; ids of calls mean nothing, as models repeat them."""
    args, _ = parse_arguments(call.arguments)
    spec = product.tools.get(call.tool)
    out: dict[str, Any] = {"actor": AGENT, "call": call.tool or "?"}
    if spec is not None and args is not None and holds(args):
        try:
            spec.check(dict(args))
        except BadArgument:
            pass
        else:
            return {**out, **({"args": escaped(args)} if args else {})}
    return {**out, "unchecked": True, "args": escaped(call.arguments)}


def report_of_rows(path: Path, product: str, table: str, zone: str = "") -> str:
    """Write a report that starts with the rows of a file; what they name is put beside them.

    Of a file that ends in .ics the events are the rows; any other is taken for CSV.

    Times without a zone are those of `zone`. Raises UsageError that says where the file is wrong.
    """
    cls = load_product(product)
    specs = cls.specs()
    if table not in specs:
        raise UnknownName.among(f"table of {product}", table, specs)
    told = "Rows of a file. Rows that they name, and that it doesn't hold, are made up."
    if path.suffix.lower() == ".ics":
        told += "\nOf an event that is repeated (RRULE, RDATE) the first stands here; add others."
        columns = specs[table].row_type.by_name
        rows = {table: [filled(cls, table, row) for row in read_events(path, columns, zone)]}
    else:
        rows = {table: read_csv(path, cls, table, zone)}
    add_named(cls, rows)
    return document(
        head_of(path, product),
        {"rows": rows},
        {},
        {},
        comment=told,
    )


def head_of(path: Path, product: str) -> dict[str, Any]:
    """Write how a skeleton begins."""
    return {"report": 1, "id": path.stem, "title": f"from {path.name}", "product": product}


def read_csv(path: Path, product: type[Product], table: str, zone: str) -> list[dict[str, Any]]:
    """Read the rows of a CSV file as a report has them. Raises UsageError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", "give a CSV file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    csv.field_size_limit(CELL_MAX)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns = product.specs()[table].row_type.by_name
    out: list[dict[str, Any]] = []
    seen: dict[object, int] = {}
    try:
        names = [named(head, columns, path) for head in next(reader, list[str]())]
        if not names:
            raise UsageError(f"{path} is empty", "its first line names the columns")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise UsageError(
                f"{path}:1: two columns are named {twice[0]!r}", "leave one of them out"
            )
        for cells in reader:
            line = reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(names):
                raise UsageError(
                    f"{path}:{line}: {len(cells)} cells, and there are {len(names)} columns",
                    "quote cells that hold the delimiter or a line break",
                )
            row: dict[str, Any] = {}
            for name, cell in zip(names, cells, strict=True):
                value = read_cell(cell, columns[name], zone, f"{path}:{line}: {name}")
                if value is not None:
                    row[name] = value
            row.setdefault("id", columns["id"].shown(len(out) + 1))
            if row["id"] in seen:
                raise UsageError(
                    f"{path}:{line}: id {row['id']!r} is that of line {seen[row['id']]}, too",
                    "give each row its own, or leave the column out",
                )
            seen[row["id"]] = line
            out.append(row)
    except csv.Error as error:
        raise UsageError(
            f"{path}:{reader.line_num}: no CSV: {error}", 'quote cells with "..."'
        ) from None
    return out


def named(head: str, columns: Mapping[str, Column], path: Path) -> str:
    """Give the column that a heading means, in whatever case, with spaces or dashes."""
    name = re.sub(r"[\s-]+", "_", head.strip().lower())
    if name not in columns:
        error = UnknownName.among("column", name, columns)
        raise UsageError(f"{path}:1: {error.message}", error.hint)
    return name


def read_cell(cell: str, column: Column, zone: str, where: str) -> Any:
    """Read a cell as a report has its value; None where it is empty. Raises UsageError."""
    text = cell.strip()
    if text.lower() in NOTHING and (column.kind is not str or column.nullable):
        return None
    try:
        value = converted(text, cell, column, zone)
        column.read(value)
    except SimharnessError as error:
        raise UsageError(f"{where}: {error.message}", error.hint) from None
    return value


def converted(text: str, cell: str, column: Column, zone: str) -> Any:
    """Give the value that a text stands for, by its column."""
    if column.instant:
        found = LOCAL.fullmatch(text)
        if found is None:
            return text
        if not zone:
            raise UsageError(f"{text!r} has no zone", "say which one: --zone Europe/Berlin")
        return format_instant(zone_of(zone).parse(f"{found[1]}T{found[2]}{found[3] or ':00'}"))
    if column.prefix is not None:
        return text
    if column.kind is bool:
        lower = text.lower()
        return lower in TRUE if lower in (*TRUE, *FALSE) else text
    if column.kind is int:
        return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else text
    if column.kind is tuple:
        return as_list(text)
    return cell


def as_list(text: str) -> Any:
    """Give a list that is written as JSON, perhaps twice, or as items between commas."""
    value: Any = text
    for _ in range(2):
        if not isinstance(value, str) or not value.lstrip().startswith(("[", '"')):
            break
        try:
            value = json.loads(value)
        except ValueError:
            break
    if isinstance(value, str):
        return [item.strip() for item in value.split(",")]
    return value


def filled(product: type[Product], table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Give a row what it has to have and an event doesn't say."""
    row_type = product.specs()[table].row_type
    return {**stand_in(row_type.cls, row_type.by_name, row["id"]), **row}


def add_named(product: type[Product], rows: dict[str, list[dict[str, Any]]]) -> None:
    """Put a row beside them for each that they name and that isn't there."""
    pending = list(rows)
    while pending:
        table = pending.pop()
        for column, other in product.references(table).items():
            row_type = product.specs()[other].row_type
            there = {row["id"] for row in rows.get(other, ())}
            for row in rows[table]:
                key = row.get(column)
                if key is None or key in there:
                    continue
                there.add(key)
                rows.setdefault(other, []).append(stand_in(row_type.cls, row_type.by_name, key))
                pending.append(other)
        for listed in rows.values():
            listed.sort(key=lambda row: str(row["id"]).rjust(20, "0"))


def stand_in(cls: type[Any], columns: Mapping[str, Column], key: Any) -> dict[str, Any]:
    """Make a row up: what has to be given, and nothing else."""
    out: dict[str, Any] = {"id": key}
    for field in fields(cls):
        column = columns[field.name]
        if field.default is MISSING and field.name != "id":
            kinds: dict[type, Any] = {int: 1, bool: False, tuple: []}
            words = cast("Sequence[str]", column.choices)
            value = words[0] if words else kinds.get(column.kind, f"{field.name} {key}")
            out[field.name] = format_instant(0) if column.instant else value
    return out
