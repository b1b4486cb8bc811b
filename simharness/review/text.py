"""Text as pages show it: what can't be seen, or would reorder its neighbours, is spelled out."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, cast

TEXT_MAX = 20_000
"""Characters of one text that a page holds; what is cut is counted."""
INT_EXACT = 2**53
"""Beyond this a script's numbers are no longer exact."""
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that are spelled out: controls, formats (those that change the direction of
writing among them), lone surrogates, and what no font has."""


def visible(text: str, *, keep: str = "\n\t", most: int = TEXT_MAX) -> str:
    r"""Spell out hidden characters as `\uXXXX`, but for those in `keep`, and cut long texts."""
    cut = len(text) - most
    if cut > 0:
        text = text[:most]
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            escaped(c) if c not in keep and unicodedata.category(c) in HIDDEN else c for c in text
        )
    return f"{text}… ({cut:,} more characters)" if cut > 0 else text


def escaped(character: str) -> str:
    """Write one character as JSON escapes it."""
    return json.dumps(character)[1:-1] if ord(character) != 127 else "\\u007f"


def plain(value: Any) -> Any:
    """Copy a JSON value for a page: texts visible, ints beyond 2**53 and odd values as text."""
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT_EXACT <= value <= INT_EXACT else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)  # JSON knows no NaN
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        return {visible(str(name)): plain(item) for name, item in fields.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("list[object]", value)]
    return visible(ascii(value))


def plain_map(value: dict[str, Any]) -> dict[str, Any]:
    """Do what `plain` does, with a map."""
    return {visible(name): plain(item) for name, item in value.items()}


def literal(value: Any) -> str:
    """Write a leaf as JSON does, in visible characters and with every digit."""
    if isinstance(value, str):
        return visible(json.dumps(value, ensure_ascii=False), keep="")
    if isinstance(value, bytes):
        return json.dumps(value.hex())
    return json.dumps(value, default=repr)
