"""Customers who change their minds about discount and amount, and whose words are noted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.crm.people.customers import Customers
from simharness.models.crm.people.notes import add_note

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Operation, Transaction


class Buyers(Customers):
    """Answer as customers do, leave a note on the deal, and may ask for something else.

    The story's `change` is none, to_free or to_over (another discount: `changed_pct`), or amount
    (`changed_amount`), after `change_at` seconds.
    """

    def start(self) -> None:
        """Start whatever happens without anybody asking."""
        super().start()
        if self.story["change"] != "none":
            self._later("change", self.story["change_at"], self._asks_for_another)

    def note(self, tx: Transaction, changes: Mapping[str, object]) -> None:
        """Note a fact on the deal."""
        for column, body in SAID.items():
            if column in changes:
                text = body.format(changes[column])
                add_note(self.crm, tx, self.deal_id, SUBJECTS.get(column, column), text)

    def _asks_for_another(self, op: Operation) -> Generator[Any, Any, None]:
        story = self.story
        if story["change"] == "amount":
            yield from self._write(op, {"amount": story["changed_amount"]})
        else:
            # An approval is for one discount.
            percent = story["changed_pct"]
            yield from self._write(op, {"discount_pct": percent, "approval": "none"})


SUBJECTS = {"discount_pct": "discount"}
"""Subject of a note about a column that isn't called so itself."""

SAID = {
    "budget": "The customer has no budget any more: {}.",
    "legal": "Legal's answer: {}.",
    "discount_pct": "The customer asks for {} percent now.",
    "amount": "The order has changed; the amount is {} now.",
}
"""What a note says, by column."""
