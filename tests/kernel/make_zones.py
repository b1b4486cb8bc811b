"""Make simharness/kernel/data/tz-RELEASE.json from the PyPI package tzdata of one release.

usage: python -m tests.kernel.make_zones

It reads the compiled zones with a reader of its own, not with zoneinfo, which the tests hold the
result against. For another release: pin its package in setup.cfg, change `RELEASE` here and in
simharness/kernel/zones.py, run it, take over the digests that it prints, delete the old file.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
import struct
import sys
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from simharness.kernel.calendar import instant, weekday

RELEASE = "2025b"
SOURCE_DIGEST = "30ec26b2d44f6d95763700d492c776e8"
"""BLAKE2b-128 over the names and bytes of all zones of the package, in the order of names."""

FOLDER = Path(__file__).resolve().parents[2] / "simharness" / "kernel" / "data"

# In seconds of UTC. The table reaches some days beyond the years that are promised, since the local
# day of an instant in them may begin or end outside.
FIRST = instant(1989, 12, 29) // 1_000_000
LAST = instant(2061, 1, 4) // 1_000_000


class Kind(NamedTuple):
    """What a clock on the wall shows for some time; offsets in seconds east of UTC."""

    offset: int
    dst: bool
    abbreviation: str


class History(NamedTuple):
    """A zone: the kinds before and after each transition, and their seconds of UTC."""

    kinds: list[Kind]
    times: list[int]


def read_zone(data: bytes) -> History:
    """Read a TZif file of version 2 or later (RFC 9636), with the rule at its end written out."""
    first_block = _counts(data, 0)
    start = 44 + _length(first_block, 4)
    isutc, isstd, leaps, times, types, characters = counts = _counts(data, start)
    if leaps or isutc not in (0, types) or isstd not in (0, types):
        raise ValueError("a zone with leap seconds, or damaged")
    at = start + 44
    moments = list(struct.unpack_from(f">{times}q", data, at))
    indexes = data[at + 8 * times : at + 9 * times]
    at += 9 * times
    rows = [struct.unpack_from(">i?B", data, at + 6 * n) for n in range(types)]
    names = data[at + 6 * types : at + 6 * types + characters]
    kinds = [
        Kind(offset, dst, names[place : names.index(0, place)].decode("ascii"))
        for offset, dst, place in rows
    ]
    footer = data[start + 44 + _length(counts, 8) :].decode("ascii").strip("\n")
    sequence = [kinds[0], *(kinds[index] for index in indexes)]
    if "," in footer:
        for moment, kind in _rule(footer):
            if not moments or moment > moments[-1]:
                moments.append(moment)
                sequence.append(kind)
    elif footer and _fixed(footer) != sequence[-1]:
        raise ValueError(f"the rule {footer!r} does not go on where the transitions end")
    return History(sequence, moments)


def _counts(data: bytes, at: int) -> tuple[int, int, int, int, int, int]:
    magic, version, *counts = struct.unpack_from(">4sc15x6l", data, at)
    if magic != b"TZif" or version < b"2":
        raise ValueError("no TZif of version 2 or later")
    isutc, isstd, leaps, times, types, characters = counts
    return isutc, isstd, leaps, times, types, characters


def _length(counts: tuple[int, int, int, int, int, int], width: int) -> int:
    isutc, isstd, leaps, times, types, characters = counts
    return times * (width + 1) + types * 6 + characters + leaps * (width + 4) + isstd + isutc


_NAME = r"([A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_TIME = r"[+-]?[0-9]+(?::[0-9]+){0,2}"
_FIXED = re.compile(rf"{_NAME}({_TIME})")
_RULE = re.compile(rf"{_NAME}({_TIME}){_NAME}({_TIME})?,([^,]+),([^,]+)")
_DAY = re.compile(rf"M([0-9]+)\.([1-5])\.([0-6])(?:/({_TIME}))?")


def _fixed(footer: str) -> Kind:
    match = _FIXED.fullmatch(footer)
    if match is None:
        raise ValueError(f"unreadable rule {footer!r}")
    return Kind(-_seconds(match[2]), False, match[1].strip("<>"))


def _rule(footer: str) -> list[tuple[int, Kind]]:
    """List the transitions of a POSIX rule in the years that may lie behind the last explicit."""
    match = _RULE.fullmatch(footer)
    if match is None:
        raise ValueError(f"unreadable rule {footer!r}")
    standard = Kind(-_seconds(match[2]), False, match[1].strip("<>"))
    saving = -_seconds(match[4]) if match[4] else standard.offset + 3_600
    summer = Kind(saving, True, match[3].strip("<>"))
    found: list[tuple[int, Kind]] = []
    for year in range(1989, 2063):
        found.append((_moment(year, match[5]) - standard.offset, summer))
        found.append((_moment(year, match[6]) - summer.offset, standard))
    return sorted(found)


def _moment(year: int, rule: str) -> int:
    """Return the local second of a rule such as M3.5.0/2: the last Sunday of March at 2:00."""
    match = _DAY.fullmatch(rule)
    if match is None:
        raise ValueError(f"unreadable day {rule!r}")
    month, week, day_of_week = int(match[1]), int(match[2]), (int(match[3]) - 1) % 7
    first = instant(year, month, 1)
    after = instant(year + month // 12, month % 12 + 1, 1)
    day = 86_400_000_000
    days = range(first, after, day)
    fitting = [at for at in days if weekday(at) == day_of_week]
    return fitting[min(week, len(fitting)) - 1] // 1_000_000 + _seconds(match[4] or "2")


def _seconds(text: str) -> int:
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    total = sum(part * unit for part, unit in zip(parts, (3_600, 60, 1), strict=False))
    return -total if text.startswith("-") else total


def standard_offsets(history: History) -> list[int]:
    """Say for each period what its standard time is.

    TZif tells which periods are daylight saving time, and not of which standard time. It is that of
    the last period before that isn't, or that of the next one: the one that an hour is saved of, or
    else any hour or part of one. Where both are the offset itself, it is an hour less: Buenos Aires
    went back an hour and to summer time in one moment of 1999, and kept the clock as it was.
    """
    found: list[int] = []
    for n, kind in enumerate(history.kinds):
        before = [k.offset for k in reversed(history.kinds[:n]) if not k.dst][:1]
        after = [k.offset for k in history.kinds[n + 1 :] if not k.dst][:1]
        hour_less = kind.offset - 3_600
        others = [offset for offset in (*before, *after) if offset != kind.offset]
        if not kind.dst:
            found.append(kind.offset)
        elif hour_less in others or not others:
            found.append(hour_less)
        else:
            found.append(others[0])
    return found


def encode(history: History) -> list[object]:
    """Write a zone as its kinds, which of them each period has, and the minutes between changes."""
    standards = standard_offsets(history)
    at = bisect_right(history.times, FIRST)
    times = [FIRST]
    rows: list[tuple[int, int, str]] = []
    for moment, kind, standard in zip(
        (FIRST, *history.times[at:]), history.kinds[at:], standards[at:], strict=True
    ):
        row = kind.offset, standard, kind.abbreviation
        # The database also notes where only the law changed.
        if moment >= LAST or (rows and row == rows[-1]):
            continue
        if kind.dst != (kind.offset != standard):
            raise ValueError("daylight saving time that saves nothing")
        if any(value % 60 for value in (moment, kind.offset, standard)):
            raise ValueError("a transition within a minute, or an offset of a part of one")
        if rows:
            times.append(moment)
        rows.append(row)
    kinds = list(dict.fromkeys(rows))
    steps = [(after - before) // 60 for before, after in pairwise(times)]
    shown = [(offset // 60, standard // 60, name) for offset, standard, name in kinds]
    return [shown, [kinds.index(row) for row in rows], steps]


def sources() -> dict[str, bytes]:
    """Return the bytes of every zone of the installed package by name."""
    package = importlib.resources.files("tzdata")
    names = sorted(package.joinpath("zones").read_text(encoding="utf-8").split())
    return {name: package.joinpath("zoneinfo", *name.split("/")).read_bytes() for name in names}


def source_digest(zones: dict[str, bytes]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, data in zones.items():
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def table(zones: dict[str, bytes]) -> bytes:
    """Return the bytes of the file: one line for each history, then which zone has which."""
    encoded = {
        name: json.dumps(encode(read_zone(data)), separators=(",", ":"))
        for name, data in zones.items()
    }
    histories = list(dict.fromkeys(encoded.values()))
    places = {name: histories.index(text) for name, text in encoded.items()}
    lines = ",\n".join(histories)
    index = json.dumps(places, separators=(",", ":"), sort_keys=True).replace(",", ",\n")
    head = f'"release":"{RELEASE}",\n"first":{FIRST},\n"last":{LAST}'
    return f'{{{head},\n"histories":[\n{lines}\n],\n"zones":{index}}}\n'.encode("ascii")


def main() -> None:
    installed = importlib.resources.files("tzdata").joinpath("__init__.py").read_text("utf-8")
    if f'IANA_VERSION = "{RELEASE}"' not in installed:
        sys.exit(f"the installed tzdata is of another release than {RELEASE}")
    zones = sources()
    if (digest := source_digest(zones)) != SOURCE_DIGEST:
        sys.exit(f"the installed tzdata has the digest {digest}, expected {SOURCE_DIGEST}")
    data = table(zones)
    path = FOLDER / f"tz-{RELEASE}.json"
    path.write_bytes(data)
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    sys.stdout.write(f"{path.name}: {len(data)} bytes, digest {digest}\n")


if __name__ == "__main__":
    main()
