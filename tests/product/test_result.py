"""What a tool declares to answer, held against what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest

from simharness.api import Answer, Operation, Page, Product, Row, store, tool
from simharness.product.result import ANY, OBJECT, PAGE, ROW
from simharness.product.tool import Renderer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket(Row):
    title: str = "a"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Row):
    text: str = ""


class Count(TypedDict):
    number: int


class Desk(Product):
    """Tickets, and one tool for each kind of answer."""

    name = "desk"
    tickets = store(Ticket, views=("detail",))
    notes = store(Note, views=("detail",))

    @tool
    def one(self, op: Operation) -> Answer[Ticket]:
        """Answer a ticket."""
        yield from ()
        return Ticket(id=1)

    @tool
    def some(self, op: Operation) -> Answer[Ticket | None]:
        """Answer a ticket or nothing."""
        yield from ()
        return None

    @tool
    def many(self, op: Operation) -> Answer[Page[Ticket]]:
        """Answer a page."""
        yield from ()
        return Page("tickets", ())

    @tool
    def facts(self, op: Operation) -> Answer[dict[str, Any]]:
        """Answer an object."""
        yield from ()
        return {}

    @tool
    def count(self, op: Operation) -> Answer[Count]:
        """Answer an object of known keys."""
        yield from ()
        return {"number": 1}

    @tool
    def anything(self, op: Operation) -> Answer[Any]:
        """Answer anything."""
        yield from ()


def test_the_return_hint_says_the_form() -> None:
    forms = {name: (form.kind, form.nullable) for name, form in Desk.forms.items()}
    assert forms["one"] == (ROW, False)
    assert forms["some"] == (ROW, True)
    assert forms["many"] == (PAGE, False)
    assert forms["facts"] == forms["count"] == (OBJECT, False)
    assert forms["anything"] == (ANY, False)
    assert forms["finish"] == (OBJECT, False)
    assert Desk.forms["many"].tables == ("tickets",)


TICKET, NOTE = Ticket(id=1), Note(id=1)
SAMPLES: list[tuple[str, object, str]] = [
    ("one", TICKET, ""),
    ("one", None, "None, no row"),
    ("one", {"x": 1}, "a row without id, version, created_at, updated_at, title, tags and with x"),
    ("one", NOTE, "a row without title, tags and with text"),
    ("one", Page("tickets", (TICKET,)), "a row without id, "),
    ("some", None, ""),
    ("some", TICKET, ""),
    ("some", NOTE, "a row without title, tags and with text"),
    ("many", Page("tickets", ()), ""),
    ("many", Page("tickets", (TICKET,)), ""),
    ("many", Page("tikets", ()), "a page of tikets, not of tickets"),
    ("many", Page("notes", (NOTE,)), "a page of notes, not of tickets"),
    ("many", Page("tickets", (NOTE,)), "a row without title, tags and with text"),
    ("many", TICKET, "{'id': 1, 'version': 1"),
    ("many", None, "None, no page"),
    ("facts", {"a": 1}, ""),
    ("facts", None, "None, no object"),
    ("facts", "x", "'x', no object"),
    ("count", [1], "[1], no object"),
    ("anything", [1], ""),
    ("anything", None, ""),
]


@pytest.mark.parametrize(("name", "answer", "problem"), SAMPLES)
def test_an_answer_is_held_against_the_form_as_returned_and_as_told(
    name: str, answer: object, problem: str
) -> None:
    form = Desk.forms[name]
    assert form.holds(answer) == (problem == "")
    told = form.problem(Renderer().render(answer))
    assert told.startswith(problem)
    assert bool(told) == bool(problem)


def test_what_a_row_holds_is_judged_as_told() -> None:
    form = Desk.forms["one"]
    row = Renderer().render(TICKET)
    assert form.problem({**row, "title": 5}) == "a row whose title is 5"
    assert form.problem(dict(reversed(row.items()))) == "a row with its columns in another order"
    assert form.problem({**row, "tags": ["x"]}) == form.problem({**row, "tags": ("x",)}) == ""
    assert form.problem({"as_of": "2026-03-02T09:00:00Z", **row}) == ""
    page = {"tickets": [row], "ids": [2], "page": 1, "next_page": None}
    assert Desk.forms["many"].problem(page) == "a page whose ids differ from its rows"
    two = {**page, "notes": []}
    assert Desk.forms["many"].problem(two) == "a page of tickets, notes, not of one table"
