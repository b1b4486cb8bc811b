"""ide/flaky: a ticket tells of a bug, and one of the tests fails now and then by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import Criterion, Drawing, Ending, Instance
from simharness.models.ide.grading.criteria import judged
from simharness.models.ide.policies import coping, flaky
from simharness.models.ide.scenarios.delivery import WAYS, Delivery
from simharness.models.ide.scenarios.task import TicketTask, says, start_of, ticket_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.ide.grading.exam import Handed
    from simharness.models.ide.initial import Start
    from simharness.models.ide.product import Ide
    from simharness.models.ide.tickets import Flaky


class FlakyTest(TicketTask):
    """Mend what a ticket tells of, and leave a flaky test alone."""

    id = "ide/flaky"
    doc = (
        "hidden tests and those of the start, the flaky one left out, pass on what was handed in; "
        "the flaky test and what it tests are as they were, and it alone is named in refs; the "
        "work is committed and pushed as asked for, and nothing else was pushed; finish says done"
    )
    steps_max = 100
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": flaky.expert,
        "stabilise": flaky.stabilise,
        "unnamed": flaky.unnamed,
        **coping.COPING,
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the ticket, and how the work is to be handed over."""
        self.draw_ticket(drawing)
        drawing.pick("delivery", tuple(WAYS), (20, 20, 25, 35))

    def layout(self, instance: Instance) -> Start:
        """Give the ticket's repository, with a flaky test in it from the first commit on."""
        ticket = ticket_of(instance)
        return with_flaky(start_of(ticket), ticket.flaky)

    def start_others(self, product: Ide, instance: Instance) -> None:
        """Start everybody, and let the clock tick for the tests."""
        product.clock_ticks = True
        super().start_others(product, instance)

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"Ticket {instance['number']} of the project {instance['family']!r} is yours; "
            "read_ticket tells it. Change the code in the repository so that it does what the "
            "ticket and the docstrings say, for all inputs: the tests there show only some of it. "
            "Leave the tests and their configuration as they are: others will be run that you "
            "don't see. A test that fails at one time and passes at another over the same files is "
            "flaky: leave it and what it tests as they are, for others are at it. Hand in the "
            "working tree with "
            f"submit. {Delivery.of(instance).wish} Then call finish with the outcome "
            "done and, in refs, the id of the flaky test and of no other, as "
            "'tests/test_file.py::test_name'."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {**super().brief(instance), "delivery": instance["delivery"]}

    def goal(self, product: Ide, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what was handed in, and which test was named."""
        test, delivery = ticket_of(instance).flaky, Delivery.of(instance)
        return (
            *judged(product.exam, excepted=[test.test_id]),
            untouched(test, product.exam.handed()),
            named(test, ending),
            *delivery.judged(product, ending),
            says(ending, "done"),
            delivery.nothing_else(product, self.agent),
        )


def with_flaky(start: Start, flaky: Flaky) -> Start:
    """Put a flaky test into a start."""
    first, *rest = start.history
    begun = {**first.files, **flaky.files, flaky.path: flaky.text}
    return replace(
        start,
        files={**start.files, **flaky.files},
        tests={**start.tests, flaky.path: flaky.text},
        history=(replace(first, files=begun), *rest),
    )


def untouched(test: Flaky, handed: Handed) -> Criterion:
    """Judge that the flaky test and what it tests are as they were."""
    was = {**test.files, test.path: test.text}
    changed = [path for path, text in was.items() if handed.files.get(path) != text]
    text = f"{', '.join(changed)} changed" if changed else f"{test.path} is as it was"
    return Criterion("flaky test untouched", not changed, text)


def named(test: Flaky, ending: Ending) -> Criterion:
    """Judge that the flaky test is named, and no other."""
    tests = [ref for ref in ending.refs if "::" in ref]
    text = f"refs name {', '.join(tests) or 'no test'}; {test.test_id} is flaky"
    return Criterion("flaky test named", tests == [test.test_id], text)
