from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.episode.transcript import (
    ARGUMENTS_MAX,
    DEPTH_MAX,
    INT_DIGITS_MAX,
    Conversation,
    RawCall,
    Turn,
    parse_arguments,
    read_transcript,
)
from simharness.errors import UsageError

DRONE = Path(__file__).parents[1] / "data" / "drone-3.jsonl"
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}
ASKED: dict[str, object] = {"role": "user", "content": "look at 7"}
CALLED: dict[str, object] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWERED: dict[str, object] = {"role": "tool", "tool_call_id": "c1", "content": "{}"}
CLOSED: dict[str, object] = {"role": "assistant", "content": "seen"}
MESSAGES = [{"role": "system", "content": "s"}, ASKED, CALLED, ANSWERED, CLOSED]
LOOK = RawCall(id="c1", tool="look", arguments='{"id": 7}')
TURNS = (Turn(calls=(LOOK,), text=""), Turn(calls=(), text="seen"))

any_text = st.text(st.characters(exclude_categories=()))
json_text = st.text('{}[]",:\\ud8NaN01e-. \n')
# A small alphabet: Hypothesis takes a second to build its table of all characters.
plain_text = st.text('ab "\\/{}[]:,0\0\n\x7fé\u2028\U0001f600')
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | plain_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_text, inner, max_size=3),
    max_leaves=8,
)


def read(folder: Path, content: str | bytes) -> tuple[Conversation, ...]:
    path = folder / "chat.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_transcript(path)


def read_message(folder: Path, **fields: object) -> Turn:
    (conversation,) = read(folder, json.dumps({"role": "assistant", **fields}))
    (turn,) = conversation.turns
    return turn


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


# Files


def test_drone_conversations_are_read_as_sent() -> None:
    conversations = read_transcript(DRONE)
    assert [c.line for c in conversations] == [1, 2, 3]
    calls = [call for c in conversations for turn in c.turns for call in turn.calls]
    assert [call.id for call in calls] == ["call_id"] * 3
    assert [call.tool for call in calls] == ["takeoff_drone", "takeoff_drone", "land_drone"]
    assert calls[2].arguments == r'"{\"location\": \"current\"}"'
    assert parse_arguments(calls[0].arguments) == ({"altitude": 100}, "")
    assert parse_arguments(calls[2].arguments) == ({"location": "current"}, "")


@pytest.mark.parametrize(
    "content",
    [
        lines(*MESSAGES),
        lines({"messages": MESSAGES, "tools": []}),
        json.dumps(MESSAGES),
        json.dumps(MESSAGES, indent=2),
        json.dumps({"messages": MESSAGES}, indent=2),
        "[" + "\n,".join(json.dumps(message) for message in MESSAGES) + "]",
        "\ufeff" + lines(*MESSAGES),
        lines(*MESSAGES).replace("\n", "\r\n\r\n"),
        lines(*MESSAGES).rstrip(),
    ],
    ids=[
        "a message a line",
        "a conversation a line",
        "list",
        "indented list",
        "indented object",
        "list broken before commas",
        "byte order mark",
        "carriage returns and blank lines",
        "no last line end",
    ],
)
def test_every_accepted_form_reads_the_same(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == (Conversation(turns=TURNS, line=1),)


def test_lines_are_counted_with_blank_ones(tmp_path: Path) -> None:
    content = "\n" + lines({"messages": MESSAGES}) + "\n\n" + lines({"messages": MESSAGES})
    assert [c.line for c in read(tmp_path, content)] == [2, 5]
    assert read(tmp_path, "\n\n" + json.dumps(MESSAGES, indent=1))[0].line == 3


def test_unicode_line_separator_does_not_split_a_line(tmp_path: Path) -> None:
    content = '{"role": "assistant", "content": "a\u2028b\x85c"}\n'
    assert read(tmp_path, content)[0].turns == (Turn(calls=(), text="a\u2028b\x85c"),)


def test_unanswered_conversation_stays_in_its_place(tmp_path: Path) -> None:
    content = lines({"messages": [ASKED]}, {"messages": []}, {"messages": MESSAGES})
    assert [c.turns for c in read(tmp_path, content)] == [(), (), TURNS]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "line 1: the file is empty"),
        (" \n\ufeff\n", "line 2: not JSON at column 1"),
        (b"\xef\xbb\xbf", "line 1: the file is empty"),
        (lines(ASKED).encode() + b"\xff", "line 2: not UTF-8: invalid start byte"),
        (b"\xef\xbb\xbf\n" + lines(ASKED).encode() + b'"\xed\xa0\x80"', "line 3: not UTF-8"),
        ("hello", "line 1: not JSON at column 1, near 'hello'"),
        (lines(CALLED) + '{"role": ', "line 2: not JSON at column 10, where the text ends"),
        ('{"role": "user"\n' + lines(CALLED), "line 1: not JSON at column 16, where the text"),
        ('{\n "messages": [\n  oops]}', "line 3: not JSON at column 3, near 'oops]}'"),
        ('\n[\n {"role": "user",\n }\n]', "line 4: not JSON at column 2, near '}"),
        (lines(CALLED, 7), "line 2: got a number, expected a message or a conversation"),
        (lines([CALLED], [CALLED]), "line 1: got a list, expected a message or"),
        (lines(None), "line 1: got null, expected a message or"),
        (
            lines({"conversations": [CALLED], "id": 1}),
            "line 1: got an object with the keys 'conversations', 'id', expected 'role' or",
        ),
        ("{}", "line 1: got an object with the keys none, expected"),
        (lines(CALLED, {"messages": MESSAGES}), "line 2: a message a line and a conversation a"),
        (lines({"messages": MESSAGES}, CALLED), "line 2: a message a line and a conversation a"),
        (lines({"messages": "no"}), "line 1: 'messages': got a string, expected a list"),
        (lines({"messages": [ASKED, True]}), "line 1: message 2: got a boolean, expected an"),
        (lines({"messages": [CALLED, {"a": 1}]}), "line 1: message 2: 'role': got null, expected"),
        (lines(CALLED, {"role": "gpt"}), "line 2: 'role': got 'gpt', expected one of assistant,"),
        ('{"role": {}}', "line 1: 'role': got an object, expected one of"),
        (lines(CALLED, CALLED | {"content": 7}), "line 2: 'content': got a number, expected a"),
        (
            '{"role": "assistant", "tool_calls": {}}',
            "line 1: 'tool_calls': got an object, expected a",
        ),
        ("\n" + lines(ASKED, ANSWERED), "line 2: no assistant message from here to the end"),
        ("[]", "line 1: no assistant message"),
        ('{"role": "user", "role": "assistant"}', "line 1: duplicate key 'role'"),
        (lines(ASKED) + '{"role": ' + "9" * 5000 + "}", "line 2: integer too long"),
        (lines(ASKED) + "[" * 100_000, "line 2: nested too deeply"),
    ],
)
def test_broken_file_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, reason: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, content)
    where = f"transcript {str(tmp_path / 'chat.jsonl')!r}, "
    assert caught.value.message.startswith(where + reason)
    assert caught.value.hint.startswith("accepted: JSON Lines")


@pytest.mark.parametrize("name", ["absent.jsonl", ".", "a\0b"])
def test_unreadable_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="line 1: can't be read: "):
        read_transcript(tmp_path / name)


@given(content=st.binary() | any_text.map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    with contextlib.suppress(UsageError):
        assert read(tmp_path_factory.getbasetemp(), content)


@given(message=st.dictionaries(st.sampled_from(sorted({*CALLED, "function_call"})), json_values))
def test_any_assistant_message_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, message: dict[str, object]
) -> None:
    sound = isinstance(message.get("tool_calls", []), list | None) and isinstance(
        message.get("content"), str | list | None
    )
    with contextlib.nullcontext() if sound else pytest.raises(UsageError, match="line 1: '"):
        read_message(tmp_path_factory.getbasetemp(), **message | {"role": "assistant"})


# Messages


def test_parallel_calls_stay_in_one_turn_in_order_with_repeated_ids(tmp_path: Path) -> None:
    other = {"id": "c1", "function": {"name": "lift", "arguments": "{}"}}
    turn = read_message(tmp_path, tool_calls=[CALL, other, CALL])
    assert turn.calls == (LOOK, RawCall(id="c1", tool="lift", arguments="{}"), LOOK)


def test_legacy_function_call_is_one_call_without_id(tmp_path: Path) -> None:
    legacy = {"name": "look", "arguments": '{"id": 7}'}
    turn = read_message(tmp_path, content=None, function_call=legacy, tool_calls=None)
    assert turn.calls == (RawCall(id="", tool="look", arguments='{"id": 7}'),)


def test_function_call_that_mirrors_tool_calls_is_not_a_second_call(tmp_path: Path) -> None:
    turn = read_message(tmp_path, tool_calls=[CALL], function_call=CALL["function"])
    assert turn.calls == (LOOK,)


@pytest.mark.parametrize(
    ("entry", "call"),
    [
        (None, RawCall(id="", tool="", arguments="")),
        ("look", RawCall(id="", tool="", arguments="")),
        ({"id": "c"}, RawCall(id="c", tool="", arguments="")),
        ({"id": 7, "function": []}, RawCall(id="", tool="", arguments="")),
        ({"function": {"arguments": "{"}}, RawCall(id="", tool="", arguments="{")),
        ({"function": {"name": ["x"]}}, RawCall(id="", tool="", arguments="")),
        ({"function": {"name": "look"}}, RawCall(id="", tool="look", arguments="")),
    ],
)
def test_malformed_call_is_kept_as_data(tmp_path: Path, entry: object, call: RawCall) -> None:
    assert read_message(tmp_path, tool_calls=[entry]).calls == (call,)
    assert read_message(tmp_path, content="", function_call="look").calls[0].tool == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1.0, None], "a": "é"}, r'{"a":"\u00e9","b":[1.0,null]}'),
        ({}, "{}"),
        ([1, 2], "[1,2]"),
        (None, "null"),
        ({"a": float("nan")}, '{"a":NaN}'),
        ({"a": "\ud800"}, r'{"a":"\ud800"}'),
        (" {'a': 1}", " {'a': 1}"),
    ],
)
def test_arguments_that_are_not_text_become_canonical_json(
    tmp_path: Path, value: object, text: str
) -> None:
    turn = read_message(tmp_path, tool_calls=[{"function": {"name": "f", "arguments": value}}])
    assert turn.calls[0].arguments == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("hi", "hi"),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": 3}, None], "ab"),
    ],
)
def test_content_becomes_one_text(tmp_path: Path, content: object, text: str) -> None:
    assert read_message(tmp_path, content=content).text == text


def test_absent_content_is_empty_text(tmp_path: Path) -> None:
    assert read_message(tmp_path) == Turn(calls=(), text="")


# Arguments


def encoded(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps(text)
    return text


@given(arguments=st.dictionaries(plain_text, json_values), times=st.integers(0, 2))
def test_arguments_survive_up_to_three_encodings(arguments: dict[str, object], times: int) -> None:
    assert parse_arguments(encoded(json.dumps(arguments), times)) == (arguments, "")


@pytest.mark.parametrize("raw", ["", " \n\t ", "null", " null ", '""', '"null"', "{}", '"{}"'])
def test_nothing_means_no_arguments(raw: str) -> None:
    assert parse_arguments(raw) == ({}, "")


def test_integers_stay_exact_and_floats_stay_floats() -> None:
    digits = "9" * INT_DIGITS_MAX
    arguments, reason = parse_arguments(
        f'{{"a": -{digits}, "b": 1.0, "c": 1e2, "d": 9007199254740993}}'
    )
    assert arguments == {"a": -int(digits), "b": 1.0, "c": 100.0, "d": 9007199254740993}
    assert arguments is not None, reason
    assert [type(value) for value in arguments.values()] == [int, float, float, int]


def test_escaped_surrogate_pair_is_one_character() -> None:
    assert parse_arguments(r'{"a": "\ud83d\ude00"}') == ({"a": "\U0001f600"}, "")


def test_brackets_in_strings_are_not_nesting() -> None:
    value = r"\"[{" * 200
    assert parse_arguments(json.dumps({"a": value})) == ({"a": value}, "")


def test_nesting_is_accepted_up_to_the_limit() -> None:
    def nested(depth: int) -> str:
        return '{"a":' * depth + "1" + "}" * depth

    assert parse_arguments(nested(DEPTH_MAX))[0] is not None
    assert parse_arguments(nested(DEPTH_MAX + 1)) == (None, "nested too deeply")


@pytest.mark.parametrize("filler", ["a", "é"])
def test_size_is_counted_in_characters(filler: str) -> None:
    value = filler * (ARGUMENTS_MAX - len('{"a":""}'))
    assert parse_arguments(f'{{"a":"{value}"}}') == ({"a": value}, "")
    assert parse_arguments(f'{{"a":"{value}{filler}"}}') == (None, "longer than 262144 characters")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("[1]", "got a list, expected an object"),
        ("7", "got a number, expected an object"),
        ("true", "got a boolean, expected an object"),
        (encoded("[]", 2), "got a list, expected an object"),
        (encoded("{}", 3), "encoded more than 3 times"),
        (
            '"hello"',
            "got a string, expected an object; inside the string: "
            "broken JSON at character 1, near 'hello'",
        ),
        ("{'a': 1}", "broken JSON at character 2, near \"'a': 1}\""),
        ('{"a": 1', "broken JSON at character 8, where the text ends"),
        ('{"a": 1, }', "broken JSON at character 10, near '}'"),
        ('{"a": [1,\n]}', "broken JSON at character 11, near ']}'"),
        ('{"a": 1} {"a": 1}', "broken JSON at character 10, near '{\"a\": 1}'"),
        ('{"a": "é', "broken JSON at character 7, near '\"\\xe9'"),
        ('{"x": 1, "x": 1}', "duplicate key 'x'"),
        ('{"a": [{"\\u0078": 1, "x": 2}]}', "duplicate key 'x'"),
        (f'{{"{"k" * 99}": 1, "{"k" * 99}": 1}}', f"duplicate key '{'k' * 60}...'"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e400}', "number out of range: 1e400"),
        ('{"a": ' + "9" * 5000 + "}", "integer too long, expected at most 4300 digits"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        (r'{"a": "\ud800"}', r"lone surrogate in '\ud800'"),
        (r'{"a": [{"b\udfff": 1}]}', r"lone surrogate in 'b\udfff'"),
        ('{"a": "\udfff"}', r"lone surrogate in '\udfff'"),
        (
            encoded(r'{"a": "\ud800"}', 2),
            r"got a string, expected an object; inside the string: lone surrogate in '\ud800'",
        ),
    ],
)
def test_unusable_arguments_are_refused_with_the_reason(raw: str, reason: str) -> None:
    arguments, said = parse_arguments(raw)
    assert arguments is None
    assert said == reason


@given(raw=any_text | json_text | any_text.map(json.dumps) | json_values.map(json.dumps))
def test_any_text_gives_arguments_or_a_writable_reason(raw: str) -> None:
    arguments, reason = parse_arguments(raw)
    assert (arguments is None) == (reason != "")
    assert reason.isascii()
    # What was accepted can be written, and read back to the same.
    if arguments is not None:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
        assert parse_arguments(json.dumps(arguments)) == (arguments, "")


@pytest.mark.parametrize("raw", ['"' * 200_000, '"' + r"\"" * 200_000, "\\" * 400_000])
def test_quotes_and_backslashes_take_linear_time(raw: str) -> None:
    """Take minutes, not milliseconds, if the depth scan ever backtracks."""
    assert parse_arguments(raw)[0] is None


def test_interpreter_with_a_smaller_integer_limit_refuses_without_raising() -> None:
    program = (
        "from simharness.episode.transcript import parse_arguments\n"
        "arguments, reason = parse_arguments('9' * 700)\n"
        "assert arguments is None and reason.startswith('integer too long'), reason\n"
    )
    environment = os.environ | {"PYTHONINTMAXSTRDIGITS": "640"}
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=root)
