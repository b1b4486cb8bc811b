import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simharness.errors import UsageError
from simharness.kernel import calendar
from simharness.kernel.calendar import civil, format_instant, instant, parse_instant, weekday

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = -62_135_596_800_000_000
LAST = 253_402_300_799_999_999
INSTANTS = st.integers(FIRST, LAST)


def oracle(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)


def fields(moment: datetime) -> tuple[int, int, int, int, int, int, int]:
    return (
        moment.year,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
        moment.microsecond,
    )


@given(INSTANTS)
@example(FIRST)
@example(LAST)
@example(-1)
def test_civil_fields_and_weekday_agree_with_datetime(at: int) -> None:
    moment = oracle(at)
    assert civil(at) == fields(moment)
    assert weekday(at) == moment.weekday()


@given(INSTANTS)
@example(FIRST)
@example(LAST)
def test_an_instant_is_rebuilt_from_its_civil_fields(at: int) -> None:
    assert instant(*civil(at)) == at


def test_every_day_of_two_eras_agrees_with_datetime() -> None:
    day = datetime(1599, 12, 31, tzinfo=UTC)
    number = (day - EPOCH).days
    for _ in range(2 * 146_097 + 2):
        at = number * 86_400_000_000
        assert civil(at)[:3] == (day.year, day.month, day.day)
        assert instant(day.year, day.month, day.day) == at
        day += timedelta(days=1)
        number += 1


@pytest.mark.parametrize(
    "date",
    [
        (0, 1, 1),
        (10_000, 1, 1),
        (2026, 0, 1),
        (2026, 13, 1),
        (2026, 1, 0),
        (2026, 1, 32),
        (2026, 4, 31),
        (2026, 2, 29),
        (1900, 2, 29),
        (2026, 1, 1, 24),
        (2026, 1, 1, 0, 60),
        (2026, 1, 1, 0, 0, 60),
        (2026, 1, 1, 0, 0, 0, 1_000_000),
        (2026, 1, 1, -1),
        (True, 1, 1),
        (2026.0, 1, 1),
    ],
)
def test_a_date_that_does_not_exist_is_refused(date: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError, match=r"^no such date"):
        instant(*date)


def test_leap_days_exist_every_four_years_and_in_one_century_of_four() -> None:
    assert civil(instant(2024, 2, 29))[:3] == (2024, 2, 29)
    assert civil(instant(2000, 2, 29))[:3] == (2000, 2, 29)


@pytest.mark.parametrize("at", [FIRST - 1, LAST + 1, 1 << 20_000], ids=["before", "after", "far"])
def test_an_instant_outside_the_years_1_to_9999_is_refused(at: int) -> None:
    for function in (civil, weekday, format_instant):
        with pytest.raises(UsageError, match=r"is outside the years 1 to 9999$"):
            function(at)


@pytest.mark.parametrize("at", [0.0, True, None, "0"])
def test_an_instant_is_an_int(at: object) -> None:
    for function in (civil, weekday, format_instant):
        with pytest.raises(UsageError, match=r"^instant: got .*, expected an int"):
            function(at)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-03-02T09:00:00Z", "2026-03-02T09:00:00Z"),
        ("2026-03-02T09:00:00.5Z", "2026-03-02T09:00:00.500Z"),
        ("2026-03-02T09:00:00.050000Z", "2026-03-02T09:00:00.050Z"),
        ("2026-03-02T09:00:00.000001Z", "2026-03-02T09:00:00.000001Z"),
        ("2026-03-02T09:00:00.000000Z", "2026-03-02T09:00:00Z"),
        ("2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00Z"),
        ("2026-03-02T09:00:00-00:00", "2026-03-02T09:00:00Z"),
        ("2026-03-02T09:00:00+02:00", "2026-03-02T07:00:00Z"),
        ("2026-03-02T09:00:00+02", "2026-03-02T07:00:00Z"),
        ("2026-03-02T09:00:00-0330", "2026-03-02T12:30:00Z"),
        ("2026-01-01T00:00:00+05:45", "2025-12-31T18:15:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_an_instant_is_read_and_written_in_utc(text: str, same: str) -> None:
    assert format_instant(parse_instant(text)) == same


@given(INSTANTS, st.integers(-1439, 1439))
def test_reading_an_instant_agrees_with_datetime(at: int, offset_minutes: int) -> None:
    zone = timezone(timedelta(minutes=offset_minutes))
    try:
        text = oracle(at).astimezone(zone).isoformat()
    except OverflowError:  # within a day of the ends of the calendar
        return
    assert parse_instant(text) == at


@given(INSTANTS)
@example(FIRST)
@example(LAST)
@example(0)
@example(1_000)
def test_a_written_instant_reads_back_here_and_in_datetime(at: int) -> None:
    text = format_instant(at)
    assert parse_instant(text) == at
    assert datetime.fromisoformat(text) == oracle(at)
    assert len(text) in (20, 24, 27)


def test_a_text_without_a_zone_is_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match=r"^instant '2026-03-02T09:00:00' has no zone") as caught:
        parse_instant("2026-03-02T09:00:00")
    assert "'Z'" in caught.value.hint


def test_a_leap_second_is_refused() -> None:
    with pytest.raises(UsageError, match="is a leap second"):
        parse_instant("2016-12-31T23:59:60Z")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unreadable instant"),
        ("2026-03-02", "unreadable instant"),
        ("2026-03-02 09:00:00Z", "unreadable instant"),
        ("2026-03-02T09:00Z", "unreadable instant"),
        ("2026-03-02T09:00:00z", "unreadable instant"),
        ("2026-03-02T09:00:00Z\n", "unreadable instant"),
        ("2026-03-02T09:00:00.Z", "unreadable instant"),
        ("+2026-03-02T09:00:00Z", "unreadable instant"),
        ("\u0662026-03-02T09:00:00Z", "unreadable instant"),
        ("2026-03-02T09:00:00." + "0" * 99 + "Z", "unreadable instant"),
        ("2026-03-02T09:00:00.0000000Z", "is finer than 1 us"),
        ("2026-03-02T09:00:00+24:00", "has no such offset"),
        ("2026-03-02T09:00:00+01:60", "has no such offset"),
        ("2026-02-29T09:00:00Z", "no such date: 2026-02-29"),
        ("2026-03-02T24:00:00Z", "no such date or time: hour 24"),
        ("0000-03-02T09:00:00Z", "no such date or time: year 0"),
        ("0001-01-01T00:00:00+00:01", "outside the years 1 to 9999"),
        ("9999-12-31T23:59:59-00:01", "outside the years 1 to 9999"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_instant(text)


def test_more_days_than_are_kept_are_still_written_right() -> None:
    for day in range(0, 3_000 * 86_400_000_000, 86_400_000_000):
        assert datetime.fromisoformat(format_instant(day)) == oracle(day)


def test_the_calendar_runs_without_datetime() -> None:
    script = (
        "import sys; from simharness.kernel import calendar as c;"
        "c.format_instant(c.parse_instant('2026-03-02T09:00:00Z'));"
        "sys.exit(any(name in sys.modules for name in ('datetime', '_datetime', '_strptime')))"
    )
    root = calendar.__file__.rpartition("/simharness/")[0]
    assert subprocess.run([sys.executable, "-c", script], cwd=root, check=False).returncode == 0
