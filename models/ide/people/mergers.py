"""Those who move main and the branches: colleagues who merge, and the bot that rebases."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Population, Refused, Stream, scaled
from simharness.models.ide.people.names import colleague
from simharness.models.ide.people.team import push_note
from simharness.models.ide.repository.clone import MAIN

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from simharness.models.ide.product import Ide

MERGERS = 1
"""Colleagues who merge into main, at load 1; more with the load."""
FIRST = 400
"""Number of the first of them: none of the team's."""
AT_ONCE = 2
"""Branches that the bot puts on top of main in one round."""


def start_mergers(ide: Ide) -> None:
    """Start those who write a note and merge it into main, as `users.merging` says."""
    pause: int = ide.settings.values["users.merging"]
    if not pause:
        return
    mergers = Population(ide.world, think_mean=pause, prefix="merger")

    def habit(actor: Actor, draw: Stream) -> Generator[Any, Any, None]:
        yield from push_note(ide, actor, draw)
        branch = colleague(actor.identity).branch
        yield from ide.perform(actor, "repo.merge", {"branch": branch})

    mergers.grow(scaled(MERGERS, ide.load), lambda k: FIRST + k, habit)


def start_bot(ide: Ide) -> None:
    """Start the bot that puts branches on top of main, as `users.bot` says; none at load 0."""
    pause: int = ide.settings.values["users.bot"]
    if pause and ide.load:
        ide.world.spawn("rebase-bot", rebase_all(ide, pause))


def rebase_all(ide: Ide, pause: int) -> Generator[Any, Any, None]:
    """Put the branches that main has moved away from on top of it, a few at a time."""
    actor = Actor(ide.world, "rebase-bot", 0)
    while True:
        yield ide.world.timer(pause)
        for branch in list(islice(behind(ide), AT_ONCE)):
            try:
                yield from ide.perform(actor, "repo.rebase", {"branch": branch})
            except Refused:
                continue  # somebody was faster, or it clashes: that is for its owner to settle


def behind(ide: Ide) -> Iterator[str]:
    """Give the branches that don't stand on top of main, those first that moved longest ago."""
    main = ide.main_rev
    for row in sorted(ide.branches.table, key=lambda row: (row.updated_at, row.id)):
        if row.title != MAIN and not ide.history.is_ancestor(main, row.rev):
            yield row.title
