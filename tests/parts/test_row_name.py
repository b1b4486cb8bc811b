"""Ids with a prefix are numbers in rows, and texts in what people see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import UsageError
from simharness.parts.row import Row, RowType
from simharness.parts.row_name import Prefix, number_of

TK, CH = Prefix("TK"), Prefix("CH")
TicketId = Annotated[int, TK]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket(Row):
    id: TicketId
    merged_into: TicketId | None = None
    customer_id: int = 0


@given(st.integers(1, 10**18 - 1))
def test_what_is_shown_is_read_again(number: int) -> None:
    assert TK.read(TK.show(number)) == number
    assert CH.read(TK.show(number)) is None
    assert number_of(TK.show(number)) == number_of(number) == number


@pytest.mark.parametrize(
    "text", ["", "TK", "TK-", "TK-0", "TK-01", "tk-1", "TK-1 ", "TK-²", "TK--1", "1", "TK-1\n"]
)
def test_what_is_no_id_is_not_read(text: str) -> None:
    assert TK.read(text) is None
    assert number_of(text) is None


@pytest.mark.parametrize("value", [None, True, 1.0, ["TK-1"]])
def test_values_that_are_no_ids_have_no_number(value: object) -> None:
    assert number_of(value) is None


@pytest.mark.parametrize("letters", ["", "tk", "T1", "TK-", "ABCDEFGHI"])
def test_prefixes_are_a_few_capital_letters(letters: str) -> None:
    with pytest.raises(UsageError, match="prefix"):
        Prefix(letters)


def test_a_row_holds_numbers_and_shows_names() -> None:
    rows = RowType(Ticket)
    row = rows.build({"id": 7, "merged_into": 3, "customer_id": 4}, "tickets")
    shown = rows.json(row)
    assert (row.id, row.merged_into) == (7, 3)
    assert (shown["id"], shown["merged_into"], shown["customer_id"]) == ("TK-7", "TK-3", 4)
    assert rows.json(rows.evolve(row, {"merged_into": None}))["merged_into"] is None
    assert rows.names[:5] == ("id", "version", "created_at", "updated_at", "merged_into")
    with pytest.raises(UsageError, match="can't hold 'TK-3'"):
        rows.build({"id": 7, "merged_into": "TK-3"}, "tickets")


def test_only_ints_have_a_prefix() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Odd(Row):
        code: Annotated[str, TK] = ""

    with pytest.raises(UsageError, match="prefix"):
        RowType(Odd)
