"""What colleagues do to the file of a ticket in ide/conflict, and how that is put together."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from simharness.models.ide.repository.merging import merge_texts
from simharness.models.ide.scenarios.moves import HELPERS, PLACES, Move, both, remark_line
from simharness.models.ide.scenarios.task import path_of
from simharness.models.ide.tickets import FAMILIES, draw_ticket

if TYPE_CHECKING:
    from simharness.models.ide.tickets import Ticket

NUMBERS = range(1, 5)


def tickets(family: str) -> list[Ticket]:
    return [draw_ticket(family, number) for number in NUMBERS]


def code(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_remark_changes_nothing_but_clashes_with_the_reference(family: str) -> None:
    clashes = 0
    for ticket in tickets(family):
        path = path_of(ticket)
        base, mine = ticket.files[path], ticket.reference[path]
        for place in PLACES:
            move = Move(path, HELPERS[0], place, "a remark")
            theirs = move.change(ticket, ticket.files)[path]
            assert theirs is not None
            assert code(theirs) == code(f"{base}\n\n{move.helper.text}")
            merged = merge_texts(base, mine, theirs, our_name="a", their_name="b")
            assert merged.conflicts or remark_line(ticket, move) is None
            clashes += merged.conflicts > 0
            # What the reference makes of both is its own code and the new function.
            settled = both(base, mine, theirs)
            assert code(settled) == code(f"{mine}\n\n{move.helper.text}")
    assert clashes >= len(NUMBERS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_helper_has_a_name_that_no_ticket_has(family: str) -> None:
    for ticket in tickets(family):
        text = "\n".join([*ticket.files.values(), *ticket.reference.values()])
        assert not [helper.name for helper in HELPERS if helper.name in text]


def test_two_changes_come_together_line_by_line() -> None:
    base = "a\nb\nc\nd\n"
    assert both(base, "a\nB\nc\nd\n", "a\nb\nc\nD\n") == "a\nB\nc\nD\n"
    assert both(base, "a\nB\nc\nd\n", "a\nx\nb\nc\nd\ne\n") == "a\nx\nB\nc\nd\ne\n"
    assert both(base, "a\nB\nc\nd\n", "a\nb # b\nnew\nc\nd\n") == "a\nB\nnew\nc\nd\n"
    assert both(base, "a\nd\n", "a\nb\nc\nd\ne\n") == "a\nd\ne\n"
    assert both(base, base, "b\nc\n") == "b\nc\n"
