"""The agent's inputs, read back from a recording's INPUT frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simharness.episode.step import BESIDE, CALLS, OUTSIDE, STOP, TEXT, Input, default_id
from simharness.episode.transcript import RawCall
from simharness.errors import DamagedRecording
from simharness.kernel.outside import Answered

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord

KEY_BYTES = 16
"""Length of the key that an answer from outside begins with."""


def read_inputs(record: EpisodeRecord) -> list[Input]:
    """Read what the agent did. Raises DamagedRecording for an input of no known shape."""
    outside = read_outside(record)
    given: list[Input] = []
    beside: dict[object, str] = {}
    for frame in record.inputs:
        step, _, kind, payload = frame.fields
        if kind == BESIDE and isinstance(payload, bytes):
            beside[step] = text(payload)
        elif kind != OUTSIDE:
            given.append(read_input(frame.fields))
    if not outside and not beside:
        return given
    return [
        one._replace(
            outside=tuple(outside.get(one.step, ())), text=one.text or beside.get(one.step, "")
        )
        for one in given
    ]


def read_outside(record: EpisodeRecord) -> dict[int, list[Answered]]:
    """Read the answers that came from outside, by step; those before the first are of step 0."""
    found: dict[int, list[Answered]] = {}
    for frame in record.inputs:
        step, _, kind, payload = frame.fields
        if kind != OUTSIDE:
            continue
        if not isinstance(payload, bytes) or len(payload) < KEY_BYTES:
            raise DamagedRecording(f"INPUT of step {step} holds no answer from outside")
        answered = Answered(payload[:KEY_BYTES], payload[KEY_BYTES:])
        found.setdefault(cast("int", step), []).append(answered)
    return found


def read_input(fields: tuple[object, ...]) -> Input:
    """Read one INPUT."""
    step, at, kind, payload = fields
    if not isinstance(step, int) or not isinstance(at, int):
        raise DamagedRecording(f"INPUT of step {step!r} at {at!r}")
    if kind == TEXT and isinstance(payload, bytes):
        return Input(step, at, TEXT, text=text(payload))
    if kind == STOP:
        return Input(step, at, STOP)
    if kind == CALLS and isinstance(payload, list):
        calls: list[RawCall] = []
        pins: list[dict[str, int] | None] = []
        for index, item in enumerate(cast("list[object]", payload)):
            call, pinned = read_call(item, step, index)
            calls.append(call)
            pins.append(pinned)
        return Input(step, at, CALLS, tuple(calls), pins=tuple(pins) if any(pins) else ())
    raise DamagedRecording(f"INPUT of step {step} is of kind {kind!r}")


def read_call(item: object, step: int, index: int) -> tuple[RawCall, dict[str, int] | None]:
    """Read one call of a turn and its pinned waits."""
    match item:
        case [bytes(call_id), bytes(tool), bytes(arguments)]:
            pinned = None
        case [bytes(call_id), bytes(tool), bytes(arguments), list()]:
            values = cast("list[list[object]]", item)[3]
            pinned = dict[str, int]()
            for name, ticks in zip(values[::2], values[1::2], strict=False):
                if not isinstance(name, str) or not isinstance(ticks, int):
                    raise DamagedRecording(f"INPUT of step {step} pins {name!r} to {ticks!r}")
                pinned[name] = ticks
        case _:
            raise DamagedRecording(f"INPUT of step {step} holds a call of no known shape")
    shown = text(call_id) or default_id(step, index)
    return RawCall(id=shown, tool=text(tool), arguments=text(arguments)), pinned


def text(data: bytes) -> str:
    """Decode text as it was received. Raises DamagedRecording for bytes that no text encodes to."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise DamagedRecording(f"an INPUT holds bytes that are no text: {error.reason}") from error
