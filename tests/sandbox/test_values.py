"""Values as data: what goes in comes out, with its type, and nothing else passes for it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.sandbox.guest.values import Thing, Unencodable, decode, encode, same
from simharness.sandbox.job import dump

UTC = datetime.timezone.utc  # noqa: UP017  (3.11 and the guest spell it alike)

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=[])),
    st.binary(),
    st.decimals(),
    st.fractions(),
    st.complex_numbers(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.sampled_from([None, UTC])),
    st.times(),
    st.timedeltas(),
)
hashable = st.one_of(st.integers(), st.text(), st.booleans(), st.dates())
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(hashable, inner),
        st.frozensets(hashable),
        st.sets(hashable),
    ),
    max_leaves=20,
)


@given(values)
def test_a_plain_value_comes_back_as_it_was(value: Any) -> None:
    data = encode(value)
    back = decode(data)
    if not (isinstance(value, Decimal) and value.is_snan()) and "sNaN" not in repr(value):
        assert same(back, value) or "NaN" in repr(value)
    assert dump(encode(back)) == dump(data)


@dataclass
class Point:
    x: int
    y: int


class Colour(Enum):
    RED = 1


class Whole(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, "0.0"),
        ([1], (1,)),
        ({1: 2}, {True: 2}),
        ({1}, frozenset({1})),
        ({1}, {True}),
        (Decimal(1), 1),
        (b"a", "a"),
        (Whole(1), 1),
        (Colour.RED, 1),
        (Point(1, 2), (1, 2)),
        (datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_of_two_types_are_two_values(one: object, other: object) -> None:
    assert not same(decode(encode(one)), decode(encode(other)))


def test_what_is_equal_is_the_same() -> None:
    for one, other in (
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ({1, 2}, {2, 1}),
        (float("nan"), float("nan")),
        (Decimal("1.0"), Decimal("1.00")),
        (Fraction(2, 4), Fraction(1, 2)),
        (Point(1, 2), Point(1, 2)),
    ):
        assert same(decode(encode(one)), decode(encode(other)))


def test_an_object_is_told_by_its_class_and_fields() -> None:
    assert decode(encode(Point(1, 2))) == Thing(f"{__name__}.Point", (("x", 1), ("y", 2)))
    whole = decode(encode(Whole(7)))
    assert whole == Thing(f"{__name__}.Whole", (("", 7),))


def test_a_value_without_end_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(Unencodable):
        encode(circle)
    with pytest.raises(Unencodable):
        encode([0] * 300_000)


@pytest.mark.parametrize(
    "data",
    [[], {}, ["what"], ["int", 5], ["int"], ["dict", 1], ["date", 1], ["object", "x"], 1.5, [[]]],
)
def test_data_of_no_value_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="value"):
        decode(data)
