"""Colleagues who change the very files that the agent works on, at an instant of the scenario's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, Refused, later
from simharness.models.ide.people.names import colleague
from simharness.models.ide.repository.clone import MAIN

POLL = 500 * MS
"""Pause between two looks whether something is due."""

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simharness.api import Actor
    from simharness.models.ide.product import Ide

    Change = Callable[[Mapping[str, str]], Mapping[str, str | None]]
    """Gives what becomes of which files, by path, from a branch's files as they are; None for a
    file that goes. Nothing for nothing to do."""


def push_later(
    ide: Ide,
    who: str,
    k: int,
    ms: int,
    change: Change,
    message: str,
    branch: str = MAIN,
) -> None:
    """Let the k-th colleague push a change of code to a branch some milliseconds from now."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from push(ide, actor, change, message, branch)

    later(ide.world, who, k, ms * MS, act)


def push_when(
    ide: Ide, who: str, k: int, due: Callable[[], bool], change: Change, message: str
) -> None:
    """Let the k-th colleague push a change of code to main as soon as it is due."""

    def act(actor: Actor) -> Generator[Any, Any, None]:
        while not due():
            yield ide.world.timer(POLL)
        yield from push(ide, actor, change, message, MAIN)

    later(ide.world, who, k, 0, act)


def push(
    ide: Ide, actor: Actor, change: Change, message: str, branch: str
) -> Generator[Any, Any, None]:
    """Push a change of code to a branch, on whatever others have just pushed there."""
    told: Any = None
    while told is None:
        key = ide.branches.table.taken_by("title", branch)
        rev = ide.main_rev if key is None else ide.branches.table.rows[key].rev
        changed = change({path: file.text for path, file in ide.history[rev].tree.items()})
        if not changed:
            return
        pushed = {
            "branch": branch,
            "files": dict(changed),
            "message": message,
            "author": colleague(actor.identity).author,
            "on": rev,
        }
        try:
            told = yield from ide.perform(actor, "repo.push", pushed)
        except Refused as refusal:
            if refusal.code != "conflict":
                raise
