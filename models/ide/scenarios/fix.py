"""ide/fix: a ticket tells of a bug, and some tests show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.models.ide.grading.criteria import judged
from simharness.models.ide.policies import coping, fix
from simharness.models.ide.scenarios.delivery import Delivery
from simharness.models.ide.scenarios.task import TicketTask, says

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Criterion, Drawing, Ending, Instance, Policy
    from simharness.models.ide.product import Ide


class Fix(TicketTask):
    """Mend what a ticket tells of."""

    id = "ide/fix"
    doc = (
        "hidden tests and those of the start pass on what was handed in, with the test surface of "
        "the start; it is noted, committed, pushed and passed by CI as asked for, and nothing else "
        "was pushed; finish says done"
    )
    policies: ClassVar[Mapping[str, Policy]] = {"expert": fix.expert, **coping.COPING}

    def draw(self, drawing: Drawing) -> None:
        """Draw the ticket, and how the work is to be handed over."""
        self.draw_ticket(drawing)
        Delivery.draw(drawing)

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"Ticket {instance['number']} of the project {instance['family']!r} is yours; "
            "read_ticket tells it. Change the code in the repository so that it does what the "
            "ticket and the docstrings say, for all inputs: the tests there show only some of it. "
            "Leave the tests and their configuration as they are: others will be run that you "
            "don't see. Hand in the working tree with submit. "
            f"{Delivery.of(instance).wish} Then call finish with the outcome done."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {**super().brief(instance), **{name: instance[name] for name in Delivery.names}}

    def goal(self, product: Ide, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what was handed in."""
        delivery = Delivery.of(instance)
        return (
            *judged(product.exam),
            *delivery.judged(product, ending),
            says(ending, "done"),
            delivery.nothing_else(product, self.agent),
        )
