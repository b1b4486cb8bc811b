"""Answers as a person sees them: everything is there, and nothing drives the terminal."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simharness.cli.answers import value_lines

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=40))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=20,
)


def squeezed(text: str) -> str:
    """Take away what a break between lines may add or lose."""
    return "".join(c for c in text if not c.isspace())


@given(VALUES, st.integers(40, 100))
def test_lines_are_printable_and_fit(value: Any, width: int) -> None:
    for line in value_lines(value, width):
        assert len(line) <= width
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2028" for c in line)


@given(st.lists(st.dictionaries(st.text("abc", min_size=1), st.text("xyz ,:", max_size=60))))
def test_every_value_is_there(value: list[dict[str, str]]) -> None:
    shown = squeezed("".join(value_lines(value, 60)))
    for item in value:
        for name, text in item.items():
            assert squeezed(f"{name}: {json.dumps(text)}") in shown or json.dumps(name) in shown


def test_short_values_stand_on_a_line_and_long_ones_go_down() -> None:
    assert list(value_lines({"waited": 60}, 40)) == ['{"waited": 60}']
    deal = {"id": 42, "title": "Linden Ltd rollout", "stage": "negotiation"}
    assert list(value_lines(deal, 40)) == [
        "id: 42", 'title: "Linden Ltd rollout"', 'stage: "negotiation"',
    ]  # fmt: skip
    assert list(value_lines({"deals": [deal], "page": 1}, 40)) == [
        "deals:",
        '  - id: 42, title: "Linden Ltd rollout",',
        '    stage: "negotiation"',
        "page: 1",
    ]


def test_a_text_of_several_lines_is_shown_as_such() -> None:
    assert list(value_lines({"text": "def f():\n\treturn 1\n"}, 40)) == [
        "text:",
        "| def f():",
        "|     return 1",
        "| ",
    ]
