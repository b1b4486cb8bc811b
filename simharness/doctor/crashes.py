"""Whether a crash or a time-out within the target becomes a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.doctor.check import DETERMINISM, Check, Result, decided, skipped, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination

SHARE = 0.6
"""Of the time that is left, what this may take."""


def crash_never_a_number(exam: Examination) -> Result:
    """Raise at the lines of the target's own code that an episode runs."""
    if not exam.target.local:
        return skipped("its code runs in a process of its own, where nothing can be injected")
    # What a target logs of errors that were raised on purpose is as it should be.
    with exam.fresh(heard=False) as patient:
        told = patient.ask(
            "inject",
            seed=exam.seed,
            actions=exam.actions(exam.seed),
            most=exam.size.places,
            episodes=exam.size.episodes,
            steps=exam.size.steps_max,
            seconds=exam.left() * SHARE,
        )
    paid, blind, wanted = told.pop("paid"), told.pop("blind"), told.pop("wanted")
    measured = {**told, "paid": len(paid), "blind": len(blind)}
    if not told["places"]:
        return unknown("an episode runs no line of Python of its own, so nothing was injected")
    if not paid and blind:
        return unknown(
            f"{' and '.join(blind[:2])}{f' and {len(blind) - 2} more' if len(blind) > 2 else ''} "
            "came to nothing in steps that are all paid alike, so nobody can tell whether they are "
            "paid what they should be: give actions with --action that earn something else",
            measured,
        )
    if not paid and told["tried"] < wanted:
        return unknown(
            f"time was up after {told['tried']} of {wanted} lines: give more with --minutes",
            measured,
        )
    return decided(measured, paid)


CHECKS = (
    Check(
        id="runtime.crash_never_a_number",
        doc="a crash or a time-out raised in its own lines comes out, or is told, or isn't paid",
        unproved="the same of other errors, of lines not tried, and of a process that is killed",
        remedy="don't catch what can't be mended; where you must, answer no number and say why",
        run=crash_never_a_number,
        needs=DETERMINISM,
    ),
)
