"""What the agent has been shown of charges, and since when. Goals ask it.

Whoever answers a customer, or says how far a ticket is, before having looked at the money in
question has said it without a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Page
from simharness.models.helpdesk.tables import Charge, Entry, Refund

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.api import Answer, Operation
    from simharness.models.helpdesk.stores import HelpdeskStores


class Shown:
    """The charges that one agent was shown."""

    def __init__(self, desk: HelpdeskStores) -> None:
        self.desk = desk
        self.agent_id = 0
        """Whom the agent is signed in as; 0 before its first call."""
        self.since: dict[int, int] = {}
        """By charge, the last commit before the first answer that told of it or of a refund."""

    def heed(self, op: Operation, steps: Answer[Any]) -> Answer[Any]:
        """Make a call of the agent's, and take note of the charges in its answer."""
        self.agent_id = op.actor.identity
        answer = yield from steps
        for key in self._charges(answer):
            self.since.setdefault(key, self.desk.world.order)
        return answer

    def _charges(self, answer: Page[Any] | Charge | Refund | Entry) -> Iterator[int]:
        """Name the charges that an answer tells of."""
        row: Any
        for row in answer.rows if isinstance(answer, Page) else (answer,):
            if isinstance(row, Charge):
                yield row.id
            elif isinstance(row, Refund):
                yield row.charge_id
            elif isinstance(row, Entry):
                yield from self._charge_of(self.desk.row_name(row.ref))

    def _charge_of(self, ref: str) -> Iterator[int]:
        """Give the charge of `charges:1` or `refunds:1`."""
        table, _, number = ref.partition(":")
        refund = self.desk.refunds.true(int(number)) if table == "refunds" else None
        if refund is not None:
            yield refund.charge_id
        elif table == "charges":
            yield int(number)
