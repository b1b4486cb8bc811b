"""Colleagues who keep their own deals in order, and bring in others, while an agent does so too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Operation, Population, Stream, Transaction, scaled
from simharness.models.crm.people.persistence import insist
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Deal

DESK_PAUSE = 400 * SECOND
"""Mean time between two of a desk's visits to the deals. At load 8 there is one about every 50 s:
most who work through some deals find that one has changed, and few writes are refused."""


def start_desks(crm: Crm, deals: Sequence[int]) -> None:
    """Start those who now and then keep one of some deals locked, and change its amount."""
    desks = Population(crm.world, think_mean=DESK_PAUSE, prefix="desk")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        deal_id = draw.pick(deals, "row")
        op = Operation(crm.world, actor, actor.next_n)
        edit = yield from crm.deals.edit(op, deal_id)
        try:
            yield crm.world.timer(draw.between(3, 9, "value") * SECOND)
            if edit.row.stage not in OPEN_STAGES:
                return
            tx = Transaction(op)
            edit.update(tx, {"amount": edit.row.amount + 100_00})
            tx.commit()
        finally:
            edit.close()

    desks.grow(scaled(1, crm.load), lambda _: 0, habit)


def change_later(
    crm: Crm,
    who: str,
    seconds: int,
    deal_id: int,
    changes: Mapping[str, object],
    still: Callable[[Deal], bool],
) -> None:
    """Let somebody change a deal after some seconds, if by then it is `still` as expected."""

    def act(op: Operation) -> Generator[Any, Any, None]:
        edit = yield from crm.deals.edit(op, deal_id)
        try:
            if still(edit.row):
                tx = Transaction(op)
                edit.update(tx, dict(changes))
                tx.commit()
        finally:
            edit.close()

    _later(crm, who, seconds, act)


def add_later(crm: Crm, who: str, seconds: int, fields: Mapping[str, object]) -> None:
    """Let somebody bring in a deal after some seconds."""

    def act(op: Operation) -> Generator[Any, Any, None]:
        yield crm.database(op)
        tx = Transaction(op)
        tx.insert(crm.deals.table, dict(fields))
        tx.commit()

    _later(crm, who, seconds, act)


def hand_account_later(crm: Crm, who: str, seconds: int, account_id: int, owner_id: int) -> None:
    """Let an account get another owner after some seconds."""

    def act(op: Operation) -> Generator[Any, Any, None]:
        edit = yield from crm.accounts.edit(op, account_id)
        try:
            tx = Transaction(op)
            edit.update(tx, {"owner_id": owner_id})
            tx.commit()
        finally:
            edit.close()

    _later(crm, who, seconds, act)


def _later(
    crm: Crm, who: str, seconds: int, act: Callable[[Operation], Generator[Any, Any, None]]
) -> None:
    world = crm.world
    name = f"colleague/{who}"

    def wait() -> Generator[Any, Any, None]:
        yield world.timer(seconds * SECOND)
        yield from insist(world, name, 0, act)

    world.spawn(name, wait())
