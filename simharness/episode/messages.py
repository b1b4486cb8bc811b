"""A recorded episode as chat messages: what an OpenAI-style API would have exchanged."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.chat.messages import answered, asked, said
from simharness.episode.inputs import read_inputs
from simharness.episode.replay import plan_of, start_of
from simharness.episode.step import CALLS, STOP, TEXT, UNHEARD
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.episode.step import Input
    from simharness.recording.reader import EpisodeRecord
    from simharness.recording.rows import Told


class ChatTurn(NamedTuple):
    """One step as it looks in a chat."""

    given: Input
    told: Told | None
    """None where the recording ends before the answer."""
    messages: list[dict[str, Any]]
    """What the assistant said and the tools' answers; none where the agent went away."""


def chat_messages(record: EpisodeRecord) -> list[dict[str, Any]]:
    """Give the assistant's turns and the tools' answers; the assistant's arguments are verbatim."""
    prompt, turns = chat_turns(record)
    return [prompt, *(message for turn in turns for message in turn.messages)]


def chat_turns(record: EpisodeRecord) -> tuple[dict[str, Any], list[ChatTurn]]:
    """Give the message that an episode began with, and its steps.

    Raises DamagedRecording, or VersionError for a recording that needs another build.
    """
    told = {step.step: step for step in read_rows(record).steps}
    plan = plan_of(record)
    _, scenario = load_scenario(plan.scenario)
    turns = [
        ChatTurn(given, step := told.get(given.step), messages_of(given, step))
        for given in read_inputs(record)
    ]
    for turn, following in pairwise(turns):
        if turn.given.kind == TEXT and following.given.kind != STOP:
            turn.messages.append(asked(UNHEARD))
    return asked(start_of(scenario, plan)[0]), turns


def messages_of(given: Input, told: Told | None) -> list[dict[str, Any]]:
    """Give the messages of one step."""
    if given.kind == TEXT:
        return [said(given.text)]
    if given.kind != CALLS:
        return []
    results: Sequence[tuple[bool, Any]] = told.results if told is not None else ()
    return [
        said(given.text, [(call.id, call.tool, call.arguments) for call in given.calls]),
        *(
            answered(call.id, value, ok=ok)
            for call, (ok, value) in zip(given.calls, results, strict=False)
        ),
    ]
