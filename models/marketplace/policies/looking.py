"""How the references look for what is wished for, try the best of it, and look again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Call, parse_instant
from simharness.models.marketplace.policies.asking import Impatient, complete_to, unknown
from simharness.models.marketplace.policies.paying import lapse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Observation
    from simharness.models.marketplace.policies.asking import Part, Play

POLL_SECONDS = 15
"""Pause between two looks for places that others may give back."""


class Looker:
    """Takes the best of what a search shows, until it has one or there is no time left."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.brief = brief
        self.until = parse_instant(brief["until"])
        self.near = parse_instant(brief["near"])
        self.refused: dict[tuple[int, ...], int] = {}
        """Slots that were refused, alone or together, with the instant."""
        self.now = 0
        """What the last answer said that it is."""

    def play(self) -> Play:
        """Do the task and finish."""
        try:
            outcome = yield from self.work()
        except Impatient as reason:
            yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
            return
        refs = [f"slots:{key}" for key in self.grounds()] if outcome == "impossible" else []
        yield Call("finish", {"message": self.message(outcome), "outcome": outcome, "refs": refs})

    def work(self) -> Part:
        """Give the outcome."""
        yield from self.learn()
        while True:
            late = self.now >= self.until
            choices = yield from self.search()
            if choices:
                if (yield from self.take(choices[0])):
                    return "done"
            elif late:
                return "impossible"
            else:
                left = max(1, -(-(self.until - self.now) // SECOND))
                yield from self.call("wait", seconds=min(POLL_SECONDS, left))

    # --- what each task has its own way to do -----------------------------------------------------

    def learn(self) -> Play:
        """Find out what there is."""
        raise NotImplementedError

    def search(self) -> Part:
        """Give the choices that there are, the best first."""
        raise NotImplementedError

    def take(self, choice: Any) -> Part:
        """Try to get a choice; tells whether the customer has it."""
        raise NotImplementedError

    def message(self, outcome: str) -> str:
        """Say how it ended."""
        raise NotImplementedError

    def grounds(self) -> Sequence[int]:
        """Give the slots on which it rests that it is impossible."""
        raise NotImplementedError

    # --- looking ----------------------------------------------------------------------------------

    def call(self, tool: str, **arguments: Any) -> Part:
        """Make one call and look at the clock."""
        told = yield Call(tool, arguments)
        self.now = parse_instant(told.t)
        return told

    def free(self, service_id: int, needed: int, places: Mapping[int, int]) -> Part:
        """Search one service's slots for those that have enough places.

        Args:
            service_id: The service.
            needed: Places that are wanted.
            places: Providers that will do, each with its place in the request.

        Returns:
            The rows, each with the `place` of its provider, and the instant `as_of`.
        """
        rows: list[dict[str, Any]] = []
        page: int | None = 1
        while page is not None:
            told = yield from self.call(
                "search_slots",
                service_id=service_id,
                from_time=self.brief["from_time"],
                to_time=self.brief["to_time"],
                page=page,
            )
            if told.value:
                as_of = complete_to(told, told.value)
                rows += [{**row, "as_of": as_of} for row in told.value["slots"]]
                page = told.value["next_page"]
        return [
            {**row, "place": places[row["provider_id"]]}
            for row in rows
            if row["provider_id"] in places
            and row["capacity"] - row["taken"] >= needed
            and not row["blocked"]
            and self.may_be(row["as_of"], row["id"])
        ]

    def may_be(self, as_of: int, *slots: int) -> bool:
        """Tell whether slots weren't refused since an answer was complete: searches are behind."""
        return self.refused.get(slots, 0) < as_of

    def note(self, told: Observation, *slots: int) -> Play:
        """Remember what was refused, or may have been."""
        self.refused[slots] = parse_instant(told.t)
        if unknown(told):
            for slot_id in slots:
                yield from lapse(slot_id)
            yield from self.call("wait", seconds=1)
