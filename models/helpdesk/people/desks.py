"""Colleagues who look into the tickets of a queue, and who get in the way of it on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Population, Stream, later, scaled
from simharness.models.helpdesk.people.rivals import tag

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.models.helpdesk.product import Helpdesk

LOOKERS = 1
"""Of those who look into some tickets, at load 1; more with the load."""
LOOK_PAUSE = 60 * SECOND
"""Mean pause of each of them: at load 8 there is a visit every 8 s or so, of some seconds, to one
of the tickets. Most who see to several of them find that one has changed or is locked."""


def start_lookers(desk: Helpdesk, tickets: Sequence[int]) -> None:
    """Start those who open the form of one of some tickets, or of what it was merged into.

    They leave it with another tag, and take nothing away.
    """
    lookers = Population(desk.world, think_mean=LOOK_PAUSE, prefix="looker")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        ticket = desk.tickets.true(draw.pick(tickets, "row"))
        if ticket is not None:
            yield from tag(desk, actor, desk.live(ticket).id, draw)

    lookers.grow(scaled(LOOKERS, desk.load), lambda _: 0, habit)


def act_later(
    desk: Helpdesk, who: str, agent_id: int, seconds: int, tool: str, **arguments: Any
) -> None:
    """Let a colleague make one call some seconds from now, if it isn't refused then."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.request(actor, tool, **arguments)

    later(desk.world, who, agent_id, seconds * SECOND, act)


def raise_later(desk: Helpdesk, who: str, agent_id: int, seconds: int, ticket_id: int) -> None:
    """Let a colleague make a ticket urgent some seconds from now, unless it is closed."""
    fields = {"priority": "urgent"}
    act_later(desk, who, agent_id, seconds, "update_ticket", ticket_id=ticket_id, fields=fields)
