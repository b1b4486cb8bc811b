"""What the name of a policy says: `openai:MODEL` or `openai:MODEL,OPTION=VALUE,...`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from simharness.errors import UnknownName, UsageError
from simharness.units import DAY, format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OPENAI = "openai:"
"""What the names of these policies begin with."""
EXAMPLE = "openai:MODEL, or openai:MODEL,temperature=0,stream=yes"
SECONDS = 1_000_000
"""Ticks; a duration of real time is read as one of simulated time is."""


class Think(StrEnum):
    """How long the model thinks before it acts, in simulated time."""

    DRAW = "draw"
    """A draw by seed and step, the same for every policy."""
    FIXED = "fixed"
    """The same before every step."""
    BY_LENGTH = "by_length"
    """By the characters that it wrote."""
    WALL = "wall"
    """As long as its answer took in real time."""


UNPAIRED = (Think.BY_LENGTH, Think.WALL)
"""Where what a model says changes the instants of the world, so that members of a group differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One model and how it is asked."""

    model: str
    stream: bool = False
    think: Think = Think.DRAW
    think_ticks: int = 0
    """Of `fixed`."""
    timeout: int = 120
    """Seconds of real time that one request may take."""
    retries: int = 5
    """Further requests where one fails in a way that may pass."""
    limit: int = 1800
    """Seconds of real time that all requests of an episode may take together."""
    asks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the request that only the provider reads, such as `temperature`."""


def is_chat(policy: str) -> bool:
    """Whether a policy's name is that of a model."""
    return policy.startswith(OPENAI)


def is_paired(policy: str) -> bool:
    """Whether a policy leaves the instants of its calls to the seed; scripts always do."""
    return not is_chat(policy) or read_options(policy).think not in UNPAIRED


def read_options(policy: str) -> Options:
    """Read the name of a policy. Raises UsageError, UnknownName for an option."""
    model, *settings = policy.removeprefix(OPENAI).split(",")
    if not model or model != model.strip() or not model.isprintable():
        raise UsageError(f"policy {policy!r:.80} names no model", f"give {EXAMPLE}")
    given: dict[str, Any] = {}
    asks: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise UsageError(
                f"option {text!r:.60} of policy {policy!r:.80} is not readable", f"give {EXAMPLE}"
            )
        if name in given or name in asks:
            raise UsageError(
                f"option {name!r} of policy {policy!r:.80} is given twice", "give it once"
            )
        if name == "think":
            given[name], given["think_ticks"] = read_think(value)
        elif name in OURS:
            given[name] = OURS[name](name, value)
        elif name in THEIRS:
            asks[name] = THEIRS[name](name, value)
        else:
            raise UnknownName.among("option of a model's policy", name, ["think", *OURS, *THEIRS])
    return Options(model=model, asks=asks, **given)


def read_think(text: str) -> tuple[Think, int]:
    """Read a way to think: draw, by_length, wall, or fixed:DURATION. Raises UsageError."""
    name, colon, duration = text.partition(":")
    if name == Think.FIXED and colon:
        ticks = parse_duration(duration)
        if not 0 <= ticks <= DAY:
            raise UsageError(f"a think time of {duration}", "give at most 1 day")
        return Think.FIXED, ticks
    if text in (Think.DRAW, Think.BY_LENGTH, Think.WALL):
        return Think(text), 0
    raise UsageError(
        f"think {text!r:.60} is not known", "give draw, fixed:DURATION, by_length or wall"
    )


def _yes(name: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise UsageError(f"option {name} is {text!r:.60}", "give yes or no")
    return text == "yes"


def _seconds(name: str, text: str) -> int:
    ticks = parse_duration(text)
    if ticks < SECONDS or ticks % SECONDS or ticks > DAY:
        raise UsageError(
            f"option {name} is {format_duration(ticks)}", "give whole seconds, 1s to 1 day"
        )
    return ticks // SECONDS


def _count(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UsageError(f"option {name} is {text!r:.60}", "give a whole number")
    return int(text)


def _retries(name: str, text: str) -> int:
    number = _count(name, text)
    if number > 20:
        raise UsageError(f"option {name} is {number}", "give at most 20")
    return number


def _decimal(name: str, text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise UsageError(f"option {name} is {text!r:.60}", "give a number such as 0.7")
    return float(text)


def _word(name: str, text: str) -> str:
    return text


OURS: Mapping[str, Callable[[str, str], Any]] = {
    "stream": _yes,
    "timeout": _seconds,
    "retries": _retries,
    "limit": _seconds,
}
THEIRS: Mapping[str, Callable[[str, str], Any]] = {
    "temperature": _decimal,
    "top_p": _decimal,
    "max_tokens": _count,
    "max_completion_tokens": _count,
    "reasoning_effort": _word,
    "seed": _count,
}
"""Sent along as they are."""


def check_address(url: str) -> str:
    """Check a base URL. Raises UsageError for one that is none, or that holds a secret."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        # What isn't readable may hold a secret, so it isn't repeated.
        raise UsageError(
            "the base URL is no address of a chat API", "give one like http://127.0.0.1:8000/v1"
        )
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            "the base URL holds a name, a password or a query, which would be recorded",
            "leave them out; the key is taken from OPENAI_API_KEY",
        )
    return url
