"""One step: what the agent did, what it was told, and how recordings hold the former."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from simharness.episode.transcript import ARGUMENTS_MAX, RawCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.outside import Answered

CALLS = "calls"
TEXT = "text"
STOP = "stop"
OUTSIDE = "outside"
"""Kind of an INPUT that is an answer from outside, and none of the agent's doing."""
UNHEARD = (
    "Nobody reads plain text here. Go on with the tools, or end with finish if there is no more "
    "to do."
)
"""What the agent is told after plain text, as by its user."""
BESIDE = "beside"
"""Kind of an INPUT that is what a model said beside its calls: nobody hears it."""

CALL_TEXT_MAX = ARGUMENTS_MAX
"""Characters of one call's arguments, or of a text, that are kept."""
TURN_TEXT_MAX = 16 * 1024 * 1024
"""Characters of all arguments of a turn that are kept."""
NAME_MAX = 1_000
"""Characters of a tool's name or a call's id that are kept."""


LATER = "later"
"""Pin of a call that is sent so many ticks after its turn: it overlaps with those before it."""


class Placebo(NamedTuple):
    """Delays of a table's writes without any repair: what a repair of its locks is held against."""

    table: str
    longest: int
    """Ticks."""
    number: int
    """Which of several placebos; each draws other delays."""


class Input(NamedTuple):
    """What the agent did at one step."""

    step: int
    """From 1."""
    at: int
    """Tick of sending."""
    kind: str
    """calls, text, or stop (the agent went away without a word)."""
    calls: tuple[RawCall, ...] = ()
    text: str = ""
    """What was said; beside the calls, where there are any: nobody hears that."""
    pins: tuple[Mapping[str, int] | None, ...] = ()
    """Waits pinned by the caller, one map a call."""
    outside: tuple[Answered, ...] = ()
    """What the world was answered from outside during this step: known once it is over."""


class Result(NamedTuple):
    """The answer to one call."""

    id: str
    tool: str
    ok: bool
    value: Any
    """The answer, or the error as `{"code", "message", "retryable", ...}`."""

    def json(self) -> dict[str, Any]:
        """Give the result as the agent sees it: a copy, so that whoever gets it may change it."""
        key = "value" if self.ok else "error"
        return {"id": self.id, "tool": self.tool, key: copied(self.value)}


class StepRecord(NamedTuple):
    """One finished step."""

    input: Input
    t: int
    """Tick at which the answer was handed over."""
    results: tuple[Result, ...]
    reward: int | None
    """Millionths; 0 before the end, None where the harness can't tell."""
    terminated: bool
    truncated: bool
    rows: tuple[int, int]
    """First and one past the last journal row of the step."""


def copied(value: Any) -> Any:
    """Copy a JSON value."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in cast("list[Any]", value)]
    return value


def default_id(step: int, index: int) -> str:
    """Name a call that came without an id."""
    return f"call_{step}_{index}"


def cut(call: RawCall, room: int) -> RawCall:
    """Cut what a call says to what recordings hold; an ordinary call stays as it is.

    One that was cut is a character longer than any that was not: it is told by its length.
    """
    limit = min(CALL_TEXT_MAX, room)
    if len(call.arguments) <= limit and len(call.tool) <= NAME_MAX and len(call.id) <= NAME_MAX:
        return call
    arguments = call.arguments[: limit + 1]
    return RawCall(id=call.id[:NAME_MAX], tool=call.tool[:NAME_MAX], arguments=arguments)


def with_id(call: RawCall, step: int, index: int) -> RawCall:
    """Give a call with an id: its own, or the default."""
    if call.id:
        return call
    return RawCall(id=default_id(step, index), tool=call.tool, arguments=call.arguments)


def input_payload(given: Input) -> list[object] | bytes:
    """Give an input as recordings hold it; ids that follow the default are left empty."""
    if given.kind == TEXT:
        return given.text.encode("utf-8", "surrogatepass")
    out: list[object] = []
    for i, call in enumerate(given.calls):
        shown = "" if call.id == default_id(given.step, i) else call.id
        item: list[object] = [raw(shown), raw(call.tool), raw(call.arguments)]
        pins = given.pins[i] if given.pins else None
        if pins:
            item.append([x for pair in sorted(pins.items()) for x in pair])
        out.append(item)
    return out


def raw(text: str) -> bytes:
    """Encode text as received, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")
