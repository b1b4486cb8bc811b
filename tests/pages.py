"""The documents as tests read them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def block_after(page: Path, marker: str) -> str:
    """Give the fenced block that follows a comment."""
    text = text_of(page)
    match = FENCE.search(text, text.index(f"<!-- {marker} -->"))
    assert match is not None
    return match[2]
