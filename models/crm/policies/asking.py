"""How the CRM's policies ask, try, wait and give up."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from simharness.api import Action, Call, Observation

POLL_SECONDS = 60
"""Pause between two looks at an answer that is awaited."""
PATIENCE_SECONDS = 360
"""Time after which the expert stops waiting for one answer; customers take at most 150 s."""
BUSY_SECONDS = 5
SETTLE_SECONDS = 15
"""Pause after which what was under way has ended, if ever it does."""

Play = Generator[Action, Observation, None]


class Impatient(Exception):  # noqa: N818  (ends a play, is no failure)
    """An answer that should have come hasn't."""


def read(tool: str, **arguments: Any) -> Generator[Action, Observation, Any]:
    """Read until there is an answer."""
    for _ in range(8):
        told = yield Call(tool, arguments)
        if told.value:  # an empty answer is none
            return told.value
        yield Call("wait", {"seconds": BUSY_SECONDS})
    raise Impatient(f"{tool} doesn't answer")


def tried(
    tool: str, arguments: dict[str, Any], waited: dict[str, int]
) -> Generator[Action, Observation, Any]:
    """Make one write.

    Gives its answer, or None when it was refused, or when nobody said what became of it: then it
    has to be thought over again.
    """
    told = yield Call(tool, arguments)
    if not told.value:
        yield from wait_for(tool, waited, BUSY_SECONDS)
        return None
    return told.value


def once(
    what: str,
    tool: str,
    arguments: dict[str, Any],
    waited: dict[str, int],
    done: set[str],
) -> Generator[Action, Observation, bool]:
    """Make a write about a deal that must not be made twice; tells whether it is made.

    Where nobody said what became of it, the deal's activities are looked at; a quote leaves no
    trace there, and is taken for made.
    """
    if what in done:
        return True
    told = yield Call(tool, arguments)
    if told.value:
        done.add(what)
    elif told.error not in ("", "unknown_outcome"):
        yield from wait_for(tool, waited, BUSY_SECONDS)
    else:
        yield Call("wait", {"seconds": SETTLE_SECONDS})
        subject = arguments.get("subject")
        if subject is None or (yield from logged(arguments["deal_id"], subject)):
            done.add(what)
    return what in done


def logged(deal_id: int, subject: str) -> Generator[Action, Observation, bool]:
    """Look whether an activity of some subject stands on a deal."""
    told = yield from read("list_activities", deal_id=deal_id)
    return any(row["subject"] == subject for row in told["activities"])


def guarded(
    tool: str, deal: dict[str, Any], waited: dict[str, int], **arguments: Any
) -> Generator[Action, Observation, Any]:
    """Make one write of the deal that rests on the version it was read at."""
    return (
        yield from tried(
            tool, {"deal_id": deal["id"], **arguments, "if_version": deal["version"]}, waited
        )
    )


def wait_for(what: str, waited: dict[str, int], seconds: int = POLL_SECONDS) -> Play:
    """Let time pass, up to the end of patience with `what`."""
    if waited.get(what, 0) >= PATIENCE_SECONDS:
        raise Impatient(f"no answer from {what} in {PATIENCE_SECONDS // 60} minutes")
    waited[what] = waited.get(what, 0) + seconds
    yield Call("wait", {"seconds": seconds})
