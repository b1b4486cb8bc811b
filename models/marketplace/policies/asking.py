"""How the marketplace's policies ask, try, wait and give up: as those of all products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import asking, parse_instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Observation

BUSY_SECONDS, SETTLE_SECONDS = asking.BUSY_SECONDS, asking.SETTLE_SECONDS
POLL_SECONDS, READS = asking.POLL_SECONDS, asking.READS

Play = asking.Play
Part = asking.Part
Impatient = asking.Impatient

read, read_pages = asking.read, asking.read_pages
tried, unknown, retry_after = asking.tried, asking.unknown, asking.retry_after
wait_for = asking.wait_for


def made_of(hold_id: int) -> Part:
    """Find the booking of a hold; gives it, or None where there is none yet."""
    rows = yield from read_pages("list_bookings", "bookings")
    return next((row for row in rows if row["hold_id"] == hold_id), None)


def complete_to(told: Observation, answer: Mapping[str, Any]) -> int:
    """Give the instant up to which an answer is complete, by what it says itself if it does."""
    return parse_instant(answer.get("as_of") or told.t)
