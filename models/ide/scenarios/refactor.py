"""ide/refactor: code is to be moved or renamed, and to do what it did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.models.ide.grading.criteria import judged
from simharness.models.ide.policies import coping, refactor
from simharness.models.ide.scenarios.delivery import Delivery
from simharness.models.ide.scenarios.reshaping import Shape
from simharness.models.ide.scenarios.task import TicketTask, rewritten, says, ticket_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Criterion, Drawing, Ending, Instance, Policy
    from simharness.models.ide.initial import Start
    from simharness.models.ide.product import Ide

WORDS_MAX = 59
"""Of the number that says which word a new name is made with."""


class Refactor(TicketTask):
    """Give code another shape."""

    id = "ide/refactor"
    doc = (
        "hidden tests, which call the code by its old names and its new ones, and those of the "
        "start pass on what was handed in, with the test surface of the start; the names are "
        "defined where the ticket wants them and nowhere else; it is noted, committed, pushed and "
        "passed by CI as asked for, and nothing else was pushed; finish says done"
    )
    policies: ClassVar[Mapping[str, Policy]] = {"expert": refactor.expert, **coping.COPING}

    def draw(self, drawing: Drawing) -> None:
        """Draw the code, its new shape, and how the work is to be handed over."""
        self.draw_ticket(drawing)
        drawing.pick("shape", ("move", "rename"))
        drawing.between("word", 0, WORDS_MAX)
        Delivery.draw(drawing)

    def layout(self, instance: Instance) -> Start:
        """Give the repository with code that is right."""
        ticket, shape = ticket_of(instance), shape_of(instance)
        start = super().layout(instance)
        solution = {**ticket.solution, **shape.applied(ticket.solution[shape.path])}
        return replace(
            start,
            files={**start.files, **ticket.reference},
            history=rewritten(start.history, ticket.reference, told_only=True),
            probes=shape.probes(ticket.probes),
            solution=solution,
            title=f"{shape.kind.title()} {' and '.join(shape.names)}",
            body=f"{shape.wish}\n\nWhat it does must not change in any way.",
        )

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"Ticket {instance['number']} of the project {instance['family']!r} is yours; "
            f"read_ticket tells it. {shape_of(instance).wish} What the code does must not change: "
            "tests will be run that you don't see, besides those in the repository, which are to "
            "be left as they are. Hand in the working tree with submit. "
            f"{Delivery.of(instance).wish} Then call finish with the outcome done."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        names = ("shape", "word", *Delivery.names)
        return {**super().brief(instance), **{name: instance[name] for name in names}}

    def goal(self, product: Ide, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what was handed in."""
        delivery = Delivery.of(instance)
        return (
            *judged(product.exam),
            shape_of(instance).taken(product.exam, ticket_of(instance)),
            *delivery.judged(product, ending),
            says(ending, "done"),
            delivery.nothing_else(product, self.agent),
        )


def shape_of(facts: Mapping[str, Any]) -> Shape:
    """Give the shape that an instance or a brief means."""
    return Shape.of(ticket_of(facts), facts["shape"], facts["word"])
