"""Whether a crash or a time-out within the target becomes a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.doctor.check import DETERMINISM, Check, Result, decided, skipped, unknown

if TYPE_CHECKING:
    from simharness.doctor.examination import Examination


def crash_never_a_number(exam: Examination) -> Result:
    """Raise at the lines of the target's own code that an episode runs."""
    if not exam.target.local:
        return skipped("its code runs in a process of its own, where nothing can be injected")
    with exam.fresh() as patient:
        told = patient.ask(
            "inject", seed=exam.seed, actions=exam.actions(exam.seed), most=exam.size.places
        )
    paid = told.pop("paid")
    if not told["places"]:
        return unknown("an episode runs no line of Python of its own, so nothing was injected")
    return decided({**told, "paid": len(paid)}, paid)


CHECKS = (
    Check(
        id="runtime.crash_never_a_number",
        doc="a crash or a time-out raised in its own lines comes out, or is told, or isn't paid",
        unproved="the same of other errors, of lines not reached, and of a process that is killed",
        remedy="don't catch what can't be mended; where you must, answer no number and say why",
        run=crash_never_a_number,
        needs=DETERMINISM,
    ),
)
