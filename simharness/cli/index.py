"""`simharness index`."""

from __future__ import annotations

from pathlib import Path

import click

from simharness.cli.output import counted, emit_json
from simharness.rollout.catalogue import CATALOGUE, dump, index


@click.command("index")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--merge", is_flag=True, help="Take episodes once that are there twice, if they are the same."
)
@click.option(
    "--dump",
    "dumped",
    is_flag=True,
    help="Print the catalogue as it is instead, in order, a line of JSON for each entry.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(run: Path, merge: bool, dumped: bool, as_json: bool) -> int:
    """Make the catalogue of a run, and its verdicts.jsonl, again from the recordings."""
    if dumped:
        for line in dump(run):
            click.echo(line)
        return 0
    count = index(run, merge=merge)
    path = run / CATALOGUE
    if as_json:
        emit_json({"run": str(run), "episodes": count, "catalogue": str(path)})
    else:
        click.echo(f"{counted(count, 'episode')} in {path}")
    return 0
