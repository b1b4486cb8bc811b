"""`simharness compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.cli.output import counted, emit_json, table, wrapped
from simharness.rollout.compare import Change, Comparison, compare

if TYPE_CHECKING:
    from simharness.rollout.compare import Line

FLIPPED_SHOWN = 10


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path), metavar="BEFORE")
@click.argument("after", type=click.Path(path_type=Path), metavar="AFTER")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(before: Path, after: Path, as_json: bool) -> int:
    """Hold two runs of the same seeds against each other; exit 1 if the second is worse.

    By the verdicts that each wrote itself, so that the runs may be of different versions.
    """
    found = compare(before, after)
    if as_json:
        emit_json(found.record())
    else:
        page(found)
    return int(found.worse)


def page(found: Comparison) -> None:
    """Print the counts, how likely they are by chance, and what flipped."""
    click.echo(f"{found.before} against {found.after}: {counted(found.pairs, 'pair')}")
    if found.only_before or found.only_after:
        wrapped(f"without a partner: {found.only_before} before, {found.only_after} after")
    table(
        ("", "both", "before", "after", "neither", "p", "change"),
        [
            (
                what,
                p.both,
                p.lost,
                p.gained,
                p.neither,
                "<0.001" if p.p < 0.0005 else f"{p.p:.3f}",
                p.change,
            )
            for what, p in (("harness failed", found.failures), ("reward earned", found.paid))
        ],
    )
    for one, other in found.flipped[:FLIPPED_SHOWN]:
        wrapped(f"{one.scenario}:{one.seed} {told(one)} -> {told(other)}")
    if len(found.flipped) > FLIPPED_SHOWN:
        wrapped(f"and {len(found.flipped) - FLIPPED_SHOWN} more; --json has all")
    if found.worse:
        names = ("failures of the harness", "earned rewards")
        changes = (found.failures.change, found.paid.change)
        worse = [name for name, c in zip(names, changes, strict=True) if c is Change.WORSE]
        click.echo(click.style(f"  worse: {', '.join(worse)}", fg="red"))


def chance(p: float) -> str:
    """Show a p; the smallest as no more than smaller than what is shown."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def told(line: Line) -> str:
    """Show what came of one episode: class, primary code, reward."""
    reward = "none" if line.score is None else f"{line.score:.3f}".rstrip("0").ljust(3, "0")
    return f"{' '.join(filter(None, (line.kind, line.primary)))}, reward {reward}"
