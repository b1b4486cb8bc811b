"""The command diff."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.api import format_instant
from simharness.models.ide.repository.lines import gnu_hunks, split_lines
from simharness.models.ide.repository.unified import CONTEXT, normal, unified
from simharness.models.ide.terminal.call import NO_FILE, Call, Place, Trouble
from simharness.models.ide.terminal.options import BadOption

if TYPE_CHECKING:
    from simharness.models.ide.repository.lines import Hunk
    from simharness.models.ide.terminal.options import Options

BLANKS = re.compile(r"[ \t\v\f\r]+")
LONG = {
    "unified?": "U", "brief": "q", "recursive": "r", "new-file": "N", "ignore-case": "i",
    "ignore-all-space": "w", "ignore-space-change": "b", "report-identical-files": "s",
    "text": "a", "color?": "color",
}  # fmt: skip


def diff(call: Call) -> int:
    """Compare files line by line, or folders."""
    try:
        options = call.options("uU:qrNiwbsa", LONG)
    except BadOption as error:
        call.fail(error.text)
        call.err.write("diff: Try 'diff --help' for more information.\n")
        return 2
    if len(options.rest) != 2:
        what = (
            "missing operand after 'diff'"
            if not options.rest
            else (
                f"missing operand after '{options.rest[0]}'"
                if len(options.rest) == 1
                else f"extra operand '{options.rest[2]}'"
            )
        )
        call.fail(what)
        call.err.write("diff: Try 'diff --help' for more information.\n")
        return 2
    try:
        context = context_of(options)
    except BadOption as error:
        return call.fail(error.text, 2)
    one, other = options.rest
    places: list[Place] = []
    status = 0
    for name in (one, other):
        try:
            places.append(Place("-", "file") if name == "-" else call.exists(name))
        except Trouble as trouble:
            if trouble.text == NO_FILE and "N" in options:
                places.append(Place(name, ""))
                continue
            status = call.fail(f"{name}: {trouble.text}", 2)
    if status or not any(place.kind for place in places):
        return status or call.fail(f"{one}: {NO_FILE}", 2)
    a, b = places
    if a.kind == "folder" and a == b:
        return 0
    if a.kind == "folder" and b.kind == "folder":
        return folders(call, options, context, (one, a), (other, b))
    # A file against a folder is a file against the one of its name in there.
    try:
        if a.kind == "folder":
            one = f"{one.rstrip('/')}/{other.rpartition('/')[2]}"
            a = call.exists(one)
        elif b.kind == "folder":
            other = f"{other.rstrip('/')}/{one.rpartition('/')[2]}"
            b = call.exists(other)
    except Trouble as trouble:
        return call.fail(f"{one if a.kind == 'folder' else other}: {trouble.text}", 2)
    return files(call, options, context, (one, a), (other, b))


def context_of(options: Options) -> int | None:
    """Give the lines of context; None for the form without. Raises BadOption."""
    value = options.value("U")
    if value:
        if not re.fullmatch(r"[0-9]{1,9}", value):
            raise BadOption(f"invalid context length '{value}'")
        return int(value)
    return CONTEXT if "u" in options or value is not None else None


def text_of(call: Call, name: str, place: Place) -> str:
    """Read one side; nothing where there is no file."""
    if name == "-":
        return call.stdin
    return call.content(place) if place.kind else ""


def stamp_of(call: Call, name: str, place: Place) -> str:
    """Write when a side was last changed."""
    within = place.inner
    stamp = call.shell.now if name == "-" else 0
    if place.kind and within is not None:
        stamp = call.tree.stamp(within)
    text = format_instant(stamp)
    return f"{text[:10]} {text[11:19]}.{stamp % 1_000_000:06}000 +0000"


def files(
    call: Call,
    options: Options,
    context: int | None,
    one: tuple[str, Place],
    other: tuple[str, Place],
    heading: str = "",
) -> int:
    """Compare two files; gives 1 where they differ."""
    old, new = text_of(call, *one), text_of(call, *other)
    if old == new:
        if "s" in options:
            call.print(f"Files {one[0]} and {other[0]} are identical\n")
        return 0
    if ("\0" in old or "\0" in new) and "a" not in options:
        call.print(f"Binary files {one[0]} and {other[0]} differ\n")
        return 2
    a, b = split_lines(old), split_lines(new)
    found = differences(a, b, options, context)
    if not found:
        return 0
    if "q" in options:
        call.print(f"Files {one[0]} and {other[0]} differ\n")
        return 1
    call.print(heading)
    if context is None:
        call.print(normal(a, b, found))
        return 1
    for sign, side in (("---", one), ("+++", other)):
        name = f'"{side[0]}"' if " " in side[0] else side[0]
        call.print(f"{sign} {name}\t{stamp_of(call, *side)}\n")
    call.print(unified(a, b, found, context=context))
    return 1


def differences(a: list[str], b: list[str], options: Options, context: int | None) -> list[Hunk]:
    """Give the stretches that differ, by what the options say doesn't count."""

    def seen(line: str) -> str:
        body = line.removesuffix("\n")
        if "w" in options:
            body = BLANKS.sub("", body)
        elif "b" in options:
            body = BLANKS.sub(" ", body).rstrip(" ")
        return (body.lower() if "i" in options else body) + "\n"

    ignoring = any(c in options for c in "iwb")
    return gnu_hunks(a, b, context=context or 0, seen=seen if ignoring else None)


def folders(
    call: Call,
    options: Options,
    context: int | None,
    one: tuple[str, Place],
    other: tuple[str, Place],
) -> int:
    """Compare what is in two folders."""
    here, there = call.names(one[1]), call.names(other[1])
    given = [word for word in call.arguments if word.startswith("-") and word != "-"]
    status = 0
    for name in sorted({**dict.fromkeys(here), **dict.fromkeys(there)}):
        sides: list[tuple[str, Place]] = []
        for shown, place in (one, other):
            inner = call.find(f"{place.path.rstrip('/')}/{name}")
            sides.append((f"{shown.rstrip('/')}/{name}", inner))
        a, b = sides
        kinds = (a[1].kind, b[1].kind)
        missing = not all(kinds)
        if missing and ("N" not in options or ("folder" in kinds and "r" not in options)):
            only = one if a[1].kind else other
            call.print(f"Only in {only[0].rstrip('/') if only[0] != '/' else '/'}: {name}\n")
            status = max(status, 1)
        elif "folder" in kinds and "file" in kinds:
            what = {"file": "regular file", "folder": "directory"}
            first, second = what[kinds[0]], what[kinds[1]]
            call.print(f"File {a[0]} is a {first} while file {b[0]} is a {second}\n")
            status = max(status, 1)
        elif "folder" in kinds:
            if "r" in options:
                status = max(status, folders(call, options, context, a, b))
            else:
                call.print(f"Common subdirectories: {a[0]} and {b[0]}\n")
        else:
            heading = f"{' '.join(['diff', *given, a[0], b[0]])}\n"
            status = max(status, files(call, options, context, a, b, heading))
    return status
