"""`simharness doctor`."""

from __future__ import annotations

import json
import math
import shlex
from typing import TYPE_CHECKING, Any

import click

from simharness.cli.durations import seconds
from simharness.cli.output import ProgressLine, emit_json, table
from simharness.doctor.check import Answer
from simharness.doctor.examination import QUICK, Examination, Size
from simharness.doctor.report import RESTS, chosen, examine, told
from simharness.doctor.session import mapping_of
from simharness.doctor.target import Target, parse_target
from simharness.errors import UsageError

if TYPE_CHECKING:
    from simharness.doctor.report import Made, Report

CODES = {Answer.PASS: 0, Answer.FAIL: 1, Answer.UNKNOWN: 3}
MARKS = {Answer.PASS: "ok", Answer.FAIL: "FAIL", Answer.UNKNOWN: "UNKNOWN", Answer.SKIP: "skip"}
USED = Size()
FEW = 2
"""Checks that weren't made, from which on they are told in one line."""
SECONDS, MINUTES = 30.0, 10.0


def finite(context: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse what no number can be held against: a NaN is in every range, and is never reached."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no finite number", context, param)
    return value


@click.command("doctor")
@click.argument("target")
@click.option("--pings", type=click.IntRange(min=10), help=f"Steps of the soak. [{USED.pings}]")
@click.option("--quick", is_flag=True, help="Few seeds, steps, sessions and pings.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="First seed that is played.")  # fmt: skip
@click.option("--check", "checks", multiple=True, metavar="ID", help="Make one check.")
@click.option("--action", "actions", multiple=True, metavar="JSON",
              help="An action to draw from, first the one that does nothing.")  # fmt: skip
@click.option("--reset", metavar="JSON", help="What a reset is told besides its seed: a map.")
@click.option("--make", metavar="JSON", help="Keyword arguments of the factory: a map.")
@click.option("--full", type=float, callback=finite, metavar="R",
              help="What a solved episode is paid.")  # fmt: skip
@click.option("--range", "bounds", metavar="LOW:HIGH", help="Where the reward of a step has to be.")
@click.option("--ignore", "ignored", multiple=True, metavar="KEY",
              help="A key of observations and infos that isn't compared.")  # fmt: skip
@click.option("--timeout", default=f"{SECONDS:g}s", callback=seconds, show_default=True,
              metavar="D", help="Real time of an answer.")  # fmt: skip
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), default=MINUTES,
              callback=finite, show_default=True, metavar="M",
              help="Time for all checks.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    target: str,
    pings: int | None,
    quick: bool,
    seed: int,
    checks: tuple[str, ...],
    actions: tuple[str, ...],
    reset: str | None,
    make: str | None,
    full: float | None,
    bounds: str | None,
    ignored: tuple[str, ...],
    timeout: float,
    minutes: float,
    as_json: bool,
) -> int:
    """Audit somebody else's environment; 1 if a check fails, 3 if one can't tell.

    TARGET is a Gymnasium id (CartPole-v1), the URL of an OpenEnv server, 'mcp:COMMAND ARGUMENTS',
    MODULE:FACTORY or PATH.py:FACTORY.
    """
    wanted = chosen(checks)
    kind, name = parse_target(target)
    size = Size(**QUICK) if quick else Size()
    size.pings = pings or size.pings
    exam = Examination(
        target=Target(
            kind=kind,
            name=name,
            make=mapping("--make", make),
            reset=mapping("--reset", reset),
            actions=tuple(parsed("--action", text) for text in actions),
            ignored=ignored,
            seconds=timeout,
        ),
        size=size,
        seed=seed,
        full=full,
        bounds=parse_bounds(bounds),
        seconds=minutes * 60,
    )
    words = {"--pings": pings, "--seed": seed or None, "--reset": reset, "--make": make,
             "--full": full, "--range": bounds,
             "--timeout": None if timeout == SECONDS else timeout,
             "--minutes": None if minutes == MINUTES else minutes}  # fmt: skip
    line = ["simharness", "doctor", target, *(["--quick"] if quick else [])]
    for option, value in words.items():
        line += [] if value is None else [option, str(value)]
    for option, values in (("--action", actions), ("--ignore", ignored)):
        for text in values:
            line += [option, text]
    progress = ProgressLine("checks")

    def show(done: int, total: int, check: str) -> None:
        progress.update(done, total, f", {check}")

    try:
        report = examine(exam, lambda id: shlex.join([*line, "--check", id]), wanted, show)
    finally:
        progress.close()
    if as_json:
        emit_json(report.record())
    else:
        tell(report)
    return CODES[report.answer]


def parsed(option: str, text: str) -> Any:
    """Read JSON. Raises UsageError."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no JSON: {error}", "give JSON, in quotes") from None


def mapping(option: str, text: str | None) -> dict[str, Any]:
    """Read a JSON map. Raises UsageError."""
    value: object = parsed(option, text) if text is not None else {}
    found = mapping_of(value)
    if found is not value:
        raise UsageError(f"{option} {text!r} is no map", f"give {option} '{{\"name\": 1}}'")
    return found


def parse_bounds(text: str | None) -> tuple[float, float] | None:
    """Read `LOW:HIGH`. Raises UsageError."""
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = (1.0, 0.0)
    if not bounds[0] <= bounds[1]:
        raise UsageError(f"range {text!r} is not readable", "give LOW:HIGH, such as 0:1")
    return bounds


def rests(one: Made) -> bool:
    """Tell whether a check wasn't made because another doesn't hold."""
    unknown = one.result.answer is Answer.UNKNOWN
    return unknown and one.result.evidence[0].startswith(RESTS)


def root_of(one: Made, report: Report) -> str:
    """Name the check that was made and on which this one rests, by others or not."""
    made = {other.check.id: other for other in report.made}
    while rests(one):
        one = made[one.check.needs]
    return one.check.id


def tell(report: Report) -> None:
    """Print a line a check, then of each failure what is wrong, what to do, and the command."""
    resting = [one for one in report.made if rests(one)]
    # Many lines that say the same would bury the one that says what is wrong.
    shown = [one for one in report.made if len(resting) < FEW or not rests(one)]
    rows = [(MARKS[one.result.answer], one.check.id, told(one.result)) for one in shown]
    if len(shown) < len(report.made):
        on = " or ".join(dict.fromkeys(root_of(one, report) for one in resting))
        rows.append(
            (MARKS[Answer.UNKNOWN], f"{len(resting)} others", f"not looked at: {RESTS} {on}")
        )
    table(("", "check", "measured, or why not"), rows)
    counts = ", ".join(f"{len(report.of(answer))} {MARKS[answer]}" for answer in Answer)
    took = sum(one.seconds for one in report.made)
    click.echo(f"{report.target}: {counts} ({took:.0f} s)")
    for answer in (Answer.FAIL, Answer.UNKNOWN):
        for one in report.of(answer):
            if rests(one):
                continue  # the other is told
            click.echo(f"\n{MARKS[answer]} {one.check.id}: {one.check.doc}")
            for text in one.result.evidence:
                click.echo(f"  {text}")
            if answer is Answer.FAIL:
                click.echo(f"  to do: {one.remedy}")
            click.echo(f"  again: {one.command}")
    if passed := report.of(Answer.PASS):
        click.echo("\nwhat the passes don't prove, and the commands that show them:")
        for one in passed:
            click.echo(f"  {one.check.id}: {one.unproved}")
        click.echo(f"  each: {passed[0].command.rpartition(' ')[0]} ID")
