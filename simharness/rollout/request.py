"""What a run was asked for: scenarios, seeds, policies, faults, loads, and thus its episodes."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.chat.options import is_chat
from simharness.env import make_plan
from simharness.episode.plan import load_text
from simharness.errors import UsageError
from simharness.product.fault import parse_load
from simharness.product.registry import load_scenario
from simharness.rollout.block import BLOCK, MODEL_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from simharness.episode.plan import Plan

EPISODES_MAX = 10_000_000


class Entry(NamedTuple):
    """One episode of a run."""

    scenario: str
    seed: int
    policy: str
    faults: tuple[str, ...]
    load: str
    member: int
    """Its place in the group of its instance, from 0, which sets its policy's draws apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run: each scenario on each seed, by each policy, under each set of faults and load."""

    scenarios: tuple[str, ...]
    seeds: range
    policies: tuple[str, ...] = ("expert",)
    faults: tuple[tuple[str, ...], ...] = ((),)
    """Sets of faults: those of a set are in force together."""
    loads: tuple[str, ...] = ("1",)
    profile: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schedule: str = "fifo"
    group: int = 1
    """Episodes of each instance, which differ in the draws of their policy."""
    refill: int = 0
    """Groups that may be played in the place of dropped ones, on the seeds after the last."""
    base_url: str = ""
    """Where models are asked; empty for OPENAI_BASE_URL or OpenAI itself."""

    @property
    def models(self) -> tuple[str, ...]:
        """Those of the policies that ask a model."""
        return tuple(filter(is_chat, self.policies))

    @property
    def block(self) -> int:
        """How many episodes there are to a shard, which one worker plays."""
        return MODEL_BLOCK if self.models else BLOCK

    def __len__(self) -> int:
        return self._per_seed * len(self.seeds) * len(self.scenarios)

    @property
    def _per_seed(self) -> int:
        return len(self.policies) * len(self.faults) * len(self.loads) * self.group

    def entry(self, number: int) -> Entry:
        """Give the episode with a number from 0 on.

        They are ordered by scenario, seed, policy, faults, load and member, so that what is
        compared with each other, such as the members of a group, is played one after the other.
        """
        number, member = divmod(number, self.group)
        number, load = divmod(number, len(self.loads))
        number, faults = divmod(number, len(self.faults))
        number, policy = divmod(number, len(self.policies))
        scenario, seed = divmod(number, len(self.seeds))
        return Entry(
            self.scenarios[scenario],
            self.seeds[seed],
            self.policies[policy],
            self.faults[faults],
            self.loads[load],
            member,
        )

    def entries(self) -> Iterator[Entry]:
        """Give all episodes in their order."""
        return map(self.entry, range(len(self)))

    def plan(self, entry: Entry) -> Plan:
        """Give the plan of one episode."""
        return make_plan(
            entry.scenario,
            entry.seed,
            entry.load,
            entry.faults,
            self.profile,
            self.config,
            self.schedule,
        )

    def cell(self, entry: Entry) -> str:
        """Name what sets an episode apart from others of its seed and policy; mostly nothing."""
        parts: list[str] = []
        if len(self.loads) > 1:
            parts.append(f"load={load_text(parse_load(entry.load))}")
        if len(self.faults) > 1:
            parts.append(f"faults={'+'.join(entry.faults) or 'none'}")
        if self.group > 1:
            parts.append(f"member={entry.member}")
        return " ".join(parts)

    def command(self, entry: Entry) -> str:
        """Give the command that runs one of the episodes again."""
        parts = ["simharness", "run", entry.scenario, "--seed", str(entry.seed)]
        if entry.policy != "expert":
            parts += ["--policy", entry.policy]
        for fault in entry.faults:
            parts += ["--fault", fault]
        if entry.load != "1":
            parts += ["--load", entry.load]
        if self.profile:
            parts += ["--profile", self.profile]
        if self.schedule != "fifo":
            parts += ["--schedule", self.schedule]
        if entry.member:
            parts += ["--group", str(self.group)]
        if is_chat(entry.policy) and self.base_url:
            parts += ["--base-url", self.base_url]
        for key, value in self.config.items():
            parts += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(parts)

    def record(self) -> dict[str, Any]:
        """Give the request as run.json holds it."""
        return {
            "scenarios": list(self.scenarios),
            "seeds": [self.seeds.start, self.seeds.stop],
            "policies": list(self.policies),
            "faults": [list(chosen) for chosen in self.faults],
            "loads": [load_text(parse_load(load)) for load in self.loads],
            "profile": self.profile,
            "config": dict(self.config),
            "schedule": self.schedule,
            "group": self.group,
            "refill": self.refill,
            **({"base_url": self.base_url} if self.base_url else {}),
        }


def read_request(record: Mapping[str, Any]) -> Request:
    """Read a request as `Request.record` gives it. Raises KeyError, TypeError for what is none."""
    return Request(
        scenarios=tuple(record["scenarios"]),
        seeds=range(*record["seeds"]),
        policies=tuple(record["policies"]),
        faults=tuple(tuple(chosen) for chosen in record["faults"]),
        loads=tuple(record["loads"]),
        profile=record["profile"],
        config=record["config"],
        schedule=record["schedule"],
        group=record["group"],
        refill=record["refill"],
        base_url=record.get("base_url", ""),
    )


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


def parse_faults(sets: Sequence[str], always: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Read sets of faults, each `none` or faults joined by `+`; `always` are in force in each."""
    if not sets:
        return (tuple(always),)
    out: list[tuple[str, ...]] = []
    for text in sets:
        names = [] if text == "none" else text.split("+")
        if "" in names:
            raise UsageError(
                f"set of faults {text!r} is not readable", "give FAULT+FAULT, or none for no fault"
            )
        out.append((*always, *names))
    return tuple(out)
