"""Who else works in the CRM.

Reps with books of their own, customers who answer, managers who decide.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Operation, Population, Stream, Transaction, scaled
from simharness.models.crm.base import CONTACTS_EACH, DEALS, NEXT_STEPS, REPS
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Change
    from simharness.models.crm.product import Crm

TEAM = 20
"""Background users at load 1."""
THINK_MEAN = 40 * SECOND
"""Mean pause of a background user between two things that it does."""

HABITS = (
    ("read a deal", 344),
    ("list a stage", 80),
    ("list a book", 40),
    ("read a contact", 150),
    ("plan the next step", 220),
    ("write a note", 80),
    ("look at the account", 80),
    ("touch the busy deal", 6),
)
"""What a rep does in a cycle, with its weight out of 1,000.

At load 8 the busy deal is touched about every 40 s: often enough that most who work on it see it
change, seldom enough that a second try gets through.
"""
_ENDS = tuple(accumulate(weight for _, weight in HABITS))
_STAGES = OPEN_STAGES


def start_team(crm: Crm, busy_deal: int) -> None:
    """Start the reps.

    Now and then one of them works on `busy_deal`, the agent's, without changing its facts.
    """
    number = scaled(TEAM, crm.load)
    team = Population(crm.world, think_mean=THINK_MEAN)

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        what = HABITS[draw.cumulative(_ENDS, "choice")][0]
        deal = 1 + draw.below(DEALS, "row")
        if what == "read a deal":
            yield from crm.request(actor, "get_deal", deal_id=deal)
        elif what == "list a stage":
            yield from crm.request(actor, "list_deals", stage=draw.pick(_STAGES, "value"))
        elif what == "list a book":
            yield from crm.request(actor, "list_deals", owner_id=actor.identity)
        elif what == "read a contact":
            contact = 1 + (deal - 1) % (24 * CONTACTS_EACH)
            yield from crm.request(actor, "get_contact", contact_id=contact)
        elif what == "write a note":
            yield from crm.request(actor, "add_note", deal_id=deal, body="spoke to them")
        elif what == "look at the account":
            yield from crm.request(actor, "get_account", account_id=1 + deal % 24)
        else:
            if what == "touch the busy deal":
                deal = busy_deal
            elif deal == busy_deal:
                deal = deal % DEALS + 1
            step = draw.pick(NEXT_STEPS, "value")
            row = yield from crm.request(actor, "get_deal", deal_id=deal)
            if row.stage in OPEN_STAGES:
                yield from crm.request(
                    actor,
                    "update_deal",
                    deal_id=deal,
                    fields={"next_step": step},
                    if_version=row.version,
                )

    team.grow(number, lambda k: 1 + (k - 1) % REPS, habit)


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
            yield from act(Operation(world, Actor(world, f"customer/{who}", 0), 1))

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
            tx.commit()
        finally:
            edit.close()

    def _legal_answers(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"legal": self.story["legal_answer"]})

    def _champion_leaves(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"next_step": "the champion has left"}, contact_left=True)

    def _budget_goes(self, op: Operation) -> Generator[Any, Any, None]:
        yield from self._write(op, {"budget": "gone"})


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
            seconds, answer = self.story["approval_after"], self.story["approval_answer"]
        else:
            draw = Stream(world.draws, name, 0)
            seconds, answer = (
                draw.between(20, 150, "value"),
                draw.pick(("approved", "rejected"), "choice"),
            )

        def decide() -> Generator[Any, Any, None]:
            yield world.timer(seconds * SECOND)
            crm = self.crm
            manager = REPS + 1
            op = Operation(world, Actor(world, name, manager), 1)
            edit = yield from crm.deals.edit(op, deal_id)
            try:
                tx = Transaction(op)
                tx.update(
                    crm.approvals.table, approval_id, {"status": answer, "decided_by": manager}
                )
                edit.update(tx, {"approval": answer})
                tx.commit()
            finally:
                edit.close()

        world.spawn(name, decide())
