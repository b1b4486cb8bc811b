"""Tools: what the agent may call.

Schema and argument check come from the type hints, once, when the class is made.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import (
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
    is_typeddict,
)

from simpy.events import Event

from simharness.errors import UsageError
from simharness.kernel.calendar import parse_instant
from simharness.parts.row import INSTANT, R, Row, row_type_of
from simharness.parts.row_name import Prefix, number_of

T = TypeVar("T")

Answer = Generator[Event, Any, T]
"""What a tool method returns: a generator that yields events and ends with the answer."""

ROW_ID = "row id"
AnyId = Annotated[int | str, ROW_ID]
"""The id of a row of some table, as a number or as it is shown, `TK-7`."""

TEXT_MAX = 20_000
"""Longest text that an argument may hold, in characters."""
INT_MAX = 2**63 - 1

RESERVED_ARGUMENTS = frozenset({"name", "self", "timeout", "session_id", "request", "ctx"})
RESERVED_TOOLS = frozenset(
    {"reset", "step", "state", "close", "verify", "seed_session", "get_reward"}
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Smallest and largest value of an int argument: `Annotated[int, Bounds(1, 100)]`."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """One page of rows, as lists, searches and exports answer."""

    table: str
    rows: tuple[R, ...]
    page: int = 1
    next_page: int | None = None


AS_OF = "as_of"
"""Key of an answer that says as of which instant it is true, where the contract promises that."""

PAGE_ROWS = 20


def paged(table: str, rows: tuple[R, ...], page: int) -> Page[R]:
    """Cut one page (from 1) out of an answer."""
    start = (page - 1) * PAGE_ROWS
    more = len(rows) > start + PAGE_ROWS
    return Page(table, rows[start : start + PAGE_ROWS], page, page + 1 if more else None)


class BadArgument(Exception):  # noqa: N818  (the caller's, not ours)
    """An argument doesn't fit; the message names it."""


Check = Callable[[str, object], Any]
"""Gives the value to use, or raises BadArgument naming the argument."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    check: Check
    schema: dict[str, Any]
    required: bool
    default: Any


@dataclass(frozen=True, slots=True, eq=False)
class ToolSpec:
    """Everything about one tool; two are the same only when they are one object."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Generator[Event, Any, Any]]
    local: bool
    """True for tools that never reach the product's API (wait, say, finish)."""
    writes: bool
    """True for tools that change rows whenever they answer without an error."""
    result: object
    """The declared type of the answer: a Row class, `Page[...]` or dict, or one of them or None.

    `simharness.product.result` holds answers against it.
    """

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as chat APIs list it: name, description, JSON Schema of the arguments."""
        return {
            "name": self.name,
            "description": self.doc,
            "parameters": {
                "type": "object",
                "properties": {p.name: p.schema for p in self.parameters},
                "required": [p.name for p in self.parameters if p.required],
                "additionalProperties": False,
            },
        }

    def check(self, arguments: dict[str, object]) -> dict[str, Any]:
        """Check arguments as received and give those to call with. Raises BadArgument."""
        out: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in arguments:
                out[parameter.name] = parameter.check(parameter.name, arguments[parameter.name])
            elif parameter.required:
                raise BadArgument(f"argument {parameter.name!r} is missing")
        if len(arguments) > len(out):
            known = ", ".join(p.name for p in self.parameters) or "none"
            for name in arguments:
                if name not in out:
                    raise BadArgument(f"no argument is called {shown(name)}; arguments: {known}")
        return out


def tool(function: Callable[..., Answer[T]]) -> Callable[..., Answer[T]]:
    """Mark a product's generator method as a tool.

    Its docstring is what the agent is told.
    """
    function.__dict__["__tool__"] = "remote"
    return function


def write_tool(function: Callable[..., Answer[T]]) -> Callable[..., Answer[T]]:
    """Mark a tool that changes rows whenever it answers without an error."""
    function.__dict__["__tool__"] = "write"
    return function


def local_tool(function: Callable[..., Answer[T]]) -> Callable[..., Answer[T]]:
    """Mark a tool that doesn't pass through the product's API.

    No latency, no worker, no permission.
    """
    function.__dict__["__tool__"] = "local"
    return function


def tool_spec(function: Callable[..., Answer[Any]]) -> ToolSpec:
    """Read a tool from its signature. Raises UsageError for one that can't be published."""
    name = function.__dict__.get("__operation__", function.__name__)
    if name in RESERVED_TOOLS:
        raise UsageError(f"a tool can't be called {name!r}", "frameworks use that name")
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    for parameter in list(inspect.signature(function).parameters.values())[2:]:
        if parameter.name in RESERVED_ARGUMENTS:
            raise UsageError(
                f"argument {parameter.name!r} of tool {name!r} can't be called that", "rename it"
            )
        if parameter.name not in hints:
            raise UsageError(
                f"argument {parameter.name!r} of tool {name!r} has no type hint",
                "the schema that agents see is made from it",
            )
        check, schema = argument(hints[parameter.name], f"{name}.{parameter.name}")
        required = parameter.default is inspect.Parameter.empty
        parameters.append(
            Parameter(
                parameter.name, check, schema, required, None if required else parameter.default
            )
        )
    doc = inspect.getdoc(function)
    if not doc:
        raise UsageError(f"tool {name!r} has no docstring", "its text is what the agent is told")
    kind = function.__dict__.get("__tool__", "local")
    result_args = get_args(hints.get("return"))
    result = result_args[2] if len(result_args) == 3 else None
    return ToolSpec(
        name,
        doc,
        tuple(parameters),
        function,
        kind == "local",
        kind == "write",
        result,
    )


# --- arguments ------------------------------------------------------------------------------------


def argument(hint: object, where: str) -> tuple[Check, dict[str, Any]]:
    """Build check and JSON Schema from a type hint."""
    notes: tuple[object, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        notes = tuple(rest)
    if ROW_ID in notes:
        return any_id, {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    if get_origin(hint) in (Union, types.UnionType):
        options = [a for a in get_args(hint) if a is not type(None)]
        if len(options) != 1:
            raise UsageError(
                f"argument {where} has type {hint!r}", "use one type, or one type | None"
            )
        check, schema = argument(options[0], where)
        if len(options) == len(get_args(hint)):
            return check, schema
        return optional(check), {"anyOf": [schema, {"type": "null"}]}
    if get_origin(hint) is Literal:
        choices: tuple[str, ...] = get_args(hint)
        return one_of(choices), {"type": "string", "enum": list(choices)}
    if get_origin(hint) is list:
        item, schema = argument(get_args(hint)[0], where)
        return list_of(item), {"type": "array", "items": schema}
    if get_origin(hint) is dict:
        return an_object, {"type": "object"}
    if is_typeddict(hint) and isinstance(hint, type):
        return fields_of(hint, where)
    if hint is bool:
        return boolean, {"type": "boolean"}
    if hint is str:
        return text, {"type": "string"}
    if hint is int:
        if INSTANT in notes:
            return instant, {"type": "string", "format": "date-time"}
        for note in notes:
            if isinstance(note, Prefix):
                return named(note), {"type": "string", "pattern": note.pattern}
            if isinstance(note, Bounds):
                return whole(note.low, note.high), {
                    "type": "integer",
                    "minimum": note.low,
                    "maximum": note.high,
                }
        return whole(-INT_MAX, INT_MAX), {"type": "integer"}
    raise UsageError(
        f"argument {where} has type {hint!r}",
        "use int, str, bool, Literal, Instant, list, a TypedDict, or | None",
    )


def shown(value: object) -> str:
    """Show a value that a caller sent, cut to a readable length."""
    try:
        out = ascii(value)
    except (ValueError, RecursionError):
        # An int of more than 4,300 digits, or lists nested too deep.
        return f"a {type(value).__name__} too large to show"
    return out if len(out) <= 60 else out[:57] + "..."


def whole(low: int, high: int) -> Check:
    """Check an int; 2.0 is one, as JSON Schema has it, true is not."""

    def check(name: str, value: object) -> int:
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int:
            raise BadArgument(f"argument {name!r} must be an integer, got {shown(value)}")
        if not low <= value <= high:
            raise BadArgument(f"argument {name!r} must be from {low} to {high}, got {shown(value)}")
        return value

    return check


def text(name: str, value: object) -> str:
    """Check a text."""
    if type(value) is not str:
        raise BadArgument(f"argument {name!r} must be a string, got {shown(value)}")
    if len(value) > TEXT_MAX:
        raise BadArgument(
            f"argument {name!r} is {len(value)} characters long, at most {TEXT_MAX} are taken"
        )
    return value


def boolean(name: str, value: object) -> bool:
    """Check a truth value."""
    if type(value) is not bool:
        raise BadArgument(f"argument {name!r} must be true or false, got {shown(value)}")
    return value


def instant(name: str, value: object) -> int:
    """Check an ISO 8601 text and give its instant."""
    if type(value) is not str:
        raise BadArgument(f"argument {name!r} must be an ISO 8601 UTC text, got {shown(value)}")
    try:
        return parse_instant(value)
    except UsageError as error:
        raise BadArgument(f"argument {name!r}: {error.message}") from None


def named(prefix: Prefix) -> Check:
    """Check the text of an id, as `TK-7`, and give its number."""

    def check(name: str, value: object) -> int:
        number = prefix.read(value) if type(value) is str else None
        if number is None:
            raise BadArgument(
                f"argument {name!r} must be an id such as {prefix.show(7)}, got {shown(value)}"
            )
        return number

    return check


def any_id(name: str, value: object) -> int | str:
    """Check the id of a row of some table; whether it has that table's prefix shows there."""
    if type(value) is not str or number_of(value) is None:
        return cast("int", whole(-INT_MAX, INT_MAX)(name, value))
    return value


def one_of(choices: tuple[str, ...]) -> Check:
    """Check one of some words."""

    def check(name: str, value: object) -> str:
        if type(value) is not str or value not in choices:
            raise BadArgument(
                f"argument {name!r} must be one of {', '.join(choices)}, got {shown(value)}"
            )
        return value

    return check


def optional(inner: Check) -> Check:
    """Let null through."""

    def check(name: str, value: object) -> Any:
        return None if value is None else inner(name, value)

    return check


def list_of(inner: Check) -> Check:
    """Check each item of a list of at most 1,000."""

    def check(name: str, value: object) -> list[Any]:
        if type(value) is not list:
            raise BadArgument(f"argument {name!r} must be an array, got {shown(value)}")
        items = cast("list[object]", value)
        if len(items) > 1000:
            raise BadArgument(f"argument {name!r} has {len(items)} items, at most 1000 are taken")
        return [inner(f"{name}[{i}]", item) for i, item in enumerate(items)]

    return check


def an_object(name: str, value: object) -> dict[str, Any]:
    """Check an object of any keys."""
    if type(value) is not dict:
        raise BadArgument(f"argument {name!r} must be an object, got {shown(value)}")
    return cast("dict[str, Any]", value)


def fields_of(hint: type, where: str) -> tuple[Check, dict[str, Any]]:
    """Check an object with some of a TypedDict's keys, at least one."""
    hints = get_type_hints(hint, include_extras=True)
    checks: dict[str, Check] = {}
    schemas: dict[str, Any] = {}
    for key, inner in hints.items():
        checks[key], schemas[key] = argument(inner, f"{where}.{key}")

    def check(name: str, value: object) -> dict[str, Any]:
        if type(value) is not dict:
            raise BadArgument(f"argument {name!r} must be an object, got {shown(value)}")
        out: dict[str, Any] = {}
        for key, item in cast("dict[str, object]", value).items():
            if key not in checks:
                raise BadArgument(
                    f"{name!r} has no field {shown(key)}; fields: {', '.join(checks)}"
                )
            out[key] = checks[key](f"{name}.{key}", item)
        if not out:
            raise BadArgument(f"argument {name!r} names no field; fields: {', '.join(checks)}")
        return out

    schema = {
        "type": "object",
        "properties": schemas,
        "additionalProperties": False,
        "minProperties": 1,
    }
    return check, schema


# --- answers --------------------------------------------------------------------------------------


class Renderer:
    """Turns what tools return into JSON values.

    A row is rendered once for as long as it is the same row.
    """

    def __init__(self) -> None:
        self._rendered: dict[tuple[type, int], tuple[Row, dict[str, Any]]] = {}

    def render(self, value: Any) -> Any:
        """Give the JSON value of an answer; rows as `Shown`, which recordings tell by reference."""
        if isinstance(value, Row):
            return self._row(value)
        if isinstance(value, Page):
            page = cast("Page[Row]", value)
            rows = [self._row(row) for row in page.rows]
            return {
                page.table: rows,
                "ids": [row["id"] for row in rows],
                "page": page.page,
                "next_page": page.next_page,
            }
        return value

    def _row(self, row: Row) -> Shown:
        cls = type(row)
        place = (cls, row.id)
        held = self._rendered.get(place)
        if held is None or held[0] is not row:
            held = self._rendered[place] = (row, row_type_of(cls).json(row))
        return Shown(held[1], row)


class Shown(dict[str, Any]):
    """The JSON form of a row, and the row itself.

    A dict of its own each time: whoever gets it may change it.
    """

    __slots__ = ("row",)

    def __init__(self, values: dict[str, Any], row: Row) -> None:
        super().__init__(values)
        self.row = row
