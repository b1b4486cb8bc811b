"""Colleagues who have the agent's workspace open as well, and hold the files that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Actor, Operation, Population, Stream, scaled

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.models.ide.product import Ide

VISITORS = 1
"""Colleagues who look into the agent's files, at load 1; more with the load."""
HOLD_SECONDS = (2, 5)
"""For how long one of them holds a file: to comment on a line, nobody else can change it."""


def start_visitors(ide: Ide, paths: Sequence[str]) -> None:
    """Start those who hold one of some files now and then, as `users.sharing` says.

    They change nothing.
    """
    pause: int = ide.settings.values["users.sharing"]
    if not pause:
        return
    visitors = Population(ide.world, think_mean=pause, prefix="visitor")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        key = ide.files.table.taken_by("path", draw.pick(paths, "row"))
        if key is None:
            return
        op = Operation(ide.world, actor, actor.next_n)
        actor.next_n += 1
        edit = yield from ide.files.edit(op, key)
        try:
            yield ide.world.timer(draw.between(*HOLD_SECONDS, "form") * SECOND)
        finally:
            edit.close()

    visitors.grow(scaled(VISITORS, ide.load), lambda k: k, habit)
