"""Colleagues who are busy with the very ticket that the agent has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import (
    MS,
    SECOND,
    Actor,
    Operation,
    Population,
    Refused,
    Stream,
    Transaction,
    later,
    scaled,
)
from simharness.models.helpdesk.base import AGENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from simharness.models.helpdesk.product import Helpdesk

CROWD = 1
"""Of those who look into some tickets, at load 1; more with the load."""
CROWD_PAUSE = 200 * SECOND
"""Mean pause of each of them: at load 8 somebody comes by every 25 s, which is often enough that
many find the ticket taken or changed, and seldom enough that a second try gets through."""
KEEP_SECONDS = (3, 8)
"""For how long one of them keeps a ticket that is free."""
FORM_SECONDS = (2, 5)
"""For how long one of them has the form of another's ticket open."""
TAGS = ("billing", "checked", "vip", "phone")


def start_crowd(desk: Helpdesk, tickets: Sequence[int], *, away: Collection[int] = ()) -> None:
    """Start those who claim one of some tickets and give it back; of one taken they change a tag.

    Tickets that were merged they follow. None of them is signed in as those who are `away`.
    """
    agents = [agent for agent in range(1, len(AGENTS) + 1) if agent not in away]
    crowd = Population(desk.world, think_mean=CROWD_PAUSE, prefix="crowd")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        first = desk.tickets.true(draw.pick(tickets, "row"))
        ticket_id = desk.live(first).id if first is not None else 0
        try:
            yield from desk.request(actor, "claim_ticket", ticket_id=ticket_id)
        except Refused:
            yield from tag(desk, actor, ticket_id, draw)
            return
        yield desk.world.timer(draw.between(*KEEP_SECONDS, "value") * SECOND)
        yield from desk.request(actor, "release_ticket", ticket_id=ticket_id)

    crowd.grow(scaled(CROWD, desk.load), lambda k: agents[(k - 1) % len(agents)], habit)


def tag(desk: Helpdesk, actor: Actor, ticket_id: int, draw: Stream) -> Generator[Any, Any, None]:
    """Open the form of a ticket, and leave it with another tag."""
    op = Operation(desk.world, actor, actor.next_n)
    actor.next_n += 1
    edit = yield from desk.tickets.edit(op, ticket_id)
    try:
        yield desk.world.timer(draw.between(*FORM_SECONDS, "form") * SECOND)
        if edit.row.status != "closed":
            tags = (*(t for t in edit.row.tags if t not in TAGS), draw.pick(TAGS, "tag"))
            tx = Transaction(op)
            edit.update(tx, {"tags": tags})
            tx.commit()
    finally:
        edit.close()


def merge_later(
    desk: Helpdesk, who: str, agent_id: int, ms: int, source_id: int, target_id: int
) -> None:
    """Let a colleague merge one ticket into another some milliseconds from now."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.request(actor, "merge_tickets", source_id=source_id, target_id=target_id)

    later(desk.world, who, agent_id, ms * MS, act)


def pay_back_later(desk: Helpdesk, who: str, agent_id: int, ms: int, charge_id: int) -> None:
    """Let a colleague pay all that is left of a charge back some milliseconds from now."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.request(actor, "refund", charge_id=charge_id, reason="paid twice")

    later(desk.world, who, agent_id, ms * MS, act)
