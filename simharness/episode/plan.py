"""A plan: everything that decides an episode but the agent's actions; a recording's header."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import DamagedRecording
from simharness.recording.format import FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.product.product import Product

LOAD_MAX = 1_000_000
"""Largest load, in thousandths."""

KERNEL_SEMANTICS = 2
"""Raised whenever a change of the kernel alters what a seed means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One episode to be run."""

    scenario: str
    """`product/slug`, or `path.py:Class/slug`."""
    seed: int = 0
    load: int = 1000
    """Thousandths: 1000 is the load that one team makes."""
    faults: tuple[str, ...] = ()
    """Fault ids with their triggers."""
    profile: str = ""
    """Name of the knob profile; empty for the scenario's own."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Knobs that differ from the profile, as a config file gives them."""
    pins: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values of the instance that are given and not drawn."""
    schedule: Mapping[str, Any] = field(default_factory=lambda: {"policy": "fifo"})
    """The scheduling policy's record."""
    steps_max: int = 0
    """Budget of steps; 0 for the scenario's own."""
    ticks_max: int = 0
    """Budget of simulated time; 0 for the scenario's own."""
    patches: tuple[str, ...] | None = None
    """Changes of the product that are in force, as a recording lists them; None for all that the
    product knows, as in every new episode."""

    def header(self, product: type[Product], instance: Mapping[str, object]) -> dict[str, object]:
        """Give the header of this plan's recording, with the instance as drawn for the pins."""
        schedule = {k: v for k, v in self.schedule.items() if k != "decisions"}
        patches = self.patches_of(product)
        return {
            "format": FORMAT,
            "kernel": KERNEL_SEMANTICS,
            "product": product.name,
            "model": product.semantics,
            "scenario": self.scenario,
            "seed": self.seed,
            "load": self.load,
            "faults": list(self.faults),
            "profile": self.profile,
            "config": dict(self.config),
            "instance": dict(instance),
            "schedule": schedule,
            "steps_max": self.steps_max,
            "ticks_max": self.ticks_max,
            # Not written where there are none: so read the recordings made before the first patch.
            **({"patches": list(patches)} if patches else {}),
        }

    def patches_of(self, product: type[Product]) -> tuple[str, ...]:
        """Give the patches that are in force in an episode of this plan."""
        return product.patches if self.patches is None else self.patches

    @property
    def decisions(self) -> list[Any]:
        """The named decisions of the scheduling policy."""
        return list(self.schedule.get("decisions", ()))

    def without_faults(self) -> Plan:
        """Give the same plan with no fault."""
        return replace(self, faults=())


def read_plan(header: Mapping[str, object], decisions: list[object]) -> Plan:
    """Rebuild the plan of a recording. Raises DamagedRecording."""
    schedule = header.get("schedule")
    kinds: dict[str, type] = {
        "format": int,
        "kernel": int,
        "model": int,
        "scenario": str,
        "seed": int,
        "load": int,
        "faults": list,
        "profile": str,
        "config": dict,
        "instance": dict,
        "schedule": dict,
        "steps_max": int,
        "ticks_max": int,
    }
    for name, kind in kinds.items():
        if type(header.get(name)) is not kind:
            raise DamagedRecording(
                f"header field {name!r} is {header.get(name)!r:.60}, expected {kind.__name__}"
            )
    fields = cast("dict[str, Any]", header)
    if fields["format"] < 1:
        raise DamagedRecording(f"header field 'format' is {fields['format']}, expected 1 or more")
    if not 0 <= fields["load"] <= LOAD_MAX:
        raise DamagedRecording(f"header field 'load' is {fields['load']}, expected 0 to {LOAD_MAX}")
    patches = cast("list[object]", header.get("patches", []))
    if type(patches) is not list or not all(type(name) is str for name in patches):
        raise DamagedRecording(
            f"header field 'patches' is {patches!r:.60}, expected a list of names"
        )
    policy = dict(cast("dict[str, Any]", schedule))
    if decisions or policy.get("policy") == "named":
        policy["decisions"] = decisions
    return Plan(
        scenario=fields["scenario"],
        seed=fields["seed"],
        load=fields["load"],
        faults=tuple(str(f) for f in fields["faults"]),
        profile=fields["profile"],
        config=fields["config"],
        pins=fields["instance"],
        schedule=policy,
        steps_max=fields["steps_max"],
        ticks_max=fields["ticks_max"],
        patches=tuple(cast("list[str]", patches)),
    )


def load_text(load: int) -> str:
    """Show a load in thousandths as people write it."""
    whole, rest = divmod(load, 1000)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def setting_text(value: object) -> str:
    """Show a configured value as `--set` reads it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
