"""Static checks: what a scenario declares, before anything is played."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from simharness.episode.info import source_files, versions
from simharness.episode.policies import policy_names
from simharness.errors import UsageError
from simharness.product.knobs import read_config
from simharness.product.product import resolve_settings
from simharness.units import SECOND
from simharness.validate.check import Check, Result, decided
from simharness.validate.subject import EXPERT

if TYPE_CHECKING:
    from simharness.validate.subject import Subject

ID = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


def manifest(subject: Subject) -> Result:
    """Look for what a scenario has to say of itself, and for the policies that it has to ship."""
    scenario, product = subject.scenario, subject.product
    wrong: list[str] = []
    if not ID.fullmatch(scenario.id):
        wrong.append(f"the id {scenario.id!r} is not of the form product/slug")
    if not scenario.doc.strip():
        wrong.append("`doc` doesn't say what full reward means")
    if scenario.profile_for(product.profiles) not in product.profiles:
        wrong.append(f"the profile {scenario.profile!r} is none of {sorted(product.profiles)}")
    if EXPERT not in scenario.policies:
        wrong.append(f"there is no policy {EXPERT!r} that could show that the task can be done")
    shipped = {name for one in product.scenarios for name in policy_names(one)}
    wrong += [
        f"fault {fault.id} seduces {fault.seduces!r}, a policy that no scenario ships"
        for fault in product.faults
        if fault.seduces and fault.seduces not in shipped
    ]
    wrong += [f"fault {name} changes no knob of the profile" for name in idle_faults(subject)]
    measured = {
        "tools": len(product.tools),
        "policies": sorted(scenario.policies),
        "faults": len(product.faults),
        "profile": scenario.profile_for(product.profiles),
    }
    return decided(measured, wrong)


def idle_faults(subject: Subject) -> list[str]:
    """Name the faults that set knobs to what each profile in use sets them to already."""
    product = subject.product
    used = {scenario.profile_for(product.profiles) for scenario in product.scenarios}
    settings = [resolve_settings(product, name, {}) for name in used if name in product.profiles]
    patches = {f.id: read_config(product.knobs, f.knobs, f"fault {f.id!r}") for f in product.faults}
    return [
        name
        for name, patch in patches.items()
        if patch and settings and all(patch.items() <= one.values.items() for one in settings)
    ]


def task_distribution_pinning(subject: Subject) -> Result:
    """Look whether the splits are disjoint, and whether pins give an instance again."""
    scenario = subject.scenario
    wrong: list[str] = []
    measured: dict[str, object] = {}
    for name in ("train", "eval"):
        try:
            split = scenario.seeds_of(name)
        except UsageError as error:
            return decided(measured, [error.message])
        measured[name] = f"{split.start}:{split.stop}"
        if not split:
            wrong.append(f"the split {name!r} holds no seed")
    for seed in subject.few_seeds:
        drawn = subject.begin(subject.plan(seed))
        pins = {f"instance.{key}": value for key, value in drawn.instance.items()}
        pinned = subject.begin(subject.plan(seed, config=pins))
        if (pinned.prompt, pinned.product.digests()) != (drawn.prompt, drawn.product.digests()):
            wrong.append(f"seed {seed}: pinned to what it drew, the instance starts otherwise")
    measured["pinned_again"] = len(subject.few_seeds)
    return decided(measured, wrong)


def timeout_ceiling(subject: Subject) -> Result:
    """Look whether every call and every episode has an end."""
    scenario = subject.scenario
    timeout: int = subject.begin(subject.plan(subject.seeds[0])).product.settings.values[
        "api.timeout"
    ]
    ceilings = {
        "a call (api.timeout)": timeout,
        "an episode (ticks_max)": scenario.ticks_max,
        "what is under way at its end (settle_max)": scenario.settle_max,
    }
    wrong = [f"{what} may last for ever" for what, ticks in ceilings.items() if ticks <= 0]
    if timeout >= scenario.ticks_max > 0:
        wrong.append("a single call may outlast the episode")
    measured = {what: f"{ticks / SECOND:g} s" for what, ticks in ceilings.items()}
    return decided(measured, wrong)


def resource_declaration(subject: Subject) -> Result:
    """Look whether the budgets of steps, of simulated time and of people are positive numbers."""
    scenario = subject.scenario
    measured = {
        name: cast("object", getattr(scenario, name))
        for name in ("steps_max", "ticks_max", "settle_max", "team")
    }
    wrong = [
        f"{name} is {value!r}, expected a whole number above 0"
        for name, value in measured.items()
        if type(value) is not int or value < 1
    ]
    return decided(measured, wrong)


def dependency_pinning(subject: Subject) -> Result:
    """Look whether recordings say which versions and which code they were made with."""
    product = subject.product
    known = versions()
    wrong = [
        f"the version of {name} is not known" for name, told in known.items() if told == "unknown"
    ]
    # Whoever writes a product may not use a type checker.
    semantics = cast("object", product.semantics)
    if type(semantics) is not int or semantics < 1:
        wrong.append(f"semantics is {semantics!r}, expected a whole number from 1 on")
    files = source_files(product)
    if not files:
        wrong.append(f"the code of {product.name} has no file, so no recording can name its state")
    return decided({**known, "semantics": semantics, "files": len(files)}, wrong)


CHECKS = (
    Check(
        id="static.manifest",
        doc="id, meaning of full reward, profile, reference; faults change knobs, seduce policies",
        run=manifest,
        remedy="complete the scenario's class attributes (docs/products.md)",
    ),
    Check(
        id="static.task_distribution_pinning",
        doc="train and eval have no seed in common; pins give an instance again",
        run=task_distribution_pinning,
        remedy="give `train` and `eval` disjoint ranges, and draw everything by `drawing`",
    ),
    Check(
        id="static.timeout_ceiling",
        doc="every call and every episode has an end",
        run=timeout_ceiling,
        remedy="give api.timeout, ticks_max and settle_max a length",
    ),
    Check(
        id="static.resource_declaration",
        doc="budgets of steps, simulated time and people are declared",
        run=resource_declaration,
        remedy="give steps_max, ticks_max, settle_max and team whole numbers above 0",
    ),
    Check(
        id="static.dependency_pinning",
        doc="recordings name the versions and the code that they were made with",
        run=dependency_pinning,
        remedy="install the requirements with their metadata; give `semantics` a number from 1 on",
    ),
)
