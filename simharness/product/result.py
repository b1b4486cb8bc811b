"""What a tool declares to answer, and whether an answer is that."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin

from simharness.parts.row import Row, RowType, row_type_of
from simharness.product.tool import AS_OF, Page, ToolSpec, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.product.store_spec import StoreSpec

ROW = "row"
PAGE = "page"
OBJECT = "object"
ANY = "any"

PAGE_KEYS = frozenset({"ids", "page", "next_page"})
"""Keys of a page beside that of its rows."""


@dataclass(frozen=True, slots=True)
class Form:
    """The declared form of a tool's answers."""

    kind: str
    """row, page, object, or any where the tool declares none of these."""
    row_type: RowType[Any] | None = None
    """Of the row, or of the page's rows."""
    tables: tuple[str, ...] = ()
    """Tables that hold such rows; a page names one of them. Empty for rows of no table."""
    nullable: bool = False
    """Whether the answer may be None."""

    def holds(self, answer: object) -> bool:
        """Tell whether what a tool returned is of the declared type; cheap, so not row by row."""
        if self.kind == ANY:
            return True
        if answer is None:
            return self.nullable
        if self.kind == OBJECT or self.row_type is None:
            return isinstance(answer, dict | Row | Page)
        if self.kind == ROW:
            return isinstance(answer, self.row_type.cls)
        if not isinstance(answer, Page):
            return False
        page = cast("Page[Row]", answer)
        if self.tables and page.table not in self.tables:
            return False
        return not page.rows or isinstance(page.rows[0], self.row_type.cls)

    def problem(self, value: object) -> str:
        """Say what is wrong with an answer as it was told (JSON), or give an empty text."""
        if self.kind == ANY or (value is None and self.nullable):
            return ""
        answer = object_of(value)
        if answer is None:
            return f"{shown(value)}, no {self.kind}"
        if self.kind == OBJECT or self.row_type is None:
            return ""
        if self.kind == ROW:
            return row_problem(answer, self.row_type)
        return self._page_problem(answer, self.row_type)

    def _page_problem(self, page: Mapping[str, Any], row_type: RowType[Any]) -> str:
        if not page.keys() >= PAGE_KEYS:
            return f"{shown(page)}, no page"
        names = [name for name in page if name not in PAGE_KEYS and name != AS_OF]
        if len(names) != 1 or not isinstance(page[names[0]], list):
            return f"a page of {', '.join(names) or 'no table'}, not of one table"
        if self.tables and names[0] not in self.tables:
            return f"a page of {names[0]}, not of {' or '.join(self.tables)}"
        rows = cast("list[Any]", page[names[0]])
        for row in rows:
            if problem := row_problem(row, row_type):
                return problem
        if [row["id"] for row in rows] != page["ids"]:
            return "a page whose ids differ from its rows"
        return ""


def row_problem(value: object, row_type: RowType[Any]) -> str:
    """Say what is wrong with the JSON form of a row, or give an empty text."""
    row = object_of(value)
    if row is None:
        return f"{shown(value)}, no row"
    names = [name for name in row if name != AS_OF]
    if names != list(row_type.names):
        gone = [name for name in row_type.names if name not in names]
        new = [name for name in names if name not in row_type.names]
        parts = [f"without {', '.join(gone)}"] * bool(gone) + [f"with {', '.join(new)}"] * bool(new)
        return "a row " + (" and ".join(parts) or "with its columns in another order")
    for column in row_type.columns:
        item: object = row[column.name]
        if column.kind is tuple and isinstance(item, list):
            item = tuple(cast("list[object]", item))  # as recordings give it back
        if column.prefix is not None and item is not None:
            fits = isinstance(item, str) and column.prefix.read(item) is not None
        elif column.instant:
            fits = isinstance(item, str) or (item is None and column.nullable)
        else:
            fits = column.accepts(item)
        if not fits:
            return f"a row whose {column.name} is {shown(item)}"
    return ""


def object_of(value: object) -> dict[str, Any] | None:
    """Give a JSON object; None for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def form_of(tool: ToolSpec, specs: Mapping[str, StoreSpec[Any]]) -> Form:
    """Read the form of a tool's answers from its return type, once, when the class is made."""
    declared, nullable = tool.result, False
    if get_origin(declared) in (Union, types.UnionType):
        options = [each for each in get_args(declared) if each is not type(None)]
        nullable = len(options) < len(get_args(declared))
        if len(options) != 1:
            return Form(ANY)
        declared = options[0]
    origin = get_origin(declared) or declared
    if origin is Page:
        return row_form(PAGE, get_args(declared)[0], specs, nullable=nullable)
    if not isinstance(origin, type):
        return Form(ANY)
    if issubclass(origin, Row):
        return row_form(ROW, origin, specs, nullable=nullable)
    if issubclass(origin, dict):  # or a TypedDict, which is one
        return Form(OBJECT, nullable=nullable)
    return Form(ANY)


def row_form(
    kind: str, cls: type[Row], specs: Mapping[str, StoreSpec[Any]], *, nullable: bool
) -> Form:
    """Give the form of one row, or of a page of them."""
    tables = tuple(name for name, spec in specs.items() if spec.row_type.cls is cls)
    return Form(kind, row_type_of(cls), tables, nullable)
