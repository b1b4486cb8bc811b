"""Text that can be sent: models send lone surrogates, which no UTF-8 holds."""

from __future__ import annotations

from typing import Any, cast


def sendable(value: Any) -> Any:
    """Copy a JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {sendable(key): sendable(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in cast("list[Any]", value)]
    return value
