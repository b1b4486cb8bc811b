"""`simharness lint`."""

from __future__ import annotations

from pathlib import Path

import click

from simharness.cli.output import emit_json
from simharness.errors import UsageError
from simharness.lint.check import lint
from simharness.lint.files import own_models


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH...]")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Find what makes a seed mean something else elsewhere, in files or folders of products.

    Without PATH, the products of this package are checked. Exits with 1 when anything is found.
    """
    if not all(paths):
        # Path("") is the current folder, which an unset variable of a script doesn't mean.
        raise UsageError("path '' is empty", "give Python files or folders; . is this folder")
    report = lint([Path(path) for path in paths] or [own_models()])
    if as_json:
        emit_json(report.record())
        return 1 if report.findings else 0
    for finding in report.findings:
        click.echo(str(finding))
    count = len(report.findings)
    told = "no findings" if not count else "1 finding" if count == 1 else f"{count} findings"
    files = "1 file" if report.files == 1 else f"{report.files} files"
    click.echo(f"{told} in {files}" + (f", {report.allowed} allowed" if report.allowed else ""))
    return 1 if count else 0
