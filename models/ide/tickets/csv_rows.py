"""CSV: a row of values as text and back, with quotes where they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("exports", "rows", "rows of exports"),
    ("importer", "fields", "fields of a row"),
    ("tables", "lines", "lines of tables"),
    ("contacts", "sheet", "sheets of contacts"),
    ("survey", "answers", "rows of answers"),
)
NAMES = (("split", "join"), ("read_row", "write_row"), ("parse", "render"), ("load", "dump"))
DELIMITERS = {"comma": (",", "a comma"), "semicolon": (";", "a semicolon"), "bar": ("|", "a bar")}
TEMPLATE = '''"""Reads and writes $topic.

Values are separated by $mark_doc. A value that holds $mark_doc, a quote (") or a line break, or
that begins or ends with a space, is written between quotes; in there each quote is doubled. Any
other value is written as it is.
"""

$MARK = "$mark"


def $join(values):
    """Write one row as text, without a line break at its end.

    Texts are written as the module says, None as an empty value, and other values as `str` gives
    them. $empty_doc
    """
    cells = []
    for value in values:
        text = $as_text
        special = $special
        if $needs:
            text = $quoted
        cells.append(text)
    return $MARK.join(cells)


def $split(text):
    """Read one row that was written in that way; gives a list of texts.

    Spaces outside of quotes belong to the value. An empty text is a row with one empty value.

    Raises ValueError for a quote that isn't closed, and for anything but $mark_doc behind a closing
    quote. A quote within a value that doesn't begin with one is a character like any other.
    """
    cells = []
    at = 0
    while True:
        if text[at : at + 1] == '"':
            cell = ""
            at += 1
            while True:
                end = text.find('"', at)
                if end < 0:
                    raise ValueError("a quote isn't closed")
                cell += text[at:end]
                at = end + 1
                $doubled
            $behind
        else:
            end = text.find($MARK, at)
            if end < 0:
                end = len(text)
            cell = $plain
            at = end
        cells.append(cell)
        $done
        at += 1
'''
SOLUTION = """import re

CELL = re.compile(r'"((?:[^"]|"")*)"(?=[$mark]|\\Z)|([^"$mark][^$mark]*|)(?=[$mark]|\\Z)')


def $join(values):
    out = ""
    for number, value in enumerate(values):
        text = "" if value is None else format(value)
        plain = text == text.strip(" ") and not set(text) & set('"\\r\\n$mark')
        if value == "" and $empty_quoted:
            plain = False
        out += "$mark" if number else ""
        out += text if plain else '"' + text.replace('"', '""') + '"'
    return out


def $split(text):
    cells, at = [], 0
    while at <= len(text):
        match = CELL.match(text, at)
        if match is None:
            raise ValueError(text)
        quoted, plain = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        at = match.end() + 1
    return cells
"""
SPECIAL = (
    'any(mark in text for mark in ($MARK, \'"\', "\\n", "\\r"))',
    '$MARK in text or \'"\' in text or "\\n" in text or "\\r" in text',
)
NEEDS = ('special or text != text.strip(" ")', 'special or text.strip(" ") != text')
QUOTED = "'\"' + text.replace('\"', '\"\"') + '\"'"
AS_TEXT = ('"" if value is None else str(value)', 'str(value) if value is not None else ""')
DOUBLED = (
    "if text[at : at + 1] != '\"':\n    break\ncell += '\"'\nat += 1",
    "if not text.startswith('\"', at):\n    break\nat += 1\ncell += '\"'",
)
BEHIND = (
    'if at < len(text) and text[at] != $MARK:\n    raise ValueError("more behind a quote")',
    'if text[at : at + 1] not in ("", $MARK):\n    raise ValueError("more behind a quote")',
)
DONE = (
    "if at >= len(text):\n    return cells",
    "if at == len(text):\n    return cells",
)
SKIPS = "if text.startswith('\"', at):\n    at += 1\n    continue\nbreak"


def csv_rows(draw: Draw) -> Ticket:
    """Draw a ticket about rows of a CSV file."""
    package, module, topic = draw.pick("place", PLACES)
    split, join = draw.pick("names", NAMES)
    mark, mark_doc = DELIMITERS[draw.pick("mark", tuple(DELIMITERS))]
    empty_quoted = draw.percent("empty quoted", 40)
    empty_doc = (
        "An empty text is written as two quotes, so that it isn't None."
        if empty_quoted
        else "An empty text is written as an empty value as well."
    )
    more = ' or value == ""' if empty_quoted else ""
    needs = tuple(text + more for text in NEEDS)
    values: dict[str, object] = {
        "topic": topic,
        "split": split,
        "join": join,
        "mark": mark,
        "mark_doc": mark_doc,
        "MARK": draw.pick("mark name", ("MARK", "SEPARATOR", "DELIMITER")),
        "empty_doc": empty_doc,
        "empty_quoted": empty_quoted,
    }
    simple = "'\"' + text + '\"'"
    bugs = {
        "doubling": Bug(
            {"quoted": simple},
            (
                {"quoted": "'\"' + text.replace('\"', '\\\\\"') + '\"'"},
                {"quoted": "'\"' + text.replace('\"', \"'\") + '\"'"},
                {"quoted": "'\"' + text.replace('\"', '\"\"', 1) + '\"'"},
            ),
            (
                f"What `{join}` writes can't be read again if there are quotes in it.",
                "Quotes in values spoil the rows that we write.",
            ),
        ),
        "needs_mark": Bug(
            {"special": "$MARK in text", "needs": "special" + more},
            (
                {"special": "$MARK in text or '\"' in text"},
                {
                    "special": '$MARK in text or \'"\' in text or "\\n" in text',
                    "needs": "special" + more,
                },
                {"needs": 'special or " " in text' + more},
            ),
            (
                f"`{join}` leaves out quotes that are needed.",
                "Some values are written without quotes and come back as others.",
            ),
        ),
        "spaces": Bug(
            {"needs": "special" + more},
            (
                {"needs": needs[0].replace('text.strip(" ")', 'text.lstrip(" ")')},
                {"needs": needs[0].replace('text != text.strip(" ")', '" " in text')},
                {"needs": needs[0].replace('text != text.strip(" ")', 'text.startswith("  ")')},
            ),
            (
                "Spaces at the edges of values get lost further on, since there are no quotes.",
                "Our partner cuts off spaces of values that should have been quoted.",
            ),
        ),
        "none": Bug(
            {"as_text": "str(value)"},
            (
                {"as_text": 'str(value or "")'},
                {"as_text": 'str(value) if value else ""'},
                {"as_text": 'value if isinstance(value, str) else ""'},
            ),
            (
                'Rows have the word "None" in them.',
                "Missing values are written as a word.",
            ),
        ),
        "falsy": Bug(
            {"as_text": 'str(value or "")'},
            (
                {"as_text": "str(value)"},
                {"as_text": '"" if value is None or value is False else str(value)'},
                {"as_text": 'str(value) if value or value == 0.5 else ""'},
            ),
            ("Zeros aren't written.", "Numbers go missing from the rows, if they are 0."),
        ),
        "undouble": Bug(
            {"doubled": "break"},
            (
                {"doubled": SKIPS},
                {"doubled": "break", "behind": ""},
                {"doubled": DOUBLED[0].replace("cell += '\"'", "cell += '\"\"'")},
            ),
            (
                f"`{split}` can't read values that have quotes in them.",
                f"Doubled quotes trip `{split}` up.",
            ),
        ),
        "last": Bug(
            {"done": "if at >= len(text) - 1:\n    return cells"},
            (
                {"done": "if at >= len(text.rstrip($MARK)):\n    return cells"},
                {"plain": 'text[at:end].strip(" ")'},
                {"behind": ""},
            ),
            (
                "An empty value at the end of a row goes missing.",
                f"Sometimes `{split}` gives a value too few.",
            ),
        ),
        "trimmed": Bug(
            {"plain": 'text[at:end].strip(" ")'},
            (
                {"plain": 'text[at:end].rstrip(" ")'},
                {"plain": 'text[at:end].lstrip(" ")'},
                {"plain": "text[at:end].replace('\"', '')"},
            ),
            (
                f"`{split}` takes spaces away that belong to the values.",
                "Spaces that are in the file aren't in the values.",
            ),
        ),
        "behind": Bug(
            {"behind": ""},
            (
                {"behind": BEHIND[0].replace("text[at] != $MARK", 'text[at] not in ($MARK, " ")')},
                {"behind": BEHIND[0].replace("raise ValueError", "raise KeyError")},
                {"behind": "at = max(text.find($MARK, at), at)"},
            ),
            (
                "Broken rows are read as if nothing were wrong with them.",
                "Text behind a closing quote goes through without an error.",
            ),
        ),
    }
    where = f"{package}.{module}:"

    def write(*cells: object) -> Probe:
        return call(where + join, list(cells))

    def read(text: str) -> Probe:
        return call(where + split, text.replace(",", mark))

    words = draw.some("words", ("tea", "milk", "rye", "salt", "plum", "oat", "fig", "rice"), 6)
    a, b, c, d, e, f = words
    n = draw.between("number", 2, 999)

    def odd(word: str) -> str:
        what = draw.pick(
            "odd", ("mark", "quote", "quotes", "break", "begin", "end", "both", "space")
        )
        return {
            "mark": f"{word}{mark}{a}",
            "quote": f'{word} "{b}"',
            "quotes": f'"{word}" or "{c}"',
            "break": f"{word}\n{d}",
            "begin": f" {word}",
            "end": f"{word} ",
            "both": f'"{mark}{word}',
            "space": f"{word} {e}",
        }[what]

    probes = [write(*(odd(word) for word in draw.some("row", words, 3))) for _ in range(8)]
    probes += [
        write(n, None, a),
        write(0, None, False, ""),
        write(""),
        write(None),
        write(),
        write("", a),
    ]
    probes += [
        write(f'"{a}"', f'{b}""'),
        write(f"{a}\r{b}", c),
        write(" ", a),
        write(f"{a} {b}", 15),
    ]
    probes += [
        write(f"{a}\n"),
        write(f'{c}"{d}"{e}"'),
        write(f" {f}"),
        write(f"{f} "),
        write(mark, '"'),
    ]
    probes += [write(True, -n, "None"), write(f"\t{a}", b), write(f"{a}  {b}"), write(0, 0)]
    probes += [
        read(f"{a},{b},{c}"),
        read(f"{a},,{c}"),
        read(f"{a},{b},"),
        read(","),
        read(""),
        read(f",{a}"),
    ]
    probes += [
        read(f'"{a},{b}",{c}'),
        read(f'"{a} ""{b}""",{c}'),
        read(f'"",{a}'),
        read('""""'),
        read('""'),
    ]
    probes += [
        read(f" {a} , {b}"),
        read(f'{a}"{b}",{c}'),
        read(f'"{a}\n{b}",{c}'),
        read(f'"{a}" ,{b}'),
    ]
    probes += [
        read(f'"{a}"{b}'),
        read(f'"{a}'),
        read(f'"{a}""'),
        read(f'{a},"{b}"'),
        read(f'{a},"{b}",'),
    ]
    probes += [
        read(f'"{a}"x,{b}'),
        read(f' "{a}",{b}'),
        read(f'"{c}""""{d}",""'),
        read(f"{d},{e},{f},,"),
    ]
    probes += [read(f'"{a}","{b}'), read(f'"{a}, ","{b}"" "'), read(f"{a}  ,  {b}")]
    cases = [
        Case("plain_row", (write(a, b, n),)),
        Case("read_plain_row", (read(f"{d},{e},{n}"),)),
        Case("row_with_a_mark", (write(f"{a}{mark} {b}", c),)),
        Case("row_with_quotes", (write(f'{d} "{e}"', f),)),
        Case("row_of_a_quote", (write(f'"{f}', a),)),
        Case("row_with_a_break", (write(f"{b}\n{c}", d),)),
        Case("row_with_a_space_before", (write(f" {c}", e),)),
        Case("row_with_a_space_behind", (write(d, f"{a} "),)),
        Case("row_with_nothing", (write(a, None, b),)),
        Case("row_with_a_zero", (write(e, 0, f),)),
        Case("row_with_zeros_and_nothing", (write(0, None, n),)),
        Case("nothing_alone", (write(None, None),)),
        Case("read_quotes", (read(f'"{a} ""{c}""",{b}'),)),
        Case("read_a_doubled_quote", (read(f'{f},"{d}""s"'),)),
        Case("read_a_quoted_mark", (read(f'"{e},{f}",{a}'),)),
        Case("read_an_empty_end", (read(f"{c},{e},"),)),
        Case("read_two_empty_ends", (read(f"{b},,"),)),
        Case("read_spaces", (read(f" {b} ,{d} "),)),
        Case("read_spaces_inside", (read(f"{e},  {a}"),)),
        Case("read_more_behind_a_quote", (read(f'"{d}"{f},{a}'),)),
        Case("read_words_behind_a_quote", (read(f'{a},"{e}" {n}'),)),
        Case("read_an_open_quote", (read(f'"{b},{c}'),)),
        Case("read_one_value", (read(f),)),
    ]
    return make_ticket(
        draw,
        Sketch(
            family="csv_rows",
            package=package,
            module=module,
            function=f"{package}.{module}",
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "as_text": AS_TEXT,
                "special": SPECIAL,
                "needs": needs,
                "quoted": (QUOTED,),
                "doubled": DOUBLED,
                "behind": BEHIND,
                "plain": ("text[at:end]",),
                "done": DONE,
            },
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "$topic come out wrong",
                "Odd values in $topic",
                "$package: rows with odd values",
                "Trouble with $topic",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
        ),
    )
