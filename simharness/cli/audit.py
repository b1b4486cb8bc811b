"""`simharness audit`."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simharness.blame.case import case_of_record
from simharness.blame.chain import chain_of, tell_chain
from simharness.blame.curve import critical_step, no_return
from simharness.blame.gate import counted_once, percent
from simharness.blame.quarantine import read_reviews
from simharness.blame.statistics import LIMIT, Gate, Method
from simharness.cli.files import name_of, one_episode, shortest
from simharness.cli.output import (
    ProgressLine,
    counted,
    emit_json,
    reward_number,
    reward_text,
    table,
    wrapped,
)
from simharness.findings.taxonomy import code
from simharness.review.pictures import draw_audit, draw_episode, require
from simharness.rollout.audit import Item, Report, audit, judged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.blame.gate import Decision
    from simharness.blame.statistics import Rate
    from simharness.blame.trials import PassK

STRATA_SHOWN = 8
LOOKS = 3
"""Episodes that are told with what happened."""
NAMED = 8
"""Others that are named."""
EXITS = {Gate.PASS: 0, Gate.FAIL: 1, Gate.INCONCLUSIVE: 3}


@click.command("audit")
@click.argument("path", type=click.Path(path_type=Path), metavar="RUN|FILE")
@click.option(
    "--max-rate",
    type=float,
    metavar="SHARE",
    help=f"Failure rate that the gate allows, between 0 and 1 ({LIMIT} for a run; a file has no "
    "gate without it).",
)
@click.option("--exact", is_flag=True, help="Intervals of Clopper and Pearson instead of Wilson's.")
@click.option("--episode", metavar="SCENARIO:SEED", help="Tell one episode of a run in full.")
@click.option(
    "--curve",
    is_flag=True,
    help="Let the reference take over after each step; a run needs --episode.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw a .png or .svg: the failure rate of a run, or the truth lag of one episode.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    path: Path,
    max_rate: float | None,
    exact: bool,
    episode: str | None,
    curve: bool,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Judge recordings: findings, whose fault, the proof; for a run the failure rate and a gate."""
    if plot is not None:
        require(plot)
    if episode is not None or curve:
        return one(path, episode, curve, as_json, plot)
    progress = ProgressLine("episodes")
    report = audit(
        path,
        limit=max_rate,
        method=Method.EXACT if exact else Method.WILSON,
        progress=lambda n: progress.update(n, 0),
    )
    progress.close()
    gated = report.limit is not None
    if as_json:
        emit_json(report.record())
    elif len(report.items) == 1 and not gated:
        return one(path, None, curve, as_json, plot)
    else:
        page(report)
    if plot is not None:
        picture(report, plot)
    return EXITS[report.decision().answer] if gated else 0


def page(report: Report) -> None:
    """Print what a person can act on."""
    record, decision = report.record(), report.decision()
    valid = f"{record['valid']} valid for training"
    click.echo(f"{report.run}: {counted(record['episodes'], 'episode')}, {valid}")
    wrapped("verdicts: " + ", ".join(f"{kind} {n}" for kind, n in record["verdicts"].items()))
    told_scores(record)
    wrapped(f"failures of the harness: {share(decision.failure)}")
    wrapped(f"with findings against the harness: {share(decision.contamination)}")
    told_counting(decision)
    reasons = told_gate(decision) if report.limit is not None else ()
    for problem in report.problems:
        if not any(problem in reason for reason in reasons):
            wrapped(problem)
    if record["codes"]:
        # Those against the harness first: the gate rests on them.
        counts = sorted(report.codes().items(), key=lambda one: (one[0][0] != "H", -one[1], one[0]))
        table(("code", "episodes", "name"), [(c, n, code(c).slug) for c, n in counts])
    told_strata(decision)
    told_trials(decision)
    first = report.first_to_look_at()
    names = names_of(report)
    for item in first[:LOOKS]:
        look(item, *names[id(item)])
    told_more([names[id(item)][0] for item in first[LOOKS:]])


def told_gate(decision: Decision) -> tuple[str, ...]:
    """Print the gate's answer and why; gives the reasons."""
    colour = {Gate.PASS: "green", Gate.FAIL: "red", Gate.INCONCLUSIVE: "yellow"}[decision.answer]
    answer = click.style(decision.answer, fg=colour, bold=True)
    click.echo(f"  gate at {percent(decision.limit)}: {answer}")
    for reason in decision.reasons:
        wrapped(reason, indent=4)
    return decision.reasons


def told_more(names: Sequence[str]) -> None:
    """Name the other episodes that want a look: the first few of them."""
    if names:
        rest = ", ..." if len(names) > NAMED else ""
        wrapped(f"and {len(names)} more: {', '.join(names[:NAMED])}{rest}")


def names_of(report: Report) -> dict[int, tuple[str, list[str]]]:
    """Name each item so that no other is meant: by seed, by its whole key, or by its file.

    By id, its name and what an audit of it alone is given.
    """
    short = shortest([item.key for item in report.items])
    times, within = Counter(short), Counter(item.file for item in report.items)
    out: dict[int, tuple[str, list[str]]] = {}
    for name, item in zip(short, report.items, strict=True):
        file = str(item.file)
        if times[name] == 1:
            out[id(item)] = name, [report.run, "--episode", name]
        elif within[item.file] == 1:
            out[id(item)] = file, [file]
        else:
            out[id(item)] = f"{item.key} of {file}", [file, "--episode", item.key]
    return out


def share(rate: Rate) -> str:
    """Show a rate with its counts and its interval."""
    return (
        f"{rate.failures} of {rate.episodes}, {rate.point:.1%} "
        f"(95 %: {rate.low:.1%} to {rate.high:.1%})"
    )


def told_scores(record: Mapping[str, Any]) -> None:
    """Print the mean score of all episodes, and of those that aren't quarantined."""
    score, quarantined = record["score"], record["quarantined"]
    if score["mean"] is None:
        return
    raw, clean = f"{score['mean']:.3f}", score["clean"]
    without = "" if clean is None else f", {clean:.3f} without the quarantined"
    wrapped(f"score: mean {raw}{without if quarantined else ''}; quarantined {quarantined}")


def told_counting(decision: Decision) -> None:
    """Print what was counted otherwise than one by one."""
    if decision.ambiguous_episodes:
        wrapped(
            f"ambiguous: {counted(decision.ambiguous_episodes, 'episode')}; the rate lies between "
            f"{decision.failure.point:.1%} and {decision.ambiguous.point:.1%}"
        )
    if decision.poor:
        wrapped(
            f"{decision.ambiguous_episodes} of {decision.lost} lost episodes are ambiguous: "
            "a contract or the taxonomy leaves too much open"
        )
    if decision.external:
        wrapped(f"left out: {counted(decision.external, 'episode')} that failed from outside")
    if decision.repeated:
        wrapped(f"counted once: {counted(decision.repeated, 'episode')} that repeat another one")
    if decision.resampled is not None:
        low, high = decision.resampled
        wrapped(
            f"{counted(decision.instances, 'instance')}, design effect {decision.effect:.2f}: the "
            f"episodes count as {decision.effective:.0f}; resampled by instance, 95 %: "
            f"{low:.1%} to {high:.1%}"
        )


def told_strata(decision: Decision) -> None:
    """Print the strata in which the harness failed, those first that fail the gate."""
    shown = [stratum for stratum in decision.strata if stratum.rate.failures]
    shown.sort(key=lambda s: (not s.fails, -s.rate.point))
    if shown:
        rows = [
            (
                stratum.by,
                stratum.value,
                f"{stratum.rate.failures}/{stratum.rate.episodes}",
                f"{stratum.rate.point:.1%}",
                f"{stratum.at_least:.1%}" + (" fails" if stratum.fails else ""),
            )
            for stratum in shown[:STRATA_SHOWN]
        ]
        table(("by", "value", "failures", "rate", "at least"), rows)


def told_trials(decision: Decision) -> None:
    """Print pass^k, where tasks have several trials."""
    if decision.trials:
        rows = [
            (
                t.raw.k,
                estimate(t.raw),
                t.raw.tasks,
                estimate(t.clean),
                t.clean.tasks,
                f"{t.ceiling:.3f}",
            )
            for t in decision.trials
        ]
        table(("k", "pass^k", "tasks", "clean", "tasks", "at most, by the harness"), rows)


def estimate(found: PassK) -> str:
    """Show pass^k, or that no task has enough trials."""
    return "-" if found.point is None else f"{found.point:.3f}"


def look(item: Item, name: str, words: Sequence[str]) -> None:
    """Print one episode worth a look, with its command."""
    wrapped(f"{name} {item.verdict.headline}")
    wrapped(item.verdict.sentence, indent=4)
    click.echo(f"    {shlex.join(['simharness', 'audit', *words])}")


def picture(report: Report, path: Path) -> None:
    """Draw the failure rate of a run, over its episodes and within its strata."""
    samples = [item.sample for item in report.items]
    decision = report.decision()
    draw_audit(
        path,
        report.run,
        [sample.failed for sample in counted_once(samples)],
        decision.strata,
        report.limit,
        report.method,
        decision.effect,
    )


def one(
    path: Path, episode: str | None, curve: bool, as_json: bool, plot: Path | None = None
) -> int:
    """Tell one episode in full."""
    record = one_episode(path, episode)
    reviews = read_reviews(path) if path.is_dir() else {}
    report = judged(Path(record.path), record, reviews)
    case = case_of_record(record)
    verdict = report.verdict
    points = no_return(case) if curve else []
    primary = next((f for f in verdict.findings if f.code == verdict.primary), None)
    chain = tell_chain(chain_of(case.story, primary)) if primary is not None else []
    if plot is not None:
        critical = critical_step(points) if points else None
        name = f"{name_of(record)}: {verdict.headline}"
        draw_episode(plot, name, case.story, verdict.findings, points, critical)
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
