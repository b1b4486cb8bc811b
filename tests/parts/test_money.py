"""Money: exponents, text and shares, in whole minor units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import UsageError
from simharness.parts.money import EXPONENTS, exponent, parse, prorate, show, split, split_in_turn

AMOUNTS = st.integers(-(10**15), 10**15)
WEIGHTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=12).filter(any)


@pytest.mark.parametrize(
    ("currency", "digits"),
    [("JPY", 0), ("KRW", 0), ("USD", 2), ("EUR", 2), ("KWD", 3), ("TND", 3), ("CLF", 4)],
)
def test_minor_units(currency: str, digits: int) -> None:
    assert exponent(currency) == digits


def test_the_table_holds_active_codes_alone() -> None:
    assert len(EXPONENTS) == 165
    assert all(len(code) == 3 and code.isupper() and code.isascii() for code in EXPONENTS)
    # Withdrawn, without minor units, and for tests.
    assert {"DEM", "HRK", "BGN", "ZWL", "XAU", "XXX", "XTS"}.isdisjoint(EXPONENTS)


@pytest.mark.parametrize("currency", ["", "usd", "DEM", "XAU", "US", "USD "])
def test_an_unknown_currency_is_refused_by_name(currency: str) -> None:
    with pytest.raises(UsageError, match="no currency named"):
        exponent(currency)
    with pytest.raises(UsageError):
        show(1, currency)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (29_900, "USD", "USD 299.00"),
        (5, "USD", "USD 0.05"),
        (-5, "USD", "USD -0.05"),
        (5_800, "JPY", "JPY 5800"),
        (5_800, "KWD", "KWD 5.800"),
        (0, "JPY", "JPY 0"),
        (1, "CLF", "CLF 0.0001"),
    ],
)
def test_text(amount: int, currency: str, text: str) -> None:
    assert show(amount, currency) == text
    assert parse(text) == (amount, currency)


@given(AMOUNTS, st.sampled_from(sorted(EXPONENTS)))
def test_what_is_written_reads_back(amount: int, currency: str) -> None:
    assert parse(show(amount, currency)) == (amount, currency)


@pytest.mark.parametrize(
    "text",
    [
        "299.00",
        "USD299.00",
        "USD 299",
        "USD 299.0",
        "USD 299.000",
        "USD 299,00",
        "USD 1,299.00",
        "USD 0299.00",
        "USD .50",
        "JPY 5800.00",
        "KWD 5.80",
        "XAU 1",
        "USD ٢.00",
        "usd 1.00",
        "USD 1.00\n",
    ],
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


@given(AMOUNTS, WEIGHTS)
def test_shares_add_up_and_are_less_than_a_unit_off(amount: int, weights: list[int]) -> None:
    total = sum(weights)
    for shares in (split(amount, weights), split_in_turn(amount, weights)):
        assert sum(shares) == amount
        assert len(shares) == len(weights)
        assert all(
            abs(s * total - amount * w) <= total for s, w in zip(shares, weights, strict=True)
        )
    # No share of nothing; the same shares with the other sign.
    assert all(s == 0 for s, w in zip(split(amount, weights), weights, strict=True) if w == 0)
    assert split(-amount, weights) == tuple(-share for share in split(amount, weights))


@given(st.integers(0, 10**9), WEIGHTS)
def test_shares_keep_the_sign(amount: int, weights: list[int]) -> None:
    assert min(split(amount, weights)) >= 0
    assert min(split_in_turn(amount, weights)) >= 0


def test_what_is_left_over_goes_to_the_largest_fractions_and_of_equal_ones_to_the_earlier() -> None:
    assert split(100, [1, 1, 1]) == (34, 33, 33)
    assert split(10, [1, 2, 4]) == (1, 3, 6)
    assert split(1, [0, 1, 1]) == (0, 1, 0)


def test_steps_are_rounded_once_and_not_each() -> None:
    assert split_in_turn(100, [1, 1, 1]) == (33, 34, 33)
    assert split_in_turn(1_000, [1] * 7) == (143, 143, 143, 142, 143, 143, 143)
    assert sum(prorate(1_000, 1, 7) for _ in range(7)) == 1_001


@given(AMOUNTS, st.integers(1, 10**6), st.data())
def test_a_share_and_the_rest_of_it(amount: int, whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    assert abs(prorate(amount, part, whole) * whole - amount * part) * 2 <= whole
    assert (prorate(amount, 0, whole), prorate(amount, whole, whole)) == (0, amount)
    assert prorate(-amount, part, whole) == -prorate(amount, part, whole)


def test_halves_go_away_from_zero() -> None:
    assert [prorate(n, 1, 2) for n in (1, 3, -1, -3)] == [1, 2, -1, -2]


@pytest.mark.parametrize(("part", "whole"), [(-1, 3), (4, 3), (0, 0), (1, 0), (0, -1)])
def test_no_share_of_less_than_nothing_or_more_than_all(part: int, whole: int) -> None:
    with pytest.raises(UsageError, match="is no share"):
        prorate(100, part, whole)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [2, True], [1.5]])
def test_weights_are_whole_and_not_all_nothing(weights: list[int]) -> None:
    for split_by in (split, split_in_turn):
        with pytest.raises(UsageError, match="are no weights"):
            split_by(100, weights)
