"""Customers, whose answers make the facts of a deal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Transaction
from simharness.models.crm.people.persistence import insist
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Change, Operation
    from simharness.models.crm.product import Crm


class Customers:
    """Those whose answers make the facts of one deal.

    Each fact is one transaction that also writes the deal row.
    """

    def __init__(self, crm: Crm, deal_id: int, story: Mapping[str, Any]) -> None:
        self.crm = crm
        self.deal_id = deal_id
        self.story = story
        self._answering = False
        crm.deals.table.listeners.append(self._hear)

    def start(self) -> None:
        """Start whatever happens without anybody asking."""
        story = self.story
        if self.crm.deals.table.rows[self.deal_id].legal == "in_review":
            self._ask_legal()
        if story["champion"] == "leaves":
            self._later("champion", story["champion_at"], self._champion_leaves)
        if story["budget"] == "goes":
            self._later("budget", story["budget_at"], self._budget_goes)

    def _hear(self, change: Change) -> None:
        new = change.new if change.key == self.deal_id else None
        if new is not None and new.legal == "in_review" and change.old.legal != "in_review":
            self._ask_legal()

    def _ask_legal(self) -> None:
        if not self._answering:
            self._answering = True
            self._later("legal", self.story["legal_after"], self._legal_answers)

    def _later(self, who: str, seconds: int, act: Any) -> None:
        world = self.crm.world

        def wait() -> Generator[Any, Any, None]:
            yield world.timer(seconds * SECOND)
            yield from insist(world, f"customer/{who}", 0, act)

        world.spawn(f"customer/{who}", wait())

    def _write(
        self, op: Operation, changes: dict[str, object], contact_left: bool = False
    ) -> Generator[Any, Any, None]:
        crm = self.crm
        edit = yield from crm.deals.edit(op, self.deal_id)
        try:
            if edit.row.stage not in OPEN_STAGES:
                return
            tx = Transaction(op)
            if contact_left:
                tx.update(crm.contacts.table, edit.row.champion_id or 0, {"status": "left"})
            edit.update(tx, changes)
            self.note(tx, changes)
            tx.commit()
        finally:
            edit.close()

    def note(self, tx: Transaction, changes: Mapping[str, object]) -> None:
        """Write down what a fact means, in the transaction that makes it so; here nothing."""

    def _legal_answers(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"legal": self.story["legal_answer"]})

    def _champion_leaves(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"next_step": "the champion has left"}, contact_left=True)

    def _budget_goes(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"budget": "gone"})
