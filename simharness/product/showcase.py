"""Showcases: episodes that a product shows to newcomers, each in a faulty and a sound form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """One episode worth showing."""

    number: int
    """Its name: the seed."""
    title: str
    scenario: str
    load: str
    faults: tuple[str, ...]
    """What is broken in the faulty form."""
    ablate: str
    """The mechanism whose repair proves it."""
    label: str
    """That mechanism in a word."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    policy: str = "expert"
