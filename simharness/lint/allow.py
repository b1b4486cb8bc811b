"""Comments that allow a finding: `# simharness: allow SH0nn reason`."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass

COMMENT = re.compile(r"#\s*simharness:\s*allow\b(.*)")
CODES = re.compile(r"\s*(SH\d{3}(?:\s*,\s*SH\d{3})*)\b[\s:,-]*(.*)")


@dataclass(frozen=True, slots=True)
class Allowance:
    """One comment."""

    line: int
    column: int
    """From 1."""
    codes: tuple[str, ...]
    """Empty where the comment names none."""
    reason: str


def allowances(text: str) -> list[Allowance]:
    """Read the comments of a file that Python can parse."""
    found: list[Allowance] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match = COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        line, column = token.start
        named = CODES.fullmatch(match[1].rstrip())
        codes = tuple(re.findall(r"SH\d{3}", named[1])) if named else ()
        found.append(Allowance(line, column + 1, codes, named[2].strip() if named else ""))
    return found


def lines_of(node: ast.AST) -> range:
    """Give the lines on which a comment speaks of a node: of a block only those of its head."""
    first: int = getattr(node, "lineno", 0)
    last: int = getattr(node, "end_lineno", None) or first
    if isinstance(node, ast.For | ast.AsyncFor | ast.FunctionDef):
        last = max(first, node.body[0].lineno - 1)
    return range(first, last + 1)
