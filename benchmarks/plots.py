"""Pictures of a matrix, by matplotlib, which the extra `plot` brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.matrix import GIVEN, Counted
from simharness.review.pictures import Picture

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.matrix import Matrix


def plot(matrix: Matrix, path: Path) -> None:
    """Draw classes, primary codes and recall into a picture.

    Raises UsageError for a path of another kind, or where matplotlib isn't installed.
    """
    codes = sorted(matrix.found)
    with Picture(path, 14, max(4.0, 0.24 * len(codes) + 2)) as figure:
        draw(figure, matrix, codes)


def draw(figure: Any, matrix: Matrix, codes: list[str]) -> None:
    """Draw the three parts side by side."""
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 2, 1.2))
    truths = list(matrix.classes)
    heat(
        left,
        [[matrix.classes[truth][kind] for kind in GIVEN] for truth in truths],
        list(map(str, truths)),
        list(map(str, GIVEN)),
    )
    left.set_title("class")
    planted = [code for code in codes if code in matrix.primaries]
    given = sorted({name for code in planted for name in matrix.primaries[code]})
    if planted:
        counts = [[matrix.primaries[code][name] for name in given] for code in planted]
        heat(middle, counts, planted, given)
    middle.set_title("primary code")
    shares(right, codes, [matrix.found[code] for code in codes])


def heat(axes: Any, counts: list[list[int]], rows: list[str], columns: list[str]) -> None:
    """Draw counts as planted (down) and as given (across), shaded by their share of the row."""
    shaded = [[n / max(1, sum(row)) for n in row] for row in counts]
    axes.imshow(shaded, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.grid(visible=False)
    axes.set_xlabel("given")
    axes.set_ylabel("planted")
    for y, row in enumerate(counts):
        for x, n in enumerate(row):
            if n:
                colour = "white" if shaded[y][x] > 0.5 else "black"
                axes.text(x, y, str(n), ha="center", va="center", fontsize=6, color=colour)


def shares(axes: Any, codes: list[str], found: list[Counted]) -> None:
    """Draw how often each code was found where it was due, with 95 % intervals."""
    rates = [counted.rate for counted in found]
    places = range(len(codes))
    below = [max(0.0, r.point - r.low) for r in rates]
    above = [max(0.0, r.high - r.point) for r in rates]
    points = [r.point for r in rates]
    axes.errorbar(points, places, xerr=[below, above], fmt="o", markersize=3, linewidth=1)
    axes.set_yticks(places, [f"{c} ({r.episodes})" for c, r in zip(codes, rates, strict=True)])
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02)
    axes.set_title("found where due, 95 %")
