"""What goes back for a plan that is cancelled early: amounts worked out by hand, and bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.models.helpdesk.policies.partial_refund import holds, read_rounding, read_rule
from simharness.models.helpdesk.proration import (
    CURRENCIES,
    Purchase,
    Rounding,
    Rule,
    date_of,
    day_of,
    due,
    months_later,
    rounded,
    rounding_text,
    rule_text,
    tax_due,
    unused,
)

BY_DAY = Rule("days", True, 0, 0, "deducted")
BY_MONTH = Rule("months", True, 0, 0, "deducted")
FINE = Rounding("nearest", (1, 1, 1, 1))
YEAR = Purchase(day_of("2026-01-17"), 12, 36_500, "USD")
"""A hundred a day."""

rules = st.builds(
    Rule,
    st.sampled_from(["days", "months"]),
    st.booleans(),
    st.integers(0, 40),
    st.sampled_from([0, 7, 14, 30]),
    st.sampled_from(["deducted", "apart"]),
)
roundings = st.builds(
    Rounding,
    st.sampled_from(["nearest", "down", "up"]),
    st.tuples(*(st.sampled_from([1, 5, 10]) for _ in CURRENCIES)),
)
purchases = st.builds(
    Purchase,
    st.integers(day_of("2024-01-01"), day_of("2026-03-02")).filter(
        lambda day: int(date_of(day)[8:]) <= 28
    ),
    st.sampled_from([1, 3, 6, 12]),
    st.integers(1, 50_000),
    st.sampled_from(CURRENCIES),
)


@pytest.mark.parametrize(
    ("rule", "day", "back", "wanted"),
    [
        (BY_DAY, "2026-03-02", 0, 32_000),  # 45 of 365 days are used
        (BY_DAY._replace(day_used=False), "2026-03-02", 0, 32_100),
        (BY_DAY._replace(fee=15), "2026-03-02", 0, 27_200),
        (BY_DAY, "2027-01-16", 0, 0),
        (BY_DAY._replace(day_used=False), "2027-01-16", 0, 100),
        (BY_DAY, "2027-02-01", 0, 0),  # the term is over
        (BY_DAY, "2026-03-02", 2_500, 29_500),
        (BY_DAY, "2026-03-02", 33_000, 0),
        (BY_DAY._replace(earlier="apart"), "2026-03-02", 2_500, 32_000),
        (BY_DAY._replace(earlier="apart"), "2026-03-02", 5_000, 31_500),
        (BY_DAY._replace(grace=14, fee=15), "2026-01-31", 0, 36_500),
        (BY_DAY._replace(grace=14, fee=15), "2026-01-31", 36_000, 500),
        (BY_DAY._replace(grace=14), "2026-02-01", 0, 34_900),
        (BY_MONTH, "2026-02-16", 0, 33_458),  # 11 of 12 months: 33458.33
        (BY_MONTH, "2026-02-17", 0, 30_417),  # 10 of 12: 30416.67
        (BY_MONTH, "2026-12-17", 0, 0),
    ],
)
def test_amounts_are_those_that_the_rules_give(
    rule: Rule, day: str, back: int, wanted: int
) -> None:
    assert due(rule, FINE, YEAR, day_of(day), back) == wanted


@pytest.mark.parametrize(
    ("mode", "step", "wanted"),
    [
        ("nearest", 1, 1_003), ("down", 1, 1_002), ("up", 1, 1_003),
        ("nearest", 5, 1_005), ("down", 5, 1_000), ("up", 5, 1_005),
        ("nearest", 10, 1_000), ("down", 10, 1_000), ("up", 10, 1_010),
    ],
)  # fmt: skip
@pytest.mark.parametrize("currency", CURRENCIES)
def test_parts_are_rounded_to_steps(mode: Any, step: int, wanted: int, currency: str) -> None:
    steps = tuple(step if each == currency else 7 for each in CURRENCIES)
    assert rounded(Fraction(2_005, 2), Rounding(mode, steps), currency) == wanted


def test_a_whole_number_of_steps_is_left_alone() -> None:
    for mode in ("nearest", "down", "up"):
        exact: Any = mode
        assert rounded(Fraction(1_005), Rounding(exact, (5, 5, 5, 5)), "JPY") == 1_005


def test_months_begin_on_the_day_of_the_purchase() -> None:
    day = day_of("2025-11-28")
    assert [date_of(months_later(day, n)) for n in (-12, 0, 1, 3, 14)] == [
        "2024-11-28",
        "2025-11-28",
        "2025-12-28",
        "2026-02-28",
        "2027-01-28",
    ]


@given(rules, roundings, purchases, st.integers(0, 400), st.fractions(0, 1))
def test_no_more_goes_back_than_is_left(
    rule: Rule, rounding: Rounding, bought: Purchase, days: int, share: Fraction
) -> None:
    back = int(bought.price * share)
    cancelled = bought.day + days
    amount = due(rule, rounding, bought, cancelled, back)
    assert 0 <= amount <= bought.price - back
    assert 0 <= unused(rule, bought, cancelled) <= 1
    if rule.earlier == "deducted" and amount:
        first = due(rule, rounding, bought, cancelled, 0)
        assert amount == first - back
        # Once it has gone back nothing is due any longer, in however many parts it went.
        assert due(rule, rounding, bought, cancelled, first) == 0


@given(rules, roundings, purchases, st.integers(0, 300), st.integers(0, 60))
def test_whoever_cancels_later_gets_no_more(
    rule: Rule, rounding: Rounding, bought: Purchase, days: int, more: int
) -> None:
    early, late = (
        due(rule, rounding, bought, bought.day + each, 0) for each in (days, days + more)
    )
    assert late <= early


@given(
    st.integers(1, 50_000).flatmap(
        lambda charged: st.tuples(
            st.just(charged),
            st.integers(0, charged),
            st.lists(st.integers(1, charged), max_size=6),
        )
    )
)
def test_the_tax_of_all_refunds_is_that_of_their_sum(drawn: tuple[int, int, list[int]]) -> None:
    charged, tax, amounts = drawn
    before: list[tuple[int, int]] = []
    for amount in amounts:
        back = sum(each for each, _ in before) + amount
        if back > charged:
            break
        before.append((amount, tax_due(tax, charged, amount, before)))
        exact = Fraction(tax * back, charged)
        assert abs(sum(part for _, part in before) - exact) <= Fraction(1, 2)


# --- in words -------------------------------------------------------------------------------------


@given(rules, st.sampled_from(["All plans", "Plans bought before 2026-01-05"]))
def test_a_rule_is_read_as_it_was_written(rule: Rule, scope: str) -> None:
    read = read_rule(rule_text(rule, scope))
    assert read == (rule if rule.unit == "days" else rule._replace(day_used=True))


@given(roundings)
def test_how_parts_are_rounded_is_read_as_it_was_written(rounding: Rounding) -> None:
    assert read_rounding(rounding_text(rounding)) == rounding


def test_a_scope_says_for_which_plans_a_rule_is() -> None:
    day = day_of("2026-01-05")
    for scope, before, on in (
        ("All plans", True, True),
        ("Plans bought before 2026-01-05", True, False),
        ("Plans bought on 2026-01-05 or later", False, True),
    ):
        body = rule_text(BY_DAY, scope)
        assert (holds(body, day - 1), holds(body, day)) == (before, on)
