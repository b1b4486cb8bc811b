"""What a model's answers have cost in one episode."""

from __future__ import annotations

from dataclasses import asdict, dataclass

USAGE = "usage"
"""What an INFO frame, and the line of an episode, call it."""


@dataclass(slots=True)
class Usage:
    """Counts of one episode; tokens are what the provider says."""

    requests: int = 0
    retries: int = 0
    """Requests that were made because the one before had failed."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ms: int = 0
    """Real time that was spent on requests and on the waits between them, in milliseconds."""

    def record(self) -> dict[str, int]:
        """Give the counts as recordings and lines hold them."""
        return asdict(self)
