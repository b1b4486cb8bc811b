"""Pictures as PNG or SVG, by matplotlib, which the extra `plot` brings.

The same data make the same bytes with the same matplotlib: no date, no random ids.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from simharness.blame.statistics import Method, rate
from simharness.errors import UsageError
from simharness.extras import to_install
from simharness.recording.format import from_os_error
from simharness.review.lanes import focus_of, lag_lane
from simharness.units import humanize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from simharness.blame.curve import Point
    from simharness.blame.gate import Stratum
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

FORMATS = (".png", ".svg")
INK, MUTE, RULE = "#18202b", "#556172", "#dbe1ea"
BAD, GOOD, ACCENT = "#b84a00", "#00735a", "#0b5cad"
"""The colours of the page; in pictures, too, shapes and words say the same."""
STYLE: dict[str, Any] = {
    "svg.hashsalt": "simharness",
    "savefig.dpi": 150,
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": MUTE,
    "axes.edgecolor": RULE,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "xtick.color": MUTE,
    "ytick.color": MUTE,
    "legend.frameon": False,
}
BINS = 60
"""Stretches of time that throughput is counted in."""
POINTS_MAX = 400
"""Points of a line over the episodes of a run."""
STRATA_MAX = 12
COLOURS = (ACCENT, BAD, GOOD, "#8a3f80")
"""Of the rows whose lag is drawn, which are as many at most."""
SECOND = 1_000_000


def require(path: Path) -> None:
    """Check that a picture can be drawn to a path, before anything long is done for it.

    Raises UsageError for a path of another kind, or where matplotlib isn't installed.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"{str(path)!r} is no picture", f"end it with {' or '.join(FORMATS)}")
    if find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib", f"run: {to_install('simharness[plot]')}")


class Picture:
    """A figure and the path that it is written to; draw within it, and it is saved at the end."""

    def __init__(self, path: Path, width: float, height: float) -> None:
        require(path)
        self.path = path
        self._style: Any = import_module("matplotlib").rc_context(STYLE)
        self._size = (width, height)
        self.figure: Any = None

    def __enter__(self) -> Any:
        """Give the matplotlib Figure."""
        self._style.__enter__()
        figure: Any = import_module("matplotlib.figure")
        self.figure = figure.Figure(figsize=self._size, layout="constrained")
        return self.figure

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Write it. Raises RecordingError when that can't be done."""
        try:
            if error is None:
                said = {"Date": None} if self.path.suffix == ".svg" else {"Software": None}
                self.figure.savefig(self.path, metadata=said)
        except OSError as problem:
            raise from_os_error("write", self.path, problem) from problem
        finally:
            self._style.__exit__(None, None, None)


def draw_audit(
    path: Path,
    name: str,
    failed: Sequence[bool],
    strata: Sequence[Stratum],
    limit: float | None,
    method: Method = Method.WILSON,
    effect: float = 1.0,
) -> None:
    """Draw the failure rate of the harness over a run's episodes, and within its strata.

    `failed` says of each episode that counts, in the order of the run, whether the harness failed
    it; the intervals are widened by a design effect.
    """
    shown = sorted(strata, key=lambda s: (-s.rate.point, s.by, s.value))[:STRATA_MAX]
    with Picture(path, 12 if shown else 8, 4.5) as figure:
        if shown:
            left, right = figure.subplots(1, 2, width_ratios=(3, 2))
            draw_strata(right, shown, limit, len(strata))
        else:
            left = figure.subplots()
        draw_rate(left, failed, limit, method, effect)
        figure.suptitle(name, x=0.01, ha="left", fontsize=10, color=MUTE)


def draw_rate(
    axes: Any,
    failed: Sequence[bool],
    limit: float | None,
    method: Method = Method.WILSON,
    effect: float = 1.0,
) -> None:
    """Draw the rate after each episode, with its 95 % interval."""
    ends = sorted({max(1, len(failed) * (i + 1) // POINTS_MAX) for i in range(POINTS_MAX)})
    ends = [end for end in ends if end <= len(failed)]
    so_far = [0]
    for one in failed:
        so_far.append(so_far[-1] + one)
    rates = [rate(so_far[end], end, effect, method) for end in ends]
    axes.set_title("failure rate of the harness")
    axes.fill_between(
        ends,
        [100 * r.low for r in rates],
        [100 * r.high for r in rates],
        color=ACCENT,
        alpha=0.18,
        linewidth=0,
        label="95 % interval",
    )
    axes.plot(ends, [100 * r.point for r in rates], color=ACCENT, linewidth=1.8, label="rate")
    places = [i + 1 for i, one in enumerate(failed) if one]
    if places:
        axes.plot(places, [0] * len(places), "|", color=BAD, markersize=9, label="a failure")
    if limit is not None:
        axes.axhline(100 * limit, color=BAD, linestyle="--", label=f"limit {limit:.1%}")
    axes.set_xlabel("episodes")
    axes.set_ylabel("%")
    axes.set_xlim(0, max(1, len(failed)))
    # The first few episodes say little, and would leave no room for the others.
    settled = [100 * r.high for r in rates[len(rates) // 8 :]]
    axes.set_ylim(0, min(100.0, 1.1 * max([*settled, 110 * (limit or 0.0), 1.0])))
    axes.legend(loc="best", fontsize=9)


def draw_strata(axes: Any, strata: Sequence[Stratum], limit: float | None, of: int) -> None:
    """Draw the rate within each stratum, with its 95 % interval."""
    places = range(len(strata))
    for place, stratum in zip(places, strata, strict=True):
        r, colour = stratum.rate, BAD if stratum.fails else ACCENT
        axes.plot([100 * r.low, 100 * r.high], [place, place], color=colour, linewidth=2)
        mark = "^" if stratum.fails else "o"
        axes.plot([100 * r.point], [place], mark, color=colour, clip_on=False)
    axes.set_yticks(
        places,
        [f"{s.by} {s.value or 'none'} ({s.rate.failures}/{s.rate.episodes})" for s in strata],
        fontsize=9,
    )
    axes.invert_yaxis()
    if limit is not None:
        axes.axvline(100 * limit, color=BAD, linestyle="--")
    axes.set_xlim(left=0)
    axes.set_xlabel("%")
    more = f", {len(strata)} of {of}" if of > len(strata) else ""
    axes.set_title(f"within strata, 95 %{more}")


def draw_throughput(
    path: Path, name: str, samples: Sequence[tuple[float, int]], failed: Sequence[bool]
) -> None:
    """Draw how fast a run went, and its failure rate.

    `samples` are `(seconds since the start, episodes done)`, in order.
    """
    with Picture(path, 12, 4.5) as figure:
        left, right = figure.subplots(1, 2)
        took = max([seconds for seconds, _ in samples], default=0.0)
        # What a resumed run had done before is no part of its speed.
        before = first = samples[0][1] - 1 if samples else 0
        bins = min(BINS, max(1, len(samples)))
        width = took / bins or 1.0
        counts = [0] * bins
        for seconds, total in samples:
            counts[min(int(seconds / width), bins - 1)] += total - before
            before = total
        done = before - first
        edges = [i * width for i in range(bins + 1)]
        left.stairs([n / width for n in counts], edges, fill=True, color=ACCENT)
        mean = done / took if took else 0.0
        left.axhline(mean, color=MUTE, linestyle="--", label=f"mean {mean:.1f}/s")
        left.set_title("throughput")
        left.set_xlabel("seconds")
        left.set_ylabel("episodes a second")
        left.set_ylim(bottom=0)
        left.legend(loc="best", fontsize=9)
        draw_rate(right, failed, None)
        figure.suptitle(name, x=0.01, ha="left", fontsize=10, color=MUTE)


def draw_episode(
    path: Path,
    name: str,
    story: Story,
    findings: Sequence[Finding],
    points: Sequence[Point] = (),
    critical: int | None = None,
) -> None:
    """Draw the truth lag of an episode and, where it is known, its point of no return."""
    end = story.rows[-1].t if story.rows else 0
    rows = lag_lane(story, focus_of(story, findings), end, [])[: len(COLOURS)]
    with Picture(path, 10, 5 if points else 3.4) as figure:
        if points:
            upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
            draw_reach(lower, story, points, critical)
        else:
            upper = lower = figure.subplots()
        upper.set_title("truth lag: how long what the agent believes has been out of date")
        for colour, row in zip(COLOURS, rows, strict=False):
            for n, (start, stop, _) in enumerate(row["spans"]):
                upper.fill(
                    [start / SECOND, stop / SECOND, stop / SECOND],
                    [0, (stop - start) / SECOND, 0],
                    facecolor=f"{colour}33",
                    edgecolor=colour,
                    label=row["key"] if n == 0 else None,
                )
        if not rows:
            upper.text(0.5, 0.5, "never out of date", transform=upper.transAxes, ha="center")
        steps = [span.t / SECOND for span in story.steps if span.t is not None]
        upper.plot(
            steps, [0] * len(steps), "o", color=INK, markersize=4, clip_on=False, label="a step"
        )
        upper.legend(loc="best", fontsize=9)
        upper.set_ylabel("seconds")
        upper.set_ylim(bottom=0)
        lower.set_xlim(0, max(1.0, end / SECOND))
        lower.set_xlabel(f"seconds of simulated time, {humanize(end)} in all")
        figure.suptitle(name, x=0.01, ha="left", fontsize=10, color=MUTE)


def draw_reach(axes: Any, story: Story, points: Sequence[Point], critical: int | None) -> None:
    """Draw whether the reference still reaches the goal when it takes over after each step."""
    at = {span.step: (span.t or 0) / SECOND for span in story.steps}
    for chosen, mark, colour in (
        ([p for p in points if p.score], "o", GOOD),
        ([p for p in points if p.score == 0], "x", BAD),
        ([p for p in points if p.score is None], "D", MUTE),
    ):
        where = [at.get(p.step, 0.0) for p in chosen]
        height = [0.5 if p.score is None else 1 if p.score else 0 for p in chosen]
        axes.plot(where, height, mark, color=colour, clip_on=False)
    if critical is not None:
        place = at.get(critical, 0.0)
        right = place > max(at.values(), default=0.0) / 2
        said = f"no return after step {critical}" if critical else "out of reach from the start"
        axes.axvline(place, color=BAD, linestyle="--")
        told = axes.annotate(
            said,
            (place, 0.5),
            xytext=(-6 if right else 6, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
            color=BAD,
        )
        told.set_in_layout(False)  # else it would narrow both parts
    axes.set_yticks([0, 1], ["no", "yes"])
    axes.set_ylim(-0.5, 1.5)
    axes.set_title("in reach? whether the reference reaches the goal, taking over after each step")
