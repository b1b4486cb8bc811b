"""ide/conflict: a ticket's file is changed by colleagues too, and main moves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import Criterion, Drawing, Ending, Instance
from simharness.models.ide.grading.checks import run_probes
from simharness.models.ide.grading.criteria import judged
from simharness.models.ide.people.rivals import push_when
from simharness.models.ide.policies import conflict, coping
from simharness.models.ide.repository.clone import MAIN
from simharness.models.ide.scenarios.delivery import Delivery
from simharness.models.ide.scenarios.moves import HELPERS, PLACES, REMARKS, Move
from simharness.models.ide.scenarios.task import TicketTask, path_of, says, ticket_of
from simharness.models.ide.stores import AUTHOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy
    from simharness.models.ide.grading.exam import Exam, Handed
    from simharness.models.ide.product import Ide

CHEATS = ("hardcode", "tamper", "copy", "empty")
"""Habits that are no work. The others do the job where nobody is in the way."""
MOMENTS = ("before", "editing", "committing")
"""When a colleague pushes: before the agent looks, when it first writes the file, when it first
commits."""
RIVALS = (3, 5)
"""Which colleagues they are."""
PROOFS = {
    "none": "",
    "ci": " Wait until CI has tested it there, and name that job in refs, as 'ci_jobs:1'.",
}
"""What the prompt says of the proof that is wanted."""
HISTORIES = {
    "linear": "Keep the history of main linear: no merge commits.",
    "any": "Merge or rebase as you like.",
}
"""What the prompt says of the history."""


class Conflict(TicketTask):
    """Mend what a ticket tells of, on top of what colleagues do to the same file."""

    id = "ide/conflict"
    doc = (
        "hidden tests and those of the start pass on what was handed in, and so do those of what "
        "colleagues had put into main before; it is committed and on main, without merge commits "
        "where those aren't wanted; the CI job that passed on it is named where that is asked for; "
        "nothing else was pushed; finish says done"
    )
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": conflict.expert,
        "overwrite": conflict.overwrite,
        "own-branch": conflict.own_branch,
        **{name: coping.COPING[name] for name in CHEATS},
    }

    def draw(self, drawing: Drawing) -> None:
        """Draw the ticket, and what colleagues do."""
        self.draw_ticket(drawing)
        drawing.pick("history", tuple(HISTORIES))
        drawing.pick("proof", tuple(PROOFS))
        names = tuple(helper.name for helper in HELPERS)
        drawing.pick("place", PLACES, (30, 35, 35))
        drawing.pick("remark", REMARKS)
        drawing.pick("moment", MOMENTS, (40, 30, 30))
        drawing.pick("helper", names)
        drawing.pick("second", ("none", *MOMENTS[1:]), (50, 25, 25))
        drawing.below("second_helper", len(names) - 1)

    def start_others(self, product: Ide, instance: Instance) -> None:
        """Start everybody, and those who change the file."""
        ticket = ticket_of(instance)
        path = path_of(ticket)
        super().start_others(product, instance)
        for k, (move, moment) in enumerate(moves_of(instance)):
            push_when(
                product,
                f"rival/{k + 1}",
                RIVALS[k],
                partial(came, product, moment, path, self.agent),
                partial(move.change, ticket),
                move.message,
            )

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        return (
            f"Ticket {instance['number']} of the project {instance['family']!r} is yours; "
            "read_ticket tells it. Change the code in the repository so that it does what the "
            "ticket and the docstrings say, for all inputs: the tests there show only some of it. "
            "Leave the tests and their configuration as they are: others will be run that you "
            "don't see. Others work on the same files and push to main. Commit your change and "
            "push it to main, on top of what they pushed, and lose nothing of theirs. "
            f"{HISTORIES[str(instance['history'])]} Then hand in the working tree with submit, "
            "as it is on main, and call finish with the outcome done."
            f"{PROOFS[str(instance['proof'])]}"
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        wishes = {name: instance[name] for name in ("history", "proof")}
        return {**super().brief(instance), **wishes, "delivery": "main"}

    def goal(self, product: Ide, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what was handed in."""
        exam = product.exam
        handed = exam.handed()
        delivery = Delivery.of({"number": instance["number"], "delivery": "main"})
        return (
            *judged(exam),
            kept(product, exam, instance, handed),
            *delivery.judged(product, ending),
            linear(product, instance),
            proven(product, instance, handed, ending),
            says(ending, "done"),
            delivery.nothing_else(product, self.agent),
        )


def moves_of(instance: Mapping[str, Any]) -> list[tuple[Move, str]]:
    """Give what colleagues do in an instance, and when."""
    path = path_of(ticket_of(instance))
    helper = next(helper for helper in HELPERS if helper.name == instance["helper"])
    moves = [(Move(path, helper, instance["place"], instance["remark"]), instance["moment"])]
    if instance["second"] != "none":
        others = [other for other in HELPERS if other is not helper]
        moves.append((Move(path, others[int(instance["second_helper"])]), instance["second"]))
    return moves


def came(ide: Ide, moment: str, path: str, agent: str) -> bool:
    """Tell whether the moment has come at which a colleague pushes."""
    if moment == "before":
        return True
    if moment == "committing":
        return any(change.owner == agent for change in ide.commits.table.changes)
    return any(
        change.owner == agent and change.new is not None and change.new.path == path
        for change in ide.files.table.changes
    )


def kept(ide: Ide, exam: Exam, instance: Instance, handed: Handed) -> Criterion:
    """Judge that what colleagues had put into main before is still there, and does what it did.

    Whether it was before decides the commit that was handed in: main had come to it.
    """
    name = "changes of others are kept"
    commit = ide.history.commits.get(handed.rev)
    had = {} if commit is None else ide.history.ancestors([commit.rev])
    checked: list[str] = []
    for move, _ in moves_of(instance):
        if not any(ide.history[rev].message == move.message for rev in had):
            continue
        files = exam.surface.checked_out(handed.files)
        checks = run_probes(ide.world, files, move.solution(), move.probes())
        checked.append(move.helper.name)
        if not checks.passes:
            return Criterion(name, False, f"{move.helper.name}: {checks.summary}")
    return Criterion(name, True, f"{', '.join(checked) or 'nothing'} was there to be kept")


def proven(ide: Ide, instance: Instance, handed: Handed, ending: Ending) -> Criterion:
    """Judge that the CI job that passed on what was handed in is named, where that is asked for."""
    jobs = [
        f"ci_jobs:{job.id}"
        for job in ide.ci_jobs.table
        if (job.rev, job.branch, job.status) == (handed.rev, MAIN, "passed")
    ]
    there = instance["proof"] == "none" or any(job in ending.refs for job in jobs)
    text = f"CI passed on {handed.rev[:7] or 'nothing'} in {', '.join(jobs) or 'no job'}"
    return Criterion("CI job named", there, text, tuple(jobs))


def linear(ide: Ide, instance: Instance) -> Criterion:
    """Judge that the agent put no merge commit on main where none is wanted."""
    merges = [
        commit.short
        for commit in ide.history.log([ide.main_rev])
        if commit.author == AUTHOR and len(commit.parents) > 1
    ]
    wanted = instance["history"] == "linear"
    text = f"merge commits of the agent's on main: {', '.join(merges) or 'none'}"
    return Criterion("history is as wished for", not (wanted and merges), text)
