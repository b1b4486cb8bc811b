"""Tool calls as a model writes them into text, where a framework has no other form for them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from simharness.product.policy import Call

if TYPE_CHECKING:
    from simharness.product.policy import Action


def action_of(text: str) -> Action:
    """Read what a model wrote: a call, a list of calls that are sent at once, or else plain text.

    A call is `{"name": ..., "arguments": {...}}`, with an `id` if it likes. Text that begins as
    JSON and is none, or no call, is a call without a name: the model's mistake, and it is told.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return text
    try:
        found: object = json.loads(stripped)
    except (ValueError, RecursionError):
        return Call("", text)
    listed = cast("list[object]", found) if isinstance(found, list) else [found]
    if not listed:
        return text
    return [call_of(one) for one in listed]


def call_of(found: object) -> Call:
    """Read one call from JSON, with nothing repaired."""
    fields = cast("dict[str, Any]", found) if isinstance(found, dict) else dict[str, Any]()
    name, own = fields.get("name"), fields.get("id")
    if not isinstance(name, str):
        return Call("", json.dumps(found))
    given: Any = fields.get("arguments", {})
    kept = type(given) in (dict, str)
    return Call(name, given if kept else json.dumps(given), own if isinstance(own, str) else None)
