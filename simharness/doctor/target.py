"""What is audited, as it is named on a command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from simharness.errors import UsageError

GYMNASIUM = "gymnasium:"
MCP = "mcp:"
URLS = ("http://", "https://", "ws://", "wss://")
FORMS = (
    "give a Gymnasium id (CartPole-v1 or gymnasium:CartPole-v1), the URL of an OpenEnv server, "
    "'mcp:COMMAND ARGUMENTS', MODULE:FACTORY or PATH.py:FACTORY"
)


class Kind(StrEnum):
    """How a target is spoken to."""

    GYMNASIUM = "gymnasium"
    FACTORY = "factory"
    OPENENV = "openenv"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One environment, and how it is to be used."""

    kind: Kind
    name: str
    """The id, the URL, the command line, or the factory."""
    make: dict[str, Any] = field(default_factory=dict[str, Any])
    """Keyword arguments of the factory or of `gymnasium.make`."""
    reset: dict[str, Any] = field(default_factory=dict[str, Any])
    """What a reset is told besides its seed."""
    actions: tuple[Any, ...] = ()
    """Actions to draw from, the first of which does nothing; empty: those of its own space."""
    ignored: tuple[str, ...] = ()
    """Keys of observations and info that aren't compared."""
    seconds: float = 30.0
    """Wall time that a single answer may take."""

    @property
    def local(self) -> bool:
        """Whether its code runs in the process that asks."""
        return self.kind in (Kind.GYMNASIUM, Kind.FACTORY)

    @property
    def remote(self) -> bool:
        """Whether it is a server that somebody else has started."""
        return self.kind is Kind.OPENENV

    def record(self) -> dict[str, Any]:
        """Give the target as the process that hosts it is told."""
        return {
            "kind": str(self.kind),
            "name": self.name,
            "make": self.make,
            "reset": self.reset,
            "actions": list(self.actions),
            "ignored": list(self.ignored),
            "seconds": self.seconds,
        }


def parse_target(text: str) -> tuple[Kind, str]:
    """Read how a target is named. Raises UsageError."""
    if text.startswith(URLS):
        return Kind.OPENENV, text.rstrip("/")
    for prefix, kind in ((MCP, Kind.MCP), (GYMNASIUM, Kind.GYMNASIUM)):
        if text.startswith(prefix):
            name = text.removeprefix(prefix).strip()
            if not name:
                raise UsageError(f"target {text!r} names nothing after {prefix!r}", FORMS)
            return kind, name
    place, colon, factory = text.rpartition(":")
    if not colon:
        if not text.strip():
            raise UsageError("the target is empty", FORMS)
        return Kind.GYMNASIUM, text
    named = all(map(str.isidentifier, factory.split(".")))
    if not place or not named:
        raise UsageError(f"target {text!r} is not readable", FORMS)
    return Kind.FACTORY, text
