"""The timer that raises tickets which wait too long, and the bank that settles old refunds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import HOUR, SECOND, Actor, Operation, Refused, Stream, Transaction
from simharness.models.helpdesk.base import ORDERS
from simharness.models.helpdesk.rules import PRIORITIES

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Ticket

WAITED = HOUR
"""Time without a public answer after which a ticket is late."""
AT_ONCE = 2
"""Tickets that the timer raises in one round."""
LATE = "sla"
"""Tag of a ticket that it has raised."""
WAITING = ("new", "open")
FAILS = 250_000
"""How many refunds, in millionths, come to nothing after all."""
SETTLES = (5, 600)
"""When a refund of the start comes to its end, in seconds."""


def start_machines(desk: Helpdesk) -> None:
    """Start them, as `users.sla` and `users.bank` say; none at load 0."""
    values = desk.settings.values
    pause: int = values["users.sla"]
    if desk.load and pause:
        desk.world.spawn("sla-timer", watch(desk, pause))
    if desk.load and values["users.bank"]:
        desk.world.spawn("bank", settle_all(desk))


def watch(desk: Helpdesk, pause: int) -> Generator[Any, Any, None]:
    """Raise the tickets that have waited longest, a few at a time, each of them once."""
    actor = Actor(desk.world, "sla-timer", 0)
    n = 0
    while True:
        yield desk.world.timer(pause)
        for ticket in sorted(late(desk), key=lambda t: (t.created_at, t.id))[:AT_ONCE]:
            n += 1
            try:
                yield from raise_ticket(desk, Operation(desk.world, actor, n), ticket.id)
            except Refused:
                continue  # somebody has it open; the next round looks again


def late(desk: Helpdesk) -> Iterator[Ticket]:
    """Give the tickets that wait too long and haven't been raised."""
    now = desk.world.instant
    for ticket in desk.tickets.table:
        waits = ticket.status in WAITING and now - ticket.created_at >= WAITED
        if waits and LATE not in ticket.tags:
            yield ticket


def raise_ticket(desk: Helpdesk, op: Operation, ticket_id: int) -> Generator[Any, Any, None]:
    """Give a ticket the next higher priority."""
    edit = yield from desk.tickets.edit(op, ticket_id)
    try:
        row = edit.row
        if row.status not in WAITING:
            return
        rank = min(PRIORITIES.index(row.priority) + 1, len(PRIORITIES) - 1)
        tx = Transaction(op)
        edit.update(tx, {"priority": PRIORITIES[rank], "tags": (*row.tags, LATE)})
        tx.commit()
    finally:
        edit.close()


def settle_all(desk: Helpdesk) -> Generator[Any, Any, None]:
    """Bring the refunds of the base that are pending to their ends, one after the other."""
    pending = [r.id for r in desk.refunds.table if r.status == "pending" and at_base(desk, r.id)]
    stream = Stream(desk.world.draws, "bank", 0)
    ends = [
        (stream.between(*SETTLES, "settles", key) * SECOND, key, stream.chance(FAILS, "fails", key))
        for key in pending
    ]
    actor = Actor(desk.world, "bank", 0)
    for ticks, key, fails in sorted(ends):
        yield desk.world.timer(max(0, ticks - desk.world.ticks))
        yield from settled(desk, actor, key, fails=fails)


def at_base(desk: Helpdesk, refund_id: int) -> bool:
    """Tell whether a refund is of an order of the base."""
    charge = desk.charges.true(desk.refunds.table.rows[refund_id].charge_id)
    return charge is not None and charge.order_id <= ORDERS


def settled(
    desk: Helpdesk, actor: Actor, refund_id: int, *, fails: bool
) -> Generator[Any, Any, None]:
    """Bring one refund to its end, unless somebody has."""
    status = "failed" if fails else "succeeded"
    try:
        yield from desk.perform(
            actor, "gateway.settle", {"ref": f"RF-{refund_id}", "status": status}
        )
    except Refused:
        return
