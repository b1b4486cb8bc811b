"""A place in a file that breaks a rule."""

from __future__ import annotations

import ast
from dataclasses import dataclass

SHOWN_MAX = 40
"""Characters of code that a message shows."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node that breaks a rule."""

    node: ast.AST
    code: str
    subject: str
    """What it is, as the beginning of a sentence."""


def shown(node: ast.AST) -> str:
    """Show code as a message does: on one line, cut where it is long."""
    text = " ".join(ast.unparse(node).split())
    return f"`{text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 3] + '...'}`"
