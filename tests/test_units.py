import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness import units
from simharness.errors import UsageError
from simharness.units import format_duration, humanize, parse_duration

TICKS = st.integers(0, units.DURATION_TICKS_MAX)


def test_the_units_are_whole_multiples_of_a_microsecond() -> None:
    assert (units.US, units.MS, units.SECOND) == (1, 1_000, 1_000_000)
    assert (units.MINUTE, units.HOUR, units.DAY) == (60_000_000, 3_600_000_000, 86_400_000_000)
    assert units.us(3) == 3
    assert units.ms(3) == 3_000
    assert units.seconds(3) == 3_000_000
    assert units.minutes(-2) == -120_000_000
    assert units.hours(1) == 60 * units.minutes(1)
    assert units.days(1) == 24 * units.hours(1)


@pytest.mark.parametrize("helper", ["us", "ms", "seconds", "minutes", "hours", "days"])
@pytest.mark.parametrize("number", [0.5, 1.0, True, "1", None])
def test_a_unit_takes_ints_only(helper: str, number: object) -> None:
    with pytest.raises(UsageError, match=rf"^{helper}: got .*, expected an int"):
        getattr(units, helper)(number)


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("300s", 300_000_000),
        ("0.2s", 200_000),
        ("5min", 300_000_000),
        ("1d", 86_400_000_000),
        ("250ms", 250_000),
        ("1us", 1),
        ("2h", 7_200_000_000),
        ("0s", 0),
        ("1h30min", 5_400_000_000),
        ("1h 03min", 3_780_000_000),
        ("1d2h3min4s5ms6us", 93_784_005_006),
        ("1min0.5s", 60_500_000),
        ("12.004300s", 12_004_300),
        ("0.000001s", 1),
        ("1.0000000s", 1_000_000),
        ("1.0us", 1),
        ("0.1s", 100_000),
        ("9223372036854775807us", 2**63 - 1),
        (17, 17),
        (0, 0),
    ],
)
def test_a_duration_is_read_exactly(text: str | int, ticks: int) -> None:
    assert parse_duration(text) == ticks


@pytest.mark.parametrize(
    "text", ["0.0000001s", "1.5us", "0.0001ms", "1h0.0000001s", "0.000000000001d"]
)
def test_a_duration_finer_than_a_tick_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"^duration '{text}' is finer than 1 us"):
        parse_duration(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "5",
        "5m",
        "5 min",
        "5S",
        " 5s",
        "5s ",
        "5s\n",
        "+5s",
        "1e3s",
        ".5s",
        "5.s",
        "1,5s",
        "nan",
        "inf",
        "1_000s",
        "\u0665s",
        "1s1min",
        "1s1s",
        "1.5h30min",
        "1h  30min",
        "1h,30min",
        "1" * 65 + "s",
    ],
)
def test_an_unreadable_duration_is_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(UsageError, match=r"^unreadable duration") as caught:
        parse_duration(text)
    assert repr(text[:64]) in caught.value.message
    assert "'1h30min'" in caught.value.hint


@pytest.mark.parametrize("duration", ["-5s", "-0.2s", -1])
def test_a_negative_duration_is_refused(duration: str | int) -> None:
    with pytest.raises(UsageError, match=r"^negative duration"):
        parse_duration(duration)


@pytest.mark.parametrize(
    "duration",
    [2**63, 1 << 20_000, "9223372036854775808us", "9" * 60 + "d"],
    ids=["ticks", "vast", "us", "days"],
)
def test_a_duration_beyond_the_longest_is_refused(duration: str | int) -> None:
    with pytest.raises(UsageError, match=r"^duration too long"):
        parse_duration(duration)


@pytest.mark.parametrize("duration", [True, 1.0, None, b"1s"])
def test_a_duration_is_a_text_or_an_int(duration: object) -> None:
    with pytest.raises(UsageError, match=r"^duration: got"):
        parse_duration(duration)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_duration_is_written_in_seconds_with_six_digits() -> None:
    assert format_duration(12_004_300) == "12.004300s"
    assert format_duration(0) == "0.000000s"
    assert format_duration(-1_500_000) == "-1.500000s"
    assert format_duration(units.DAY) == "86400.000000s"


@given(TICKS)
def test_a_written_duration_reads_back(ticks: int) -> None:
    assert parse_duration(format_duration(ticks)) == ticks


@given(TICKS, st.sampled_from(["us", "ms", "s", "min", "h", "d"]))
def test_a_whole_number_of_any_unit_is_read_exactly(ticks: int, unit: str) -> None:
    size = parse_duration(f"1{unit}")
    count = ticks // size
    assert parse_duration(f"{count}{unit}") == count * size


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0s"),
        (7, "7us"),
        (999, "999us"),
        (1_000, "1ms"),
        (1_550, "1.5ms"),
        (250_000, "250ms"),
        (999_999, "999.9ms"),
        (1_000_000, "1s"),
        (1_250_000, "1.2s"),
        (59_999_999, "59.9s"),
        (60_000_000, "1min"),
        (252_900_000, "4min 12s"),
        (305_000_000, "5min 05s"),
        (3_599_999_999, "59min 59s"),
        (3_600_000_000, "1h"),
        (3_780_000_000, "1h 03min"),
        (2 * 86_400_000_000 + 4 * 3_600_000_000, "2d 04h"),
        (-250_000, "-250ms"),
    ],
)
def test_a_duration_for_people_is_short(ticks: int, text: str) -> None:
    assert humanize(ticks) == text


@given(TICKS)
def test_a_duration_for_people_never_overstates(ticks: int) -> None:
    text = humanize(ticks)
    assert ticks * 9 // 10 <= parse_duration(text) <= ticks
    assert len(text.split()) <= 2
