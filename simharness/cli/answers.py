"""What the agent is told, laid out for a person: all of it, and nothing else."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import TYPE_CHECKING, Any, cast

from simharness.review.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


def value_lines(value: Any, width: int) -> Iterator[str]:
    """Give a JSON value in lines of at most `width` characters, where words allow it.

    What fits on a line stands there as JSON; a longer map has a line for each name, a longer list
    an item for each of its own. A text of several lines is shown as such, each behind a bar.
    """
    if isinstance(value, str) and "\n" in value:
        yield from block(value, width)
        return
    line = flat(value)
    if fits(line, width) or not isinstance(value, dict | list):
        yield from wrap(line, width)
    elif isinstance(value, dict):
        for name, item in cast("dict[str, object]", value).items():
            yield from entry(f"{seen(name)}: ", item, width)
    else:
        for item in cast("list[object]", value):
            yield from entry("- ", item, width)


def entry(head: str, item: Any, width: int) -> Iterator[str]:
    """Give one item of a map or list: behind its head, or under it and indented."""
    if isinstance(item, str) and "\n" in item:
        yield from wrap(head.rstrip(), width)
        yield from block(item, width)
        return
    line = flat(item)
    if fits(head + line, width) or not isinstance(item, dict | list):
        yield from wrap(head + line, width)
    elif head == "- " and is_flat(item):
        pairs = cast("dict[str, object]", item).items()
        yield from filled(head, [f"{seen(name)}: {flat(inner)}" for name, inner in pairs], width)
    elif head == "- ":
        for i, inner in enumerate(value_lines(item, width - 2)):
            yield ("- " if i == 0 else "  ") + inner
    else:
        yield from wrap(head.rstrip(), width)
        for inner in value_lines(item, width - 2):
            yield "  " + inner


def fits(line: str, width: int) -> bool:
    """Tell whether JSON reads well on one line: it is short, and no text in it has several."""
    return len(line) <= width and r"\n" not in line


def filled(head: str, parts: list[str], width: int) -> Iterator[str]:
    """Fill lines with parts that stay whole where they fit, with commas between them."""
    line, blank = head, " " * len(head)
    for number, part in enumerate(parts):
        text = part if number == len(parts) - 1 else f"{part},"
        if line not in (head, blank) and len(line) + 1 + len(text) > width:
            yield line
            line = blank
        line += text if line in (head, blank) else f" {text}"
        if len(line) > width:
            *whole, line = textwrap.wrap(
                line, width, subsequent_indent=blank, drop_whitespace=True, break_on_hyphens=False
            )
            yield from whole
    yield line


def is_flat(item: Any) -> bool:
    """Tell whether something is a map of values that stand on a line."""
    return isinstance(item, dict) and not any(
        isinstance(inner, dict | list) or (isinstance(inner, str) and "\n" in inner)
        for inner in cast("dict[str, object]", item).values()
    )


def flat(value: Any) -> str:
    """Write a value as JSON on one line, with what can't be seen spelled out."""
    return seen(json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=repr))


def seen(text: str) -> str:
    """Spell out what can't be seen, or could drive the terminal, whatever the length."""
    return visible(text, keep="", most=sys.maxsize)


def block(text: str, width: int) -> Iterator[str]:
    """Give a text of several lines as it is, behind bars; what is too wide goes on below."""
    for line in text.split("\n"):
        shown = seen(line.expandtabs(4))
        for i in range(0, max(1, len(shown)), width - 2):
            yield ("| " if i == 0 else ": ") + shown[i : i + width - 2]


def wrap(line: str, width: int) -> Iterator[str]:
    """Break a line between words, its further lines indented."""
    yield from textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False) or [""]
