"""Time zones from a table in the package, so that no run depends on the zones of a machine.

The table holds every zone of one release of the IANA database for the years 1990 to 2060, with the
rules written out as transitions; what lies outside is refused. Offsets are ticks east of UTC, local
times are dates and times of day as a clock on the wall there shows them. The table is read when the
first zone is asked for.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from simharness.errors import HarnessError, UnknownName, UsageError
from simharness.kernel import calendar
from simharness.units import DAY, MINUTE, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

ZONES_RELEASE: Final = "2025b"
"""The release of the IANA database; a later one is a change of what a seed means."""

ZONE_RULES: Final = ("exact", "day_start", "standard", "naive")
"""How a product may choose an offset, for a knob; see `offset_by`."""


def zone(name: str) -> Zone:
    """Return the zone of an IANA name, as in "Europe/Berlin"; links such as "Asia/Calcutta" too.

    Raises:
        UsageError: No zone has that name; the hint lists near ones.
    """
    if type(name) is not str:
        raise UsageError(f"time zone: got {name!r}, expected a name", "such as 'Europe/Berlin'")
    if name not in _table().zones:
        # Names come from agents too, and the search for near ones takes long for long texts.
        raise UnknownName.among("time zone", name[:_NAME_LENGTH_MAX], zone_names())
    return _zone(name)


def zone_names() -> tuple[str, ...]:
    """Return the names of all zones in the order of their code points."""
    return tuple(_table().zones)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Zone:
    """A time zone; two of the same name are equal. Its instants are those of 1990 to 2060 in UTC.

    Every method that takes an instant raises UsageError for one that is outside.
    """

    name: str
    _times: tuple[int, ...] = field(compare=False)
    """The instants of the transitions; period n lies before the n-th."""
    _offsets: tuple[int, ...] = field(compare=False)
    _standards: tuple[int, ...] = field(compare=False)
    _abbreviations: tuple[str, ...] = field(compare=False)
    _starts: tuple[tuple[int, ...], tuple[int, ...]] = field(compare=False)
    """By fold, the local time from which on each period but the first is meant."""

    def offset(self, instant: int) -> int:
        """Return how far local time is ahead of UTC at an instant, in ticks; whole minutes."""
        return self._offsets[bisect_right(self._times, _checked(instant))]

    def standard_offset(self, instant: int) -> int:
        """Return the offset of the standard time that is in force at an instant, in ticks.

        It equals `offset` but in daylight saving time. What is standard is the database's word: it
        has Dublin's summer time as standard, and an hour less in winter.
        """
        return self._standards[bisect_right(self._times, _checked(instant))]

    def day_start_offset(self, instant: int) -> int:
        """Return the offset at the start of the local day that an instant is in, in ticks.

        A day starts at its first midnight, or later where clocks are set forward at midnight.
        """
        local = instant + self.offset(instant)
        start = self._instant(local - local % DAY, 0)
        return self._offsets[bisect_right(self._times, start)]

    def is_dst(self, instant: int) -> bool:
        """Say whether local time differs from standard time at an instant."""
        period = bisect_right(self._times, _checked(instant))
        return self._offsets[period] != self._standards[period]

    def abbreviation(self, instant: int) -> str:
        """Return the name of local time at an instant, as in "CEST", or "+03" where it has none."""
        return self._abbreviations[bisect_right(self._times, _checked(instant))]

    def local(self, instant: int) -> tuple[int, int, int, int, int, int, int]:
        """Return the local (year, month, day, hour, minute, second, microsecond) of an instant."""
        return calendar.civil(instant + self.offset(instant))

    def fold(self, instant: int) -> int:
        """Return 1 if the local time of an instant has been before, as clocks were set back; or 0.

        `zone.instant(*zone.local(instant), fold=zone.fold(instant))` is `instant`.
        """
        return int(self._instant(instant + self.offset(instant), 0) != instant)

    def instant(
        self,
        year: int,
        month: int,
        day: int,
        hour: int = 0,
        minute: int = 0,
        second: int = 0,
        microsecond: int = 0,
        *,
        fold: int = 0,
    ) -> int:
        """Return the instant of a local date and time.

        A time that is skipped, as clocks are set forward, is moved forward by what is skipped:
        02:30 means 03:30 if 02:00 was followed by 03:00. Of a time that comes twice, as clocks are
        set back, it is the first.

        Args:
            year: As for the other fields, a local one.
            month: 1 to 12.
            day: 1 to 31.
            hour: 0 to 23.
            minute: 0 to 59.
            second: 0 to 59.
            microsecond: 0 to 999,999.
            fold: 1 for the second of a time that comes twice; nothing to all other times.

        Raises:
            UsageError: There is no such date or time in any zone, or it is outside the table.
        """
        local = calendar.instant(year, month, day, hour, minute, second, microsecond)
        return _checked(self._instant(local, fold))

    def format(self, instant: int) -> str:
        """Write an instant as local time with its offset: "2026-03-29T09:00:00+02:00"."""
        return format_local(instant, self.offset(instant))

    def parse(self, text: str) -> int:
        """Read what `format` writes, or another offset or "Z", or a local time without any.

        Without an offset the text is a time in this zone: the first of two, and moved forward where
        it is skipped, as by `instant`.

        Raises:
            UsageError: The text is anything else, or there is no such time in the table.
        """
        if _LOCAL.fullmatch(text[:_TEXT_LENGTH_MAX]) is None:
            return _checked(calendar.parse_instant(text))
        return _checked(self._instant(calendar.parse_instant(text + "Z"), 0))

    def __repr__(self) -> str:
        return f"zone({self.name!r})"

    def __reduce__(self) -> tuple[Callable[[str], Zone], tuple[str]]:
        return zone, (self.name,)

    def _instant(self, local: int, fold: int) -> int:
        """Return the instant of a local time that is given as if it were UTC."""
        if type(fold) is not int or not 0 <= fold <= 1:
            raise UsageError(f"fold: got {fold!r}, expected 0 or 1")
        return local - self._offsets[bisect_right(self._starts[fold], local)]


def offset_by(rule: str, zone: Zone, at: int | tuple[int, ...], *, fold: int = 0) -> int:
    """Return the offset in ticks that a product with a certain rule takes for a time in a zone.

    Local time is `instant + offset`, and the instant of a local time is `calendar - offset`, where
    `calendar` is the time read as if it were UTC. Every rule but "exact" is a known defect.

    Args:
        rule: One of `ZONE_RULES`: "exact" for the offset at that time, "day_start" for that at the
            start of the local day, kept for the whole of it, "standard" for that of standard time,
            all year, "naive" for 0, as if local time were UTC.
        zone: Where.
        at: An instant; or a local (year, month, day), with hour, minute, second and microsecond as
            far as they are not 0.
        fold: Which of two equal local times `at` is, as for `Zone.instant`; an instant needs none.

    Raises:
        UsageError: There is no such rule, or no such time in the table.
    """
    if isinstance(at, tuple):
        if not 3 <= len(at) <= 7:
            raise UsageError(f"local time: got {at!r}", "(year, month, day, hour, minute)")
        local = calendar.instant(*at)
        instant = zone.instant(*at, fold=fold)
    else:
        instant = at
        local = instant + zone.offset(instant)
    match rule:
        case "exact":
            return local - instant
        case "day_start":
            return zone.day_start_offset(instant)
        case "standard":
            return zone.standard_offset(instant)
        case "naive":
            return 0
        case _:
            raise UnknownName.among("zone rule", rule, ZONE_RULES)


def format_local(instant: int, offset: int) -> str:
    """Write an instant as it is at an offset, in ISO 8601: "2026-03-29T09:00:00+02:00".

    `parse_instant` reads it back.

    Args:
        instant: As for `format_instant`, which says how fractions are written.
        offset: Ticks east of UTC, whole minutes, less than a day either way.

    Raises:
        UsageError: The offset is another, or the local time is outside the years 1 to 9999.
    """
    if type(offset) is not int or offset % MINUTE or not -DAY < offset < DAY:
        raise UsageError(f"offset: got {offset!r}", "whole minutes in ticks, less than a day")
    hours, minutes = divmod(abs(offset) // MINUTE, 60)
    sign = "-" if offset < 0 else "+"
    return f"{calendar.format_instant(instant + offset)[:-1]}{sign}{hours:02d}:{minutes:02d}"


_FILE: Final = f"tz-{ZONES_RELEASE}.json"
_DIGEST: Final = "68a68883a408fd387a58260535f68027"

_FIRST: Final = calendar.instant(1990, 1, 1)
_LAST: Final = calendar.instant(2061, 1, 1) - 1

_LOCAL: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?")
_TEXT_LENGTH_MAX: Final = 64
_NAME_LENGTH_MAX: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The file: zones share a history where they have shown the same since 1990."""

    zones: dict[str, int]
    histories: list[Any]
    first: int
    """The instant from which on the histories count, some days before 1990."""


@cache
def _table() -> _Table:
    data = importlib.resources.files("simharness.kernel").joinpath("data", _FILE).read_bytes()
    if hashlib.blake2b(data, digest_size=16).hexdigest() != _DIGEST:
        raise HarnessError(
            f"the table of time zones, {_FILE}, is damaged", "install simharness again"
        )
    content = json.loads(data)
    return _Table(
        zones=content["zones"], histories=content["histories"], first=content["first"] * SECOND
    )


@cache
def _zone(name: str) -> Zone:
    table = _table()
    kinds, periods, steps = table.histories[table.zones[name]]
    times = tuple(accumulate((step * MINUTE for step in steps), initial=table.first))[1:]
    offsets = tuple(kinds[period][0] * MINUTE for period in periods)
    changes = tuple(zip(times, offsets, offsets[1:], strict=False))
    return Zone(
        name=name,
        _times=times,
        _offsets=offsets,
        _standards=tuple(kinds[period][1] * MINUTE for period in periods),
        _abbreviations=tuple(kinds[period][2] for period in periods),
        # What is skipped belongs to the period before, for both folds: with that one's offset it
        # moves forward. What comes twice belongs to the one before, with fold 1 to the one after.
        _starts=(
            tuple(time + max(before, after) for time, before, after in changes),
            tuple(time + after for time, _, after in changes),
        ),
    )


def _checked(instant: int) -> int:
    if type(instant) is not int:
        raise UsageError(f"instant: got {instant!r}, expected an int", "microseconds since 1970")
    if not _FIRST <= instant <= _LAST:
        raise UsageError(
            f"instant {calendar.format_instant(instant)} has no time zones",
            "the table holds those of the years 1990 to 2060",
        )
    return instant
