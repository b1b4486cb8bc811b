"""Text and JSON that every reader takes.

A recording keeps what a model sent, lone surrogates included. Strict readers refuse these, even
escaped, so each becomes U+FFFD, and the loss report counts them. JSON is ASCII: no reader then
takes U+2028 for the end of a line, and nothing in it turns the direction of writing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.exporters.loss import Loss

SURROGATE = re.compile("[\ud800-\udfff]")
REPLACED = "lone surrogates, now U+FFFD"


def sound(text: str, loss: Loss) -> str:
    """Give a text that UTF-8 can hold; what is replaced is counted."""
    if text.isascii():
        return text
    fixed, count = SURROGATE.subn("\ufffd", text)
    if count:
        loss.changed[REPLACED] += count
    return fixed


def json_text(value: Any, loss: Loss) -> str:
    """Write a JSON value in ASCII on one line, its keys in their own order."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    if text.isascii():
        return text
    # Through text and back, because escaped, two lone surrogates can't be told from one character.
    fixed = json.loads(sound(text, loss))
    return json.dumps(fixed, separators=(",", ":"), allow_nan=False)


def json_line(value: Any, loss: Loss) -> bytes:
    """Write a JSON value as a line of a file."""
    return json_text(value, loss).encode("ascii") + b"\n"
