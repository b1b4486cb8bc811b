"""Zones are held against zoneinfo, which reads the package tzdata of the same release here."""

from __future__ import annotations

import copy
import hashlib
import importlib.resources
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simharness.errors import HarnessError, UsageError
from simharness.kernel import calendar, zones
from simharness.kernel.calendar import parse_instant
from simharness.kernel.zones import (
    ZONE_RULES,
    ZONES_RELEASE,
    Zone,
    format_local,
    offset_by,
    zone,
    zone_names,
)
from simharness.units import DAY, HOUR, MINUTE
from tests.kernel import make_zones

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "simharness" / "kernel" / "data" / "tz-2025b.json"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = calendar.instant(1990, 1, 1)
LAST = calendar.instant(2061, 1, 1) - 1
MICROSECOND = timedelta(microseconds=1)

INSTANTS = st.integers(FIRST, LAST)
NAMES = st.sampled_from(zone_names())


@cache
def oracle(name: str) -> ZoneInfo:
    place = importlib.resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    with place.open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def there(name: str, at: int) -> datetime:
    return (EPOCH + timedelta(microseconds=at)).astimezone(oracle(name))


def ticks(span: timedelta | None) -> int:
    assert span is not None
    return span // MICROSECOND


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


def assert_agrees(here: Zone, at: int) -> None:
    moment = there(here.name, at)
    assert here.offset(at) == ticks(moment.utcoffset()), (here, at)
    assert here.abbreviation(at) == moment.tzname(), (here, at)
    assert here.local(at) == fields(moment), (here, at)
    assert here.fold(at) == moment.fold, (here, at)
    assert here.instant(*here.local(at), fold=here.fold(at)) == at, (here, at)


def transitions(here: Zone) -> list[int]:
    return [at for at in here._times if FIRST < at <= LAST]  # pyright: ignore[reportPrivateUsage]


def test_the_file_is_what_the_pinned_package_makes() -> None:
    sources = make_zones.sources()
    assert make_zones.source_digest(sources) == make_zones.SOURCE_DIGEST
    assert make_zones.table(sources) == FILE.read_bytes()
    assert ZONES_RELEASE == make_zones.RELEASE


def test_the_file_is_pinned_and_small() -> None:
    data = FILE.read_bytes()
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    assert digest == "68a68883a408fd387a58260535f68027", "other offsets: a change of semantics"
    assert len(data) < 400_000
    assert [path.name for path in FILE.parent.iterdir()] == [FILE.name]


def test_every_zone_of_the_release_is_there() -> None:
    names = importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    assert zone_names() == tuple(sorted(names.split()))
    assert len(zone_names()) == 598


def test_every_transition_of_every_zone_agrees_with_zoneinfo() -> None:
    count = 0
    for name in zone_names():
        here = zone(name)
        for at in transitions(here):
            assert here.offset(at - 1) == ticks(there(name, at - 1).utcoffset()), (name, at)
            assert here.offset(at) == ticks(there(name, at).utcoffset()), (name, at)
            assert here.abbreviation(at) == there(name, at).tzname(), (name, at)
            count += 1
    assert count > 25_000


def test_no_transition_of_any_zone_is_missing() -> None:
    # One zone for each content. No period of any is shorter than six days.
    names = {data: name for name, data in make_zones.sources().items()}
    for name in names.values():
        here, other = zone(name), oracle(name)
        assert all(after - before > 6 * DAY for before, after in pairwise(transitions(here)))
        moment, step = EPOCH + timedelta(microseconds=FIRST), timedelta(days=6)
        for at in range(FIRST, LAST, 6 * DAY):
            assert here.offset(at) == ticks(moment.astimezone(other).utcoffset()), (name, at)
            moment += step


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_around_transitions_local_times_lead_back(shift: int) -> None:
    for name in zone_names()[::7]:
        for at in transitions(zone(name)):
            assert_agrees(zone(name), min(at + shift, LAST))


@given(NAMES, INSTANTS)
def test_any_instant_agrees_with_zoneinfo(name: str, at: int) -> None:
    assert_agrees(zone(name), at)


@given(NAMES, st.data(), st.integers(-3 * HOUR, 3 * HOUR), st.integers(0, 1))
def test_any_local_time_near_a_transition_agrees_with_zoneinfo(
    name: str, data: st.DataObject, near: int, fold: int
) -> None:
    here = zone(name)
    at = data.draw(st.sampled_from(transitions(here) or [FIRST + DAY]))
    local = calendar.civil(min(at + here.offset(at) + near, LAST - DAY))
    moment = datetime(*local, tzinfo=oracle(name))
    # A skipped time moves forward here, whatever the fold; there, only with fold 0.
    skipped = fields(moment.astimezone(UTC).astimezone(oracle(name))) != local
    expected = moment.replace(fold=0 if skipped else fold).astimezone(UTC)
    assert here.instant(*local, fold=fold) == (expected - EPOCH) // MICROSECOND


def test_a_skipped_time_moves_forward_by_what_is_skipped() -> None:
    berlin = zone("Europe/Berlin")
    for fold in (0, 1):
        at = berlin.instant(2026, 3, 29, 2, 30, fold=fold)
        assert berlin.format(at) == "2026-03-29T03:30:00+02:00"
        assert berlin.fold(at) == 0
    # Samoa had no 30 December 2011 at all.
    apia = zone("Pacific/Apia")
    assert apia.format(apia.instant(2011, 12, 30, 10)) == "2011-12-31T10:00:00+14:00"
    # Half an hour on Lord Howe.
    lord_howe = zone("Australia/Lord_Howe")
    at = lord_howe.instant(2026, 10, 4, 2, 15)
    assert lord_howe.format(at) == "2026-10-04T02:45:00+11:00"


def test_a_time_that_comes_twice_is_told_apart_by_its_fold() -> None:
    berlin = zone("Europe/Berlin")
    first = berlin.instant(2026, 10, 25, 2, 30)
    second = berlin.instant(2026, 10, 25, 2, 30, fold=1)
    assert berlin.format(first) == "2026-10-25T02:30:00+02:00"
    assert berlin.format(second) == "2026-10-25T02:30:00+01:00"
    assert (berlin.fold(first), berlin.fold(second)) == (0, 1)
    assert second - first == HOUR


def test_daylight_saving_time_and_what_it_is_saved_of() -> None:
    berlin = zone("Europe/Berlin")
    winter, summer = berlin.instant(2026, 1, 1), berlin.instant(2026, 7, 1)
    assert (berlin.is_dst(winter), berlin.is_dst(summer)) == (False, True)
    assert berlin.standard_offset(summer) == berlin.standard_offset(winter) == HOUR
    assert (berlin.abbreviation(winter), berlin.abbreviation(summer)) == ("CET", "CEST")
    dublin = zone("Europe/Dublin")
    assert dublin.is_dst(winter)
    assert dublin.standard_offset(winter) == HOUR


@pytest.mark.parametrize(
    ("name", "date", "standard"),
    [
        # Another standard time and daylight saving time from one moment on.
        ("Europe/Moscow", (1991, 6, 1), 2 * HOUR),
        ("Europe/Samara", (1991, 6, 1), 2 * HOUR),
        ("America/Argentina/Buenos_Aires", (1999, 12, 1), -4 * HOUR),
        ("America/Indiana/Winamac", (2007, 6, 1), -5 * HOUR),
        # In daylight saving time when the table begins, and another standard time after it.
        ("America/Argentina/Jujuy", (1990, 1, 15), -3 * HOUR),
        ("Australia/Lord_Howe", (1990, 1, 15), 10 * HOUR + 30 * MINUTE),
        ("Antarctica/Troll", (2026, 7, 1), 0),
        ("Africa/Casablanca", (2026, 3, 1), HOUR),
    ],
)
def test_standard_time_where_it_is_hard_to_tell(
    name: str, date: tuple[int, int, int], standard: int
) -> None:
    here = zone(name)
    at = here.instant(*date)
    assert here.is_dst(at)
    assert here.standard_offset(at) == standard


def test_standard_offset_is_the_offset_but_in_daylight_saving_time() -> None:
    for name in zone_names():
        here = zone(name)
        for at in (FIRST, *transitions(here)):
            saved = here.offset(at) - here.standard_offset(at)
            assert here.is_dst(at) == (saved != 0)
            assert -HOUR <= saved <= 2 * HOUR


def test_text_leads_back() -> None:
    new_york = zone("America/New_York")
    at = new_york.instant(2026, 3, 2, 9, 0, 0, 250_000)
    text = "2026-03-02T09:00:00.250-05:00"
    assert new_york.format(at) == text
    assert new_york.parse(text) == parse_instant(text) == at
    assert new_york.parse("2026-03-02T14:00:00.25Z") == at
    assert new_york.parse("2026-03-02T09:00:00.25") == at
    assert new_york.parse("2026-03-08T02:30:00") == new_york.parse("2026-03-08T03:30:00-04:00")
    assert zone("UTC").format(at) == "2026-03-02T14:00:00.250+00:00"


@given(NAMES, INSTANTS)
def test_any_instant_is_read_back_from_its_text(name: str, at: int) -> None:
    here = zone(name)
    text = here.format(at)
    assert here.parse(text) == parse_instant(text) == at
    assert datetime.fromisoformat(text) == EPOCH + timedelta(microseconds=at)


@pytest.mark.parametrize("offset", [30_000_000, DAY, -DAY, True, 3.6e9, None])
def test_an_offset_that_cannot_be_written_is_refused(offset: object) -> None:
    with pytest.raises(UsageError, match=r"^offset: got "):
        format_local(FIRST, offset)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "unreadable instant ''"),
        ("2026-03-02", "unreadable instant"),
        ("2026-02-30T09:00:00", "no such date"),
        ("2026-03-02T24:00:00", "no such date or time: hour 24"),
        ("2026-03-02T09:00:00 Europe/Berlin", "unreadable instant"),
        ("1989-12-31T22:59:59Z", "has no time zones"),
        ("2026-03-02T09:00:00" + "0" * 100_000, "unreadable instant"),
    ],
)
def test_an_unreadable_local_time_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        zone("Europe/Berlin").parse(text)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berlni", "'Europe/Berlin'"),
        ("europe/berlin", "'Europe/Berlin'"),
        ("America/NewYork", "'America/New_York'"),
        ("", "known: Africa/Abidjan"),
        ("../../etc/passwd", "known: Africa/Abidjan"),
    ],
)
def test_an_unknown_zone_is_refused_with_near_names(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"^no time zone named ") as caught:
        zone(name)
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", [None, 3, b"UTC", ["UTC"]])
def test_a_zone_is_asked_for_by_text(name: object) -> None:
    with pytest.raises(UsageError, match=r"^time zone: got "):
        zone(name)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("at", [FIRST - 1, LAST + 1, True, 1.5e15, None])
def test_an_instant_outside_the_table_is_refused(at: int) -> None:
    here = zone("Asia/Tokyo")
    for ask in (here.offset, here.local, here.fold, here.is_dst, here.format, here.abbreviation):
        with pytest.raises(UsageError, match=r"^instant"):
            ask(at)
    for rule in ZONE_RULES:
        with pytest.raises(UsageError, match=r"^instant"):
            offset_by(rule, here, at)


def test_local_times_end_with_the_table() -> None:
    tokyo = zone("Asia/Tokyo")
    assert tokyo.instant(1990, 1, 1, 9) == FIRST
    assert tokyo.instant(*tokyo.local(LAST)) == LAST
    for date in ((1990, 1, 1, 8, 59, 59), (2061, 1, 1, 9), (1, 1, 1), (9999, 12, 31)):
        with pytest.raises(UsageError, match=r"outside the years|has no time zones"):
            tokyo.instant(*date)
    with pytest.raises(UsageError, match="no such date"):
        tokyo.instant(2026, 2, 29)


@pytest.mark.parametrize("fold", [-1, 2, True, None])
def test_a_fold_is_0_or_1(fold: int) -> None:
    with pytest.raises(UsageError, match=r"^fold: got "):
        zone("UTC").instant(2026, 1, 1, fold=fold)


# Clocks in Berlin go forward on 2026-03-29 at 02:00 and back on 2026-10-25 at 03:00.
@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ((2026, 3, 28, 9, 0), (1, 1, 1, 0)),
        ((2026, 3, 29, 1, 0), (1, 1, 1, 0)),
        ((2026, 3, 29, 9, 0), (2, 1, 1, 0)),
        ((2026, 3, 30, 9, 0), (2, 2, 1, 0)),
        ((2026, 10, 25, 9, 0), (1, 2, 1, 0)),
        ((2026, 10, 26, 9, 0), (1, 1, 1, 0)),
    ],
)
def test_each_rule_takes_its_offset(local: tuple[int, ...], expected: tuple[int, ...]) -> None:
    berlin = zone("Europe/Berlin")
    at = berlin.instant(*local)
    assert tuple(offset_by(rule, berlin, local) // HOUR for rule in ZONE_RULES) == expected
    assert tuple(offset_by(rule, berlin, at) // HOUR for rule in ZONE_RULES) == expected


def test_a_day_that_begins_late_has_the_offset_of_its_start() -> None:
    # Clocks in Beirut went from 00:00 to 01:00.
    beirut = zone("Asia/Beirut")
    assert offset_by("day_start", beirut, (2025, 3, 30, 9, 0)) == 3 * HOUR
    assert offset_by("day_start", beirut, (2025, 3, 29, 9, 0)) == 2 * HOUR


@given(NAMES, INSTANTS)
def test_the_exact_rule_is_the_zone(name: str, at: int) -> None:
    here = zone(name)
    assert offset_by("exact", here, at) == here.offset(at)
    local = here.local(at)
    fold = here.fold(at)
    assert calendar.instant(*local) - offset_by("exact", here, local, fold=fold) == at
    for rule in ZONE_RULES:
        assert offset_by(rule, here, local, fold=fold) == offset_by(rule, here, at)


def test_a_skipped_local_time_is_exact_with_the_offset_before() -> None:
    local = (2026, 3, 29, 2, 30)
    berlin = zone("Europe/Berlin")
    assert calendar.instant(*local) - offset_by("exact", berlin, local) == berlin.instant(*local)


@pytest.mark.parametrize("at", [(), (2026, 1), (2026, 1, 1, 0, 0, 0, 0, 0)])
def test_a_local_time_has_3_to_7_fields(at: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match=r"^local time: got "):
        offset_by("exact", zone("UTC"), at)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="no zone rule named 'dayStart'") as caught:
        offset_by("dayStart", zone("UTC"), FIRST)
    assert "day_start" in caught.value.hint


def test_zones_of_one_name_are_one_value() -> None:
    berlin = zone("Europe/Berlin")
    assert zone("Europe/Berlin") is berlin
    assert berlin != zone("Europe/Paris")
    assert copy.deepcopy(berlin) is berlin
    assert pickle.loads(pickle.dumps(berlin)) is berlin
    assert repr(berlin) == "zone('Europe/Berlin')"


def test_a_damaged_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "_DIGEST", "0" * 32)
    with pytest.raises(HarnessError, match=r"tz-2025b\.json, is damaged"):
        zones._table.__wrapped__()  # pyright: ignore[reportPrivateUsage]


def run_python(code: str, **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_machine_has_no_say(tmp_path: Path) -> None:
    code = """
import hashlib, sys
from simharness.api import zone, zone_names, format_instant
digest = hashlib.blake2b()
for name in zone_names():
    here = zone(name)
    for n in range(40):
        at = here.instant(1990 + n, n % 12 + 1, n % 27 + 2, n % 24)
        digest.update(f"{here.format(at)} {here.abbreviation(at)} {format_instant(at)}".encode())
assert not {"zoneinfo", "tzdata"} & set(sys.modules), "the table is not the only source"
print(digest.hexdigest())
"""
    environments = (
        {"TZ": "UTC", "PYTHONHASHSEED": "0"},
        {"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "7", "LC_ALL": "C"},
        {"TZ": "XYZ+3:17", "PYTHONTZPATH": str(tmp_path), "ZONEINFO": str(tmp_path)},
    )
    assert len({run_python(code, **environment) for environment in environments}) == 1


def test_the_table_is_read_when_the_first_zone_is_asked_for() -> None:
    code = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
def count():
    return sum("tz-2025b" in str(path) for path in opened)
from simharness.api import zone
before = count()
zone("Europe/Berlin"), zone("Asia/Tokyo")
print(before, count())
"""
    assert run_python(code) == "0 1\n"
