"""Messages of a chat as APIs of OpenAI's shape exchange them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SURROGATE = re.compile("[\ud800-\udfff]")


def functions(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give the tools as chat APIs list them."""
    return [{"type": "function", "function": dict(tool)} for tool in tools]


def said(text: str, calls: Sequence[tuple[str, str, str]] = ()) -> dict[str, Any]:
    """Give what the assistant said; a call is its id, its tool and its arguments as text."""
    if not calls:
        return {"role": "assistant", "content": text}
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}
            for id, tool, arguments in calls
        ],
    }


def answered(id: str, value: Any, *, ok: bool) -> dict[str, Any]:
    """Give the answer to one call: a value, or the error that it was refused with."""
    return {"role": "tool", "tool_call_id": id, "content": answer_text(ok, value)}


def answer_text(ok: bool, value: Any) -> str:
    """Write the answer to one call as a model is told it: plain ASCII, in one line."""
    return json.dumps(value if ok else {"error": value}, separators=(",", ":"), ensure_ascii=True)


def asked(text: str) -> dict[str, Any]:
    """Give what the assistant is told by its user."""
    return {"role": "user", "content": text}


def sendable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 has room for, by U+FFFD."""
    return SURROGATE.sub("\ufffd", text)
