"""Everybody who is around when an agent has a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.people.mergers import start_bot, start_mergers
from simharness.models.ide.people.team import start_team
from simharness.models.ide.people.visitors import start_visitors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.models.ide.product import Ide


def start_people(ide: Ide, paths: Sequence[str]) -> None:
    """Start the team, those who merge, the bot, and those who visit some of the agent's files."""
    start_team(ide)
    start_mergers(ide)
    start_bot(ide)
    start_visitors(ide, paths)
