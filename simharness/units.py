"""Durations: one tick is one microsecond, and ticks are plain ints.

Fractions of a second never pass through a float: `parse_duration` reads "0.2s" with integer
arithmetic and refuses what a tick can't hold. `counted` shows numbers of things.
"""

from __future__ import annotations

import re
from typing import Final

from simharness.errors import UsageError

US: Final = 1
MS: Final = 1_000
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

DURATION_TICKS_MAX: Final = 2**63 - 1
"""The longest duration that `parse_duration` takes, in ticks: about 292,000 years."""


def us(n: int) -> int:
    """Return `n` microseconds in ticks."""
    return _whole("us", n) * US


def ms(n: int) -> int:
    """Return `n` milliseconds in ticks."""
    return _whole("ms", n) * MS


def seconds(n: int) -> int:
    """Return `n` seconds in ticks."""
    return _whole("seconds", n) * SECOND


def minutes(n: int) -> int:
    """Return `n` minutes in ticks."""
    return _whole("minutes", n) * MINUTE


def hours(n: int) -> int:
    """Return `n` hours in ticks."""
    return _whole("hours", n) * HOUR


def days(n: int) -> int:
    """Return `n` days of 24 hours in ticks."""
    return _whole("days", n) * DAY


def parse_duration(text: str | int) -> int:
    """Read a duration, 0 to `DURATION_TICKS_MAX` ticks.

    Args:
        text: A number and a unit (us, ms, s, min, h, d), as in "300s" or "0.2s"; or several, from
            the largest unit to the smallest, as in "1h30min" or "1h 30min", of which only the last
            may have a fraction. An int is ticks.

    Raises:
        UsageError: The text can't be read, is negative or too long, or is finer than 1 us.
    """
    ticks = _read(text) if isinstance(text, str) else _whole("duration", text)
    if ticks < 0:
        raise UsageError(f"negative duration {_shown(text)}", _FORMS)
    if ticks > DURATION_TICKS_MAX:
        raise UsageError(
            f"duration too long: {_shown(text)}", f"at most {DURATION_TICKS_MAX} ticks"
        )
    return ticks


def format_duration(ticks: int) -> str:
    """Write ticks exactly, in seconds with six digits: "12.004300s".

    `parse_duration` reads it back. Negative ticks get a leading minus, which it refuses.
    """
    sign = "-" if ticks < 0 else ""
    whole, fraction = divmod(abs(ticks), SECOND)
    return f"{sign}{whole}.{fraction:06d}s"


def humanize(ticks: int) -> str:
    """Write ticks briefly for a person: "4min 12s", "1h 03min", "250ms", "0s".

    It gives two units at most, or one decimal below a minute, and cuts the rest off: 59.99s never
    reads as a minute.
    """
    if ticks < 0:
        return "-" + humanize(-ticks)
    if ticks >= DAY:
        return _pair(ticks, DAY, "d", HOUR, "h")
    if ticks >= HOUR:
        return _pair(ticks, HOUR, "h", MINUTE, "min")
    if ticks >= MINUTE:
        return _pair(ticks, MINUTE, "min", SECOND, "s")
    if ticks >= SECOND or ticks == 0:
        return _tenths(ticks, SECOND, "s")
    if ticks >= MS:
        return _tenths(ticks, MS, "ms")
    return f"{ticks}us"


_UNITS: Final = {"d": DAY, "h": HOUR, "min": MINUTE, "s": SECOND, "ms": MS, "us": US}
_PART: Final = re.compile(r"([0-9]+)(?:\.([0-9]+))?(us|ms|s|min|h|d)")
_FORMS: Final = (
    "write '300s', '0.2s', '5min', '250ms', '1us', '2h', '1d' or '1h30min'; an int is ticks"
)
# Longer texts are never honest, and int() itself gives up at 4,300 digits.
_TEXT_LENGTH_MAX: Final = 64


def counted(number: int, noun: str) -> str:
    """Show a number of things: `1 row`, `2 rows`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _whole(name: str, n: int) -> int:
    # bool is an int to isinstance, and NumPy's integers can't be recorded: only int itself will do.
    if type(n) is not int:
        raise UsageError(
            f"{name}: got {n!r}, expected an int", "for a fraction, write parse_duration('0.2s')"
        )
    return n


def _read(text: str) -> int:
    if text.startswith("-"):
        raise UsageError(f"negative duration {_shown(text)}", _FORMS)
    ticks = 0
    position = 0
    unit_above = DAY + 1
    while len(text) <= _TEXT_LENGTH_MAX and (match := _PART.match(text, position)):
        whole, fraction, name = match.groups()
        position = match.end()
        last = position == len(text)
        unit = _UNITS[name]
        if unit >= unit_above or (fraction is not None and not last):
            break
        unit_above = unit
        # Zeros at the end don't make a fraction finer; what is left must divide without a rest.
        digits = (fraction or "").rstrip("0")
        scale = int("1" + "0" * len(digits))
        part, rest = divmod(int(whole + digits) * unit, scale)
        if rest:
            raise UsageError(f"duration {text!r} is finer than 1 us", "a tick is 1 us")
        ticks += part
        if last:
            return ticks
        if text[position] == " ":
            position += 1
    raise UsageError(f"unreadable duration {_shown(text)}", _FORMS)


def _shown(value: str | int) -> str:
    # An int of more than 4,300 digits has no repr, and a message has no room for it.
    if not isinstance(value, str):
        return repr(value) if value.bit_length() <= 128 else f"an int of {value.bit_length()} bits"
    return repr(value) if len(value) <= _TEXT_LENGTH_MAX else f"{value[:_TEXT_LENGTH_MAX]!r}..."


def _pair(ticks: int, unit: int, name: str, small_unit: int, small_name: str) -> str:
    count, rest = divmod(ticks, unit)
    small = rest // small_unit
    return f"{count}{name} {small:02d}{small_name}" if small else f"{count}{name}"


def _tenths(ticks: int, unit: int, name: str) -> str:
    count, rest = divmod(ticks, unit)
    tenth = rest * 10 // unit
    return f"{count}.{tenth}{name}" if tenth else f"{count}{name}"
