"""Writes reports as TOML."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from simharness.units import DAY, HOUR, MINUTE, MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BARE = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 100
"""Characters of a line beyond which the tables of a list get a line each."""
UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s"), (MS, "ms"), (1, "us"))


def duration(ticks: int) -> str:
    """Write a length of time in the largest unit that holds it."""
    for unit, name in UNITS:
        if ticks and ticks % unit == 0:
            return f"{ticks // unit}{name}"
    return "0s"


def key(name: str) -> str:
    """Write a key."""
    return name if BARE.fullmatch(name) else text(name)


def text(value: str) -> str:
    """Write a text on one line."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(given: Any) -> str:
    """Write a value on one line. Raises TypeError for what TOML has no form for, such as None."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int | float):
        return repr(given)
    if isinstance(given, str):
        return text(given)
    if isinstance(given, list | tuple):
        return "[" + ", ".join(value(item) for item in cast("Sequence[Any]", given)) + "]"
    if isinstance(given, dict):
        items = cast("dict[str, Any]", given)
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in items.items()) + " }"
    raise TypeError(f"TOML has no form for {given!r:.60}")


def holds(given: Any) -> bool:
    """Tell whether TOML has a form for a value."""
    try:
        value(given)
    except TypeError:
        return False
    return True


def pair(name: str, given: Any) -> str:
    """Write a key with its value; a long list of tables has one a line."""
    line = f"{key(name)} = {value(given)}"
    if len(line) <= WIDTH or not isinstance(given, list):
        return line
    items = "".join(f"  {value(item)},\n" for item in cast("list[object]", given))
    return f"{key(name)} = [\n{items}]"


def document(
    head: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]],
    lists: Mapping[str, Sequence[Mapping[str, Any]]],
    last: Mapping[str, Mapping[str, Any]],
    ends: Mapping[str, Sequence[Mapping[str, Any]]] = {},
    comment: str = "",
) -> str:
    """Write a report: keys, tables, lists of tables, tables, lists; empty ones are left out."""
    told = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    parts = [told + pairs(head)]
    parts += [f"[{name}]\n{pairs(table)}" for name, table in tables.items() if table]
    parts += [f"[[{name}]]\n{pairs(item)}" for name, items in lists.items() for item in items]
    parts += [f"[{name}]\n{pairs(table)}" for name, table in last.items() if table]
    parts += [f"[[{name}]]\n{pairs(item)}" for name, items in ends.items() for item in items]
    return "\n".join(parts)


def pairs(table: Mapping[str, Any]) -> str:
    """Write what stands in a table, a line a key."""
    return "".join(f"{pair(name, given)}\n" for name, given in table.items())
