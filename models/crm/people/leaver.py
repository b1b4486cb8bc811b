"""Somebody who leaves, and the colleagues who work on that book of deals until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, SECOND, Actor, Operation, Population, Refused, Transaction, scaled
from simharness.models.crm.base import NEXT_STEPS
from simharness.models.crm.people.persistence import PAUSE, TRIES
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.succession import SIGNED_OFF

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from simharness.api import Stream
    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Deal

    Steps = Generator[Any, Any, Any]
    Act = Callable[[Actor], Steps]

LOOK_SECONDS = 10
"""Pause between two looks of the leaver at what is left of the own book."""
LATE_SECONDS = 4
"""Pause of the leaver between the last acts."""

STEPS: Mapping[str, str] = {
    "prospecting": "qualification",
    "qualification": "proposal",
    "proposal": "negotiation",
    "negotiation": "proposal",
}
"""Where a colleague moves a deal of a stage."""

DESKS = 1
"""At load 1; more with the load."""
DESK_THINK = 40 * SECOND
FORM_SECONDS = 4
"""Longest time for which the pricing desk keeps a form open; the deal is locked meanwhile."""


class Leaver:
    """Runs what happens to a book until its owner signs off; the last act is a note.

    Each act is tried until it is done. The leaver signs off after all of them.
    """

    def __init__(self, crm: Crm, leaver: int) -> None:
        self.crm = crm
        self.leaver = leaver
        self._under_way = 0

    def later(self, who: str, identity: int, after: int, act: Act) -> None:
        """Let somebody act `after` ticks from the start."""
        world = self.crm.world
        self._under_way += 1

        def run() -> Steps:
            yield world.timer(after)
            yield from self._insist(Actor(world, who, identity), act)
            self._under_way -= 1

        world.spawn(who, run())

    def sign_off(
        self, deal_id: int, after: int, *, once_empty: bool, late: Sequence[Act] = ()
    ) -> None:
        """Let the leaver do the `late` acts and sign off with a note on a deal.

        That is `after` ticks from the start, or with `once_empty` some time later, when the leaver
        finds no open deal in the own book.
        """
        world = self.crm.world
        actor = Actor(world, "leaver", self.leaver)

        def note(actor: Actor) -> Steps:
            text = "That was my last act here."
            yield from self.crm.request(
                actor, "log_activity", deal_id=deal_id, kind="note", subject=SIGNED_OFF, body=text
            )

        def run() -> Steps:
            yield world.timer(after)
            while self._under_way or (once_empty and not (yield from self._is_empty(actor))):
                yield world.timer(LOOK_SECONDS * SECOND if once_empty else 500 * MS)
            for act in late:
                yield from self._insist(actor, act)
                yield world.timer(LATE_SECONDS * SECOND)
            yield from self._insist(actor, note)

        world.spawn("leaver", run())

    def _is_empty(self, actor: Actor) -> Steps:
        try:
            told = yield from self.crm.request(actor, "list_deals", owner_id=self.leaver)
        except Refused:
            return False
        return not any(deal.stage in OPEN_STAGES for deal in told.rows)

    def _insist(self, actor: Actor, act: Act) -> Steps:
        for _ in range(TRIES):
            try:
                yield from act(actor)
            except Refused:
                yield self.crm.world.pause(PAUSE)
            else:
                return

    # --- the acts ---------------------------------------------------------------------------------

    def makes(self, account_id: int, title: str, amount: int, stage: str) -> Act:
        """Make a deal, owned by who acts."""

        def act(actor: Actor) -> Steps:
            yield from self.crm.request(
                actor,
                "create_deal",
                account_id=account_id,
                title=title,
                amount=amount,
                currency="USD",
                stage=stage,
            )

        return act

    def takes_over(self, deal_id: int, *, from_leaver: bool) -> Act:
        """Take a deal over; from the leaver only while it is the leaver's."""

        def act(actor: Actor) -> Steps:
            deal = yield from self._open_deal(actor, deal_id)
            if deal is not None and (not from_leaver or deal.owner_id == self.leaver):
                yield from self._update(actor, deal, {"owner_id": actor.identity})

        return act

    def loses(self, deal_id: int) -> Act:
        """Close a deal as lost, while it is the leaver's."""

        def act(actor: Actor) -> Steps:
            deal = yield from self._open_deal(actor, deal_id)
            if deal is None or deal.owner_id != self.leaver:
                return
            changed = yield from self._update(actor, deal, {"lost_reason": "competitor"})
            yield from self.crm.request(
                actor,
                "move_stage",
                deal_id=deal_id,
                to_stage="closed_lost",
                if_version=changed.version,
            )

        return act

    def reprices(self, deal_id: int, amount: int) -> Act:
        """Correct the amount of a deal, whoever owns it."""

        def act(actor: Actor) -> Steps:
            deal = yield from self._open_deal(actor, deal_id)
            if deal is not None:
                yield from self._update(actor, deal, {"amount": amount})

        return act

    def moves(self, deal_id: int) -> Act:
        """Move a deal a stage on, or back from negotiation, whoever owns it."""

        def act(actor: Actor) -> Steps:
            deal = yield from self._open_deal(actor, deal_id)
            if deal is not None:
                yield from self.crm.request(
                    actor,
                    "move_stage",
                    deal_id=deal_id,
                    to_stage=STEPS[deal.stage],
                    if_version=deal.version,
                )

        return act

    def calls(self, tool: str, **arguments: Any) -> Act:
        """Make one call."""

        def act(actor: Actor) -> Steps:
            yield from self.crm.request(actor, tool, **arguments)

        return act

    def _open_deal(self, actor: Actor, deal_id: int) -> Steps:
        deal: Deal = yield from self.crm.request(actor, "get_deal", deal_id=deal_id)
        return deal if deal.stage in OPEN_STAGES else None

    def _update(self, actor: Actor, deal: Deal, fields: dict[str, object]) -> Steps:
        return (
            yield from self.crm.request(
                actor, "update_deal", deal_id=deal.id, fields=fields, if_version=deal.version
            )
        )


def start_desk(crm: Crm, deals: Sequence[int]) -> None:
    """Start the pricing desk, which goes through some deals and plans their next steps.

    It changes no other facts. While a form is open its deal is locked.
    """
    desk = Population(crm.world, think_mean=DESK_THINK, prefix="desk")

    def habit(actor: Actor, draw: Stream) -> Steps:
        key = draw.pick(deals, "row")
        op = Operation(crm.world, actor, actor.next_n)
        actor.next_n += 1
        edit = yield from crm.deals.edit(op, key)
        try:
            yield crm.world.pause(draw.between(1, FORM_SECONDS * SECOND, "form"))
            edit.check(None)  # without a lock somebody may have written the deal meanwhile
            if edit.row.stage in OPEN_STAGES:
                tx = Transaction(op)
                edit.update(tx, {"next_step": draw.pick(NEXT_STEPS, "value")})
                tx.commit()
        finally:
            edit.close()

    desk.grow(scaled(DESKS, crm.load), lambda _: 0, habit)
