"""What tasks about one ticket of a generator have in common."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import Criterion, Scenario, parse_instant
from simharness.models.ide.initial import Start, put
from simharness.models.ide.people.house import start_people
from simharness.models.ide.scenarios.delivery import CHANGES, LOG
from simharness.models.ide.tickets import FAMILIES, draw_ticket

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Drawing, Ending, Instance, Row
    from simharness.models.ide.initial import Entry
    from simharness.models.ide.product import Ide
    from simharness.models.ide.tickets import Ticket

NUMBER_MAX = 999_999
"""Of tickets in a family: its seed, which the prompt tells as the ticket's number."""


class TicketTask(Scenario["Ide"]):
    """A task about one ticket: a family and a number say all of it."""

    epoch = parse_instant("2026-03-02T09:00:00Z")
    honest: ClassVar[tuple[str, ...]] = ("trust-ci", "skim")
    families: ClassVar[Sequence[str]] = tuple(sorted(FAMILIES))

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give nothing: all rows are the instance's."""
        return {}

    def draw_ticket(self, drawing: Drawing) -> None:
        """Draw which ticket it is."""
        drawing.pick("family", self.families)
        drawing.between("number", 1, NUMBER_MAX)

    def start(self, product: Ide, instance: Instance) -> int:
        """Sign nobody in: there are no accounts."""
        return 0

    def people(self, product: Ide, instance: Instance) -> None:
        """Lay out the repository, and start everybody else."""
        # Not before now: a fault may say what of the history is there.
        put(product, self.layout(instance))
        self.start_others(product, instance)

    def layout(self, instance: Instance) -> Start:
        """Give what the repository holds at the start."""
        return start_of(ticket_of(instance))

    def start_others(self, product: Ide, instance: Instance) -> None:
        """Start everybody else; some of them look into the very files that have to be changed."""
        start_people(product, sorted(ticket_of(instance).reference))

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {"family": instance["family"], "number": instance["number"]}


@lru_cache(maxsize=16)
def known_ticket(family: str, number: int) -> Ticket:
    """Give a ticket; it is the same for everybody who asks, so don't change it."""
    return draw_ticket(family, number)


def ticket_of(facts: Mapping[str, Any]) -> Ticket:
    """Give the ticket that an instance or a brief means."""
    return known_ticket(facts["family"], facts["number"])


def path_of(ticket: Ticket) -> str:
    """Give the file that a ticket is about: the first that its reference changes."""
    return next(path for path in sorted(ticket.reference) if path in ticket.files)


def start_of(ticket: Ticket) -> Start:
    """Give the start that a ticket means."""
    first, *rest = ticket.history
    return Start(
        files={**ticket.files, CHANGES: LOG},
        tests=ticket.tests,
        history=(replace(first, files={**first.files, CHANGES: LOG}), *rest),
        probes=ticket.probes,
        solution=ticket.solution,
        title=ticket.title,
        body=ticket.body,
    )


def rewritten(
    history: Sequence[Entry], files: Mapping[str, str], *, told_only: bool = False
) -> tuple[Entry, ...]:
    """Give a history in which some files have another text from the first commit of them on.

    So that it ends with the base, and no commit tells what was made of a ticket for a task.
    """
    return tuple(
        entry
        if told_only and entry.leak != "none"
        else replace(
            entry, files={path: files.get(path, text) for path, text in entry.files.items()}
        )
        for entry in history
    )


def says(ending: Ending, outcome: str) -> Criterion:
    """Judge the outcome that the agent named."""
    text = f"outcome {ending.outcome!r}, {outcome!r} is right"
    return Criterion(f"finish says {outcome}", ending.outcome == outcome, text)
