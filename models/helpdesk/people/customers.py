"""Customers, who write into their tickets, and once more when nobody answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, SECOND, Actor, Population, Stream, later, scaled
from simharness.models.helpdesk.base import CUSTOMERS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.models.helpdesk.product import Helpdesk

WRITERS = 4
"""Customers who write, at load 1; more with the load."""
BURST = 300_000
"""How many, in millionths, write twice at once."""
MAIL = 150_000
"""How many write a mail of its own instead of going on with a thread."""
WORDS = ("Any news?", "Please hurry.", "I am still waiting.", "One more thing.", "Thank you!")


def start_customers(desk: Helpdesk) -> None:
    """Start customers of the base who write now and then, as `users.writing` says."""
    if not desk.settings.values["users.writing"]:
        return
    writers = Population(desk.world, think_mean=0, prefix="customer")
    desk.settings.bind("users.writing", writers, "think_mean")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        own = [t.id for t in desk.tickets.table if t.customer_id == -actor.identity]
        for n in range(2 if draw.chance(BURST, "burst") else 1):
            body = draw.pick(WORDS, "word", n)
            if draw.chance(MAIL, "mail") or not own:
                mail = {"subject": "A question about my bill", "body": body}
                yield from desk.perform(actor, "customer.email", mail)
            else:
                # The operation takes ids as people write them.
                ticket_id = f"TK-{draw.pick(own, 'row')}"
                yield from desk.perform(
                    actor, "customer.write", {"ticket_id": ticket_id, "body": body}
                )

    writers.grow(scaled(WRITERS, desk.load), lambda k: -(1 + k * 7 % CUSTOMERS), habit)


def write_later(desk: Helpdesk, who: str, ms: int, ticket_id: int, body: str) -> None:
    """Let the customer of a ticket write into it some milliseconds from now."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.perform(
            actor, "customer.write", {"ticket_id": f"TK-{ticket_id}", "body": body}
        )

    later(desk.world, who, -desk.tickets.table.rows[ticket_id].customer_id, ms * MS, act)


def mail_later(
    desk: Helpdesk, who: str, ms: int, customer_id: int, subject: str, body: str
) -> None:
    """Let a customer write a mail some milliseconds from now."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.perform(actor, "customer.email", {"subject": subject, "body": body})

    later(desk.world, who, -customer_id, ms * MS, act)


def lose_patience(
    desk: Helpdesk, ticket_id: int, seconds: int, then: Callable[[], None] | None = None
) -> None:
    """Let a customer write again when nobody has answered in public after some seconds.

    And once more after as long again; whoever isn't answered then either loses patience, and does
    what `then` says.
    """
    world = desk.world
    actor = Actor(world, f"patience/{ticket_id}", -desk.tickets.table.rows[ticket_id].customer_id)

    def live() -> Generator[Any, Any, None]:
        for body in ("Is anybody there?", "This is the third time that I write."):
            yield world.timer(seconds * SECOND)
            if answered(desk, ticket_id):
                return
            yield from desk.perform(
                actor, "customer.write", {"ticket_id": f"TK-{ticket_id}", "body": body}
            )
        yield world.timer(seconds * SECOND)
        if then is not None and not answered(desk, ticket_id):
            then()

    world.spawn(actor.name, live())


def answered(desk: Helpdesk, ticket_id: int) -> bool:
    """Tell whether anybody has answered in public since the start, in whichever ticket goes on."""
    ticket = desk.tickets.true(ticket_id)
    key = desk.live(ticket).id if ticket is not None else ticket_id
    return any(
        change.old is None
        and change.new.public
        and change.new.author.startswith("agents:")
        and desk.messages.table.rows[change.key].ticket_id == key
        for change in desk.messages.table.changes
    )
