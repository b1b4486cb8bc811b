"""`simharness validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simharness.cli.output import ProgressLine, emit_json, table
from simharness.errors import UsageError
from simharness.findings.taxonomy import code as known
from simharness.rollout.request import parse_seeds
from simharness.validate.check import Status
from simharness.validate.report import chosen, failures, told, validate
from simharness.validate.subject import Subject

if TYPE_CHECKING:
    from simharness.validate.report import Report

FAILED, BROKE = 1, 4
QUICK, USUAL, THOROUGH = "0:6", "0:20", "0:200"


@click.command("validate")
@click.argument("scenario")
@click.option("--seed", metavar="A:B", help=f"Seeds that the reference plays. [default: {USUAL}]")
@click.option("--quick", is_flag=True, help=f"As --seed {QUICK}, and without fresh processes.")
@click.option("--thorough", is_flag=True, help=f"As --seed {THOROUGH}.")
@click.option(
    "--check", "checks", multiple=True, metavar="ID", help="Make one check, or those of one level."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    scenario: str,
    seed: str | None,
    quick: bool,
    thorough: bool,
    checks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Ask of a scenario whether it is fit to train on; 1 if a check fails, 4 if one breaks.

    The reference plays the seeds at load 1 and some of them at load 8, all other scripted policies
    a fifth of them.
    """
    if quick and thorough:
        raise UsageError("--quick and --thorough exclude each other", "give one of the two")
    wanted = chosen(checks)
    text = seed or (QUICK if quick else THOROUGH if thorough else USUAL)
    subject = Subject(scenario, parse_seeds(text, None, [scenario]), processes=not quick)
    progress = ProgressLine("checks")

    def show(done: int, total: int, name: str) -> None:
        progress.update(done, total, f", {name}")

    try:
        report = validate(subject, wanted, show)
    finally:
        progress.close()
    if as_json:
        emit_json(report.record())
    else:
        tell(report)
    if any(one.fails for one in report.made):
        return FAILED
    return BROKE if report.of(Status.ERROR) else 0


def tell(report: Report) -> None:
    """Print a line a check, then of each that fails what is wrong, what to do, and a command."""
    rows: list[tuple[object, ...]] = []
    for one in report.made:
        failed = one.result.status is Status.FAIL
        mark = f"FAIL ({one.check.severity})" if failed and not one.fails else (
            str(one.result.status).upper() if one.result.status is not Status.PASS else "ok"
        )  # fmt: skip
        rows.append((mark, one.check.id, told(one)))
    table(("", "check", "measured, or why not"), rows)
    counts = ", ".join(
        f"{len(report.of(status))} {word}"
        for status, word in zip(Status, ("passed", "failed", "skipped", "broke"), strict=True)
    )
    click.echo(
        f"{report.scenario}: {counts} (seeds {report.seeds.start}:{report.seeds.stop}, "
        f"{sum(one.seconds for one in report.made):.0f} s)"
    )
    for one in failures(report):
        codes = "".join(f", {code} {known(code).slug}" for code in one.result.codes)
        click.echo(f"\n{one.check.id}{codes}: {one.check.doc}")
        for text in one.result.evidence:
            click.echo(f"  {text}")
        if one.result.status is Status.FAIL:
            click.echo(f"  to do: {one.remedy}")
        click.echo(f"  again: {one.command}")
