"""`simharness report`: bug reports as files that reproduce."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simharness.cli.files import one_episode
from simharness.cli.output import emit_json, sentence, table
from simharness.errors import UsageError
from simharness.recording.format import from_os_error
from simharness.recording.reader import require_complete
from simharness.reports.check import Result, check_report
from simharness.reports.convert import report_from
from simharness.reports.explain import explain
from simharness.reports.imports import report_of_chat, report_of_rows
from simharness.reports.load import load_report, read_report
from simharness.reports.play import play_case

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.reports.play import Played
    from simharness.reports.report import Report

FILES = click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
FILE = click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
CONTROL = click.option(
    "--control", type=int, metavar="N", help="Its N-th control, from 1, instead of the report."
)
FORCE = click.option("--force", is_flag=True, help="Replace a file that is there.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print as JSON.")


@click.group("report", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Play bug reports: files that say who did what when, and what must be found."""


@command.command("check")
@FILES
@AS_JSON
def check(paths: tuple[Path, ...], as_json: bool) -> int:
    """Play reports with all their controls, and hold them against what they say.

    Exits with 1 when one falls short.
    """
    begun = time.monotonic()
    unread: list[UsageError] = []
    reports = loaded(paths, unread)
    fell: list[tuple[Report, Result]] = []
    checked = cases = 0
    for report in reports:
        try:
            with naming(report):
                results = check_report(report)
        except UsageError as error:
            unread.append(error)
            continue
        checked += 1
        cases += len(results)
        short = [(report, result) for result in results if not result.held]
        fell += short
        # At once: the other reports may take long.
        for _, result in () if as_json else short:
            tell(report, result)
    if as_json:
        emit_json(
            {
                "checked": checked,
                "held": checked - len({report.id for report, _ in fell}),
                "fell_short": [told(report, result) for report, result in fell],
                "unread": [f"{error.message}; {error.hint}" for error in unread],
            }
        )
        return ended(unread, fell)
    held = checked - len({report.id for report, _ in fell})
    spent = time.monotonic() - begun
    if checked:
        click.echo(f"{held} of {checked} reports hold ({cases} cases, {spent:.1f} s)")
    return ended(unread, fell)


def tell(report: Report, result: Result) -> None:
    """Print how a case fell short, and how to look at it."""
    click.echo(f"{report.path}: {report.id} {named(report, result)}")
    lines = [("missing", text) for text in result.missing]
    lines += [("unexpected", text) for text in result.unexpected]
    table(["", "expected and found"], lines)
    again = "" if result.played.case is report.case else f" --control {number(report, result)}"
    click.echo(f"  look: simharness report explain {report.path}{again}")


def ended(unread: list[UsageError], fell: Sequence[object]) -> int:
    """Give the exit code, when those that could be read are told of. Raises UsageError."""
    if not unread:
        return 1 if fell else 0
    *others, last = unread
    for error in others:
        click.echo(f"error {error.code}: {error.message}\n  {error.hint}".rstrip(), err=True)
    raise last


def played_from(path: Path, control: int | None) -> Played:
    """Play a report or one of its controls. Raises UsageError that names the file."""
    report = load_report(path)
    case = chosen(report, control)
    with naming(report):
        return play_case(case)


@contextmanager
def naming(report: Report) -> Generator[None]:
    """Let what a report is refused for as it is played name the file."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{report.path}: {error.message}", error.hint) from None


@command.command("record")
@FILE
@CONTROL
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, metavar="X.simrec")
@FORCE
def record(path: Path, control: int | None, out: Path, force: bool) -> int:
    """Play a report and keep the recording, which can be replayed, shown and audited."""
    require_free(out, force=force)
    played = played_from(path, control)
    played.episode.save(out)
    click.echo(f"{out}: {played.verdict.headline} ({played.episode.digest[:12]})")
    return 0


@command.command("explain")
@FILE
@CONTROL
@AS_JSON
def explain_(path: Path, control: int | None, as_json: bool) -> int:
    """Tell a report in the order of time: who did what, what that did, what was found."""
    played = played_from(path, control)
    lines = explain(played)
    if as_json:
        emit_json(
            {
                "title": played.case.title,
                "lines": [{"t": x.t, "who": x.who, "what": x.what} for x in lines],
                "verdict": played.verdict.told(),
            }
        )
        return 0
    sentence(played.case.title)
    table(["t", "who", "what"], [(line.at, line.who, line.what) for line in lines])
    sentence(f"verdict: {played.verdict.headline}: {played.verdict.sentence}")
    return 0


@command.command("new")
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="X.simrec")
@click.option("--episode", metavar="SCENARIO:SEED", help="One episode of a shard or run.")
@click.option("--step", type=click.IntRange(min=1), help="The agent's last step that is played.")
@click.option("--chat", type=click.Path(path_type=Path), metavar="X.jsonl", help="Calls of a chat.")
@click.option("--conversation", type=int, default=1, help="Which of the chat's, from 1.")
@click.option("--rows", type=click.Path(path_type=Path), metavar="X.csv|X.ics", help="Rows.")
@click.option("--product", default="", help="The product of a chat, or of rows.")
@click.option("--table", "name", default="", help="The table that rows belong to.")
@click.option("--zone", default="", help="Of times that name none, as Europe/Berlin.")
@click.option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Or it is told.")
@FORCE
def new(
    source: Path | None,
    episode: str | None,
    step: int | None,
    chat: Path | None,
    conversation: int,
    rows: Path | None,
    product: str,
    name: str,
    zone: str,
    out: Path | None,
    force: bool,
) -> int:
    """Write a report: of what a recorded episode failed by, or a skeleton of a chat or of rows."""
    given = [path for path in (source, chat, rows) if path is not None]
    if len(given) != 1:
        raise UsageError(f"{len(given)} sources are given", "give one of --from, --chat and --rows")
    if out is not None:
        require_free(out, force=force)
    if source is not None:
        text = report_from(require_complete(one_episode(source, episode)), step)
    elif not product:
        raise UsageError("no product is named", "say which one: --product crm")
    elif chat is not None:
        text = report_of_chat(chat, product, conversation)
    else:
        text = report_of_rows(given[0], product, name, zone)
    if out is None:
        click.echo(text, nl=False)
        return 0
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start : error.end]
        raise UsageError(f"{given[0]} holds {half!a}, half a character", "mend that text") from None
    # What couldn't be read again isn't written over what stands there.
    case = read_report(out, data).case
    try:
        out.write_bytes(data)
    except OSError as error:
        raise from_os_error("write", out, error) from error
    codes = " ".join(code for one in case.expect for code in one.codes) or "nothing expected yet"
    count = sum(len(listed) for listed in case.rows.values())
    click.echo(f"{out}: {codes}, {len(case.acts)} actions, {count} rows")
    return 0


def require_free(out: Path, *, force: bool) -> None:
    """Refuse to write over what stands there. Raises UsageError."""
    if os.path.lexists(out) and not force:
        raise UsageError(
            f"{str(out)!r} is there already", "give -o another name, or --force to replace it"
        )


def loaded(paths: tuple[Path, ...], unread: list[UsageError]) -> list[Report]:
    """Read reports; a folder stands for its `.toml` files.

    What can't be read is added to `unread`, and the others are read all the same.
    """
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not found:
            text = f"no report in {str(path)!r}"
            unread.append(UsageError(text, "give .toml files, or a folder of them"))
        files += found
    reports: list[Report] = []
    first: dict[tuple[Path, str], Path] = {}
    for path in dict.fromkeys(files):
        try:
            report = load_report(path)
        except UsageError as error:
            unread.append(error)
            continue
        before = first.setdefault((path.parent, report.id), path)
        if before == path:
            reports.append(report)
        else:
            text = f"{path} has the id {report.id!r}, as {before} has"
            unread.append(UsageError(text, "give each report of a folder its own"))
    return reports


def chosen(report: Report, control: int | None) -> Any:
    """Give a report's own case, or one of its controls. Raises UsageError."""
    if control is None:
        return report.case
    if not 1 <= control <= len(report.controls):
        raise UsageError(f"no control {control} in {report.path}", f"it has {len(report.controls)}")
    return report.controls[control - 1]


def number(report: Report, result: Result) -> int:
    """Give which control a result is of, from 1."""
    return next(i for i, c in enumerate(report.controls, 1) if c is result.played.case)


def named(report: Report, result: Result) -> str:
    """Name the case of a result."""
    case = result.played.case
    return case.title if case is report.case else f"control {number(report, result)}: {case.title}"


def told(report: Report, result: Result) -> dict[str, Any]:
    """Give a case that fell short as JSON."""
    case = result.played.case
    return {
        "id": report.id,
        "file": str(report.path),
        "control": None if case is report.case else number(report, result),
        "missing": list(result.missing),
        "unexpected": list(result.unexpected),
    }
