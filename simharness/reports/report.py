"""A report: what a bug report says, read and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from simharness.product.product import Product
    from simharness.product.script import Act, Match

NO_REWARD = "none"
"""What `reward` of a verdict says where the harness must not tell one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A finding that must be there."""

    codes: Sequence[str]
    """Codes or beginnings of codes; any of them will do."""
    action: str = ""
    """Label of the action at which it must be found; empty for any place."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """A part of its evidence, as the file has it."""

    @property
    def shown(self) -> str:
        """The expectation in a few words."""
        at = f" at {self.action}" if self.action else ""
        more = ", ".join(f"{name} = {value!r}" for name, value in self.evidence.items())
        return " or ".join(self.codes) + at + (f" {{{more}}}" if more else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The verdict that there must be; None where the file says nothing."""

    kind: str | None = None
    primary: str | None = None
    reward: float | str | None = None
    """A number, or `none`."""
    effect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What an action must have come to; None where the file says nothing."""

    returns: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing to play: a report, or one of its controls with what it changes laid over."""

    title: str
    product: type[Product]
    product_name: str
    """As the file names it."""
    seed: int
    load: int
    """Thousandths."""
    epoch: int
    """The instant of tick 0."""
    faults: Sequence[str]
    until: int | None
    """Tick at which it ends; None: once nothing is under way any more."""
    config: Mapping[str, Any]
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    identities: Mapping[str, int]
    acts: Sequence[Act]
    checks: Mapping[str, Check]
    """By label."""
    inherited: frozenset[str]
    """Labels of actions that a control has as its report has them: it may be that they can't come
    to pass in it."""
    unchecked: frozenset[str]
    """Labels of calls of the agent's that are sent as they stand."""
    material: Mapping[str, Any]
    """What the product takes besides rows, by its names for it."""
    goal: Sequence[Match] | None
    keep: Sequence[Match]
    task: str
    """The slug of the scenario whose goal it is; empty for none."""
    instance: Mapping[str, Any]
    """What that scenario drew."""
    pay: Sequence[Match] | None
    expect: Sequence[Expectation]
    verdict: Expected
    forbid: Sequence[str]
    strict: bool
    allow_other: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole file."""

    path: Path
    id: str
    source: str
    """Where it was reported; empty if the file doesn't say."""
    case: Case
    controls: Sequence[Case]
