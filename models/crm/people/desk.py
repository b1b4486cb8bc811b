"""The deal desk: colleagues who keep the papers of the very deal that the agent works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Stream, Transaction
from simharness.models.crm.people.notes import add_note
from simharness.models.crm.people.persistence import insist
from simharness.models.crm.rules import DISCOUNT_FREE, OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Change, Operation
    from simharness.models.crm.product import Crm

FILED = 500_000
"""Chance in millionths that a clerk files a quote while it is fresh."""
FILE_SECONDS = (1, 8)
"""After how long."""


class Desk:
    """Clerks who file the deal's quotes, and may ask for an approval themselves.

    The story's `colleague` says whether one of them asks, after `colleague_at` seconds.
    """

    def __init__(self, crm: Crm, deal_id: int, story: Mapping[str, Any]) -> None:
        self.crm = crm
        self.deal_id = deal_id
        self.story = story

    def start(self) -> None:
        """Start the clerks; none at load 0."""
        crm = self.crm
        if not crm.load:
            return
        crm.quotes.table.listeners.append(self._hear_quote)
        if self.story["colleague"] == "asks":
            crm.world.spawn("colleague", self._ask_later())

    # --- quotes -----------------------------------------------------------------------------------

    def _hear_quote(self, change: Change) -> None:
        if change.old is not None or change.new.deal_id != self.deal_id:
            return
        world = self.crm.world
        name = f"filing/{change.key}"
        draw = Stream(world.draws, name, 0)
        if not draw.chance(FILED, "choice"):
            return
        wait = draw.between(*FILE_SECONDS, "wait") * SECOND

        def act(op: Operation) -> Generator[Any, Any, None]:
            yield from self._write(op, {"next_step": f"quote {change.key} is out"})

        def file() -> Generator[Any, Any, None]:
            yield world.timer(wait)
            yield from insist(world, name, 0, act)

        world.spawn(name, file())

    def _write(self, op: Operation, changes: dict[str, object]) -> Generator[Any, Any, None]:
        edit = yield from self.crm.deals.edit(op, self.deal_id)
        try:
            if edit.row.stage in OPEN_STAGES:
                tx = Transaction(op)
                edit.update(tx, changes)
                tx.commit()
        finally:
            edit.close()

    # --- approvals --------------------------------------------------------------------------------

    def _ask_later(self) -> Generator[Any, Any, None]:
        world = self.crm.world
        yield world.timer(self.story["colleague_at"] * SECOND)
        yield from insist(world, "colleague", 0, self._ask)

    def _ask(self, op: Operation) -> Generator[Any, Any, None]:
        """Ask for the approval that the deal needs, if nobody has asked yet."""
        crm = self.crm
        edit = yield from crm.deals.edit(op, self.deal_id)
        try:
            deal = edit.row
            if (
                deal.stage not in OPEN_STAGES
                or deal.approval != "none"
                or deal.discount_pct <= DISCOUNT_FREE
            ):
                return
            tx = Transaction(op)
            fields = {"deal_id": deal.id, "discount_pct": deal.discount_pct}
            request = tx.insert(crm.approvals.table, fields)
            edit.update(tx, {"approval": "pending"})
            body = request_text(deal.discount_pct)
            add_note(crm, tx, deal.id, f"approval {request}", body, deal.owner_id or 0)
            tx.commit()
        finally:
            edit.close()


def request_text(percent: int) -> str:
    """Say in words what a request asks for."""
    return f"requested at {percent} percent."
