"""Managers who name the discount that would pass, and stand in for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.crm.people.managers import MANAGER, Managers
from simharness.models.crm.people.notes import add_note

if TYPE_CHECKING:
    from simharness.api import Transaction
    from simharness.models.crm.tables import ApprovalRequest

DEPUTY = MANAGER + 1
"""Who decides while the manager is away."""
AWAY_SECONDS = 120
"""How much longer it takes then."""


class Approvers(Managers):
    """Decide by what the deal is worth to them, and note each decision on the deal.

    The story's `answer` is approves (whatever is asked), rejects, or counters or counters_low (up
    to `counter_pct`, which a rejection names: in its row, or in the note about it, as `counter_by`
    says).
    """

    def answer_to(self, request: ApprovalRequest) -> tuple[int, str]:
        """Give after how many seconds, and how, a request for the deal is decided."""
        story = self.story
        seconds = story["approval_after"] + (AWAY_SECONDS if story["manager"] == "away" else 0)
        limits: dict[str, int] = {"approves": 100, "rejects": 0}
        limit = limits.get(story["answer"], int(story["counter_pct"]))
        return seconds, "approved" if request.discount_pct <= limit else "rejected"

    def decision(self, request: ApprovalRequest, answer: str) -> dict[str, object]:
        """Give the columns of a request that its decision sets."""
        columns: dict[str, object] = {"status": answer, "decided_by": self.decider}
        if answer == "rejected" and self.counter is not None and self.story["counter_by"] == "row":
            columns["counter_pct"] = self.counter
        return columns

    def note(self, tx: Transaction, request: ApprovalRequest, answer: str) -> None:
        """Note a decision on its deal."""
        counter = self.counter if answer == "rejected" else None
        said = counter if self.story["counter_by"] == "note" else None
        body = decision_text(answer, request.discount_pct, said)
        if self.story["manager"] == "away":
            body += f" Decided for user {MANAGER}, who is away."
        add_note(self.crm, tx, request.deal_id, f"approval {request.id}", body, self.decider)

    @property
    def decider(self) -> int:
        """Who decides."""
        return DEPUTY if self.story["manager"] == "away" else MANAGER

    @property
    def counter(self) -> int | None:
        """The discount that a rejection names."""
        return self.story["counter_pct"] if counters(self.story["answer"]) else None


def counters(answer: str) -> bool:
    """Tell whether managers who answer so name a discount that would pass."""
    return answer.startswith("counters")


def decision_text(answer: str, percent: int, counter: int | None) -> str:
    """Say how a request was decided, in words."""
    text = f"{answer} at {percent} percent."
    return text if counter is None else f"{text} At most {counter} percent would pass."
