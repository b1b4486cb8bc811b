"""Those who work on the contacts of one account: a vendor's import, a colleague, editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Operation, Population, Transaction, scaled
from simharness.models.crm.people.persistence import insist

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from simharness.api import Actor, Stream
    from simharness.models.crm.product import Crm

EDITORS = 1
"""At load 1; more with the load."""
FORM_SECONDS = 4
"""Longest time for which an editor keeps a form open; the row is locked meanwhile."""


def arrive(crm: Crm, who: str, after: int, fields: Mapping[str, object], subject: str) -> None:
    """Add a contact, and a mail to it, in one commit, `after` seconds from the start."""

    def act(op: Operation) -> Generator[Any, Any, None]:
        yield crm.database(op)
        tx = Transaction(op)
        key = tx.insert(crm.contacts.table, fields)
        mail = {"contact_id": key, "template": "nurture", "subject": subject, "at": crm.instant}
        tx.insert(crm.emails.table, mail)
        tx.commit()

    later(crm, who, 0, after, act)


def later(
    crm: Crm,
    who: str,
    identity: int,
    after: int,
    act: Callable[[Operation], Generator[Any, Any, None]],
) -> None:
    """Let somebody act `after` seconds from the start, again and again until it is done."""
    world = crm.world

    def wait() -> Generator[Any, Any, None]:
        yield world.timer(after * SECOND)
        yield from insist(world, who, identity, act)

    world.spawn(who, wait())


def start_editors(crm: Crm, contacts: Sequence[int], think_mean: int) -> None:
    """Start those who look through some contacts and confirm what the CRM says of them.

    They change no facts. While a form is open its row is locked.
    """
    editors = Population(crm.world, think_mean=think_mean, prefix="editor")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        key = draw.pick(contacts, "row")
        op = Operation(crm.world, actor, actor.next_n)
        actor.next_n += 1
        edit = yield from crm.contacts.edit(op, key)
        try:
            yield crm.world.pause(draw.between(1, FORM_SECONDS * SECOND, "form"))
            edit.check(None)  # where versions guard rows instead of locks, it may have changed
            tx = Transaction(op)
            edit.update(tx, {"role": edit.row.role})
            tx.commit()
        finally:
            edit.close()

    editors.grow(scaled(EDITORS, crm.load), lambda _: 0, habit)
