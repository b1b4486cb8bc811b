"""Values are compared as data: like the values themselves, and without making them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.sandbox.canonical import form, same_data
from simharness.sandbox.guest.values import Thing, decode, encode, same
from tests.sandbox.test_values import values

NUMBERS = st.sampled_from(
    [0, 1, True, 1.0, -0.0, 0.0, Decimal("1.0"), Decimal("1.00"), Decimal("-0"), Decimal("1e2")]
)
FEW = st.recursive(
    NUMBERS | st.sampled_from(["1", b"1", None]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from([0, 1, "1"]), inner, max_size=2)
        | st.sets(NUMBERS, max_size=2)
    ),
    max_leaves=4,
)
"""Values of which many are equal, or nearly so."""


@given(FEW, FEW)
def test_data_is_the_same_where_the_values_are(one: Any, other: Any) -> None:
    assert same_data(encode(one), encode(other)) == same(one, other)


@given(values)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    data = encode(value)
    assert same_data(data, encode(decode(data)))


@pytest.mark.parametrize(
    ("one", "other", "are"),
    [
        (["Decimal", "sNaN"], ["Decimal", "1"], False),
        (["Decimal", "sNaN"], ["Decimal", "NaN"], False),
        (["Decimal", "NaN"], ["Decimal", "NaN"], True),
        (["Decimal", "-Infinity"], ["Decimal", "Infinity"], False),
        (["Decimal", "100"], ["Decimal", "1E+2"], True),
        (["Decimal", "1E+999999"], ["Decimal", "1"], False),
        (["float", "nan"], ["float", "nan"], True),
        (["float", "-0x0.0p+0"], ["float", "0x0.0p+0"], True),
        (["range", 0, 0, 1], ["range", 5, 5, 2], True),
        (["range", 0, 3, 2], ["range", 0, 4, 2], True),
        (["range", 0, 3, 1], ["range", 0, 4, 1], False),
        (["Fraction", "0x2", "0x4"], ["Fraction", "0x1", "0x2"], False),
        (
            ["datetime", 2024, 1, 1, 12, 0, 0, 0, 0, 3_600_000_000],
            ["datetime", 2024, 1, 1, 11, 0, 0, 0, 1, 0],
            True,
        ),
        (
            ["datetime", 2024, 1, 1, 12, 0, 0, 0, 0, None],
            ["datetime", 2024, 1, 1, 12, 0, 0, 0, 0, 0],
            False,
        ),
        (["set", ["list", 1]], ["set", ["list", 1]], True),
        ("x" * 1000, "x" * 999 + "y", False),
    ],
)
def test_values_that_tell_of_themselves_what_they_like(one: Any, other: Any, are: bool) -> None:
    assert same_data(one, other) is are


def test_objects_are_the_same_by_class_and_fields() -> None:
    assert same_data(["object", "a.B", [["x", 1]]], ["object", "a.B", [["x", 1]]])
    assert not same_data(["object", "a.B", [["x", 1]]], ["object", "a.C", [["x", 1]]])
    assert decode(["object", "a.B", [["x", 1]]]) == Thing("a.B", (("x", 1),))


@pytest.mark.parametrize(
    "data",
    [
        [], {}, ["what"], ["int", 5], ["int"], ["dict", 1], ["date", 1], ["object", "x"], 1.5, [[]],
        ["Decimal", ["x"]], ["Decimal", 1], ["Fraction", "0x1"], ["range", 0, 1, 0], ["float"],
        ["time", 25, 0, 0, 0, 0, None], ["bytes", "zz"], ["dict", [1]], ["object", 1, []],
        ["list", *[0] * 200_000],
    ],
)  # fmt: skip
def test_data_of_no_value_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"value|hexadecimal|hour|arg 3"):
        form(data)


COLLIDING = [["int", hex((2**61 - 1) * i)] for i in range(1, 100_000)]


@pytest.mark.parametrize(
    "data",
    [
        ["Fraction", hex(3**400_000), hex(2**600_000 + 1)],
        ["set", *COLLIDING],
        ["dict", *[[key, 1] for key in COLLIDING]],
        ["Decimal", "1" * 1_000_000],
    ],
    ids=["fraction", "set", "dict", "decimal"],
)
@pytest.mark.timeout(60)
def test_no_answer_takes_the_host_long(data: Any) -> None:
    # Made into a value, each takes minutes, but for the last.
    assert same_data(data, data)
