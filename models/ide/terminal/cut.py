"""Where a long output is cut: between two characters as people see them."""

from __future__ import annotations

EXTENDING = (
    ("\u0300", "\u036f"), ("\u1ab0", "\u1aff"), ("\u1dc0", "\u1dff"), ("\u20d0", "\u20ff"),
    ("\ufe00", "\ufe0f"), ("\ufe20", "\ufe2f"), ("\U0001f3fb", "\U0001f3ff"),
    ("\U000e0100", "\U000e01ef"), ("\udc00", "\udfff"),
)  # fmt: skip
"""Characters that belong to the one before: marks, variants, shades, the second of a pair.

They are named here because every Python has another table of them.
"""
JOINER = "\u200d"


def cut(text: str, most: int) -> str:
    """Give the beginning of a text, of at most so many characters.

    It ends earlier where it would part a character from its marks, what is joined to one picture,
    or a carriage return from its newline.
    """
    if len(text) <= most:
        return text
    at = most
    while at > 0 and belongs(text[at - 1], text[at]):
        at -= 1
    return text[:at]


def belongs(before: str, c: str) -> bool:
    """Tell whether a character belongs to the one before."""
    if JOINER in (before, c) or (before == "\r" and c == "\n"):
        return True
    return any(low <= c <= high for low, high in EXTENDING)
