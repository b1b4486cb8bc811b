"""What a server offers: the scenarios that clients may play, and the world they are played in.

A client names a scenario of the offer, a seed, and within bounds load and faults. It names no file,
no setting and no pinned value: what a server imports and builds is its operator's to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.env import Env, make_plan
from simharness.episode.plan import load_text
from simharness.errors import HarnessError, UnknownName, UsageError
from simharness.product.fault import parse_load
from simharness.product.product import find_fault
from simharness.product.registry import load_product, load_scenario, product_names
from simharness.rollout.check import STARTS, check
from simharness.rollout.request import Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.plan import Plan

SPLITS = ("train", "eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The worlds of one server."""

    scenarios: tuple[str, ...]
    """Names that clients may give."""
    load: str = "1"
    """Background load of who doesn't ask for another."""
    load_max: str = "16"
    """Largest load that a client may ask for."""
    faults: tuple[str, ...] = ()
    """Faults of who doesn't ask for others."""
    profile: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedule: str = "fifo"

    def plan(
        self,
        scenario: str,
        seed: int | str,
        load: int | float | str | None = None,
        faults: Sequence[str] | None = None,
    ) -> Plan:
        """Plan an episode that a client asks for; `seed` is a number, `train:N` or `eval:N`.

        Raises UnknownName or UsageError for what isn't on offer.
        """
        if scenario not in self.scenarios:
            raise UnknownName.among("scenario on offer", scenario, self.scenarios)
        most = parse_load(self.load_max)
        try:
            asked = parse_load(self.load if load is None else load)
        except UsageError as error:
            told = f"give 0 to {load_text(most)}, with at most three decimals"
            raise UsageError(error.message, told) from None
        if asked > most:
            raise UsageError(
                f"load {load_text(asked)} is more than this server allows",
                f"give at most {load_text(most)}",
            )
        plan = make_plan(
            scenario,
            seed,
            self.load if load is None else load,
            self.faults if faults is None else faults,
            self.profile,
            self.config,
            self.schedule,
        )
        product, _ = load_scenario(scenario)
        for fault in plan.faults:
            find_fault(product, fault)
        return plan

    def seeds_of(self, scenario: str, split: str) -> range:
        """Give the seeds of a split of a scenario. Raises UnknownName."""
        if scenario not in self.scenarios:
            raise UnknownName.among("scenario on offer", scenario, self.scenarios)
        if split not in SPLITS:
            raise UnknownName.among("split", split, SPLITS)
        return load_scenario(scenario)[1].seeds_of(split)

    def check(self) -> None:
        """Check that every scenario can be played, as a run does.

        Raises UsageError for what can't be, HarnessError where one starts on none of its first
        seeds.
        """
        if parse_load(self.load) > parse_load(self.load_max):
            raise UsageError(
                f"the load of {self.load} is above its limit", f"raise the limit of {self.load_max}"
            )
        check(
            Request(
                scenarios=self.scenarios,
                seeds=range(STARTS),
                policies=("null",),
                faults=(self.faults,),
                loads=(self.load,),
                profile=self.profile,
                config=self.config,
                schedule=self.schedule,
            )
        )

    def record(self) -> dict[str, Any]:
        """Give the offer as `run.json` holds it."""
        return {
            "scenarios": list(self.scenarios),
            "load": load_text(parse_load(self.load)),
            "load_max": load_text(parse_load(self.load_max)),
            "faults": list(self.faults),
            "profile": self.profile,
            "config": dict(self.config),
            "schedule": self.schedule,
        }


def all_scenarios() -> tuple[str, ...]:
    """Name the scenarios of every product that has what it needs."""
    products = (load_product(name) for name in product_names())
    return tuple(s.id for p in products if not p.missing() for s in p.scenarios)


def tools_of(offer: Offer) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Give the schemas of each scenario's tools. Raises HarnessError where one can't begin."""
    return {name: schemas_of(offer, name) for name in offer.scenarios}


def schemas_of(offer: Offer, scenario: str) -> tuple[Mapping[str, Any], ...]:
    """Give the schemas of a scenario's tools: the same on every seed that begins."""
    for seed in range(STARTS - 1):
        try:
            return Env(offer.plan(scenario, seed)).reset().tools
        except HarnessError:
            continue
    return Env(offer.plan(scenario, STARTS - 1)).reset().tools
