"""Commands that print text: cat, head, tail, wc, echo, printf."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.models.ide.repository.lines import split_lines
from simharness.models.ide.terminal.call import IS_FOLDER, Call, Trouble, quoted
from simharness.models.ide.terminal.options import BadOption

if TYPE_CHECKING:
    from collections.abc import Callable

BLANK = re.compile(r"[ \t\n\v\f\r]+")
COUNT = re.compile(r"([-+]?)([0-9]{1,18})(b|kB|K|MB|M)?")
UNITS = {None: 1, "b": 512, "kB": 1000, "K": 1024, "MB": 1000**2, "M": 1024**2}
NUMBERED = re.compile(r"-[0-9]+")
OCTAL = re.compile(r"[0-7]{1,3}")
HEX = re.compile(r"[0-9a-fA-F]{1,2}")
ESCAPES = {
    "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip


def cat(call: Call) -> int:
    """Print files one after the other."""
    try:
        options = call.options(
            "AbeEnstTuv",
            {
                "number": "n", "number-nonblank": "b", "squeeze-blank": "s", "show-ends": "E",
                "show-tabs": "T", "show-all": "A", "show-nonprinting": "v",
            },
        )  # fmt: skip
    except BadOption as error:
        return call.usage(error)
    letters = "".join(name for name, _ in options.given)
    status = 0
    out: list[str] = []
    for name in options.rest or ["-"]:
        try:
            out.append(call.read(name))
        except Trouble as trouble:
            if out:
                call.print(decorated("".join(out), letters))
                out = []
            status = call.fail(f"{quoted(name)}: {trouble.text}")
    call.print(decorated("".join(out), letters))
    return status


def decorated(text: str, letters: str) -> str:
    """Give a text with line numbers and signs for what can't be seen, as options of cat say."""
    ends = any(c in letters for c in "AEe")
    tabs = any(c in letters for c in "ATt")
    hidden = any(c in letters for c in "Avet")
    if not (ends or tabs or hidden or any(c in letters for c in "bns")):
        return text
    out: list[str] = []
    number = blanks = 0
    for line in split_lines(text):
        blank = line == "\n"
        blanks = blanks + 1 if blank else 0
        if "s" in letters and blanks > 1:
            continue
        counted = not blank if "b" in letters else "n" in letters
        if counted:
            number += 1
            out.append(f"{number:6}\t")
        ended = line.endswith("\n")
        body = line[:-1] if ended else line
        if hidden:
            body = "".join(visible(c) for c in body)
        if tabs:
            body = body.replace("\t", "^I")
        out.append(body + "$" * (ends and ended) + "\n" * ended)
    return "".join(out)


def visible(c: str) -> str:
    """Give a sign for a character that can't be seen."""
    if c == "\t" or " " <= c <= "~":
        return c
    if c < " ":
        return "^" + chr(ord(c) + 64)
    if c == "\x7f":
        return "^?"
    return "".join(
        "M-" + visible(chr(byte - 128)) if byte >= 128 else visible(chr(byte))
        for byte in c.encode("utf-8", "surrogatepass")
    )


def head(call: Call) -> int:
    """Print the first lines of files."""
    return ends_of(call, first_part)


def tail(call: Call) -> int:
    """Print the last lines of files."""
    return ends_of(call, last_part)


def first_part(text: str, count: int, sign: str, unit: str) -> str:
    """Give the first lines or bytes, or with a minus all but the last."""
    if unit == "c":
        data = text.encode("utf-8", "surrogatepass")
        kept = data[: max(len(data) - count, 0)] if sign == "-" else data[:count]
        return kept.decode("utf-8", "replace")
    lines = split_lines(text)
    return "".join(lines[: max(len(lines) - count, 0)] if sign == "-" else lines[:count])


def last_part(text: str, count: int, sign: str, unit: str) -> str:
    """Give the last lines or bytes, or with a plus all from that one on."""
    if unit == "c":
        data = text.encode("utf-8", "surrogatepass")
        start = max(count - 1, 0) if sign == "+" else max(len(data) - count, 0)
        return data[start:].decode("utf-8", "replace")
    lines = split_lines(text)
    start = max(count - 1, 0) if sign == "+" else max(len(lines) - count, 0)
    return "".join(lines[start:])


def ends_of(call: Call, part: Callable[[str, int, str, str], str]) -> int:
    """Do what head and tail have in common."""
    given = list(call.arguments)
    if given and NUMBERED.fullmatch(given[0]):
        given[0:1] = ["-n", given[0][1:]]
    call.arguments = given
    try:
        options = call.options(
            "n:c:qv",
            {"lines=": "n", "bytes=": "c", "quiet": "q", "silent": "q", "verbose": "v"},
        )
    except BadOption as error:
        return call.usage(error)
    unit = options.last("nc") or "n"
    value = options.value(unit) or "10"
    found = COUNT.fullmatch(value)
    if found is None:
        what = "bytes" if unit == "c" else "lines"
        return call.fail(f"invalid number of {what}: '{value}'")
    sign, count = found[1], int(found[2]) * UNITS[found[3]]
    quiet = options.last("qv")
    named = quiet == "v" or (quiet != "q" and len(options.rest) > 1)
    if call.name == "tail" and count == 0 and sign != "+":
        return 0  # nothing is read then
    status = 0
    shown = False
    for name in options.rest or ["-"]:
        title = "standard input" if name == "-" else name
        heading = f"{chr(10) if shown else ''}==> {title} <==\n" if named else ""
        try:
            text = call.read(name)
        except Trouble as trouble:
            if trouble.text == IS_FOLDER:
                call.print(heading)
                shown = shown or named
                if count == 0 and not sign:
                    continue
                status = call.fail(f"error reading '{name}': {IS_FOLDER}")
            else:
                status = call.fail(f"cannot open '{name}' for reading: {trouble.text}")
            continue
        shown = shown or named
        call.print(heading + part(text, count, sign, unit))
    return status


def wc(call: Call) -> int:
    """Count lines, words and bytes."""
    try:
        options = call.options(
            "lwcmL",
            {"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"},
        )
    except BadOption as error:
        return call.usage(error)
    chosen = [kind for kind in "lwmcL" if kind in options] or ["l", "w", "c"]
    names = options.rest or [""]
    rows: list[tuple[dict[str, int], str]] = []
    status = 0
    total = dict.fromkeys("lwmcL", 0)
    width = regular = 0
    for name in names:
        special = not name and not call.stdin_is_file
        try:
            text = call.read(name or "-")
            special = special or name == "-"
            regular += len(text.encode("utf-8", "surrogatepass"))
        except Trouble as trouble:
            status = call.fail(f"{quoted(name)}: {trouble.text}")
            if trouble.text != IS_FOLDER:
                continue
            text, special = "", True
        width = max(width, 7 if special else 1)
        counts = counted(text)
        for kind, count in counts.items():
            total[kind] = max(total[kind], count) if kind == "L" else total[kind] + count
        rows.append((counts, name))
    width = 1 if len(names) == 1 and len(chosen) == 1 else max(width, len(str(regular)))
    if len(names) > 1:
        rows.append((total, "total"))
    for counts, name in rows:
        line = " ".join(f"{counts[kind]:{width}}" for kind in chosen)
        call.print(f"{line} {name}\n" if name else f"{line}\n")
    return status


def counted(text: str) -> dict[str, int]:
    """Count what wc counts, by the letter of its option."""
    return {
        "l": text.count("\n"),
        "w": len([word for word in BLANK.split(text) if word]),
        "m": len(text),
        "c": len(text.encode("utf-8", "surrogatepass")),
        "L": max((width_of(line) for line in text.split("\n")), default=0),
    }


def width_of(line: str) -> int:
    """Count the columns of a line, tabs as wide as they are."""
    width = 0
    for c in line:
        width = width + 8 - width % 8 if c == "\t" else width + (c >= " ")
    return width


def echo(call: Call) -> int:
    """Print the arguments."""
    words = list(call.arguments)
    newline, escapes = True, False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        for letter in words.pop(0)[1:]:
            if letter == "n":
                newline = False
            else:
                escapes = letter == "e"
    text, stopped = " ".join(words), False
    if escapes:
        text, stopped = unescaped(text, octal="0")
    call.print(text if stopped or not newline else text + "\n")
    return 0


def unescaped(text: str, octal: str) -> tuple[str, bool]:
    """Replace escapes; tells also whether one ended it that means the end.

    Args:
        text: What holds the escapes.
        octal: What stands before the digits of an octal one.
    """
    out: list[str] = []
    at = 0
    while at < len(text):
        c = text[at]
        at += 1
        if c != "\\" or at == len(text):
            out.append(c)
            continue
        kind = text[at]
        if kind == "c":
            return "".join(out), True
        digits = HEX.match(text, at + 1) if kind == "x" else None
        if kind in ESCAPES:
            out.append(ESCAPES[kind])
            at += 1
        elif digits is not None:
            out.append(chr(int(digits[0], 16)))
            at = digits.end()
        elif text.startswith(octal, at) and (found := OCTAL.match(text, at + len(octal))):
            out.append(chr(int(found[0], 8) & 255))
            at = found.end()
        elif octal and kind == octal:
            out.append("\0")
            at += 1
        else:
            out.append("\\" + kind)
            at += 1
    return "".join(out), False


FORMAT = re.compile(r"%([-0+ #]*)([0-9]{0,4})(?:\.([0-9]{1,4}))?([sdioxXcbq%])")


def printf(call: Call) -> int:
    """Print the arguments in a form."""
    if not call.arguments:
        call.err.write("printf: usage: printf format [arguments]\n")
        return 2
    form, words = call.arguments[0], call.arguments[1:]
    status = 0
    while True:
        before = len(words)
        text, stopped, failed = formatted(call, form, words)
        status = status or failed
        call.print(text)
        if stopped or not words or len(words) == before:
            return status


def formatted(call: Call, form: str, words: list[str]) -> tuple[str, bool, int]:
    """Fill a form once, taking what it needs from the words."""
    out: list[str] = []
    status = at = 0
    while at < len(form):
        found = FORMAT.match(form, at) if form[at] == "%" else None
        if found is None:
            end = form.find("%", at + 1)
            end = len(form) if end < 0 else end
            text, stopped = unescaped(form[at:end], octal="")
            out.append(text)
            if stopped:
                return "".join(out), True, status
            at = end
            continue
        at = found.end()
        flags, width, precision, kind = found[1], found[2], found[3], found[4]
        if kind == "%":
            out.append("%")
            continue
        word = words.pop(0) if words else ""
        if kind in "sbcq":
            value = unescaped(word, octal="0")[0] if kind == "b" else word
            value = value[:1] if kind == "c" else value
            value = value[: int(precision)] if precision else value
        else:
            value, fine = integer(word, kind, flags)
            if not fine:
                status = call.fail(f"{word}: invalid number")
        space = int(width or "0")
        if "-" in flags:
            value = value.ljust(space)
        elif "0" in flags and kind not in "sbcq":
            sign = value[:1] if value[:1] in ("+", "-") else ""
            value = sign + value[len(sign) :].rjust(space - len(sign), "0")
        else:
            value = value.rjust(space)
        out.append(value)
    return "".join(out), False, status


def integer(word: str, kind: str, flags: str) -> tuple[str, bool]:
    """Write a number as a form wants it; tells also whether the word was one."""
    found = re.fullmatch(r"\s*([-+]?)(0[xX][0-9a-fA-F]{1,15}|[0-9]{1,18})", word)
    number = 0
    if found is not None:
        digits = found[2]
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
        if base != 8 or all(c in "01234567" for c in digits):
            number = int(digits, base) * (-1 if found[1] == "-" else 1)
        else:
            found = None
    text = format(number, {"i": "d"}.get(kind, kind))
    if number >= 0 and kind in "di":
        text = ("+" if "+" in flags else " " if " " in flags else "") + text
    return text, found is not None or not word
