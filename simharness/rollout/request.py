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


def parse_seeds(text: str, episodes: int | None) -> range:
    """Read `N` or `A:B` (B left out); `episodes` counts from N on. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,20})(?::([0-9]{1,20}))?", text)
    if found is None:
        raise UsageError(f"seed range {text!r} is not readable", "give N, or A:B for A up to B - 1")
    start = int(found[1])
    if found[2] is None:
        stop = start + (1 if episodes is None else episodes)
    else:
        stop = int(found[2])
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
    return range(start, stop)


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
        try:
            value = json.loads(raw)
        except ValueError:
            value = raw
        if isinstance(value, float) or value is None:
            value = raw
        out[key] = value
    return out
