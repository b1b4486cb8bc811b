"""What stands in code that somebody wrote: literals, tests, and what is no text and no remark.

Read by patterns: the parser of one Python takes what that of another one refuses, and what goes on
record is the same under each. Each pattern takes time linear in the text, whatever that is: a text
without an end goes on to the end of its line, or of the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Literals = dict[str, None]
"""Literals as they are written, in the order in which they stand."""
COMMON = ("0", "1", "2", "10", "100", '""')
"""Literals that say nothing."""
SCANNED = 100_000
"""Characters of a file that are read for them."""
TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE)
TOKEN = re.compile(
    r"\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|#[^\n]*"
    r"|(?P<text>\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?)"
    r"|(?P<number>(?<![\w.])\d[\w.]*)",
    re.DOTALL,
)
"""Prose, which says nothing, or a literal."""


def literals_of_tests(files: Mapping[str, str]) -> Iterator[tuple[str, Literals]]:
    """Give the tests of some files, each with its literals; parameters are of the test below."""
    for path, text in sorted(files.items()):
        parts = TEST.split(text)
        # What stands before a test's name belongs to the one before, but for its decorators.
        for before, name, body in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
            decorators = before.rpartition("\n\n")[2]
            yield f"{path}::{name}", literals(decorators + (body.rpartition("\n\n@")[0] or body))


def literals(text: str) -> Literals:
    """Give the numbers and texts of some code, without those that say nothing."""
    tokens = TOKEN.finditer(text[:SCANNED])
    found = (token["number"] or whole(token["text"] or "") for token in tokens)
    return dict.fromkeys(one for one in found if one and one not in COMMON)


def whole(text: str) -> str:
    """Give a text in double quotes; nothing for one without an end."""
    return f'"{text[1:-1]}"' if len(text) > 1 and text[0] == text[-1] else ""


def without_texts(code: str) -> str:
    """Leave out texts and remarks, in which nothing is defined."""
    return TOKEN.sub(lambda token: token["number"] or "", code)
