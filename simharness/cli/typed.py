"""What a person types, read as calls of tools: forgiving in form, and nothing is guessed.

`get_deal 42`, `get_deal deal_id=42` and `get_deal {"deal_id": 42}` are one call. Words take the
types of the tool's schema. `&` between calls sends them at once.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.product.policy import Call
from simharness.product.tool import BadArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from simharness.product.tool import Parameter, ToolSpec

TOGETHER = "&"
"""Between two calls that are sent at once."""
OPENING = '{["'
"""What JSON begins with that is no word."""
TOOL = re.compile(r"\s*([^\s{]+)\s*")
NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)\s*=(?!=)\s*")
WORD = re.compile(r"\S+\s*")
PREFIX = re.compile(r"\^([A-Z]+)-")
INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


class Mistyped(Exception):  # noqa: N818  (a person's slip, no failure)
    """A line can't be read as calls; the message says why and what would do."""


class Piece(NamedTuple):
    """One piece of a line behind the tool's name."""

    value: Any
    """A text, or what JSON it was."""
    bare: bool
    """Whether it stood there without quotes or brackets."""
    end: int
    """Where the next one may begin."""


def read_calls(line: str, tools: Mapping[str, ToolSpec]) -> list[Call]:
    """Read a line that isn't empty. Raises Mistyped for what no tool would take."""
    calls: list[Call] = []
    at = 0
    while at < len(line):
        found = TOOL.match(line, at)
        if found is None or found[1] == TOGETHER:
            raise Mistyped("the name of a tool comes first, as in: get_deal deal_id=42")
        spec = tools.get(found[1])
        if spec is None:
            raise Mistyped(no_tool(found[1], tools))
        args, at = arguments(spec, line, found.end())
        try:
            spec.check(cast("dict[str, object]", args))
        except BadArgument as error:
            raise Mistyped(f"{error}\n{usage(spec)}") from None
        calls.append(Call(spec.name, args))
    return calls


def no_tool(name: str, tools: Mapping[str, ToolSpec]) -> str:
    """Say that there is no such tool, and which names are near."""
    near = difflib.get_close_matches(name, tools, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "`help` lists them"
    return f"no tool is called {name[:60]!r}; {hint}"


def arguments(spec: ToolSpec, line: str, at: int) -> tuple[dict[str, Any], int]:
    """Read arguments from a place on; gives them, and where the next call begins.

    Without names they go to the arguments in order. A text that begins without a quote and is
    named, or the last one that is needed, goes on to the next name or to the end of the line.
    Raises Mistyped.
    """
    known = {parameter.name: parameter for parameter in spec.parameters}
    out: dict[str, Any] = {}
    while at < len(line):
        word = WORD.match(line, at)
        if word is not None and word[0].strip() == TOGETHER:
            return out, word.end()
        named = NAME.match(line, at)
        name, _, field = (named[1] if named else "").partition(".")
        if named and name not in known:
            raise Mistyped(
                f"{spec.name} has no argument {name!r}{meant(spec, name)}\n{usage(spec)}"
            )
        at = named.end() if named else at
        found = piece(line, at)
        value: object = found.value
        if not name and not out and isinstance(value, dict) and takes_no_object(spec):
            return cast("dict[str, Any]", value), after(line, found.end)
        name = name or next((other for other in known if other not in out), "")
        if not name:
            raise Mistyped(f"{str(found.value)[:40]!r} is one too many\n{usage(spec)}")
        parameter = known[name]
        if field:
            inner = bare_schema(parameter.schema).get("properties", {}).get(field)
            fields = out.setdefault(name, {})
            if inner is None or not isinstance(fields, dict):
                raise Mistyped(f"{name} has no field {field!r}\n{usage(spec)}")
        elif name in out:
            raise Mistyped(f"{name} is given twice")
        else:
            inner, fields, field = parameter.schema, out, name
        if found.bare and takes_words(spec, parameter, inner, named=named is not None):
            found = words(line, at, known)
        fields[field] = typed(inner, found)
        at = found.end
    return out, at


def meant(spec: ToolSpec, name: str) -> str:
    """Say which argument has a field of this name, or a name that is near."""
    for parameter in spec.parameters:
        if name in bare_schema(parameter.schema).get("properties", ()):
            return f"; did you mean {parameter.name}.{name}?"
    near = difflib.get_close_matches(name, [p.name for p in spec.parameters], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def takes_no_object(spec: ToolSpec) -> bool:
    """Tell whether a map that comes first can only be all arguments in one."""
    first = spec.parameters[:1]
    return not first or bare_schema(first[0].schema).get("type") != "object"


def after(line: str, at: int) -> int:
    """Give where the next call begins, behind all arguments of one. Raises Mistyped."""
    rest = line[at:].strip()
    if rest and not rest.startswith(TOGETHER):
        raise Mistyped(f"{rest[:40]!r} is one too many behind all arguments")
    return len(line) - len(rest.removeprefix(TOGETHER).lstrip())


def piece(line: str, at: int) -> Piece:
    """Read one piece from a place on. Raises Mistyped."""
    opening = line[at : at + 1]
    if opening and opening in OPENING:
        try:
            value, at = json.JSONDecoder().raw_decode(line, at)
        except (ValueError, RecursionError) as error:
            told = getattr(error, "msg", str(error))
            raise Mistyped(f"what begins with {line[at : at + 12]!r} is no JSON: {told}") from None
        return Piece(value, bare=False, end=skip(line, at))
    if opening == "'":
        end = line.find("'", at + 1)
        if end < 0:
            raise Mistyped(f"the quote before {line[at + 1 : at + 13]!r} isn't closed")
        return Piece(line[at + 1 : end], bare=False, end=skip(line, end + 1))
    word = WORD.match(line, at)
    return Piece(word[0].rstrip() if word else "", bare=True, end=word.end() if word else at)


def words(line: str, at: int, known: Collection[str]) -> Piece:
    """Read a text without quotes from a place on, up to the next argument's name or the end."""
    named = (n for n in NAME.finditer(line, at) if n[1].partition(".")[0] in known)
    ends = (found.start() for found in named)
    end = next((place for place in ends if line[place - 1 : place].isspace()), len(line))
    return Piece(line[at:end].rstrip(), bare=True, end=end)


def skip(line: str, at: int) -> int:
    """Give where the next piece begins."""
    return len(line) - len(line[at:].lstrip())


def takes_words(
    spec: ToolSpec, parameter: Parameter, schema: Mapping[str, Any], *, named: bool
) -> bool:
    """Tell whether a text without quotes may be longer than a word."""
    inner = bare_schema(schema)
    if inner.get("type") != "string" or inner.keys() & {"enum", "format", "pattern"}:
        return False
    needed = [other.name for other in spec.parameters if other.required]
    return named or needed[-1:] == [parameter.name]


def typed(schema: Mapping[str, Any], found: Piece) -> Any:
    """Give a word the type of its argument; what doesn't fit stays a text, and is refused so."""
    if not found.bare:
        return found.value
    word = str(found.value)
    if word == "null" and {"type": "null"} in schema.get("anyOf", ()):
        return None
    kinds = {option.get("type") for option in schema.get("anyOf", (schema,))}
    if "integer" in kinds and INTEGER.fullmatch(word):
        return int(word)
    if "boolean" in kinds:
        return TRUTHS.get(word.lower(), word)
    if "array" in kinds:
        items: Mapping[str, Any] = bare_schema(schema)["items"]
        return [typed(items, Piece(part, bare=True, end=0)) for part in word.split(",") if part]
    return word


def bare_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the schema of an argument that may be null, without the null."""
    options: Sequence[Mapping[str, Any]] = schema.get("anyOf", (schema,))
    return next((option for option in options if option.get("type") != "null"), schema)


# --- help -----------------------------------------------------------------------------------------


def usage(spec: ToolSpec) -> str:
    """Show how a tool is called: `get_deal deal_id`, with what may be left out in brackets."""
    names = (p.name if p.required else f"[{p.name}]" for p in spec.parameters)
    return " ".join(("usage:", spec.name, *names))


def kind_text(schema: Mapping[str, Any]) -> str:
    """Say in words what an argument may be."""
    options = [o for o in schema.get("anyOf", (schema,)) if o.get("type") != "null"]
    if len(options) > 1:
        return " or ".join(map(kind_text, options))
    (inner,) = options
    if "enum" in inner:
        return "one of " + ", ".join(word or '""' for word in inner["enum"])
    kind = inner.get("type")
    if kind == "integer" and "minimum" in inner:
        return f"integer from {inner['minimum']} to {inner['maximum']}"
    if kind == "array":
        return f"list of: {kind_text(inner['items'])}"
    if kind == "string" and "pattern" in inner:
        prefix = PREFIX.match(inner["pattern"])
        return f"id such as {prefix[1]}-7" if prefix else f"text like {inner['pattern']}"
    if inner.get("format") == "date-time":
        return "instant such as 2026-03-05T14:00:00Z"
    return {"boolean": "true or false", "object": "object", "string": "text"}.get(kind, str(kind))
