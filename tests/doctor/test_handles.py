"""Which arguments of an MCP server are filled in, and which are the agent's to choose."""

from __future__ import annotations

from typing import Any

import pytest

from simharness.doctor.mcp import McpSource
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
