"""Reads values out of a TOML document; what doesn't fit is told with file, line and key."""

from __future__ import annotations

import datetime
import re
import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from simharness.errors import SimharnessError, UnknownName, UsageError
from simharness.product.script import Scripted
from simharness.reports.lines import Lines
from simharness.units import humanize, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path as FilePath

    from simharness.reports.lines import Path

T = TypeVar("T")

PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
DEPTH_MAX = 60
"""Tables and lists within each other."""
TOO_DEEP = f"tables and lists stand in each other more than {DEPTH_MAX} deep"
HEADINGS = 4
"""Names of a heading at most, with their places in lists: [[control.actions]]."""
CURLY = "\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
HEADING = re.compile(r"\s*\[\[?[^\]]*\]\]?\s*(?:#.*)?")
BARE = re.compile(r"[A-Za-z0-9_-]+")


class Reader:
    """One file, with the place of everything in it."""

    def __init__(self, path: FilePath, data: bytes) -> None:
        self.path = path
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise UsageError(
                f"{path}:{line}: not UTF-8: byte {data[error.start]:#04x}", "save it as UTF-8"
            ) from None
        try:
            self.document: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = PLACE.search(str(error))
            line = int(found[1]) if found and found[1] else len(text.splitlines())
            what = PLACE.sub("", str(error))
            lines = text.splitlines()
            hint = hint_for(what, lines[line - 1] if 0 < line <= len(lines) else "")
            raise UsageError(f"{path}:{max(line, 1)}: no TOML: {what}", hint) from None
        except RecursionError:
            raise UsageError(f"{path}: {TOO_DEEP}", "write it flatter") from None
        except ValueError as error:  # a number of thousands of digits
            raise UsageError(f"{path}: no TOML: {error}", "write a smaller number") from None
        if deeper(self.document, DEPTH_MAX):
            raise UsageError(f"{path}: {TOO_DEEP}", "write it flatter")
        self._text = text

    @cached_property
    def lines(self) -> Lines:
        """Where everything stands; only messages ask for it."""
        return Lines(self._text)

    def fail(self, at: Path, what: str, hint: str = "") -> NoReturn:
        """Raise UsageError about what stands at a path."""
        raise UsageError(f"{self.path}:{self.lines.line(at)}: {shown_path(at)}: {what}", hint)

    def unknown(self, at: Path, kind: str, name: object, known: Iterable[str]) -> NoReturn:
        """Raise UsageError about a name that isn't known, with the near ones."""
        error = UnknownName.among(kind, str(name), known)
        self.fail(at, error.message, error.hint)

    def tried(self, at: Path, read: Callable[..., T], *args: Any) -> T:
        """Read something; what it raises is told with the place."""
        try:
            return read(*args)
        except SimharnessError as error:
            self.fail(at, error.message, error.hint)

    # --- values -----------------------------------------------------------------------------------

    def table(self, at: Path, value: object, keys: Collection[str] | None = None) -> dict[str, Any]:
        """Read a table; with `keys` it may have no others."""
        if not isinstance(value, dict):
            self.fail(at, f"got {shown(value)}, expected a table", "write { key = value }")
        found = cast("dict[str, Any]", value)
        if keys is not None:
            for key in found:
                if key not in keys:
                    self.unknown((*at, key), "key", key, keys)
        return found

    def items(self, at: Path, value: object) -> list[Any]:
        """Read a list."""
        if not isinstance(value, list):
            # A table with a heading of its own, of which there may be several.
            got = shown(value)
            names = ".".join(part for part in at if isinstance(part, str))
            heading = type(value) is dict and len(at) < HEADINGS
            hint = f"write [[{names}]] above each, or [ ... ]" if heading else "write [ ... ]"
            self.fail(at, f"got {got}, expected a list", hint)
        return list(cast("list[object]", value))

    def tables(
        self, at: Path, value: object, keys: Collection[str] | None = None
    ) -> list[tuple[Path, dict[str, Any]]]:
        """Read a list of tables, each with its path."""
        return [
            ((*at, i), self.table((*at, i), item, keys))
            for i, item in enumerate(self.items(at, value))
        ]

    def text(self, at: Path, value: object) -> str:
        """Read a text that isn't empty."""
        if not isinstance(value, str) or not value.strip():
            self.fail(at, f"got {shown(value)}, expected a text", 'write it as "text"')
        return value

    def texts(self, at: Path, value: object) -> list[str]:
        """Read a list of texts."""
        return [self.text((*at, i), item) for i, item in enumerate(self.items(at, value))]

    def flag(self, at: Path, value: object) -> bool:
        """Read true or false."""
        if not isinstance(value, bool):
            self.fail(at, f"got {shown(value)}, expected true or false", "write it without quotes")
        return value

    def whole(self, at: Path, value: object, low: int = 0, high: int | None = None) -> int:
        """Read a whole number from `low` on, to `high` at most."""
        if type(value) is not int or value < low or (high is not None and value > high):
            to = "on" if high is None else f"to {high}"
            text = f"got {shown(value)}, expected a whole number from {low} {to}"
            self.fail(at, text, f"write it as {low + 1}, without quotes")
        return value

    def duration(self, at: Path, value: object) -> int:
        """Read a length of time, in ticks."""
        if not isinstance(value, str):
            self.fail(at, f"got {shown(value)}, expected a duration", "write it as '5s'")
        ticks = self.tried(at, parse_duration, value)
        if ticks > Scripted.ticks_max:
            most = f"a report lasts {humanize(Scripted.ticks_max)} at most"
            self.fail(at, f"got {shown(value)}, which is too long", most)
        return ticks

    def one_of(self, at: Path, value: object, known: Iterable[str]) -> str:
        """Read one of some words."""
        names = [str(name) for name in known]
        if not isinstance(value, str) or value not in names:
            self.unknown(at, "value", value, names)
        return value


def hint_for(what: str, line: str) -> str:
    """Say how a line that can't be read as TOML might be mended."""
    if any(mark in line for mark in CURLY):
        return "quote with \" or ', not with the quotes of a word processor"
    if HEADING.fullmatch(line) and ("Cannot" in what or "namespace" in what):
        return "write a heading once; that of a list is [[actions]], each time"
    if what == "Invalid value" and "=" in line:
        return 'texts stand in quotes: key = "text"'
    return "see https://toml.io for its grammar"


def deeper(document: Mapping[str, Any], depth: int) -> bool:
    """Tell whether tables and lists stand in each other more than so many times."""
    level: list[Any] = [document]
    for _ in range(depth):
        inner: list[Any] = []
        for value in level:
            inner += value.values() if isinstance(value, dict) else value
        level = [item for item in inner if isinstance(item, dict | list)]
    return bool(level)


def plain(value: Any) -> Any:
    """Give a TOML value as JSON has it: dates and times as ISO 8601 texts."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [plain(item) for item in cast("list[object]", value)]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return value


def shown(value: object) -> str:
    """Show a value of the file, cut to a readable length."""
    out = ascii(plain(value))
    return out if len(out) <= 60 else out[:57] + "..."


def shown_path(at: Path) -> str:
    """Show a path as TOML writes it; places in lists count from 1."""
    out = ""
    for part in at:
        if isinstance(part, int):
            out += f"[{part + 1}]"
        else:
            key = part if BARE.fullmatch(part) else f'"{part}"'
            out += f".{key}" if out else key
    return out or "the file"


def pairs(table: Mapping[str, Any], at: Path) -> list[tuple[Path, str, Any]]:
    """List what stands in a table, with paths."""
    return [((*at, key), key, value) for key, value in table.items()]
