"""Standard offsets are held against the database's source, where every line of a zone has its own.

Compiled zones don't hold them, so the table's are worked out (see make_zones.py).
"""

from __future__ import annotations

import importlib.resources
import re
from itertools import pairwise

from simharness.kernel import calendar
from simharness.kernel.zones import Zone, zone, zone_names
from simharness.units import SECOND

FIRST = calendar.instant(1990, 1, 1)
LAST = calendar.instant(2061, 1, 1) - 1
MONTHS = ("Ja", "F", "Mar", "Ap", "May", "Jun", "Jul", "Au", "S", "O", "N", "D")
"""As short as the source has them."""

Lines = list[tuple[int, int]]
"""Standard offsets of a zone, each with the instant until which it holds, to a week or so."""


def read_source() -> dict[str, Lines]:
    text = importlib.resources.files("tzdata").joinpath("zoneinfo", "tzdata.zi").read_text("utf-8")
    found: dict[str, Lines] = {}
    links: dict[str, str] = {}
    lines: Lines | None = None
    for line in text.splitlines():
        match line.split():
            case ["#", *_] | []:
                continue
            case ["L", target, name]:
                links[name] = target
                lines = None
            case ["R", *_]:
                lines = None
            case ["Z", name, *rest]:
                lines = found[name] = []
                lines.append(read_line(rest))
            case rest:
                assert lines is not None, line
                lines.append(read_line(rest))
    for name, target in links.items():
        found[name] = found[links.get(target, target)]
    return found


def read_line(fields: list[str]) -> tuple[int, int]:
    hours, minutes, seconds = ([int(n) for n in fields[0].lstrip("-").split(":")] + [0, 0])[:3]
    ticks = ((hours * 60 + minutes) * 60 + seconds) * SECOND
    offset = -ticks if fields[0].startswith("-") else ticks
    if len(fields) < 4:
        return offset, LAST + 1
    year, month, day = (fields[3:6] + ["Ja", "1"][len(fields[3:6]) - 1 :])[:3]
    number = 1 + next(n for n, short in enumerate(MONTHS) if month.startswith(short))
    # "lastSu" and "Su>=8" are taken for days about there.
    about = 25 if day.startswith("l") else int(re.sub(r"\D", "", day))
    return offset, calendar.instant(int(year), number, about)


def middles(here: Zone) -> list[int]:
    times = [at for at in here._times if FIRST < at < LAST]  # pyright: ignore[reportPrivateUsage]
    return [(before + after) // 2 for before, after in pairwise((FIRST, *times, LAST))]


def test_the_standard_time_of_every_period_is_that_of_the_source() -> None:
    source = read_source()
    assert len(source) == len(zone_names())
    count = 0
    for name in zone_names():
        for at in middles(zone(name)):
            expected = next(offset for offset, until in source[name] if at < until)
            assert zone(name).standard_offset(at) == expected, (name, at)
            count += 1
    assert count > 25_000
