"""The policy that asks a model, turn by turn, until the episode ends or the model has no more."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from simharness.chat.messages import answered, asked, functions, said, sendable
from simharness.chat.options import Think
from simharness.chat.usage import USAGE, Usage
from simharness.product.policy import Turn
from simharness.units import HOUR, MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simharness.chat.answer import Answer
    from simharness.chat.options import Options
    from simharness.chat.provider import Provider
    from simharness.product.policy import Action, Call, Observation, Policy, Task

TEXTS_MAX = 2
"""Plain texts in a row after which the model is taken to have gone away."""
TO_BEGIN, TO_WRITE = 1 * SECOND, 15 * MS
"""Think time by length: for the first character, and for each; some 16 tokens a second."""
LONGEST = 1 * HOUR
"""Most think time that is made of a length or of real time."""
FINENESS = 1_000_000
NAME = re.compile(r"[^a-zA-Z0-9_-]")
NAME_MAX = 64


def chat(provider: Provider) -> Policy:
    """Make the policy that asks a model."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        options = provider.options
        usage = Usage()
        tools = functions(task.tools)
        messages = [asked(task.prompt)]
        until = time.monotonic() + options.limit
        step = texts = 0
        while texts < TEXTS_MAX:
            step += 1
            began = time.monotonic()
            try:
                answer = provider.ask(messages, tools, usage, until, jitter_of(task, step))
            finally:
                task.notes[USAGE] = usage.record()
            if not answer.calls and not answer.text.strip():
                return  # neither calls nor words: it has gone away
            told = yield Turn(
                answer.calls, answer.text, think_ticks(options, answer, time.monotonic() - began)
            )
            texts = 0 if answer.calls else texts + 1
            messages += exchanged(answer, told)

    return play


def jitter_of(task: Task, step: int) -> Callable[[int], float]:
    """Give the draws by which retries are spread."""
    draw = task.draws(step)
    return lambda attempt: draw.below(FINENESS, "retry", attempt) / FINENESS


def think_ticks(options: Options, answer: Answer, seconds: float) -> int | None:
    """Give the think time before an answer is sent, which took so long in real time."""
    match options.think:
        case Think.FIXED:
            return options.think_ticks
        case Think.BY_LENGTH:
            return min(LONGEST, TO_BEGIN + TO_WRITE * answer.characters)
        case Think.WALL:
            return min(LONGEST, round(seconds * SECOND))
        case _:
            return None


def exchanged(answer: Answer, told: Observation) -> list[dict[str, Any]]:
    """Give the messages of one turn, as the model is sent them again.

    They are what it said, but for what servers refuse in a history though they wrote it:
    arguments that are no JSON object are sent back as an empty one, the answer says what they were.
    """
    text = sendable(answer.text)
    if not answer.calls:
        return [said(text), asked(told.text)]
    pairs = list(zip(answer.calls, told.results, strict=True))
    return [
        said(text, [(str(result["id"]), *repeated(call)) for call, result in pairs]),
        *(answer_to(result) for _, result in pairs),
    ]


def repeated(call: Call) -> tuple[str, str]:
    """Give the name and the arguments of a call as they may stand in a history."""
    text = str(call.args)
    try:
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        is_object = False
    name = NAME.sub("_", call.tool)[:NAME_MAX] or "unnamed"
    return name, sendable(text) if is_object else "{}"


def answer_to(result: Mapping[str, Any]) -> dict[str, Any]:
    """Give the answer to one call."""
    ok = "value" in result
    return answered(str(result["id"]), result["value" if ok else "error"], ok=ok)
