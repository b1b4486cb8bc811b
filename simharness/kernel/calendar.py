"""Civil dates as integer arithmetic, so that no run depends on a machine's clock or zone.

An instant is an int: microseconds since 1970-01-01T00:00:00Z, with days of 86,400 seconds and no
leap seconds. Dates are proleptic Gregorian, in UTC, of the years 1 to 9999.
"""

from __future__ import annotations

import re
from typing import Final

from simharness.errors import UsageError


def civil(instant: int) -> tuple[int, int, int, int, int, int, int]:
    """Return (year, month, day, hour, minute, second, microsecond) of an instant.

    Raises:
        UsageError: The instant lies outside the years 1 to 9999.
    """
    day_number, rest = divmod(_checked(instant), _DAY)
    seconds, microsecond = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return (*_date(day_number), hour, minute, second, microsecond)


def instant(
    year: int,
    month: int,
    day: int,
    hour: int = 0,
    minute: int = 0,
    second: int = 0,
    microsecond: int = 0,
) -> int:
    """Return the instant of a date and a time of day in UTC.

    Raises:
        UsageError: There is no such date or time; a leap second is none.
    """
    fields = (year, month, day, hour, minute, second, microsecond)
    for name, value, (low, high) in zip(_NAMES, fields, _RANGES, strict=True):
        if type(value) is not int or not low <= value <= high:
            raise UsageError(f"no such date or time: {name} {_shown(value)}", f"{low} to {high}")
    if day > (length := _month_length(year, month)):
        raise UsageError(
            f"no such date: {year:04d}-{month:02d}-{day:02d}", f"that month has {length} days"
        )
    seconds = (hour * 60 + minute) * 60 + second
    return _day_number(year, month, day) * _DAY + seconds * _SECOND + microsecond


def weekday(instant: int) -> int:
    """Return the day of the week of an instant in UTC, Monday 0 to Sunday 6.

    Raises:
        UsageError: The instant lies outside the years 1 to 9999.
    """
    # Day 0, 1970-01-01, was a Thursday.
    return (_checked(instant) // _DAY + 3) % 7


def parse_instant(text: str) -> int:
    """Read an ISO 8601 date and time with a zone, as in "2026-03-02T09:00:00Z".

    Args:
        text: Seconds may have a fraction of up to 6 digits; the zone is "Z" or an offset such as
            "+00:00", "-0330" or "+02", which is taken off.

    Raises:
        UsageError: The text is anything else, or no zone is given, or there is no such time.
    """
    match = _ISO.fullmatch(text) if len(text) <= _TEXT_LENGTH_MAX else None
    if match is None:
        raise UsageError(f"unreadable instant {text[:_TEXT_LENGTH_MAX]!r}", _FORM)
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    fraction, zone, sign, offset_hours, offset_minutes = match.group(7, 8, 9, 10, 11)
    if zone is None:
        raise UsageError(f"instant {text!r} has no zone", "end it with 'Z' for UTC")
    if second == 60:
        raise UsageError(
            f"instant {text!r} is a leap second", "simulated time has none; write second 59"
        )
    if fraction is not None and len(fraction) > 6:
        raise UsageError(f"instant {text!r} is finer than 1 us", "give at most 6 digits")
    offset = 0
    if sign is not None:
        if int(offset_hours) > 23 or int(offset_minutes or 0) > 59:
            raise UsageError(f"instant {text!r} has no such offset", "-23:59 to +23:59")
        offset = (int(offset_hours) * 60 + int(offset_minutes or 0)) * 60 * _SECOND
    try:
        microsecond = int((fraction or "").ljust(6, "0"))
        local = instant(year, month, day, hour, minute, second, microsecond)
        return _checked(local + offset if sign == "-" else local - offset)
    except UsageError as error:
        raise UsageError(f"instant {text!r}: {error.message}", error.hint) from None


def format_instant(instant: int) -> str:
    """Write an instant in ISO 8601 and UTC, as in "2026-03-02T09:00:00Z".

    A fraction is there only if it isn't zero, in 3 digits or, if need be, in 6.

    Raises:
        UsageError: The instant lies outside the years 1 to 9999.
    """
    day_number = instant // _DAY if type(instant) is int else _checked(instant)
    # Every row shown comes through here. A day that is kept has been checked, and its instants are
    # those of the calendar: both ends of the calendar are ends of a day.
    date = _date_texts.get(day_number) or _date_text(_checked(instant) // _DAY)
    seconds, microsecond = divmod(instant - day_number * _DAY, _SECOND)
    minutes = seconds // 60
    clock = f"{_TWO_DIGITS[minutes // 60]}:{_TWO_DIGITS[minutes % 60]}:{_TWO_DIGITS[seconds % 60]}"
    time = f"{date}T{clock}"
    if not microsecond:
        return time + "Z"
    if microsecond % 1_000:
        return f"{time}.{microsecond:06d}Z"
    return f"{time}.{microsecond // 1_000:03d}Z"


_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND

_NAMES: Final = ("year", "month", "day", "hour", "minute", "second", "microsecond")
_RANGES: Final = ((1, 9999), (1, 12), (1, 31), (0, 23), (0, 59), (0, 59), (0, 999_999))
_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_ISO: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
_FORM: Final = "write it as '2026-03-02T09:00:00Z'"
_TEXT_LENGTH_MAX: Final = 64

_TWO_DIGITS: Final = tuple(f"{n:02d}" for n in range(60))

# A run shows thousands of rows of a few days, so the date part is worth keeping. The dict only
# saves time: what is in it depends on nothing but the key.
_date_texts: dict[int, str] = {}
_DATE_TEXTS_MAX: Final = 1_024


def _date_text(day_number: int) -> str:
    year, month, day = _date(day_number)
    text = f"{year:04d}-{month:02d}-{day:02d}"
    if len(_date_texts) >= _DATE_TEXTS_MAX:
        _date_texts.clear()
    _date_texts[day_number] = text
    return text


def _day_number(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date."""
    # Years that begin in March have the leap day at their end, so that the days before a month
    # follow one line: 0, 31, 61, 92, 122, 153, ... = (153 * m + 2) // 5 with March as 0.
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _EPOCH_DAYS


def _date(day_number: int) -> tuple[int, int, int]:
    """Return (year, month, day), the inverse of `_day_number`."""
    era, day_of_era = divmod(day_number + _EPOCH_DAYS, _ERA_DAYS)
    # Taking the leap days out first leaves years of 365 days: one in 4 years (1,460 days before
    # the first), none in a century (36,524 days), and again one in the last day of the era.
    leap_days = day_of_era // 1_460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leap_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return era * 400 + year_of_era + (month <= 2), month, day


# The days of 400 years, and those from 0000-03-01 to 1970-01-01.
_ERA_DAYS: Final = 146_097
_EPOCH_DAYS: Final = 719_468

_FIRST: Final = _day_number(1, 1, 1) * _DAY
_LAST: Final = _day_number(10_000, 1, 1) * _DAY - 1


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap and month == 2 else _MONTH_LENGTHS[month - 1]


def _checked(instant: int) -> int:
    if type(instant) is not int:
        raise UsageError(f"instant: got {instant!r}, expected an int", "microseconds since 1970")
    if not _FIRST <= instant <= _LAST:
        raise UsageError(f"instant {_shown(instant)} is outside the years 1 to 9999")
    return instant


def _shown(value: object) -> str:
    # An int of more than 4,300 digits has no repr, and a message has no room for it.
    if isinstance(value, int) and value.bit_length() > 128:
        return f"of {value.bit_length()} bits"
    return repr(value)
