"""The reference of ide/fix: it has the patch from the generator, and the tools of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.policies.working import begun, finished, handed_over, patched, suite
from simharness.models.ide.scenarios.task import ticket_of

if TYPE_CHECKING:
    from simharness.api import Task, asking


def expert(task: Task) -> asking.Play:
    """Read the ticket, see what fails, mend it, see that nothing does, hand it over."""
    ticket = ticket_of(task.brief)
    yield from begun()
    yield from patched(ticket.reference)
    yield from suite()
    yield from handed_over(task.brief, ticket.title)
    yield from finished("It does what the docstring says now.")
