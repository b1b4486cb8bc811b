"""Colleagues who change the very files that the agent works on, at an instant of the scenario's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MS, later
from simharness.models.ide.people.names import colleague
from simharness.models.ide.repository.clone import MAIN

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
    author = colleague(k).author

    def act(actor: Actor) -> Generator[Any, Any, None]:
        key = ide.branches.table.taken_by("title", branch)
        rev = ide.main_rev if key is None else ide.branches.table.rows[key].rev
        files = {path: file.text for path, file in ide.history[rev].tree.items()}
        changed = change(files)
        if changed:
            yield from ide.perform(
                actor,
                "repo.push",
                {
                    "branch": branch,
                    "files": dict(changed),
                    "message": message,
                    "author": author,
                },
            )

    later(ide.world, who, k, ms * MS, act)
