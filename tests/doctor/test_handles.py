"""Which arguments of an MCP server are filled in, and which are the agent's to choose."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.doctor.mcp import McpSession, McpSource, Server
from simharness.doctor.session import refusal


def source(tools: dict[str, dict[str, Any]], given: list[Any] | None = None) -> McpSource:
    """Give one that hasn't been opened: nothing is started."""
    found = McpSource.__new__(McpSource)
    found.tools = {
        name: {"name": name, "inputSchema": {"properties": arguments, "required": [*arguments]}}
        for name, arguments in tools.items()
    }
    found.begin = None
    found.given = given or []
    found.facts = {"told": {}}
    return found


TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}
MAYBE: dict[str, Any] = {"anyOf": [TEXT, {"type": "null"}]}
CASES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (TEXT, {"game": "g1"}, True),
    (MAYBE, {"game": "g1"}, True),
    ({}, {"game": "g1"}, True),
    ({"type": ["string", "null"]}, {"game": "g1"}, True),
    ({"type": "string", "enum": ["g1", "g2"]}, {"game": "g1"}, False),
    (NUMBER, {"game": "g1"}, False),
    (TEXT, {"game": 1}, False),
    (TEXT, {"game": True}, False),
    (TEXT, {"game": {"id": "g1"}}, False),
    (TEXT, {"other": "g1"}, False),
    (NUMBER, {"game": 1}, False),
]


@pytest.mark.parametrize(("schema", "told", "handed"), CASES)
def test_an_answer_that_fits_an_open_argument_is_handed(
    schema: dict[str, Any], told: dict[str, Any], handed: bool
) -> None:
    found = source({"move": {"game": schema}}).handles(told)
    assert found == ({"move": told} if handed else {})


def test_a_number_is_handed_where_it_is_named_like_a_handle_or_taken_by_several() -> None:
    bounded = {"type": "integer", "minimum": 1}
    assert source({"move": {"game_id": bounded}}).handles({"game_id": 7})
    two = source({"move": {"game": NUMBER, "by": NUMBER}, "resign": {"game": NUMBER}})
    assert two.handles({"game": 7, "by": 2}) == {"move": {"game": 7}, "resign": {"game": 7}}
    assert two.facts["told"] == {"handed": ["game"]}


def test_a_call_that_lacks_its_arguments_is_tried_where_all_are_handles_too() -> None:
    (_, (name, call)) = source({"look": {"game": TEXT}}).garbage()
    assert name == "a call of 'look' without its arguments"
    assert call == {"tool": "look", "arguments": {}, "lacking": True}


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("Error: no such game", True),
        ("ValueError: no such game", True),
        ({"error": "no such game"}, True),
        ({"error": {"code": 3}}, True),
        ({"error": ""}, False),
        ({"error": None}, False),
        ({"error": 0.25}, False),
        ("3 errors were mended", False),
        ("the error: of our ways", False),
        ({"count": 1}, False),
    ],
)
def test_errors_are_told_from_answers(answer: object, refused: bool) -> None:
    assert refusal(answer) is refused


class Asked(Server):
    """A server that notes what it is asked, and begins the game g1."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.asked.append(params["arguments"])
        return {"structuredContent": {"game": "g1"}}


@pytest.mark.parametrize(("handle", "hidden"), [("LOJReuCvG5lTYhdGXmCOUA", True), ("g1", False)])
def test_a_handle_that_nobody_should_guess_is_not_compared(handle: str, hidden: bool) -> None:
    found = source({"move": {"game": TEXT}})
    found.begin = {"name": "start"}
    session = McpSession(found, Naming(handle), [], {}, frozenset())
    turns = [session.reset(0), session.step({"tool": "move", "arguments": {"game": "x"}})]
    for turn in turns:
        assert (handle in turn.observation + turn.info) is not hidden
        assert ("<game>" in turn.observation and "<game>" in turn.info) is hidden
        assert "and 7 is left" in turn.observation


class Naming(Server):
    """A server that says in words which game it is."""

    def __init__(self, handle: str) -> None:
        self.handle = handle

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        text = f"This is {self.handle}, and 7 is left."
        return {"content": [{"text": text}], "structuredContent": {"game": self.handle}}


def sent(found: McpSource, action: dict[str, Any]) -> dict[str, Any]:
    """Give what is sent of an action after a beginning."""
    found.begin = {"name": "start"}
    server = Asked()
    session = McpSession(found, server, [], {}, frozenset())
    session.reset(0)
    session.step(action)
    return server.asked[-1]


def test_what_was_drawn_gives_way_to_a_handle_and_what_was_given_does_not() -> None:
    tools = {"move": {"game": TEXT, "by": NUMBER}}
    drawn = {"tool": "move", "arguments": {"game": "hello", "by": 2}}
    assert sent(source(tools), drawn) == {"game": "g1", "by": 2}
    assert sent(source(tools, [drawn]), drawn) == {"game": "hello", "by": 2}
    short = {"tool": "move", "arguments": {"by": 2}}
    assert sent(source(tools, [short]), short) == {"game": "g1", "by": 2}


def test_a_call_that_is_to_lack_its_arguments_does() -> None:
    lacking: dict[str, Any] = {"tool": "look", "arguments": {}, "lacking": True}
    assert sent(source({"look": {"game": TEXT}}), lacking) == {}
    assert sent(source({"look": {"game": TEXT, "by": NUMBER}}), lacking) == {"game": "g1"}
