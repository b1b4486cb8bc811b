from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.chat.answer import Answer, Unusable, read_answer
from simharness.product.policy import Call
from tests.chat.provider import Message

texts = st.text(max_size=40)
messages = st.builds(
    Message,
    st.none() | texts,
    st.lists(st.tuples(st.text(min_size=1, max_size=9), texts, texts), max_size=4).map(tuple),
)


def whole(message: Message) -> bytes:
    return json.dumps(message.whole(5)).encode()


def streamed(message: Message) -> list[bytes]:
    return [f"{event}\n\n".encode() for event in message.events(5)]


@given(messages)
def test_an_answer_is_the_same_whole_and_streamed(message: Message) -> None:
    answer = read_answer(whole(message))
    assert answer.text == (message.text or "")
    assert answer.calls == tuple(Call(tool, args, id) for id, tool, args in message.calls)
    assert answer.prompt_tokens == 5
    assert read_answer(b"".join(streamed(message))) == answer


@given(messages, st.data())
def test_calls_of_a_stream_may_come_without_an_index(message: Message, data: st.DataObject) -> None:
    calls = [(f"{place}{id}", tool, args) for place, (id, tool, args) in enumerate(message.calls)]
    events: list[dict[str, Any]] = [{"content": message.text}]
    for id, tool, args in calls:
        cut = data.draw(st.integers(0, len(args)))
        own = {"id": id} if data.draw(st.booleans()) else {}
        pieces: list[dict[str, Any]] = [{"id": id, "function": {"name": tool}}]
        pieces += [{**own, "function": {"arguments": part}} for part in (args[:cut], args[cut:])]
        events += [{"tool_calls": [piece]} for piece in pieces]
    told: list[Any] = [{"choices": [{"delta": event}]} for event in events]
    told.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    # With the ends of lines in place that only Python takes for some.
    text = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in told)
    answer = read_answer(text.encode("utf-8", "surrogatepass"))
    assert answer.text == (message.text or "")
    assert answer.calls == tuple(Call(tool, args, id) for id, tool, args in calls)


def test_calls_that_come_at_once_without_an_index_are_told_apart() -> None:
    one, two = ({"function": {"name": n, "arguments": "{}"}} for n in "ab")
    chunk = {"choices": [{"delta": {"tool_calls": [one, two]}, "finish_reason": "tool_calls"}]}
    answer = read_answer(f"data: {json.dumps(chunk)}\n\n".encode())
    assert answer.calls == (Call("a", "{}"), Call("b", "{}"))


@given(messages, st.data())
def test_a_stream_that_was_cut_is_never_taken_for_an_answer(
    message: Message, data: st.DataObject
) -> None:
    events = streamed(message)
    # The last three are the one with the reason to finish, the usage, and the end.
    kept = data.draw(st.integers(0, len(events) - 4))
    with pytest.raises(Unusable):
        read_answer(b"".join(events[: kept + 1]))


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "delta",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "content",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "index",
                    "finish_reason",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "error"]), json_values), st.booleans())
def test_anything_that_a_server_sends_is_an_answer_or_unusable(body: Any, stream: bool) -> None:
    text = json.dumps(body)
    try:
        answer = read_answer(
            f"data: {text}\n\ndata: [DONE]\n\n".encode() if stream else text.encode()
        )
    except Unusable:
        return
    assert isinstance(answer, Answer)


@given(st.binary(max_size=80))
def test_bytes_are_an_answer_or_unusable(data: bytes) -> None:
    with pytest.raises(Unusable):
        read_answer(data)


def test_arguments_that_came_as_an_object_are_kept_as_text() -> None:
    function = {"name": "f", "arguments": {"b": 1, "a": 2}}
    body = {"choices": [{"message": {"tool_calls": [{"function": function}]}}]}
    assert read_answer(json.dumps(body).encode()).calls == (Call("f", '{"a":2,"b":1}', None),)


def test_an_answer_that_a_filter_withheld_is_unusable() -> None:
    body = {"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}
    with pytest.raises(Unusable, match="filter"):
        read_answer(json.dumps(body).encode())
