"""What goes back for a plan that is cancelled early: the rules, in words and as exact amounts.

All shares are fractions, which lose nothing; whole minor units come of them in one rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from simharness.api import DAY, format_instant, money, parse_instant, zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MONTHS: Mapping[str, int] = {"Monthly": 1, "Quarterly": 3, "Half-Year": 6, "Annual": 12}
"""How the title of a plan ends, with the length of its term."""

RULE_TITLE = "Cancelled plans"
ROUNDING_TITLE = "Rounding"
CURRENCIES = ("EUR", "JPY", "KWD", "USD")


class Rule(NamedTuple):
    """How the part of the price that goes back is worked out."""

    unit: Literal["days", "months"]
    """What the term is cut into; what has begun is used."""
    day_used: bool
    """Whether the day of the cancellation is used; of months the one that it is in always is."""
    fee: int
    """Per cent of the part that are kept."""
    grace: int
    """Days after that of the purchase on which the whole price goes back; 0: there are none."""
    earlier: Literal["deducted", "apart"]
    """Whether what has gone back before is taken off, or only limits what is left."""


class Rounding(NamedTuple):
    """How a part is made a whole number of a currency's steps."""

    mode: Literal["nearest", "down", "up"]
    """nearest: of two that are as near, up."""
    steps: tuple[int, ...]
    """Minor units, by `CURRENCIES`."""


class Purchase(NamedTuple):
    """A plan that was bought."""

    day: int
    """Of the purchase, since 1970; its term begins then."""
    months: int
    price: int
    """What was charged for it, in minor units."""
    currency: str


# --- days -----------------------------------------------------------------------------------------


def day_of(text: str) -> int:
    """Give the day of a date, or of an instant in UTC, since 1970."""
    return parse_instant(f"{text[:10]}T00:00:00Z") // DAY


def date_of(day: int) -> str:
    """Write a day, as 2026-03-05."""
    return format_instant(day * DAY)[:10]


def months_later(day: int, months: int) -> int:
    """Give the same day of the month some months later; there is one up to the 28th."""
    year, month, date, *_ = zone("UTC").local(day * DAY)
    whole = year * 12 + month - 1 + months
    return zone("UTC").instant(whole // 12, whole % 12 + 1, date, 0, 0) // DAY


# --- amounts --------------------------------------------------------------------------------------


def unused(rule: Rule, bought: Purchase, cancelled: int) -> Fraction:
    """Give the part of the term that is unused on the day of the cancellation, from 0 to 1."""
    if rule.unit == "days":
        whole = months_later(bought.day, bought.months) - bought.day
        used = cancelled - bought.day + rule.day_used
    else:
        whole = bought.months
        used = sum(months_later(bought.day, k) <= cancelled for k in range(whole))
    return Fraction(min(max(whole - used, 0), whole), whole)


def rounded(amount: Fraction, rounding: Rounding, currency: str) -> int:
    """Give whole minor units of an amount that isn't below 0."""
    step = rounding.steps[CURRENCIES.index(currency)]
    steps = Fraction(amount.numerator, amount.denominator * step)
    half = Fraction(1, 2) if rounding.mode == "nearest" else Fraction(0)
    whole = -(-steps // 1) if rounding.mode == "up" else (steps + half) // 1
    return int(whole) * step


def due(rule: Rule, rounding: Rounding, bought: Purchase, cancelled: int, back: int) -> int:
    """Give the minor units that are to go back now, 0 for none.

    Args:
        rule: The one that holds for the purchase.
        rounding: Of the part that goes back, before anything is taken off.
        bought: The plan.
        cancelled: The day of the cancellation.
        back: Minor units of the charge that have gone back, or are on their way.
    """
    if rule.grace and cancelled - bought.day <= rule.grace:
        part = bought.price
    else:
        kept = Fraction(100 - rule.fee, 100)
        exact = bought.price * unused(rule, bought, cancelled) * kept
        part = min(rounded(exact, rounding, bought.currency), bought.price)
    if rule.earlier == "deducted":
        return max(part - back, 0)
    return max(min(part, bought.price - back), 0)


def tax_due(tax: int, charged: int, amount: int, before: Iterable[tuple[int, int]]) -> int:
    """Give the tax within a refund, in minor units.

    Args:
        tax: Within the charge.
        charged: The charge.
        amount: The refund.
        before: Amount and tax of each other refund of the charge that hasn't failed.
    """
    others = tuple(before)
    back = Fraction(sum(each for each, _ in others) + amount, charged)
    return int((tax * back + Fraction(1, 2)) // 1) - sum(each for _, each in others)


# --- in words -------------------------------------------------------------------------------------

PARTS = {
    ("days", True): "for the days after that of the cancellation, by the days of the whole term",
    ("days", False): "for the days from that of the cancellation on, by the days of the whole term",
    ("months", True): "for the months of the term that hadn't begun on the day of the cancellation",
}
EARLIER = {
    "deducted": "What has gone back of the charge before, or is on its way, is taken off.",
    "apart": "What has gone back of the charge before, or is on its way, was for something else "
    "and is not taken off; but no more goes back than is left of the charge.",
}
MODES = {"nearest": "to the nearest step, halves up", "down": "down", "up": "up"}


def rule_text(rule: Rule, scope: str = "All plans") -> str:
    """Say a rule in words, for those plans that the scope names."""
    kept = f", less {rule.fee} per cent of that part" if rule.fee else ""
    grace = (
        f" Who cancels no more than {rule.grace} days after the day of the purchase gets the whole "
        "price."
        if rule.grace
        else ""
    )
    part = PARTS[rule.unit, rule.day_used or rule.unit == "months"]
    return (
        f"{scope}: who cancels before the end of the term gets back the part of the price {part}"
        f"{kept}.{grace} {EARLIER[rule.earlier]}"
    )


def rounding_text(rounding: Rounding) -> str:
    """Say in words how parts are rounded."""
    pairs = zip(CURRENCIES, rounding.steps, strict=True)
    steps = ", ".join(money.show(step, currency) for currency, step in pairs)
    return (
        "A part of a price that goes back is rounded once, before anything else is taken off: "
        f"{MODES[rounding.mode]}. Steps: {steps}. Whole prices are not rounded."
    )
