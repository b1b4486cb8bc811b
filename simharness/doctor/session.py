"""What the process that hosts a target knows of it, whatever its kind.

Only the standard library is imported here, and nothing of the target.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, cast

ERROR = re.compile(r"\s*\w*error\s*:", re.IGNORECASE)
SHOWN_MAX = 2_000
"""Characters of an observation that a transcript keeps; its digest is of all."""


class Refused(Exception):  # noqa: N818  (an answer, which says no)
    """The target has refused a call, and says so in the way of its protocol."""


class Lost(Exception):  # noqa: N818  (what has become of a connection)
    """The connection to the target, or its process, is gone."""


class Unusable(Exception):  # noqa: N818  (ends the audit before it begins)
    """The target can't be audited as it was asked for: what happened, and what to do."""

    def __init__(self, message: str, hint: str = "", *, extra: str = "") -> None:
        """Take what happened, what to do, and the extra of this package that is lacking, if any."""
        super().__init__(message, hint)
        self.message = message
        self.hint = hint
        self.extra = extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of a target, to a reset or a step."""

    observation: str
    """In canonical form: equal texts are equal observations."""
    info: str = ""
    reward: Any = None
    """As it came."""
    terminated: bool = False
    truncated: bool = False
    flaws: tuple[str, ...] = ()
    """What isn't as the kind's contract has it."""
    refused: bool = False
    """Whether it says, in the way of its protocol or under `error`, that nothing was done."""

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated

    def number(self) -> float | None:
        """Give the reward if it is a number that one can train on."""
        if isinstance(self.reward, bool) or not isinstance(self.reward, Real):
            return None
        value = float(self.reward)
        return value if math.isfinite(value) else None

    def record(self, whole: bool = True) -> dict[str, Any]:
        """Give it as a transcript holds it; not `whole`, without the texts."""
        number = self.number()
        out: dict[str, Any] = {
            "digest": digest(self.observation, self.info),
            "reward": number if number is not None or self.reward is None else repr(self.reward),
            "terminated": self.terminated,
            "truncated": self.truncated,
            "flaws": list(self.flaws),
        }
        if self.refused:
            out["refused"] = True
        if whole:
            out["observation"] = self.observation[:SHOWN_MAX]
            out["info"] = self.info[:SHOWN_MAX]
        return out


class Session(Protocol):
    """One environment, played by one agent."""

    def reset(self, seed: int | None) -> Turn:
        """Begin an episode."""
        ...

    def step(self, action: Any) -> Turn:
        """Act; the action as `Source.draw` gave it."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Source(Protocol):
    """A target that was opened, and gives sessions."""

    facts: dict[str, Any]
    """What is known of it: JSON."""

    def open(self) -> Session:
        """Open a session."""
        ...

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions as JSON, the same for the same seed in every process."""
        ...

    def null(self) -> Any:
        """Give the action that does nothing, or the first of all."""
        ...

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what is no action, each with its name."""
        ...

    def close(self) -> None:
        """Let go of all."""
        ...


def digest(*texts: str) -> str:
    """Give the digest of texts, in hex."""
    hashed = hashlib.blake2b(digest_size=8)
    for text in texts:
        hashed.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return hashed.hexdigest()


def mapping_of(value: object) -> dict[str, Any]:
    """Give a value that is a map, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def refusal(value: object) -> bool:
    """Tell whether an answer, or a part of one, is an error that it tells of."""
    if isinstance(value, str):
        return ERROR.match(value) is not None
    # A number there may be one that is to be made small.
    error = mapping_of(value).get("error")
    return error is True or (isinstance(error, str | dict) and bool(cast("object", error)))
