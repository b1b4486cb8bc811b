"""The commands sort and uniq."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cmp_to_key
from typing import TYPE_CHECKING

from simharness.models.ide.repository.lines import split_lines
from simharness.models.ide.terminal.call import IS_FOLDER, Call, Trouble, quoted
from simharness.models.ide.terminal.options import BadOption

if TYPE_CHECKING:
    from collections.abc import Callable

BLANKS = " \t\n"
NUMBER = re.compile(r"[ \t]*(-?)([0-9]*)(?:\.([0-9]*))?")
KEY = re.compile(r"([0-9]+)(?:\.([0-9]+))?([bdfinr]*)(?:,([0-9]+)(?:\.([0-9]+))?([bdfinr]*))?")


@dataclass(frozen=True, slots=True)
class Key:
    """One key to sort by: from where to where, counted from 1, and how it compares."""

    field: int = 1
    place: int = 1
    end_field: int = 0
    """0 for the end of the line."""
    end_place: int = 0
    """0 for the end of the field."""
    flags: str = ""
    skip: bool = False
    """Whether blanks before the first place don't count."""
    skip_end: bool = False


def sort(call: Call) -> int:
    """Sort lines."""
    try:
        options = call.options(
            "bdfinrsucCo:k:t:m",
            {
                "numeric-sort": "n", "reverse": "r", "unique": "u", "ignore-case": "f",
                "ignore-leading-blanks": "b", "stable": "s", "key=": "k", "field-separator=": "t",
                "output=": "o", "dictionary-order": "d", "check": "c", "merge": "m",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error, 2)
    flags = "".join(name for name, _ in options.given if name in "bdfinr")
    keys: list[Key] = []
    for text in options.values("k"):
        key = key_of(text)
        if isinstance(key, str):
            return call.fail(key, 2)
        keys.append(inherited(key, flags))
    separator = options.value("t")
    if separator == "\\0":
        separator = "\0"
    if separator is not None and len(separator) != 1:
        text = f"multi-character tab '{separator}'" if separator else "empty tab"
        return call.fail(text, 2)
    every = keys or [Key(flags=flags.replace("r", ""), skip="b" in flags)]
    reverse = "r" in flags
    lines: list[str] = []
    for name in options.rest or ["-"]:
        try:
            lines += [line.removesuffix("\n") for line in split_lines(call.read(name))]
        except Trouble as trouble:
            what = "read failed" if trouble.text == "Is a directory" else "cannot read"
            return call.fail(f"{what}: {quoted(name)}: {trouble.text}", 2)
    by_keys = comparison(every, separator, reverse=reverse and not keys)
    unique, stable = "u" in options, "s" in options

    def compare(one: str, other: str) -> int:
        found = by_keys(one, other)
        if found or unique or stable:
            return found
        last = (one > other) - (one < other)
        return -last if reverse else last

    if "c" in options or "C" in options:
        return check(call, options.rest, lines, compare, unique=unique, quiet="C" in options)
    lines.sort(key=cmp_to_key(compare))
    if unique:
        kept: list[str] = []
        for line in lines:
            if not kept or by_keys(kept[-1], line):
                kept.append(line)
        lines = kept
    text = "".join(line + "\n" for line in lines)
    target = options.value("o")
    if target is None:
        call.print(text)
        return 0
    try:
        call.write(call.writable(target), text)
    except Trouble as trouble:
        return call.fail(f"open failed: {target}: {trouble.text}", 2)
    return 0


def check(
    call: Call,
    names: list[str],
    lines: list[str],
    compare: Callable[[str, str], int],
    *,
    unique: bool,
    quiet: bool,
) -> int:
    """Tell whether lines are sorted."""
    for number in range(1, len(lines)):
        found = compare(lines[number - 1], lines[number])
        if found > 0 or (unique and found == 0):
            if quiet:
                return 1
            place = f"{names[0] if names else '-'}:{number + 1}"
            return call.fail(f"{place}: disorder: {lines[number]}")
    return 0


def key_of(text: str) -> Key | str:
    """Read a key, or say what is wrong with it."""
    found = KEY.fullmatch(text)
    if found is None:
        if not text[:1].isdigit():
            return f"invalid number at field start: invalid count at start of '{text}'"
        return f"stray character in field spec: invalid field specification '{text}'"
    field, place, flags, end_field, end_place, end_flags = found.groups()
    if int(field) == 0 or (end_field is not None and int(end_field) == 0):
        return f"field number is zero: invalid field specification '{text}'"
    if place is not None and int(place) == 0:
        return f"character offset is zero: invalid field specification '{text}'"
    return Key(
        int(field),
        int(place or "1"),
        int(end_field or "0"),
        int(end_place or "0"),
        flags + (end_flags or ""),
        "b" in flags,
        "b" in (end_flags or ""),
    )


def inherited(key: Key, flags: str) -> Key:
    """Give a key without flags of its own those of the whole command."""
    if key.flags:
        return key
    return replace(key, flags=flags, skip="b" in flags, skip_end="b" in flags)


def comparison(
    keys: list[Key], separator: str | None, *, reverse: bool
) -> Callable[[str, str], int]:
    """Give what compares two lines by their keys."""

    def compare(one: str, other: str) -> int:
        for key in keys:
            a, b = part(one, key, separator), part(other, key, separator)
            found = compared(a, b, key.flags)
            if found:
                return -found if "r" in key.flags or reverse else found
        return 0

    return compare


def compared(one: str, other: str, flags: str) -> int:
    """Compare two keys."""
    if "n" in flags:
        a, b = number_of(one), number_of(other)
        return (a > b) - (a < b)
    x, y = folded(one, flags), folded(other, flags)
    return (x > y) - (x < y)


def folded(text: str, flags: str) -> str:
    """Give a key without what doesn't count."""
    if "d" in flags:
        text = "".join(c for c in text if c.isalnum() or c in " \t")
    if "i" in flags:
        text = "".join(c for c in text if " " <= c <= "~")
    if "f" in flags:
        text = "".join(c.upper() if "a" <= c <= "z" else c for c in text)
    return text


def number_of(text: str) -> Fraction:
    """Give the number that a key begins with; 0 for none."""
    found = NUMBER.match(text)
    if found is None:
        return Fraction(0)
    whole, rest = found[2] or "0", found[3] or ""
    value = Fraction(int(whole + rest or "0"), 10 ** len(rest))
    return -value if found[1] else value


def part(line: str, key: Key, separator: str | None) -> str:
    """Cut a key out of a line."""
    start = begin_of(line, key.field, separator)
    if key.skip:
        start = skipped(line, start)
    start = min(start + key.place - 1, len(line))
    if not key.end_field:
        return line[start:]
    if not key.end_place:
        end = end_of(line, key.end_field, separator)
    else:
        end = begin_of(line, key.end_field, separator)
        if key.skip_end:
            end = skipped(line, end)
        end = min(end + key.end_place, len(line))
    return line[start : max(end, start)]


def begin_of(line: str, field: int, separator: str | None) -> int:
    """Give where a field begins; blanks before it belong to it."""
    at = 0
    for _ in range(field - 1):
        if separator is None:
            at = word_end(line, at)
        else:
            found = line.find(separator, at)
            at = len(line) if found < 0 else found + 1
    return at


def end_of(line: str, field: int, separator: str | None) -> int:
    """Give where a field ends."""
    at = begin_of(line, field, separator)
    if separator is None:
        return word_end(line, at)
    found = line.find(separator, at)
    return len(line) if found < 0 else found


def word_end(line: str, at: int) -> int:
    """Go over blanks and then over what is none."""
    at = skipped(line, at)
    while at < len(line) and line[at] not in BLANKS:
        at += 1
    return at


def skipped(line: str, at: int) -> int:
    """Go over blanks."""
    while at < len(line) and line[at] in BLANKS:
        at += 1
    return at


def uniq(call: Call) -> int:
    """Leave out lines that equal the one before."""
    try:
        options = call.options(
            "cduif:s:w:",
            {
                "count": "c", "repeated": "d", "unique": "u", "ignore-case": "i",
                "skip-fields=": "f", "skip-chars=": "s", "check-chars=": "w",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error)
    numbers: dict[str, int] = {}
    for letter, what in (
        ("f", "fields to skip"),
        ("s", "bytes to skip"),
        ("w", "bytes to compare"),
    ):
        value = options.value(letter)
        if value is not None and not re.fullmatch(r"[0-9]{1,18}", value):
            return call.fail(f"{value}: invalid number of {what}")
        numbers[letter] = int(value) if value is not None else -1
    if len(options.rest) > 2:
        return call.usage(BadOption(f"extra operand '{options.rest[2]}'"))

    def seen(line: str) -> str:
        at = begin_of(line, max(numbers["f"], 0) + 1, None) + max(numbers["s"], 0)
        text = line[at:] if numbers["w"] < 0 else line[at : at + numbers["w"]]
        return text.upper() if "i" in options else text

    source = options.rest[0] if options.rest else "-"
    try:
        lines = [line.removesuffix("\n") for line in split_lines(call.read(source))]
        target = call.writable(options.rest[1]) if len(options.rest) > 1 else None
    except Trouble as trouble:
        if trouble.text == IS_FOLDER:
            return call.fail(f"error reading '{source}'")
        return call.fail(f"{quoted(source)}: {trouble.text}")
    groups: list[tuple[str, int]] = []
    for line in lines:
        if groups and seen(groups[-1][0]) == seen(line):
            groups[-1] = (groups[-1][0], groups[-1][1] + 1)
        else:
            groups.append((line, 1))
    out: list[str] = []
    for line, count in groups:
        if (count > 1 and "u" in options) or (count == 1 and "d" in options):
            continue
        out.append(f"{count:7} {line}\n" if "c" in options else f"{line}\n")
    if target is None:
        call.print("".join(out))
    else:
        call.write(target, "".join(out))
    return 0
