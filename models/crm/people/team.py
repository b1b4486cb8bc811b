"""Reps with books of their own, some of them busy on the agent's deal."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Population, Stream, scaled
from simharness.models.crm.base import CONTACTS_EACH, DEALS, NEXT_STEPS, REPS
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from simharness.models.crm.product import Crm

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


def start_team(
    crm: Crm, busy_deal: int | None, *, spared: Collection[int] = (), away: int = 0
) -> None:
    """Start the reps, all but the one who is `away`.

    Now and then one of them works on `busy_deal`, the agent's, without changing its facts. They
    plan no next step of the deals that are spared.
    """
    left_alone = frozenset(spared)
    reps = [rep for rep in range(1, REPS + 1) if rep != away]
    size: int = crm.settings.values["users.team"]
    number = scaled(size, crm.load) if size else 0
    team = Population(crm.world, think_mean=0)
    crm.settings.bind("users.think", team, "think_mean")

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
            if what == "touch the busy deal" and busy_deal is not None:
                deal = busy_deal
            else:
                while deal == busy_deal or deal in left_alone:
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

    team.grow(number, lambda k: reps[(k - 1) % len(reps)], habit)
