"""Money: whole numbers of a currency's minor units, as `29900` of USD for 299 dollars.

No fraction of a minor unit exists. What is split adds up again, to the unit.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simharness.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SOURCE: Final = "ISO 4217, list one, published 2026-01-01"
"""Where the table is from. What has no minor unit there (gold, codes for tests) isn't in it."""

_CODES: Final = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN
        BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD
        FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW
        KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
        MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG
        SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD
        USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG
    """,
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
EXPONENTS: Final[Mapping[str, int]] = MappingProxyType(
    {code: digits for digits, codes in _CODES.items() for code in codes.split()}
)
"""Decimal digits of the minor unit by the code of each active currency: JPY 0, USD 2, KWD 3."""

WRITTEN = re.compile(r"([A-Z]{3}) (-?)(0|[1-9][0-9]{0,17})(?:\.([0-9]+))?", re.ASCII)


def exponent(currency: str) -> int:
    """Give the decimal digits of a currency's minor unit. Raises UnknownName for no active code."""
    digits = EXPONENTS.get(currency)
    if digits is None:
        raise UnknownName.among("currency", currency, EXPONENTS)
    return digits


# --- as text --------------------------------------------------------------------------------------


def show(amount: int, currency: str) -> str:
    """Write an amount of minor units, such as `USD 299.00`. Raises UnknownName for no such code."""
    digits = exponent(currency)
    whole, rest = divmod(abs(amount), 10**digits)
    sign = "-" if amount < 0 else ""
    return f"{currency} {sign}{whole}" + (f".{rest:0{digits}}" if digits else "")


def shown(amount: int, currency: str) -> str:
    """Show money as `show` does; that of a currency that isn't known in the units it is held in."""
    return show(amount, currency) if currency in EXPONENTS else f"{amount} {currency}"


def parse(text: str) -> tuple[int, str]:
    """Read `USD 299.00` as minor units and currency.

    Raises UsageError unless it has the digits that the currency has, neither more nor fewer.
    """
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r:.80} is no amount of money", "write it as 'USD 299.00'")
    currency, sign, whole, rest = found[1], found[2], found[3], found[4] or ""
    digits = exponent(currency)
    if len(rest) != digits:
        raise UsageError(
            f"{text!r:.80} has {len(rest)} decimal digits, and {currency} has {digits}",
            f"write it as {show(29_900, currency)!r} is written",
        )
    amount = int(whole + rest)
    return -amount if sign else amount, currency


# --- shares ---------------------------------------------------------------------------------------


def split(amount: int, weights: Iterable[int]) -> tuple[int, ...]:
    """Split an amount by weights, so that the shares add up to it.

    Each share is cut to whole units; those left over go to the shares that lost the largest
    fractions, of equal ones to the earlier. The shares of -n are those of n, negated.

    Raises UsageError unless the weights are whole, from 0 on, and not all 0.
    """
    shares = _weights(weights)
    total, rest = sum(shares), abs(amount)
    out = [rest * weight // total for weight in shares]
    lost = sorted(range(len(shares)), key=lambda i: (-(rest * shares[i] % total), i))
    for i in lost[: rest - sum(out)]:
        out[i] += 1
    return tuple(-share for share in out) if amount < 0 else tuple(out)


def split_in_turn(amount: int, weights: Iterable[int]) -> tuple[int, ...]:
    """Split an amount by weights for steps that come one after another.

    After each step the sum so far is the prorated amount, rounded once: no error adds up, and a
    step needs to know only those before it. Raises UsageError as `split` does.
    """
    shares = _weights(weights)
    total = sum(shares)
    out: list[int] = []
    done = so_far = 0
    for weight in shares:
        done += weight
        due = prorate(amount, done, total)
        out.append(due - so_far)
        so_far = due
    return tuple(out)


def prorate(amount: int, part: int, whole: int) -> int:
    """Give `part` of `whole` of an amount, rounded to the nearest unit, halves away from 0.

    Raises UsageError unless 0 <= part <= whole and 0 < whole.
    """
    if not 0 <= part <= whole or whole == 0:
        raise UsageError(f"{part} of {whole} is no share", "give 0 <= part <= whole, 0 < whole")
    share = (2 * abs(amount) * part + whole) // (2 * whole)
    return -share if amount < 0 else share


def _weights(weights: Iterable[int]) -> Sequence[int]:
    shares = list(weights)
    if any(type(weight) is not int or weight < 0 for weight in shares) or not any(shares):
        raise UsageError(
            f"{shares!r:.80} are no weights", "give whole numbers from 0 on, one of them above 0"
        )
    return shares
