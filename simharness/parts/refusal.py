"""Honest refusals: what a product answers when it can't or won't do what was asked."""

from __future__ import annotations

from typing import Any

RETRYABLE = frozenset({"locked", "unavailable", "rate_limited"})


class Refused(Exception):  # noqa: N818  (an answer, no failure)
    """End a tool call with an error result; nothing that the call had not committed is kept."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.details = details

    def value(self) -> dict[str, Any]:
        """Give the error as the agent sees it."""
        return {
            "code": self.code,
            "message": self.message,
            "retryable": self.code in RETRYABLE,
            **self.details,
        }
