"""What plays the agent, and what it is told.

The types that scripted policies, transcripts and models share.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.kernel.draws import Stream


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    tool: str
    args: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    """The arguments; text is sent raw, as a model sent it."""
    id: str | None = None
    """Repeated in the result; None takes a default."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn with all that a model made of it: calls, what it said, and when it is sent."""

    calls: Sequence[Call] = ()
    """Sent at once."""
    text: str = ""
    """Said beside the calls, to nobody; without calls, to the person who asked."""
    think: int | None = None
    """Ticks before it is sent; None for the draw that is the same for every policy."""


Action = Call | Sequence[Call] | Turn | str | None
"""One call, several at once, a whole turn, plain text, or None: the agent goes away."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the agent is told after a step."""

    t: str
    """Simulated time, ISO 8601 UTC."""
    episode_id: str
    results: tuple[Mapping[str, Any], ...]
    """`{id, tool, value}` or `{id, tool, error}`, in the order of the calls."""
    text: str = ""
    """What a plain text of the agent is answered with: that nobody reads it."""

    @property
    def value(self) -> Any:
        """The first result's value, or None when it was refused."""
        return self.results[0].get("value") if self.results else None

    @property
    def error(self) -> str:
        """The first result's error code, or an empty text."""
        error: Mapping[str, Any] = self.results[0].get("error", {}) if self.results else {}
        return str(error.get("code", ""))


@dataclass(frozen=True, slots=True)
class Task:
    """What a policy knows before its first action."""

    prompt: str
    tools: tuple[Mapping[str, Any], ...]
    """Name, description and JSON Schema of each tool."""
    brief: Mapping[str, Any]
    """The facts of the prompt as data."""
    draws: Callable[[int], Stream]
    """Draws of the policy's own, by step; they are no part of the world's."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the policy wants to be known of its play, such as its costs: kept in the recording's
    INFO frame."""


Policy = Callable[[Task], Generator[Action, Observation, None]]
"""A scripted policy: yields actions, is sent observations, decides from those alone."""
