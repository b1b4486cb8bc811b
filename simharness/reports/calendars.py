"""Rows of a product from the events of an iCalendar file, by the library `icalendar`."""

from __future__ import annotations

import datetime
import importlib
from typing import TYPE_CHECKING, Any

from simharness.errors import UsageError
from simharness.extras import to_install
from simharness.kernel.calendar import instant as instant_of
from simharness.kernel.zones import zone as zone_of
from simharness.units import MINUTE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from simharness.parts.row import Column

TITLES = ("title", "subject")
"""Columns that take what an event is called."""
UTC = datetime.UTC
ZONES = "name one as Europe/Berlin, or give the calendar its VTIMEZONE"


def read_events(path: Path, columns: Mapping[str, Column], zone: str) -> list[dict[str, Any]]:
    """Read events as rows of a table with the columns starts_at, and ends_at or minutes.

    Of one that is repeated the first is taken, and one that is there twice counts once. Times
    without a zone, and whole days, are those of `zone`. Raises UsageError.
    """
    try:
        icalendar: Any = importlib.import_module("icalendar")
    except ImportError:
        raise UsageError(
            "the library icalendar is not installed",
            f"run: {to_install('simharness[icalendar]')}",
        ) from None
    if "starts_at" not in columns:
        raise UsageError("events are rows with a column starts_at", "give such a --table")
    try:
        calendars: list[Any] = icalendar.Calendar.from_ical(ended(path.read_bytes()), multiple=True)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}", "give an .ics file") from None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        # What the library raises of broken files differs from one kind to the next.
        text = f"{path} is no iCalendar: {type(error).__name__}: {error}"
        raise UsageError(text[:300], "export it again") from None
    out: list[dict[str, Any]] = []
    seen: dict[tuple[str, int], int] = {}
    for event in (event for calendar in calendars for event in calendar.walk("VEVENT")):
        where = f"{path}: event {len(seen) + 1} ({str(event.get('SUMMARY', ''))[:40]!a})"
        starts, ends = times(event, zone, where)
        if ends < starts:
            raise UsageError(f"{where}: it ends before it begins", "mend DTEND or DURATION")
        uid = str(event.get("UID", len(seen)))
        if (uid, starts) in seen:
            continue
        seen[uid, starts] = 1
        row: dict[str, Any] = {"id": columns["id"].shown(len(out) + 1)}
        row["starts_at"] = columns["starts_at"].shown(starts)
        if "ends_at" in columns:
            row["ends_at"] = columns["ends_at"].shown(ends)
        if "minutes" in columns:
            row["minutes"] = (ends - starts) // MINUTE
        for name in TITLES:
            if name in columns and event.get("SUMMARY") is not None:
                row[name] = str(event["SUMMARY"])
        out.append(row)
    if not out:
        raise UsageError(f"{path} holds no events", "events stand in BEGIN:VEVENT")
    return out


def ended(data: bytes) -> bytes:
    """Give a file whose lines end as the library takes it: some end in a carriage return alone."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def times(event: Any, zone: str, where: str) -> tuple[int, int]:
    """Give the instants at which an event begins and ends."""
    try:
        begins = event.decoded("DTSTART")
        length = event.decoded("DURATION") if "DURATION" in event else None
        ends = event.decoded("DTEND") if "DTEND" in event else None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise UsageError(f"{where}: {type(error).__name__}: {error}", "it has no time") from None
    for name, value in (("DTSTART", begins), ("DTEND", ends)):
        # The library gives a time of a zone that it doesn't know as one without a zone.
        told = getattr(event.get(name), "params", {}).get("TZID")
        if told and isinstance(value, datetime.datetime) and value.tzinfo is None:
            raise UsageError(f"{where}: {name} is of the zone {told!a}, which isn't known", ZONES)
    starts = instant(begins, zone, where)
    if isinstance(length, datetime.timedelta):
        return starts, starts + length // datetime.timedelta(microseconds=1)
    return starts, starts if ends is None else instant(ends, zone, where)


def instant(value: object, zone: str, where: str) -> int:
    """Give the instant of a date, or of a time with a zone or without."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
        return instant_of(*value.timetuple()[:6], value.microsecond)
    if not isinstance(value, datetime.date):
        raise UsageError(f"{where}: {value!r:.60} is no time", "give a date or a date and a time")
    if not zone:
        raise UsageError(f"{where}: {value} has no zone", "say which one: --zone Europe/Berlin")
    return zone_of(zone).instant(*value.timetuple()[:6])
