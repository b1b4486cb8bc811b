"""The reference of ide/refactor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import asking
from simharness.models.ide.policies.working import begun, finished, handed_over, patched, suite
from simharness.models.ide.scenarios.reshaping import Shape
from simharness.models.ide.scenarios.task import ticket_of

if TYPE_CHECKING:
    from simharness.api import Task


def expert(task: Task) -> asking.Play:
    """See that all is well, give it another shape, see that it still is, hand it over."""
    ticket = ticket_of(task.brief)
    shape = Shape.of(ticket, task.brief["shape"], task.brief["word"])
    yield from begun()
    for name in shape.names:
        yield from asking.read("search_text", pattern=name)
    yield from patched(shape.applied(ticket.reference[shape.path]))
    yield from suite()
    yield from handed_over(task.brief, f"{shape.kind.title()} {' and '.join(shape.names)}")
    yield from finished("It does what it did, by its new name.")
