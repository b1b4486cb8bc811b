"""What a run was asked for: scenarios, seeds, policy, faults, load."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.env import make_plan
from simharness.episode.plan import load_text
from simharness.errors import UsageError
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.episode.plan import Plan

EPISODES_MAX = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run."""

    scenarios: tuple[str, ...]
    seeds: range
    policy: str = "expert"
    faults: tuple[str, ...] = ()
    load: str = "1"
    profile: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedule: str = "fifo"

    def __len__(self) -> int:
        return len(self.scenarios) * len(self.seeds)

    def plans(self) -> Iterator[Plan]:
        """Give the plans in their order: scenario by scenario, seed by seed."""
        for scenario in self.scenarios:
            for seed in self.seeds:
                yield self.plan(scenario, seed)

    def plan(self, scenario: str, seed: int) -> Plan:
        """Give the plan of one episode."""
        return make_plan(
            scenario, seed, self.load, self.faults, self.profile, self.config, self.schedule
        )

    def command(self, scenario: str, seed: int) -> str:
        """Give the command that runs one of the episodes again."""
        parts = ["simharness", "run", scenario, "--seed", str(seed)]
        if self.policy != "expert":
            parts += ["--policy", self.policy]
        for fault in self.faults:
            parts += ["--fault", fault]
        if self.load != "1":
            parts += ["--load", self.load]
        if self.profile:
            parts += ["--profile", self.profile]
        if self.schedule != "fifo":
            parts += ["--schedule", self.schedule]
        for key, value in self.config.items():
            parts += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(parts)

    def record(self) -> dict[str, Any]:
        """Give the request as run.json holds it."""
        return {
            "scenarios": list(self.scenarios),
            "seeds": [self.seeds.start, self.seeds.stop],
            "policy": self.policy,
            "faults": list(self.faults),
            "load": load_text(parse_load(self.load)),
            "profile": self.profile,
            "config": dict(self.config),
            "schedule": self.schedule,
        }


def parse_seeds(text: str, episodes: int | None, scenarios: Sequence[str] = ()) -> range:
    """Read `N` or `A:B` (B left out); `episodes` counts from N on.

    `train:` or `eval:` in front counts from the first seed of that split of the scenarios, and
    ends with its last. Raises UsageError, UnknownName for a scenario.
    """
    found = re.fullmatch(r"(?:(train|eval):)?([0-9]{1,20})(?::([0-9]{1,20}))?", text)
    if found is None:
        raise UsageError(
            f"seed range {text!r} is not readable",
            "give N, or A:B for A up to B - 1; train: or eval: in front counts within that split",
        )
    start = int(found[2])
    if found[3] is None:
        stop = start + (1 if episodes is None else episodes)
    else:
        stop = int(found[3])
        if episodes is not None and episodes != stop - start:
            raise UsageError(
                f"seed range {text!r} holds {stop - start} seeds and --episodes says {episodes}",
                "give one of the two",
            )
    if stop <= start:
        raise UsageError(f"seed range {text!r} is empty", "give A:B with A below B")
    if stop - start > EPISODES_MAX or stop > 2**64:
        raise UsageError(
            f"seed range {text!r} is too long or too high",
            f"at most {EPISODES_MAX} seeds below 2**64",
        )
    if found[1] is None:
        return range(start, stop)
    split = split_of(found[1], scenarios)
    if stop > len(split):
        raise UsageError(
            f"seed range {text!r} goes beyond the split", f"it holds {len(split)} seeds"
        )
    return split[start:stop]


def split_of(name: str, scenarios: Sequence[str]) -> range:
    """Give the seeds of a split, which has to be the same for all scenarios. Raises UsageError."""
    splits = {scenario: load_scenario(scenario)[1].seeds_of(name) for scenario in scenarios}
    found = list(dict.fromkeys(splits.values()))
    if len(found) != 1:
        told = ", ".join(f"{key}: {split.start}:{split.stop}" for key, split in splits.items())
        raise UsageError(
            f"the {name} seeds are not the same for all scenarios ({told or 'none given'})",
            "run them one by one",
        )
    return found[0]


def parse_config(settings: Sequence[str]) -> dict[str, Any]:
    """Read `KEY=VALUE` settings; a value is JSON if it can be (no fractions), else text."""
    out: dict[str, Any] = {}
    for text in settings:
        key, equals, raw = text.partition("=")
        if not equals or not key:
            raise UsageError(
                f"setting {text!r} is not readable",
                "give KEY=VALUE, e.g. deals.detail.cache.ttl=300s",
            )
        if key in out:
            raise UsageError(f"setting {key!r} is given twice", "give each knob one value")
        try:
            value = json.loads(raw)
        except ValueError:
            value = raw
        if isinstance(value, float) or value is None:
            value = raw
        out[key] = value
    return out
