"""How scripted policies ask, try, wait and give up."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, cast

from simharness.kernel.calendar import parse_instant
from simharness.product.policy import Action, Call, Observation
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

BUSY_SECONDS = 5
"""Pause before what was refused for now is tried again."""
SETTLE_SECONDS = 40
"""Pause after which what was under way has ended, if ever it does."""
POLL_SECONDS = 20
"""Pause between two looks at what is awaited."""
PATIENCE_SECONDS = 1200
"""Time after which the reference stops waiting for one thing."""
READS = 12
FRESH = 3 * SECOND
"""Age from which a read that says its age is asked again, where it matters."""

RETRYABLE = ("locked", "rate_limited", "unavailable")
"""Refusals that say nothing about the row: the same may pass a little later."""

Play = Generator[Action, Observation, None]
Part = Generator[Action, Observation, Any]


class Impatient(Exception):  # noqa: N818  (ends a play, is no failure)
    """An answer that should have come hasn't."""


def read(tool: str, **arguments: Any) -> Part:
    """Read until there is an answer."""
    for _ in range(READS):
        told = yield Call(tool, arguments)
        if told.value:  # an empty answer is none
            return told.value
        yield Call("wait", {"seconds": BUSY_SECONDS})
    raise Impatient(f"{tool} doesn't answer")


def read_pages(tool: str, table: str, **arguments: Any) -> Part:
    """Read all pages of a list; gives its rows."""
    rows: list[dict[str, Any]] = []
    page: int | None = 1
    while page is not None:
        told = yield from read(tool, **arguments, page=page)
        rows += told[table]
        page = told["next_page"]
    return rows


def tried(tool: str, **arguments: Any) -> Part:
    """Make a write, again where it is refused for now; gives the observation.

    What it gives was done, refused for good (conflict, slot_taken, hold_expired, ...), or has an
    outcome that nobody knows: then the effect has to be looked for (`unknown`).
    """
    for _ in range(READS):
        told = yield Call(tool, arguments)
        if told.error not in RETRYABLE:
            return told
        yield Call("wait", {"seconds": retry_after(told)})
    raise Impatient(f"{tool} is refused again and again")


def unknown(told: Observation) -> bool:
    """Tell whether a write may have been done or not, by its answer."""
    return told.error == "unknown_outcome" or not (told.error or told.value)


def retry_after(told: Observation) -> int:
    """Give for how many seconds to wait after a refusal, as it says itself if it does."""
    error: Mapping[str, Any] = told.results[0].get("error", {}) if told.results else {}
    seconds: Any = error.get("retry_after", BUSY_SECONDS)
    return max(1, int(seconds) + 1) if isinstance(seconds, (int, float)) else BUSY_SECONDS


def age(told: Observation, answer: Mapping[str, Any]) -> int:
    """Give the age in ticks that an answer says it has; 0 where it says nothing."""
    as_of = answer.get("as_of")
    return parse_instant(told.t) - parse_instant(as_of) if as_of else 0


def wait_for(what: str, waited: dict[str, int], seconds: int = POLL_SECONDS) -> Play:
    """Let time pass, up to the end of patience with `what`."""
    if waited.get(what, 0) >= PATIENCE_SECONDS:
        raise Impatient(f"no answer from {what} in {PATIENCE_SECONDS // 60} minutes")
    waited[what] = waited.get(what, 0) + seconds
    yield Call("wait", {"seconds": seconds})


def rows_of(value: Any, table: str) -> list[dict[str, Any]]:
    """Give the rows of an answer; none where it was refused or is empty."""
    return cast("dict[str, Any]", value).get(table, []) if isinstance(value, dict) else []
