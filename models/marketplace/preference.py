"""What a customer wishes for: which of the slots that fit is the best."""

from __future__ import annotations

PREFER = ("earliest", "latest", "nearest", "provider")
TEXTS = {
    "earliest": "the earliest",
    "latest": "the latest",
    "nearest": "the one that starts nearest to {near}, at equal distance the earlier",
    "provider": "with the one named first, whatever the time; and of that one's the earliest",
}
"""How a wish is put into words."""


def rank(prefer: str, starts_at: int, place: int, near: int = 0) -> tuple[int, ...]:
    """Give what slots are to be ordered by, the best first.

    `place` is that of the provider in the order of the request; `near` is an instant.
    """
    if prefer == "latest":
        return (-starts_at, place)
    if prefer == "nearest":
        return (abs(starts_at - near), starts_at, place)
    if prefer == "provider":
        return (place, starts_at)
    return (starts_at, place)
