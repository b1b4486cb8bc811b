"""Arguments against the schema that the agent was shown, apart from the harness's own checks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UsageError
from simharness.kernel.calendar import parse_instant
from simharness.product.tool import INT_MAX, TEXT_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

ITEMS_MAX = 1000


def plain_object(raw: str) -> dict[str, Any] | None:
    """Read arguments that every JSON reader takes for the same object; None for any others."""
    try:
        value = json.loads(raw, object_pairs_hook=unique, parse_constant=refuse, parse_float=whole)
        # Half of a surrogate pair is no text; encoding raises a ValueError for it.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of members; refuses two of one name."""
    out = dict(pairs)
    if len(out) < len(pairs):
        raise ValueError("a name occurs twice")
    return out


def refuse(text: str) -> None:
    """Refuse NaN and the like."""
    raise ValueError(text)


def whole(text: str) -> int:
    """Take 2.0 for 2, as JSON Schema does; no schema here lets other fractions through."""
    value = float(text)
    if not value.is_integer() or abs(value) > 1 << 53:
        raise ValueError(text)
    return int(value)


def fits(schema: Mapping[str, Any], value: object) -> bool:
    """Tell whether a value fits a schema as tools publish it, within the limits of every tool."""
    if "anyOf" in schema:
        return any(fits(option, value) for option in schema["anyOf"])
    if "enum" in schema:
        return type(value) is str and value in schema["enum"]
    match schema.get("type"):
        case "null":
            return value is None
        case "boolean":
            return type(value) is bool
        case "integer":
            low, high = schema.get("minimum", -INT_MAX), schema.get("maximum", INT_MAX)
            return type(value) is int and low <= value <= high
        case "string":
            return fits_text(schema, value)
        case "array":
            if type(value) is not list:
                return False
            items = cast("list[object]", value)
            return len(items) <= ITEMS_MAX and all(fits(schema["items"], item) for item in items)
        case "object":
            return fits_object(schema, value)
        case _:
            return True


def fits_text(schema: Mapping[str, Any], value: object) -> bool:
    """Tell whether a value is a text that fits."""
    if type(value) is not str or len(value) > TEXT_MAX:
        return False
    if schema.get("format") == "date-time":
        try:
            parse_instant(value)
        except UsageError:
            return False
    return "pattern" not in schema or re.fullmatch(schema["pattern"], value) is not None


def fits_object(schema: Mapping[str, Any], value: object) -> bool:
    """Tell whether a value is an object that fits."""
    if type(value) is not dict:
        return False
    given = cast("dict[str, object]", value)
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if len(given) < schema.get("minProperties", 0):
        return False
    if any(name not in given for name in schema.get("required", ())):
        return False
    return all(name in properties and fits(properties[name], item) for name, item in given.items())
