"""What an episode's plan says that its journal alone doesn't: H313 and H513."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.errors import UsageError
from simharness.findings.finding import Effect, Finding
from simharness.kernel.draws import Draws
from simharness.product.product import find_fault
from simharness.product.registry import load_scenario
from simharness.product.scenario import instance_of
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.blame.case import Case
    from simharness.episode.plan import Plan

FAULT = "fault/"
"""How the journal calls a fault."""
LOAD_MAX = 8_000
"""Load, in thousandths, up to which a reference has to reach the goal; `validate` asks so too."""


def undeclared_faults(case: Case) -> Iterator[Finding]:
    """Find faults that took effect and that the plan doesn't contain, or not at that time."""
    rows = [row for row in case.story.of("FAULT") if row.values["on"]]
    if not rows:
        return
    product, _ = load_scenario(case.plan.scenario)
    planned = {f.id: f.trigger for f in (find_fault(product, text) for text in case.plan.faults)}
    for row in rows:
        name: str = row.values["fault"].removeprefix(FAULT)
        trigger = planned.get(name)
        if trigger is None:
            why = "the plan doesn't contain it"
        elif row.t < trigger.start:
            why = f"the plan has it from {humanize(trigger.start)} on"
        elif trigger.until is not None and row.t >= trigger.until:
            why = f"the plan has it until {humanize(trigger.until)}"
        else:
            continue
        yield Finding(
            code="H313",
            step=case.story.step_of(row.index),
            t=row.t,
            keys=(),
            evidence={"fault": name},
            events=(row.index,),
            explanation=f"fault {name} took effect at {humanize(row.t)}, and {why}",
            mechanism=f"fault:{name}" if trigger is None else "",
        )


def as_drawn(plan: Plan) -> bool:
    """Tell whether no value of the instance is another than the seed draws.

    The plan of a recording holds all of them, given or drawn.
    """
    if not plan.pins:
        return True
    _, scenario = load_scenario(plan.scenario)
    if scenario.bound(plan.pins) is not scenario:
        return False
    try:
        return instance_of(scenario, Draws(plan.seed), {}) == plan.pins
    except UsageError:
        return False  # It has a text, which is always given.


def failing_reference(case: Case) -> Finding | None:
    """Find the reference that misses the goal in a world that nobody made harder; None otherwise.

    Faults, settings, pinned values, budgets of one's own and loads beyond those that scenarios are
    made for may put the goal out of its reach.
    """
    plan = case.plan
    if case.policy is None or case.policy is not case.reference or case.goal is not False:
        return None
    if plan.faults or plan.config or plan.profile or plan.load > LOAD_MAX:
        return None
    if plan.steps_max or plan.ticks_max or not as_drawn(plan):
        return None
    missed = next(row for row in case.story.grades() if not row.values["holds"])
    return Finding(
        code="H513",
        step=case.story.steps[-1].step,
        t=missed.t,
        keys=(),
        evidence={"predicate": missed.values["predicate"]},
        events=(missed.index,),
        explanation=(
            "the reference misses the goal in a world without any fault; failed: "
            f"{missed.values['predicate']} ({missed.values['evidence']})"
        ),
        effect=Effect.HINDERED,
    )
