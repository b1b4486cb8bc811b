"""Texts with places in them: code and prose of a ticket are put together from these."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
BLOCK = re.compile(r"( *)\$([A-Za-z_]\w*)")
"""A line that is nothing but a place."""
DOCSTRING = re.compile(r'^( *)(""".*?)(""")$', re.MULTILINE | re.DOTALL)
PROSE_WIDTH = 88


def fill(template: str, values: Mapping[str, object]) -> str:
    """Put values into the places `$name` and `${name}` of a text, and into those of the values.

    A line that is only a place becomes the lines of its value, each indented like it, and no line
    where the value is empty. Raises KeyError for a place without a value.
    """
    lines: list[str] = []
    for line in template.split("\n"):
        block = BLOCK.fullmatch(line)
        if block is None:
            lines.append(PLACE.sub(lambda m: fill(str(values[m[1] or m[2]]), values), line))
            continue
        text = fill(str(values[block[2]]), values)
        if text:
            lines += [block[1] + part if part else "" for part in text.split("\n")]
    return "\n".join(lines)


def reflowed(code: str) -> str:
    """Break the prose of docstrings anew, after names of other lengths have come into it.

    Paragraphs that are indented more than their docstring stay as they are.
    """
    return DOCSTRING.sub(lambda m: m[1] + _prose(m[2], m[1]) + m[3], code)


def _prose(text: str, indent: str) -> str:
    paragraphs = text.split("\n\n")
    for k, paragraph in enumerate(paragraphs):
        lines = paragraph.split("\n")
        if any(line.startswith(indent + " ") for line in lines):
            continue
        tail = "\n" + indent if lines[-1] == indent else ""
        words = " ".join(line.strip() for line in lines).strip()
        broken = textwrap.wrap(words, PROSE_WIDTH, break_long_words=False, break_on_hyphens=False)
        head = "" if k == 0 else indent
        paragraphs[k] = head + ("\n" + indent).join(broken) + tail
    return "\n\n".join(paragraphs)


def listed(words: list[str] | tuple[str, ...]) -> str:
    """Join words as prose does: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
