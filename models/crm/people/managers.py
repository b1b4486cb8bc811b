"""Managers, who decide requests for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Stream, Transaction
from simharness.models.crm.base import REPS
from simharness.models.crm.people.persistence import insist
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Change, Operation
    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import ApprovalRequest

MANAGER = REPS + 1
"""Who decides."""


class Managers:
    """Decide every request for approval some time after it was made."""

    def __init__(self, crm: Crm, deal_id: int, story: Mapping[str, Any]) -> None:
        self.crm = crm
        self.deal_id = deal_id
        self.story = story
        crm.approvals.table.listeners.append(self._hear)

    def start(self) -> None:
        """Take up the requests that are pending at the start."""
        for row in self.crm.approvals.table:
            if row.status == "pending":
                self._decide_later(row.id, row.deal_id)

    def _hear(self, change: Change) -> None:
        if change.old is None:
            self._decide_later(change.key, change.new.deal_id)

    def _decide_later(self, approval_id: int, deal_id: int) -> None:
        world = self.crm.world
        name = f"manager/approval/{approval_id}"
        if deal_id == self.deal_id:
            seconds, answer = self.answer_to(self.crm.approvals.table.rows[approval_id])
        else:
            draw = Stream(world.draws, name, 0)
            seconds, answer = (
                draw.between(20, 150, "value"),
                draw.pick(("approved", "rejected"), "choice"),
            )

        def act(op: Operation) -> Generator[Any, Any, None]:
            yield from self._decide(op, approval_id, deal_id, answer)

        def decide() -> Generator[Any, Any, None]:
            yield world.timer(seconds * SECOND)
            yield from insist(world, name, MANAGER, act)

        world.spawn(name, decide())

    def answer_to(self, request: ApprovalRequest) -> tuple[int, str]:
        """Give after how many seconds, and how, a request for the deal is decided."""
        return self.story["approval_after"], self.story["approval_answer"]

    def decision(self, request: ApprovalRequest, answer: str) -> dict[str, object]:
        """Give the columns of a request that its decision sets."""
        return {"status": answer, "decided_by": MANAGER}

    def note(self, tx: Transaction, request: ApprovalRequest, answer: str) -> None:
        """Write down what a decision means, in its transaction; here nothing."""

    def _decide(
        self, op: Operation, approval_id: int, deal_id: int, answer: str
    ) -> Generator[Any, Any, None]:
        crm = self.crm
        edit = yield from crm.deals.edit(op, deal_id)
        try:
            deal = edit.row
            request = crm.approvals.table.rows[approval_id]
            tx = Transaction(op)
            tx.update(crm.approvals.table, approval_id, self.decision(request, answer))
            self.note(tx, request, answer)
            # An approval is for one discount, and nobody waits for it on a closed deal.
            awaited = deal.stage in OPEN_STAGES and deal.approval == "pending"
            if awaited and deal.discount_pct == request.discount_pct:
                edit.update(tx, {"approval": answer})
            tx.commit()
        finally:
            edit.close()
