"""The answer of a chat API, whole or streamed, as what the model said and called.

Nothing is repaired: names, ids and arguments stay as they came, broken or not.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from simharness.product.policy import Call

DONE = "[DONE]"


class Unusable(Exception):  # noqa: N818  (about an answer, no failure of this package)
    """What came is no answer; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a model."""

    text: str
    calls: tuple[Call, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """As the provider says; 0 where it doesn't."""

    @property
    def characters(self) -> int:
        """How much the model wrote."""
        written = sum(len(call.tool) + len(call.args) for call in self.calls)
        return len(self.text) + written


def read_answer(body: bytes) -> Answer:
    """Read the body of a response, be it one JSON object or a stream of events. Raises Unusable."""
    text = body.decode("utf-8", "replace").strip()
    whole = _object(_json(text)) if text.startswith("{") else _put_together(text)
    if (error := whole.get("error")) is not None:
        raise Unusable(f"the answer is an error: {_words(error)}")
    choices = _list(whole.get("choices"))
    if not choices:
        raise Unusable("the answer has no choices")
    choice = _object(choices[0])
    message = _object(choice.get("message"))
    if not message:
        raise Unusable("the answer has no message")
    calls = tuple(_call(item) for item in _list(message.get("tool_calls")))
    said = _text(message.get("content")) or _text(message.get("refusal"))
    if choice.get("finish_reason") == "content_filter" and not calls and not said:
        raise Unusable("the provider's filter has withheld the answer")
    usage = _object(whole.get("usage"))
    return Answer(
        text=said,
        calls=calls,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _put_together(text: str) -> dict[str, Any]:
    """Put the chunks of a stream together to the object that would have come in one piece."""
    said: list[str] = []
    refused: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    finish: object = None
    usage: object = None
    chunks = 0
    is_done = False
    # Other ends of lines that Python knows may stand within JSON.
    for line in re.split(r"\r\n|\r|\n", text):
        if not line.startswith("data:"):
            continue  # comments keep the connection alive, and kinds of events mean nothing here
        data = line[len("data:") :].strip()
        if data == DONE:
            is_done = True
            break
        chunk = _object(_json(data))
        chunks += 1
        if chunk.get("error") is not None:
            return chunk
        usage = chunk.get("usage") or usage
        for choice in map(_object, _list(chunk.get("choices"))[:1]):
            finish = choice.get("finish_reason") or finish
            delta = _object(choice.get("delta"))
            said.append(_text(delta.get("content")))
            refused.append(_text(delta.get("refusal")))
            pieces = [_object(piece) for piece in _list(delta.get("tool_calls"))]
            for place, piece in enumerate(pieces):
                _add_piece(calls, _index_of(piece, calls, place if pieces[1:] else -1), piece)
    if not chunks and not is_done:
        raise Unusable("the answer is neither JSON nor a stream of events")
    if finish is None and not is_done:
        raise Unusable(f"the stream was cut after {chunks} events")
    if finish is None and not calls and not any(said):
        return {"choices": []}
    message = {
        "content": "".join(said),
        "refusal": "".join(refused),
        "tool_calls": [calls[index] for index in sorted(calls)],
    }
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _index_of(piece: dict[str, Any], calls: dict[int, dict[str, Any]], place: int) -> int:
    """Tell which call a piece belongs to. Some servers send no index: then a new id begins one.

    Without an id it is the call at its place in the event, or the last one if it came alone (-1).
    """
    index, own = piece.get("index"), _text(piece.get("id"))
    if type(index) is int:
        return index
    if own:
        ids = {call["id"]: key for key, call in calls.items()}
        return ids.get(own, max(calls, default=-1) + 1)
    return place if place >= 0 else max(calls, default=0)


def _add_piece(calls: dict[int, dict[str, Any]], index: int, piece: dict[str, Any]) -> None:
    """Add a piece of a call: id and name come once, arguments bit by bit."""
    call = calls.setdefault(index, {"id": "", "function": {"name": "", "arguments": ""}})
    function = _object(piece.get("function"))
    call["id"] = call["id"] or _text(piece.get("id"))
    call["function"]["name"] = call["function"]["name"] or _text(function.get("name"))
    call["function"]["arguments"] += _text(function.get("arguments"))


def _call(item: object) -> Call:
    entry = _object(item)
    function = _object(entry.get("function"))
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        # Some servers send the object itself.
        arguments = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return Call(_text(function.get("name")), arguments or "", _text(entry.get("id")) or None)


def _json(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable(f"the answer is no JSON, near {text[:40]!a}") from None
    return value


def _text(value: object) -> str:
    """Give a text, or the texts of a list of parts, or an empty text for anything else."""
    if isinstance(value, list):
        return "".join(_text(_object(part).get("text")) for part in cast("list[object]", value))
    return value if isinstance(value, str) else ""


def _words(error: object) -> str:
    return _text(_object(error).get("message")) or json.dumps(error)[:200]


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**53 else 0
