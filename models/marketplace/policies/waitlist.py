"""The reference of marketplace/waitlist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call, parse_instant
from simharness.models.marketplace.policies import earliest
from simharness.models.marketplace.policies.asking import (
    BUSY_SECONDS,
    READS,
    Impatient,
    retry_after,
)
from simharness.models.marketplace.policies.paying import booked, hold, paid

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task
    from simharness.models.marketplace.policies.asking import Part, Play

NEWS_SECONDS = 15
"""Longest wait for news of slots."""


def expert(task: Task) -> Play:
    """Wait for a place, take it when there is one, and else what may be booked instead."""
    try:
        yield from Waiter(task).work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})


class Waiter(earliest.Seeker):
    """Somebody who waits for a place of one slot."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.wanted: int = task.brief["slot_id"]
        self.until = parse_instant(task.brief["until"])
        self.fallback: bool = task.brief["fallback"]
        self.line: int = 0
        """The customer's place in line, once it is known."""
        self.now = 0
        """What the last answer said that it is."""

    def work(self) -> Play:
        """Wait, then look for something else, and say what came of it."""
        slot = yield from self.ask("get_slot", slot_id=self.wanted)
        changed = True
        while True:
            if self.can_be_had(slot) and (yield from self.buy()):
                break
            if slot["blocked"]:
                yield from self.look_elsewhere()
                return
            if not self.line and (yield from self.join()):
                break
            late = self.now >= self.until
            if (changed or late) and (yield from self.claim()):
                break
            if late:
                yield from self.look_elsewhere()
                return
            before, slot = slot, (yield from self.news(slot))
            changed = slot is not before
        yield from self.done()

    def ask(self, tool: str, **arguments: Any) -> Generator[Action, Observation, Any]:
        """Read until there is an answer, and take note of the time."""
        for _ in range(READS):
            told = yield Call(tool, arguments)
            self.now = parse_instant(told.t)
            if told.value:
                return told.value
            yield Call("wait", {"seconds": retry_after(told)})
        raise Impatient(f"{tool} doesn't answer")

    def fitting(self) -> earliest.Rows:
        """Give the slots that would do instead of the wanted one, free or not."""
        return [row for row in super().fitting() if row["id"] != self.wanted]

    def can_be_had(self, slot: dict[str, Any]) -> bool:
        """Tell whether a slot has a free place."""
        return self.room(slot)

    def news(self, slot: dict[str, Any]) -> Part:
        """Wait for changes; gives the wanted slot as it is now known to be."""
        told = yield Call("slot_changes", {"wait": NEWS_SECONDS})
        self.now = parse_instant(told.t)
        if told.value:
            rows: earliest.Rows = told.value["slots"]
            return next((row for row in rows if row["id"] == self.wanted), slot)
        # The changes of an answer that didn't come aren't told a second time.
        return (yield from self.ask("get_slot", slot_id=self.wanted))

    def join(self) -> Generator[Action, Observation, bool]:
        """Stand in line, or take the place that has come free; tells whether it was taken."""
        told = yield Call("join_waitlist", {"slot_id": self.wanted})
        if told.value:
            self.line = told.value["id"]
            return False
        error: dict[str, Any] = told.results[0].get("error", {}) if told.results else {}
        if "id" in error:
            self.line = error["id"]
            return False
        if told.error == "conflict":
            return (yield from self.buy())
        if told.error != "slot_blocked":
            yield Call("wait", {"seconds": BUSY_SECONDS})
        return False

    def claim(self) -> Generator[Action, Observation, bool]:
        """Pay for a place that is kept for the customer; tells whether it is theirs."""
        told = yield from self.ask("list_bookings", customer_id=self.customer_id)
        for row in told["bookings"]:
            if row["slot_id"] == self.wanted and row["status"] == "pending":
                return (yield from paid(row))
        return False

    def buy(self) -> Generator[Action, Observation, bool]:
        """Hold, book and pay a place of the wanted slot; tells whether it is theirs."""
        hold_id = yield from hold(self.wanted, 1)
        if not hold_id:
            return False
        booking = yield from booked(hold_id)
        return not isinstance(booking, str) and (yield from paid(booking))

    def look_elsewhere(self) -> Play:
        """Take the best of what may be booked instead, or say that there is nothing."""
        if self.fallback:
            yield from self.learn()
            if (yield from self.get_one()):
                yield from self.done()
                return
        yield Call(
            "finish",
            {
                "message": "There was no place in time, nor anything else that will do.",
                "outcome": "impossible",
                # Without a place in line the provider went away before there could be one.
                "refs": [f"waitlist:{self.line}" if self.line else f"slots:{self.wanted}"],
            },
        )

    def done(self) -> Play:
        """Say that it is booked."""
        yield Call("finish", {"message": "It is booked and paid.", "outcome": "done"})
