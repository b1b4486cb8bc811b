"""Read chat transcripts: the tool calls that a model sent, with nothing repaired.

A broken file is the caller's to fix and raises `UsageError`. A broken call inside a sound file is
what the model did: it is data, kept as it came, and `parse_arguments` says what is wrong with it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from simharness.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

# These limits are ours, not the interpreter's: one text has one verdict under every Python.
ARGUMENTS_MAX: Final = 256 * 1024
"""Characters of one call's arguments."""
DEPTH_MAX: Final = 100
BRACKETS_MAX = 10_000
ENCODINGS_MAX: Final = 3
INT_DIGITS_MAX: Final = 4300

_ACCEPTED: Final = (
    "accepted: JSON Lines in UTF-8 with a chat message a line or a conversation "
    '{"messages": [...]} a line; one JSON list of messages; one JSON object with "messages"'
)
_SKIPPED_ROLES: Final = ("developer", "function", "system", "tool", "user")
# A string counts as one token, so that brackets inside it don't; possessive, so that text made of
# quotes and backslashes takes linear time. An unclosed string runs to the end.
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCall:
    """One tool call as a model sent it; its texts may hold lone surrogates."""

    id: str
    """Empty when the message had none; not unique, since models repeat ids."""
    tool: str
    """Empty when the call named no tool."""
    arguments: str
    """The text received; canonical JSON when the file held a value instead of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One assistant message; several calls in it were sent in parallel."""

    calls: tuple[RawCall, ...]
    text: str
    """What the assistant said, its parts joined; empty when it said nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The assistant's turns of one conversation; none when nobody answered."""

    turns: tuple[Turn, ...]
    line: int
    """The conversation's first line in the file, from 1."""


def read_transcript(path: Path) -> tuple[Conversation, ...]:
    """Read the conversations of a chat transcript, in file order.

    A file with a message a line, or one list of messages, is one conversation.

    Raises:
        UsageError: The file can't be read, isn't one of the accepted forms, mixes them, or holds no
            assistant message.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise _broken_file(path, 1, "it is no ordinary file")
    documents = _documents(path, _text(path))
    conversations: list[Conversation] = []
    messages: list[Turn] = []
    first, head = documents[0]
    a_message_a_line = isinstance(head, dict) and "messages" not in head
    for line, document in documents:
        try:
            if (listed := _as_list(document)) is not None and len(documents) == 1:
                conversations.append(Conversation(turns=_turns(listed), line=line))
            elif _is_message(document) != a_message_a_line:
                raise _Refused("a message a line and a conversation a line in one file")
            elif a_message_a_line:
                messages.extend(_turns((document,)))
            else:
                conversations.append(Conversation(turns=_turns(_messages(document)), line=line))
        except _Refused as refused:
            raise _broken_file(path, line, refused.reason) from None
    if a_message_a_line:
        conversations.append(Conversation(turns=tuple(messages), line=first))
    if not any(conversation.turns for conversation in conversations):
        raise _broken_file(path, first, "no assistant message from here to the end")
    return tuple(conversations)


def parse_arguments(raw: str) -> tuple[dict[str, object] | None, str]:
    """Decode a call's arguments strictly; never raises.

    Models encode arguments twice or send nothing where they mean no arguments: both are accepted.
    What two JSON readers could take for different values, or none could write back, is refused.

    Returns:
        The arguments and an empty text, or None and the reason, which is plain ASCII and the same
        under every Python version.
    """
    if len(raw) > ARGUMENTS_MAX:
        return None, f"longer than {ARGUMENTS_MAX} characters"
    text = raw
    within = ""
    for _ in range(ENCODINGS_MAX):
        if not text.strip():
            return {}, ""
        try:
            value = _decode_arguments(text)
        except _Refused as refused:
            return None, within + refused.reason
        if not isinstance(value, str):
            break
        text = value
        within = "got a string, expected an object; inside the string: "
    else:
        return None, f"encoded more than {ENCODINGS_MAX} times"
    if value is None:
        return {}, ""
    arguments = _as_object(value)
    if arguments is None:
        return None, f"got {_kind(value)}, expected an object"
    return arguments, ""


class _Refused(Exception):  # noqa: N818  (about a value, no failure)
    """A value can't be taken; whoever knows where it stands says so."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise _broken_file(path, 1, f"can't be read: {reason}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _broken_file(path, line, f"not UTF-8: {error.reason}") from None


def _documents(path: Path, text: str) -> list[tuple[int, object]]:
    """Split a file into its JSON values, each with its first line."""
    # Not splitlines(): U+2028 and its kin may stand inside a JSON string.
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise _broken_file(path, 1, "the file is empty")
    first, opening = lines[0]
    try:
        _load(path, first, opening)
    except UsageError as torn_line:
        # Either one value over several lines, or a broken line; when it is neither, the error that
        # helps is the one that belongs to the form the first line looks like.
        try:
            return [(first, _load(path, first, text.strip()))]
        except UsageError:
            if opening.rstrip().endswith(("[", "{", ",", ":")):
                raise
            raise torn_line from None
    return [(n, _load(path, n, line)) for n, line in lines]


def _load(path: Path, first: int, text: str) -> object:
    try:
        value: object = _FILE_DECODER.decode(text)
    except json.JSONDecodeError as error:
        at = _position(error)
        line = first + text.count("\n", 0, at)
        column = at - text.rfind("\n", 0, at)
        raise _broken_file(path, line, f"not JSON at column {column}{_near(text, at)}") from None
    except RecursionError:
        raise _broken_file(path, first, "nested too deeply") from None
    except _Refused as refused:
        raise _broken_file(path, first, refused.reason) from None
    return value


def _broken_file(path: Path, line: int, reason: str) -> UsageError:
    return UsageError(f"transcript {str(path)!r}, line {line}: {reason}", _ACCEPTED)


def _is_message(document: object) -> bool:
    """Tell a message from a conversation, or refuse what is neither."""
    record = _as_object(document)
    if record is None:
        raise _Refused(f"got {_kind(document)}, expected a message or a conversation")
    if "messages" not in record and "role" not in record:
        keys = ", ".join(_quoted(key) for key in list(record)[:6]) or "none"
        raise _Refused(f"got an object with the keys {keys}, expected 'role' or 'messages'")
    return "messages" not in record


def _messages(document: object) -> list[object]:
    value = (_as_object(document) or {}).get("messages")
    messages = _as_list(value)
    if messages is None:
        raise _Refused(f"'messages': got {_kind(value)}, expected a list")
    return messages


def _turns(messages: list[object] | tuple[object]) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for number, value in enumerate(messages, 1):
        try:
            message = _as_object(value)
            if message is None:
                raise _Refused(f"got {_kind(value)}, expected an object")
            role = message.get("role")
            if role == "assistant":
                turns.append(Turn(calls=_calls(message), text=_content(message.get("content"))))
            elif role not in _SKIPPED_ROLES:
                shown = _quoted(role) if isinstance(role, str) else _kind(role)
                known = ", ".join(sorted(("assistant", *_SKIPPED_ROLES)))
                raise _Refused(f"'role': got {shown}, expected one of {known}")
        except _Refused as refused:
            if len(messages) == 1:
                raise
            raise _Refused(f"message {number}: {refused.reason}") from None
    return tuple(turns)


def _calls(message: dict[str, object]) -> tuple[RawCall, ...]:
    value = message.get("tool_calls")
    entries = [] if value is None else _as_list(value)
    if entries is None:
        raise _Refused(f"'tool_calls': got {_kind(value)}, expected a list")
    if entries:
        # Some servers send the first call again under its old name; it is not a second call.
        return tuple(_call(entry) for entry in entries)
    legacy = message.get("function_call")
    return () if legacy is None else (_call({"function": legacy}),)


def _call(value: object) -> RawCall:
    entry = _as_object(value) or {}
    # Some harnesses keep calls without the `function` around name and arguments.
    function = _as_object(entry.get("function", entry)) or {}
    arguments = function.get("arguments", "")
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        except RecursionError:
            raise _Refused("nested too deeply") from None
    return RawCall(
        id=_string(entry.get("id")), tool=_string(function.get("name")), arguments=arguments
    )


def _content(value: object) -> str:
    parts = _as_list(value)
    if parts is None:
        if value is not None and not isinstance(value, str):
            raise _Refused(f"'content': got {_kind(value)}, expected a string, a list or null")
        return value or ""
    # Parts without text (images, sound) say nothing that a call could depend on.
    return "".join(
        part if isinstance(part, str) else _string((_as_object(part) or {}).get("text"))
        for part in parts
    )


def _decode_arguments(text: str) -> object:
    # Before decoding: how deep the interpreter itself can go differs between versions.
    # (Counting brackets is enough to clear the many texts that have few.)
    brackets = text.count("[") + text.count("{")
    if brackets > BRACKETS_MAX or (brackets > DEPTH_MAX and _depth(text) > DEPTH_MAX):
        raise _Refused("nested too deeply")
    try:
        value: object = _ARGUMENTS_DECODER.decode(text)
    except json.JSONDecodeError as error:
        at = _position(error)
        raise _Refused(f"broken JSON at character {at + 1}{_near(text, at)}") from None
    except RecursionError:  # the caller itself stands deep
        raise _Refused("nested too deeply") from None
    if "\\u" in text or not text.isascii():
        _refuse_lone_surrogates(value)
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _TOKEN.finditer(text):
        token = text[match.start()]
        if token in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "]}":
            depth -= 1
    return deepest


def _refuse_lone_surrogates(value: object) -> None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if any("\ud800" <= c <= "\udfff" for c in item):
                raise _Refused(f"lone surrogate in {_quoted(item)}")
        elif (record := _as_object(item)) is not None:
            pending.extend(record)
            pending.extend(record.values())
        else:
            pending.extend(_as_list(item) or ())


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record: dict[str, object] = {}
    for key, value in pairs:
        if key in record:
            raise _Refused(f"duplicate key {_quoted(key)}")
        record[key] = value
    return record


def _int(digits: str) -> int:
    if len(digits.lstrip("-")) <= INT_DIGITS_MAX:
        try:
            return int(digits)
        except ValueError:  # the interpreter was told to take fewer
            pass
    raise _Refused(f"integer too long, expected at most {INT_DIGITS_MAX} digits")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Refused(f"number out of range: {_clipped(digits)}")
    return value


def _refuse_constant(name: str) -> object:
    raise _Refused(f"{name} is not a JSON number")


_ARGUMENTS_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_int,
    parse_float=_finite,
    parse_constant=_refuse_constant,
)
# NaN stays possible in a file: beside the calls it is nobody's business, and in a call's arguments
# it is the model's doing, which `parse_arguments` refuses.
_FILE_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_int)


def _position(error: json.JSONDecodeError) -> int:
    """Return where the error is, from 0, as every Python version would say."""
    at = error.pos
    if error.msg.startswith("Illegal trailing comma"):  # 3.13; older ones point behind the comma
        behind = error.doc[at + 1 :]
        at += 1 + len(behind) - len(behind.lstrip(" \t\n\r"))
    return at


def _near(text: str, at: int) -> str:
    return f", near {text[at : at + 16]!a}" if text[at:].strip() else ", where the text ends"


def _quoted(text: str) -> str:
    # ascii(), not repr(): what repr() escapes follows the Unicode version, and a reason must be
    # writable even when it quotes a lone surrogate.
    return ascii(_clipped(text))


def _clipped(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _as_object(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _as_list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
