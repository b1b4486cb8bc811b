"""`simharness export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.cli.output import ProgressLine, counted, emit_json, wrapped
from simharness.exporters.export import export
from simharness.exporters.formats import FORMATS
from simharness.exporters.loss import INCLUDABLE, TRUTH

if TYPE_CHECKING:
    from collections import Counter

    from simharness.exporters.export import Export


@click.command(
    "export",
    epilog="Formats: " + "; ".join(f"{name}: {f.doc}" for name, f in FORMATS.items()) + ".",
)
@click.argument("name", metavar="FORMAT")
@click.argument("path", type=click.Path(path_type=Path), metavar="RUN|FILE")
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, metavar="OUT", help="The file."
)
@click.option(
    "--include",
    multiple=True,
    type=click.Choice(INCLUDABLE),
    help="What is left out otherwise: invalid or quarantined episodes, what the agent couldn't see",
)
@click.option("--episode", metavar="SCENARIO:SEED", help="One episode of a shard or run.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    name: str,
    path: Path,
    out: Path,
    include: tuple[str, ...],
    episode: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Export episodes to a format of another tool, and say what that could not carry.

    Every episode is judged as `audit` judges it. Those that are invalid or quarantined are left
    out, and so is what was hidden from the agent.
    """
    progress = ProgressLine("episodes")
    try:
        report = export(
            name,
            path,
            out,
            include=include,
            episode=episode,
            force=force,
            progress=lambda done: progress.update(done, 0),
        )
    finally:
        progress.close()
    if as_json:
        emit_json(report.record())
    else:
        tell(report)
    return 0


def tell(report: Export) -> None:
    """Print what was exported, what wasn't, and what of it was lost."""
    loss = report.loss
    of = f"{report.exported} of {counted(report.found, 'episode')}"
    click.echo(f"{report.out}: {of} as {report.format}")
    for what, count in sorted(report.included.items()):
        shown = f"{counted(count, 'episode')} that would be left out as {what}"
        if what == TRUTH:
            shown = f"what was hidden from the agent, of {counted(count, 'episode')}"
        click.echo(click.style(f"  includes {shown}", fg="yellow"))
    listed("left out", loss.left_out)
    listed("not carried", loss.dropped)
    listed("changed", loss.changed)
    for problem in loss.problems:
        click.echo(click.style(f"  {problem}", fg="yellow"), err=True)


def listed(what: str, counts: Counter[str]) -> None:
    """Print counts on a line; nothing where there are none."""
    found = [f"{count} {why}" for why, count in sorted(counts.items()) if count]
    if found:
        wrapped(f"{what}: " + "; ".join(found))
