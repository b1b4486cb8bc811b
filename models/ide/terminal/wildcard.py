"""Patterns of file names: `*`, `?` and `[...]`, matched without needless steps back.

A pattern is a list of tokens, so that what was quoted means itself.
"""

from __future__ import annotations

from typing import NamedTuple

from simharness.models.ide.regex import CLASSES, Chars


class Token(NamedTuple):
    """One element of a pattern."""

    kind: str
    """star, any, char or set."""
    chars: Chars = Chars("")


STAR, ANY = Token("star"), Token("any")


def tokens_of(pattern: str, quoted: str = "") -> list[Token]:
    """Read a pattern.

    Args:
        pattern: With a backslash before what means itself, where `quoted` is empty.
        quoted: For each character of the pattern `q` where it was quoted; empty for none.
    """
    out: list[Token] = []
    at = 0
    while at < len(pattern):
        c = pattern[at]
        free = not quoted or quoted[at] != "q"
        if c == "\\" and not quoted and at + 1 < len(pattern):
            at += 1
            out.append(Token("char", Chars(pattern[at] * 2)))
        elif free and c == "*":
            out.append(STAR)
        elif free and c == "?":
            out.append(ANY)
        elif free and c == "[":
            found = bracket(pattern, at)
            if found is None:
                out.append(Token("char", Chars("[[")))
            else:
                at, chars = found
                out.append(Token("set", chars))
                continue
        else:
            out.append(Token("char", Chars(c + c)))
        at += 1
    return out


def bracket(pattern: str, at: int) -> tuple[int, Chars] | None:
    """Read `[...]`; gives where it ends, or None where it isn't closed."""
    start = at + 1
    negated = pattern[start : start + 1] in ("!", "^") and start < len(pattern)
    place = start = start + negated
    ranges: list[str] = []
    while place < len(pattern):
        c = pattern[place]
        if c == "]" and place > start:
            return place + 1, Chars("".join(ranges), negated)
        if pattern.startswith("[:", place):
            close = pattern.find(":]", place)
            name = pattern[place + 2 : close] if close >= 0 else ""
            if name in CLASSES:
                ranges.append(CLASSES[name])
                place = close + 2
                continue
        if c == "\\" and place + 1 < len(pattern):
            place += 1
            c = pattern[place]
        end = c
        if pattern.startswith("-", place + 1) and not pattern.startswith("-]", place + 1):
            end = pattern[place + 2 : place + 3] or c
            place += 2
        ranges.append(c + end)
        place += 1
    return None


def matches(tokens: list[Token], name: str, *, ignore_case: bool = False) -> bool:
    """Tell whether a whole name matches."""
    at = place = 0
    star, kept = -1, 0
    while place < len(name):
        token = tokens[at] if at < len(tokens) else None
        if token is not None and token.kind == "star":
            star, kept = at, place
            at += 1
            continue
        if token is not None and fits(token, name[place], ignore_case):
            at += 1
            place += 1
            continue
        if star < 0:
            return False
        kept += 1
        at, place = star + 1, kept
    return all(token.kind == "star" for token in tokens[at:])


def fits(token: Token, c: str, ignore_case: bool) -> bool:
    """Tell whether a token takes a character."""
    if token.kind == "any":
        return True
    return token.chars.has_any_case(c) if ignore_case else token.chars.has(c)
