"""Two JSON values side by side, line by line: what the agent saw, and what was true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.parts.row_name import number_of
from simharness.review.text import literal, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LINES_MAX = 2_000
"""Lines of one answer that a page holds."""

SAME, STALE, MISSING, EXTRA = "", "stale", "missing", "extra"
"""How the two sides of a line compare; missing is what the agent should have seen."""


class Absent:
    """Stands for a side that has no such value; `null` is a value."""


ABSENT = Absent()


class Line(NamedTuple):
    """One line of pretty JSON on both sides."""

    depth: int
    label: str
    """The key with its colon, or nothing."""
    saw: str | None
    true: str | None
    mark: str


def compared(saw: Any, true: Any) -> tuple[list[Line], int]:
    """Align two values; gives the lines that a page holds, and how many were left out."""
    every = list(lines_of(0, "", saw, true, ""))
    return every[:LINES_MAX], max(0, len(every) - LINES_MAX)


def lines_of(depth: int, label: str, saw: Any, true: Any, comma: str) -> Iterator[Line]:
    """Give the lines of one value that has two sides, of which one may be absent."""
    if is_leaf(saw) and is_leaf(true):
        seen, real = leaf(saw, comma), leaf(true, comma)
        yield Line(depth, label, seen, real, mark_of(seen, real))
    elif isinstance(saw, dict) and isinstance(true, dict):
        one, other = cast("dict[str, Any]", saw), cast("dict[str, Any]", true)
        yield from objects(depth, label, one, other, comma)
    elif isinstance(saw, list) and isinstance(true, list):
        mine, theirs = cast("list[object]", saw), cast("list[object]", true)
        yield from arrays(depth, label, mine, theirs, comma)
    else:
        for text, inner, name in one_sided(depth, label, saw, comma):
            yield Line(inner, name, text, None, STALE if true is not ABSENT else EXTRA)
        for text, inner, name in one_sided(depth, label, true, comma):
            yield Line(inner, name, None, text, STALE if saw is not ABSENT else MISSING)


def is_leaf(value: Any) -> bool:
    """Tell what is written on one line: no object or array with anything inside, or nothing."""
    return not (isinstance(value, dict | list) and value)


def leaf(value: Any, comma: str) -> str | None:
    """Write a leaf; None where there is none."""
    return None if value is ABSENT else literal(value) + comma


def mark_of(saw: str | None, true: str | None) -> str:
    """Say how two leaves compare."""
    if saw == true:
        return SAME
    return MISSING if saw is None else EXTRA if true is None else STALE


def objects(
    depth: int, label: str, saw: Mapping[str, Any], true: Mapping[str, Any], comma: str
) -> Iterator[Line]:
    """Align two objects by their keys."""
    yield Line(depth, label, "{", "{", SAME)
    names = list(dict.fromkeys([*saw, *true]))
    for place, name in enumerate(names):
        after = "," if place < len(names) - 1 else ""
        shown = f"{literal(name)}: "
        yield from lines_of(depth + 1, shown, saw.get(name, ABSENT), true.get(name, ABSENT), after)
    yield Line(depth, "", "}" + comma, "}" + comma, SAME)


def arrays(
    depth: int, label: str, saw: Sequence[Any], true: Sequence[Any], comma: str
) -> Iterator[Line]:
    """Align two arrays: rows by their ids, plain values by being equal, all else by place."""
    yield Line(depth, label, "[", "[", SAME)
    pairs = list(paired(saw, true))
    for place, (one, other) in enumerate(pairs):
        after = "," if place < len(pairs) - 1 else ""
        yield from lines_of(depth + 1, "", one, other, after)
    yield Line(depth, "", "]" + comma, "]" + comma, SAME)


def paired(saw: Sequence[Any], true: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair the items of two arrays, in the order of the first with the rest behind."""
    names, others = [identity(x) for x in saw], [identity(x) for x in true]
    unique = len(set(names)) == len(names) and len(set(others)) == len(others)
    if None in names or None in others or not unique:
        for i in range(max(len(saw), len(true))):
            yield saw[i] if i < len(saw) else ABSENT, true[i] if i < len(true) else ABSENT
        return
    place = dict(zip(others, true, strict=True))
    for name, item in zip(names, saw, strict=True):
        yield item, place.pop(name, ABSENT)
    for item in place.values():
        yield ABSENT, item


def identity(item: Any) -> str | None:
    """Give what an item is known by in an array: the id of a row, or a plain value itself."""
    if isinstance(item, dict):
        row = cast("dict[str, Any]", item)
        number = number_of(row.get("id"))
        return None if number is None else f"row {number}"
    return None if isinstance(item, list) else literal(item)


def one_sided(depth: int, label: str, value: Any, comma: str) -> Iterator[tuple[str, int, str]]:
    """Give `(text, depth, label)` of each line of a value that has one side."""
    if value is ABSENT:
        return
    if is_leaf(value):
        yield literal(value) + comma, depth, label
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        yield "{", depth, label
        for place, (name, item) in enumerate(fields.items()):
            after = "," if place < len(fields) - 1 else ""
            yield from one_sided(depth + 1, f"{literal(name)}: ", item, after)
        yield "}" + comma, depth, ""
    else:
        items = cast("list[Any]", value)
        yield "[", depth, label
        for place, item in enumerate(items):
            yield from one_sided(depth + 1, "", item, "," if place < len(items) - 1 else "")
        yield "]" + comma, depth, ""


def packed(line: Line) -> list[Any]:
    """Give a line as pages hold it: the true side as 1 where both are the same."""
    same = line.saw == line.true
    return [line.depth, line.label, line.saw, 1 if same else line.true, line.mark]


def arguments_of(text: str) -> Any:
    """Read a call's arguments; what is no JSON stays the text that it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return visible(text)
