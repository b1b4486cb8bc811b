"""An episode's timeline in a terminal: lanes of characters, one column a stretch of time.

The lanes are those of the review page. Nothing is told by colour alone.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from simharness.cli.output import counted, cut
from simharness.cli.truth import about, is_agents
from simharness.review.lanes import lanes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from simharness.blame.sightings import Sighting
    from simharness.findings.story import Exchange, Story

NAME_WIDTH = 15
WIDTH_MAX = 120
PLACES = ("checked", "hold", "holdend")
"""Kinds of moves that are about places, and not about money."""
LAST = ("taken", "ledger")
"""Marks of places and money that cover others in their column."""
VIEWS_MAX = 4
LOCKS_MAX = 3
BARS = " ▁▂▃▄▅▆▇█"
PLAIN_BARS = " ..::+*##"
ROUND_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
"""Seconds between two marks of the axis."""

GLYPHS: dict[str, tuple[str, str, str]] = {
    "answer": ("●", "o", "green"),
    "write": ("■", "w", "green"),
    "refused": ("▲", "^", "blue"),
    "text": ("◆", "t", "blue"),
    "lag": ("◐", "l", "magenta"),
    "broken": ("◎", "@", "red"),
    "read": ("○", "o", "green"),
    "hit": ("●", "h", "green"),
    "invalidate": ("✓", "i", "green"),
    "drop": ("⊘", "X", "red"),
    "change": ("▾", "v", "magenta"),
    "hold": ("█", "#", "cyan"),
    "wait": ("░", ".", "yellow"),
    "fault": ("─", "-", "red"),
    "checked": ("?", "?", "cyan"),
    "holdend": ("□", "e", "cyan"),
    "taken": ("■", "T", "yellow"),
    "gateway": ("▷", "a", "cyan"),
    "gatewayend": ("◁", "b", "cyan"),
    "ledger": ("$", "$", "yellow"),
    "held": ("✓", "+", "green"),
    "failed": ("✕", "x", "red"),
}
"""Each mark in Unicode, in ASCII, and its colour; later marks of a column cover earlier ones."""
WORDS = {
    "answer": "answer",
    "hit": "cache hit",
    "read": "read",
    "write": "write",
    "refused": "refused",
    "text": "text",
    "lag": "old",
    "broken": "older than allowed",
    "change": "change by others",
    "invalidate": "invalidated",
    "drop": "invalidation lost",
    "hold": "held",
    "wait": "waited",
    "checked": "looked",
    "taken": "took a place",
    "holdend": "its end",
    "gateway": "payment asked",
    "gatewayend": "payment answered",
    "ledger": "money moved",
    "fault": "in force",
    "held": "goal met",
    "failed": "goal not met",
}
"""What each mark means; those that are alike stand together in the legend."""


class Canvas:
    """Rows of cells over one stretch of time."""

    def __init__(self, end: int, width: int, *, unicode: bool) -> None:
        self.end = max(1, end)
        self.cells = width - NAME_WIDTH - 1
        self.unicode = unicode
        self.used: set[str] = set()
        """Marks that were drawn."""

    def column(self, t: int) -> int:
        """Give the cell of an instant."""
        return min(self.cells - 1, t * self.cells // self.end)

    def mark(self, name: str) -> tuple[str, str]:
        """Give a mark and its colour."""
        fine, plain, colour = GLYPHS[name]
        return (fine if self.unicode else plain), colour

    def row(self, name: str, marks: Iterable[tuple[int, str]]) -> str:
        """Draw `(column, mark)`s, styled, behind the lane's name."""
        cells: list[tuple[str, str]] = [(" ", "")] * self.cells
        for column, what in marks:
            cells[column] = self.mark(what)
            self.used.add(what)
        styled = (click.style(c, fg=colour) if colour else c for c, colour in cells)
        return f"{cut(name, NAME_WIDTH):<{NAME_WIDTH}} {''.join(styled)}"

    def bars(self, name: str, heights: Mapping[int, int], colour: str) -> str:
        """Draw a height for each column, relative to the highest."""
        scale = BARS if self.unicode else PLAIN_BARS
        most = max(heights.values(), default=0)
        text = "".join(
            scale[-(-heights.get(i, 0) * (len(scale) - 1) // most) if most else 0]
            for i in range(self.cells)
        )
        return f"{cut(name, NAME_WIDTH):<{NAME_WIDTH}} {click.style(text.rstrip(), fg=colour)}"

    def span(self, start: int, stop: int, what: str) -> Iterator[tuple[int, str]]:
        """Give the marks of a span."""
        for column in range(self.column(start), self.column(stop) + 1):
            yield column, what


def print_lanes(
    story: Story, seen: Sequence[Sighting], faults: Sequence[str], keys: Collection[str] = ()
) -> None:
    """Print the lanes of an episode, as wide as the terminal or 80 columns.

    `keys` are the rows that findings are about.
    """
    width = min(shutil.get_terminal_size().columns, WIDTH_MAX)
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    end = story.rows[-1].t if story.rows else 0
    canvas = Canvas(end, max(width, NAME_WIDTH + 20), unicode=encoding.startswith("utf"))
    for line in lane_lines(canvas, story, seen, faults, keys):
        click.echo(line.rstrip())


def lane_lines(
    canvas: Canvas,
    story: Story,
    seen: Sequence[Sighting],
    faults: Sequence[str],
    keys: Collection[str] = (),
) -> Iterator[str]:
    """Give the lanes, a line each, and what their marks mean."""
    lanes = lanes_of(story, (), faults)
    yield axis(canvas)
    yield canvas.row("agent", agent_marks(canvas, story, seen))
    if lanes["lag"]:
        yield canvas.bars("truth lag", lag_heights(canvas, lanes["lag"]), "red")
    users = lanes["users"]
    if users["groups"]:
        owners = sum(group["owners"] for group in users["groups"])
        yield canvas.bars(f"others ({owners})", densities(canvas, users), "blue")
    if users["touches"]:
        yield canvas.row("changes", ((canvas.column(t["t"]), "change") for t in users["touches"]))
    shown = [view for view in lanes["caches"] if any("age" in e for e in view["events"])]
    shown += [view for view in lanes["caches"] if view not in shown]
    for view in shown[:VIEWS_MAX]:
        yield canvas.row(view["view"], cache_marks(canvas, view["events"]))
    for lock in lanes["locks"][:LOCKS_MAX]:
        spans = (s for s in lock["spans"] if s["kind"] in ("hold", "wait"))
        marks = (m for s in spans for m in canvas.span(s["from"], s["to"], s["kind"]))
        yield canvas.row(f"lock {lock['lock']}", marks)
    for name, moved in move_marks(canvas, about(lanes["moves"], keys)):
        yield canvas.row(name, moved)
    for fault in lanes["faults"]:
        marks = (m for start, stop in fault["spans"] for m in canvas.span(start, stop, "fault"))
        yield canvas.row("fault", marks)
    yield canvas.row("grade", grade_marks(canvas, lanes["grade"]))
    left_out = max(0, len(shown) - VIEWS_MAX) + max(0, len(lanes["locks"]) - LOCKS_MAX)
    for line in legend(canvas, left_out):
        yield click.style(line, dim=True)


def axis(canvas: Canvas) -> str:
    """Draw the axis: a time at every mark that has room."""
    seconds = canvas.end / 1_000_000
    step = next((s for s in ROUND_TICKS if seconds / s * 9 <= canvas.cells), ROUND_TICKS[-1])
    text = [" "] * canvas.cells
    for i in range(int(seconds // step) + 1):
        at = canvas.column(i * step * 1_000_000)
        label = f"{i * step // 60}:{i * step % 60:02d}"
        if at + len(label) <= canvas.cells:
            text[at : at + len(label)] = label
    return f"{'':<{NAME_WIDTH}} {click.style(''.join(text).rstrip(), dim=True)}"


def agent_marks(
    canvas: Canvas, story: Story, seen: Sequence[Sighting]
) -> Iterator[tuple[int, str]]:
    """Give a mark for each step where it was answered; what was wrong covers what wasn't."""
    bounds = {(row.t, row.values["view"]): row.values["bound"] for row in story.reads}
    found: list[tuple[int, int, str]] = []
    for span in story.steps:
        if span.t is None:
            continue
        calls = [x for n, x in story.exchanges.items() if n >> 16 == span.step]
        reads = [s for s in seen if s.step == span.step and s.age]
        broken = any(s.age > bounds.get((s.t, s.view), 0) for s in reads)
        what = "broken" if broken else "lag" if reads else kind_of(calls)
        found.append((2 if broken else 1 if reads else 0, canvas.column(span.t), what))
    for _, column, what in sorted(found, key=lambda mark: mark[0]):
        yield column, what


def kind_of(calls: Sequence[Exchange]) -> str:
    """Say what a step was."""
    if not calls:
        return "text"
    if any(call.told and not call.ok for call in calls):
        return "refused"
    return "write" if any(call.commits for call in calls) else "answer"


def lag_heights(canvas: Canvas, rows: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Give, by column, for how long the oldest belief had been out of date."""
    out: dict[int, int] = {}
    for row in rows:
        for start, stop, _ in row["spans"]:
            for column in range(canvas.column(start), canvas.column(stop) + 1):
                at = min(stop, (column + 1) * canvas.end // canvas.cells)
                out[column] = max(out.get(column, 0), at - start)
    return out


def densities(canvas: Canvas, users: Mapping[str, Any]) -> dict[int, int]:
    """Give, by column, how many calls others made."""
    out: dict[int, int] = {}
    for group in users["groups"]:
        flat: list[int] = group["calls"]
        for place, n in zip(flat[::2], flat[1::2], strict=True):
            column = min(canvas.cells - 1, place * canvas.cells // users["bins"])
            out[column] = out.get(column, 0) + n
    return out


def cache_marks(canvas: Canvas, events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Give the marks of a view: what was lost or read too old covers the rest."""
    for what in ("invalidate", "read", "hit", "drop", "lag", "broken"):
        for event in events:
            kind = event["kind"]
            if "age" in event:
                kind = "broken" if event["age"] > event["bound"] else "lag"
            if kind == what:
                yield canvas.column(event["t"]), what


def grade_marks(canvas: Canvas, grades: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Give the mark of the judgement."""
    judged = [g for g in grades if g["role"] in ("goal", "footprint")]
    if judged:
        what = "held" if all(g["holds"] for g in judged) else "failed"
        yield canvas.column(judged[-1]["t"]), what


def move_marks(
    canvas: Canvas, moves: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Give a lane for the places and money of the agent, and one for those of others.

    What was taken or moved covers what was only looked for or asked.
    """
    for whose, mine in (("agent's", True), ("others'", False)):
        for what, places in (("places", True), ("money", False)):
            found = [
                (canvas.column(move["t"]), "taken" if move["kind"] == "hold" else move["kind"])
                for move in moves
                if is_agents(move["by"]) is mine and (move["kind"] in PLACES) is places
            ]
            if found:
                yield f"{whose} {what}", sorted(found, key=lambda mark: mark[1] in LAST)


def legend(canvas: Canvas, left_out: int) -> Iterator[str]:
    """Say what the marks that were drawn mean, and how many lanes have no room here."""
    words: dict[str, list[str]] = {}
    for name, text in WORDS.items():
        if name in canvas.used:
            words.setdefault(canvas.mark(name)[0], []).append(text)
    line = ""
    for mark, texts in words.items():
        item = f"{mark} {', '.join(texts)}"
        if line and len(line) + 2 + len(item) > NAME_WIDTH + 1 + canvas.cells:
            yield line
            line = ""
        line += f"  {item}" if line else item
    yield line
    if left_out:
        yield f"{counted(left_out, 'more lane')}: simharness view"
