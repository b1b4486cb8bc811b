"""`simharness audit`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.blame.attribution import judge_record
from simharness.blame.case import case_of_record
from simharness.blame.chain import chain_of, tell_chain
from simharness.blame.curve import critical_step, no_return
from simharness.blame.quarantine import read_reviews, reason_for, settled
from simharness.blame.statistics import Gate, further_episodes
from simharness.cli.files import name_of, one_episode
from simharness.cli.output import (
    ProgressLine,
    counted,
    emit_json,
    reward_number,
    reward_text,
    table,
)
from simharness.findings.taxonomy import code
from simharness.rollout.audit import LIMIT, Item, Report, audit, key_of
from simharness.rollout.store import split_key

if TYPE_CHECKING:
    from simharness.recording.reader import EpisodeRecord

EXITS = {Gate.PASS: 0, Gate.FAIL: 1, Gate.INCONCLUSIVE: 3}


@click.command("audit")
@click.argument("path", type=click.Path(path_type=Path), metavar="RUN|FILE")
@click.option(
    "--max-rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help=f"Failure rate that the gate allows ({LIMIT} for a run; a file has no gate without it).",
)
@click.option("--episode", metavar="SCENARIO:SEED", help="Tell one episode of a run in full.")
@click.option(
    "--curve",
    is_flag=True,
    help="Let the reference take over after each step; a run needs --episode.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    path: Path, max_rate: float | None, episode: str | None, curve: bool, as_json: bool
) -> int:
    """Judge recordings: findings, whose fault, the proof; for a run the failure rate and a gate."""
    if episode is not None:
        return one(path, episode, curve, as_json)
    if curve:
        return one(path, None, curve, as_json)
    progress = ProgressLine("episodes")
    report = audit(
        path,
        limit=max_rate if max_rate is not None else LIMIT,
        progress=lambda n: progress.update(n, 0),
    )
    progress.close()
    gated = max_rate is not None or path.is_dir()
    if as_json:
        emit_json(report.record())
    elif len(report.items) == 1 and not gated:
        return one(path, None, curve, as_json)
    else:
        page(report)
    return EXITS[report.gate()] if gated else 0


def page(report: Report) -> None:
    """Print what a person can act on."""
    record = report.record()
    failure = record["failure_rate"]
    episodes = counted(record["episodes"], "episode")
    click.echo(f"{report.run}: {episodes}, {record['valid']} valid for training")
    click.echo("  verdicts: " + ", ".join(f"{kind} {n}" for kind, n in record["verdicts"].items()))
    click.echo(
        f"  failures of the harness: {report.failures} ({failure['point']:.1%}; 95 %: "
        f"{failure['low']:.1%} to {failure['high']:.1%}), quarantined {record['quarantined']}"
    )
    click.echo(f"  gate at {report.limit:.1%}: {record['gate']}{what_is_missing(report)}")
    for problem in report.problems:
        click.echo(click.style(f"  {problem}", fg="yellow"))
    if zero := report.zero_tolerance():
        click.echo(click.style(f"  never allowed, found: {', '.join(zero)}", fg="red"))
    if record["codes"]:
        worst = report.codes().most_common(6)
        table(("code", "episodes", "what"), [(c, n, code(c).explanation) for c, n in worst])
    for item in report.first_to_look_at():
        look(report, item)


def what_is_missing(report: Report) -> str:
    """Say how many further episodes an inconclusive gate needs if the rate stays as it is."""
    if report.gate() is not Gate.INCONCLUSIVE:
        return ""
    more = further_episodes(report.failures, len(report.items), report.limit)
    if report.unfinished:
        return " (the run is unfinished)"
    if more is None:
        return " (the rate is too close to the limit for any number of episodes)"
    return f" ({more} more episodes at this rate would decide)"


def look(report: Report, item: Item) -> None:
    """Print one episode worth a look, with its command."""
    scenario, seed, _ = split_key(item.key)
    click.echo(f"  {scenario}:{seed} {item.verdict.headline}")
    click.echo(f"    {item.verdict.sentence}")
    click.echo(f"    simharness audit {report.run} --episode {scenario}:{seed}")


def one(path: Path, episode: str | None, curve: bool, as_json: bool) -> int:
    """Tell one episode in full."""
    record = one_episode(path, episode)
    report = item_of(path, record)
    case = case_of_record(record)
    verdict = report.verdict
    points = no_return(case) if curve else []
    primary = next((f for f in verdict.findings if f.code == verdict.primary), None)
    chain = tell_chain(chain_of(case.story, primary)) if primary is not None else []
    if as_json:
        emit_json(
            {
                **report.record(),
                "findings": [f.record() for f in verdict.findings],
                "arms": verdict.told()["arms"],
                "chain": chain,
                "curve": [{"step": p.step, "score": reward_number(p.score)} for p in points],
            }
        )
        return 0
    click.echo(f"{name_of(record)}: {verdict.headline}")
    click.echo(f"  {verdict.sentence}")
    valid = "yes" if verdict.valid else "no"
    click.echo(
        f"  reward {reward_text(verdict.score)}, valid for training: {valid}, "
        f"effect {verdict.effect}"
    )
    if report.reason:
        kept_out = "quarantined" if report.quarantined else "not quarantined"
        click.echo(f"  {kept_out}: {report.reason}")
    for arm in verdict.arms:
        change = "flips" if arm.flips else "no change"
        click.echo(
            f"  {', '.join(arm.repaired)} true -> {reward_text(arm.score)} ({arm.proof}): {change}"
        )
    if chain:
        click.echo("  how it came about:")
        for line in chain:
            click.echo(f"    {line}")
    if points:
        shown = " ".join("?" if p.score is None else "+" if p.score else "-" for p in points)
        critical = critical_step(points)
        click.echo(f"  the reference taking over after step 0, 1, ...: {shown}")
        click.echo("    (+ it reached the goal, - it didn't, ? the harness failed)")
        click.echo(f"  point of no return: {'never' if critical is None else f'step {critical}'}")
    times = Counter(finding.code for finding in verdict.findings)
    if times:
        table(("code", "times", "what"), [(c, n, code(c).explanation) for c, n in times.items()])
    return 0


def item_of(path: Path, record: EpisodeRecord) -> Item:
    """Judge the one episode that is meant, with the reviews of its run."""
    reviews = read_reviews(path) if path.is_dir() else {}
    verdict = judge_record(record)
    key = key_of(record)
    quarantined, reason = settled(key, reason_for(verdict), reviews)
    return Item(key, Path(record.path), verdict, quarantined, reason)
