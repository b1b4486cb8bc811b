"""Tables, JSON and progress."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from simharness.review.text import visible
from simharness.units import counted as counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def emit_json(value: Any) -> None:
    """Print one JSON document; bytes, which only odd recordings hold, as hex."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True, default=hexadecimal))


def hexadecimal(value: object) -> str:
    """Show what JSON has no form for. Raises TypeError unless it is bytes."""
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} can't be shown as JSON")


WIDTH = 80
"""Columns that sentences are wrapped at where no terminal says how wide it is."""
WIDTH_MAX = 100
"""Columns that sentences are wrapped at on a wider terminal."""
ROOM_MIN = 24
"""Characters that the last column of a table keeps on a terminal."""
CELL_MIN = 8
"""Narrowest that another column is cut to."""


def table(head: Sequence[str], rows: Iterable[Sequence[object]], indent: str = "  ") -> None:
    """Print a table; columns as wide as their widest cell, numbers to the right.

    On a terminal the last column is wrapped at its width, and columns between the first and the
    last are cut where that leaves it no room; in a pipe a row stays one line and whole.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [
        max(len(h), *(len(row[i]) for row in cells)) if cells else len(h)
        for i, h in enumerate(head)
    ]
    right = [
        bool(cells) and all(row[i].replace(".", "").isdigit() for row in cells)
        for i in range(len(head))
    ]

    def line(row: Sequence[str]) -> str:
        return (
            indent
            + "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(row, widths, right, strict=True)
            ).rstrip()
        )

    gaps = len(indent) + 2 * (len(widths) - 1)
    room, whole = widths[-1], True
    columns = columns_of_terminal()
    if columns is not None:
        whole = shrink(widths, columns - gaps - min(room, ROOM_MIN))
        head, *cells = (
            [cut(cell, width) for cell, width in zip(row[:-1], widths, strict=False)] + [row[-1]]
            for row in (list(head), *cells)
        )
        room = max(ROOM_MIN, columns - gaps - sum(widths[:-1]))
    before = gaps + sum(widths[:-1])
    click.echo(click.style(line(list(head)), dim=True))
    for row in cells:
        fits = len(row[-1]) <= room
        first, *more = [row[-1]] if fits else textwrap.wrap(row[-1], room, break_on_hyphens=False)
        click.echo(line([*row[:-1], first]))
        for rest in more:
            click.echo(" " * before + rest)
    if not whole:
        click.echo(click.style(f"{indent}(cut to the terminal; --json has all)", dim=True))


def shrink(widths: list[int], room: int) -> bool:
    """Narrow columns between the first and the last, the widest first, to leave some room.

    Gives whether nothing had to be cut.
    """
    middle = range(1, len(widths) - 1)
    over = sum(widths[:-1]) - room
    if over <= 0 or not middle:
        return True
    while over > 0:
        widest = max(middle, key=lambda i: widths[i])
        if widths[widest] <= CELL_MIN:
            break
        widths[widest] -= 1
        over -= 1
    return False


def cut(text: str, width: int) -> str:
    """Cut a text to a width, and say so."""
    return text if len(text) <= width else text[: width - 3] + "..."


def columns_of_terminal() -> int | None:
    """Give the width of the terminal that is written to; None where none is."""
    # None where `>&-` has closed it.
    closed = sys.stdout is None  # pyright: ignore[reportUnnecessaryComparison]
    return None if closed or not sys.stdout.isatty() else shutil.get_terminal_size().columns


def sentence(text: str) -> None:
    """Print a sentence, on a terminal in lines of its width, in a pipe as one line."""
    columns = columns_of_terminal()
    lines = [text] if columns is None else textwrap.wrap(text, columns, break_on_hyphens=False)
    click.echo("\n".join(lines))


def width_of_text() -> int:
    """Give the columns that sentences are wrapped at."""
    return min(columns_of_terminal() or WIDTH, WIDTH_MAX)


def wrapped(text: str, indent: int = 2) -> None:
    """Print a sentence, its further lines indented by two more; words stay whole.

    What a terminal would obey is spelled out.
    """
    first = " " * indent
    lines = textwrap.wrap(
        visible(text),
        width_of_text(),
        initial_indent=first,
        subsequent_indent=first + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    click.echo("\n".join(lines))


def reward_number(score: int | None) -> float | None:
    """Give a reward given in millionths as JSON shows it."""
    return None if score is None else score / 1_000_000


def reward_text(score: int | None) -> str:
    """Show a reward given in millionths."""
    return "none" if score is None else f"{score / 1_000_000:.6f}".rstrip("0").ljust(3, "0")


class ProgressLine:
    """A line on stderr with count, rate and time left; silent for what takes less than a second."""

    def __init__(self, noun: str) -> None:
        self.before = 0
        """What had been done when it began, as in a run that is resumed: no part of the rate."""
        self._noun = noun
        self._start = time.perf_counter_ns()
        self._last = self._start
        self._shown = False
        # None where `2>&-` has closed it.
        closed = sys.stderr is None  # pyright: ignore[reportUnnecessaryComparison]
        self._live = not closed and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def update(self, done: int, total: int, note: str = "") -> None:
        """Show how far it has come: four times a second, off a terminal every ten seconds."""
        now = time.perf_counter_ns()
        pause = 250_000_000 if self._live else 10_000_000_000
        if now - self._start < 1_000_000_000 or now - self._last < pause:
            return
        self._last = now
        seconds = (now - self._start) / 1e9
        new = done - self.before
        rate = f"{new / seconds:.0f}/s" if new * 2 > seconds else f"{new * 60 / seconds:.0f}/min"
        if total and new <= 0:
            text = f"{done}/{total} {self._noun}{note}"
        elif total:
            left = seconds / new * (total - done)
            text = f"{done}/{total} {self._noun}, {rate}, {left:.0f} s left{note}"
        else:
            text = f"{done} {self._noun}, {rate}{note}"
        if self._live:
            self._write(text)
            self._shown = True
        else:
            click.echo(text, err=True)

    def close(self) -> None:
        """Clear the line."""
        if self._shown:
            self._write("")
            self._shown = False

    def _write(self, text: str) -> None:
        # Not click.echo: without colour it takes the escape away that clears the line.
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
