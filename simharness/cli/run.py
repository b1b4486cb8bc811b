"""`simharness run`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from simharness.blame.gate import counted_once
from simharness.blame.statistics import rate
from simharness.blame.verdict import Class
from simharness.cli.audit import told_gate
from simharness.cli.output import ProgressLine, counted, emit_json, wrapped
from simharness.errors import HarnessError, ProviderRefused, RecordingError, UsageError
from simharness.review.pictures import draw_throughput, require
from simharness.rollout.lines import read_lines
from simharness.rollout.ray import ray_engine
from simharness.rollout.request import Request, parse_config, parse_faults, parse_seeds
from simharness.rollout.run import BREAKER, INTERRUPT, local_engine, resume, run
from simharness.rollout.store import ABOUT, next_folder
from simharness.rollout.summary import decision_of, sample_of_line
from simharness.units import MS, humanize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.rollout.breaker import Breaker
    from simharness.rollout.run import Result
    from simharness.rollout.summary import Summary

ANEW = (
    *("workers", "engine", "ray_address"),
    *("breaker", "plot", "as_json", "going_on", "base_url"),
)
"""Options that a run may be resumed with; the others are as they were."""


@click.command("run")
@click.argument("scenarios", nargs=-1, metavar="SCENARIO...")
@click.option(
    "--seed",
    default="0",
    metavar="A:B",
    help="One seed, or a range (B left out); eval:A:B counts within the eval split, or train.",
)
@click.option(
    "--episodes", type=click.IntRange(min=1), metavar="N", help="Number of seeds from A on."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("expert",),
    show_default=True,
    metavar="P",
    help="A scripted policy, transcript:FILE, or openai:MODEL; given again, that one plays each "
    "seed as well.",
)
@click.option(
    "--base-url",
    default="",
    metavar="URL",
    help="Where models are asked, such as http://127.0.0.1:8000/v1; default: OPENAI_BASE_URL.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="F",
    help="Switch a fault on; id or id@from=60s,until=10min. All that are given are in force.",
)
@click.option(
    "--fault-set",
    "fault_sets",
    multiple=True,
    metavar="F+F",
    help="Play each seed under these faults, or `none`; given again, under those as well.",
)
@click.option(
    "--load",
    "loads",
    multiple=True,
    default=("1",),
    show_default=True,
    metavar="X",
    help="Background load; 1 is one team. Given again, each seed is played under that as well.",
)
@click.option("--profile", default="", help="Knob profile; default: the scenario's own.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a knob, or pin instance.NAME.",
)
@click.option(
    "--schedule",
    default="fifo",
    show_default=True,
    metavar="POLICY",
    help="Order within an instant: fifo, random:SEED.",
)
@click.option(
    "--group",
    type=click.IntRange(1, 10_000),
    default=1,
    metavar="G",
    help="Play each instance G times, which differ in the draws of the policy.",
)
@click.option(
    "--refill",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Replace up to N dropped groups by those of the seeds after the last.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 1024),
    envvar="SIMHARNESS_WORKERS",
    metavar="N",
    help="Processes that play; 0: this one. Default: one for each processor.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="What the processes are: children of this one, or workers of a Ray cluster.",
)
@click.option(
    "--ray-address",
    default="",
    envvar="RAY_ADDRESS",
    metavar="A",
    help="A cluster that is there, as HOST:PORT or auto. Default: one that lasts as long as this.",
)
@click.option(
    "--breaker/--no-breaker",
    default=True,
    help="Whether to stop once the harness has turned out to be broken.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Run directory; must be new.",
)
@click.option(
    "--resume",
    "going_on",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Go on with a run that was stopped or killed.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw throughput and failure rate into a .png or .svg.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(
    context: click.Context,
    scenarios: tuple[str, ...],
    seed: str,
    episodes: int | None,
    policies: tuple[str, ...],
    base_url: str,
    faults: tuple[str, ...],
    fault_sets: tuple[str, ...],
    loads: tuple[str, ...],
    profile: str,
    settings: tuple[str, ...],
    schedule: str,
    group: int,
    refill: int,
    workers: int | None,
    engine: str,
    ray_address: str,
    breaker: bool,
    out: Path | None,
    going_on: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Run episodes of one or more scenarios and write a run directory: recordings, verdicts.

    Each scenario is played on each seed, by each policy, under each set of faults and each load.
    """
    if plot is not None:
        require(plot)
    progress = ProgressLine("episodes")
    finished = total = 0
    began = time.perf_counter_ns()
    samples: list[tuple[float, int]] = []

    def show(done: int, of: int, summary: Summary) -> None:
        nonlocal finished, total
        if not total and going_on is not None:
            progress.before = max(0, done - 1)
        finished, total = done, of
        if plot is not None:
            samples.append(((time.perf_counter_ns() - began) / 1e9, done))
        progress.update(done, of, note(summary))

    if engine == "ray":
        engines = ray_engine(workers, ray_address)
    else:
        engines = local_engine(workers)
        if context.get_parameter_source("ray_address") is ParameterSource.COMMANDLINE:
            raise UsageError("--ray-address is given and Ray is not asked for", "add --engine ray")
    request: Request | None = None
    if going_on is not None:
        require_alone(context)
        folder = going_on
    else:
        if not scenarios:
            raise click.MissingParameter(ctx=context, param=context.command.params[0])
        request = Request(
            scenarios=scenarios,
            seeds=parse_seeds(seed, episodes, scenarios),
            policies=policies,
            faults=parse_faults(fault_sets, faults),
            loads=loads,
            profile=profile,
            config=parse_config(settings),
            schedule=schedule,
            group=group,
            refill=refill,
            base_url=base_url,
        )
        folder = out if out is not None else next_folder(Path("runs"), folder_name(scenarios[0]))
        total = len(request)
    try:
        if request is None:
            result = resume(folder, show, engine=engines, breaker=breaker, base_url=base_url)
        else:
            result = run(request, folder, show, engine=engines, breaker=breaker)
    except KeyboardInterrupt:
        progress.close()
        click.echo(interrupted(finished, total, folder), err=True)
        return 130
    except (RecordingError, HarnessError, ProviderRefused) as error:
        if not finished and not isinstance(error, ProviderRefused):
            raise
        kept = "what was played is kept; " if finished else ""
        again = f"{kept}then: {again_command(folder)}"
        raise type(error)(
            error.message, f"{error.hint}; {again}" if error.hint else again
        ) from None
    finally:
        progress.close()
    if result.stopped == INTERRUPT:
        click.echo(interrupted(result.summary.episodes, result.total, folder), err=True)
        return 130
    report(result, str(folder), as_json)
    if plot is not None:
        counting = counted_once(map(sample_of_line, read_lines(folder)))
        draw_throughput(plot, str(folder), samples, [sample.failed for sample in counting])
    if result.summary.is_lost:
        tell_lost(result.summary)
    return 1 if result.stopped == BREAKER or result.summary.is_lost else 0


def require_alone(context: click.Context) -> None:
    """Refuse options that would make another run of one that is resumed. Raises UsageError."""
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in ANEW or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        shown = parameter.opts[0] if isinstance(parameter, click.Option) else "SCENARIO"
        if shown != "SCENARIO" or context.params[name]:
            raise UsageError(
                f"{shown} can't be given with --resume, which goes on with what was asked for",
                "leave it out, or begin another run",
            )


def note(summary: Summary) -> str:
    """Say how often the harness has failed so far, with the bounds of that rate."""
    if not summary.failures:
        return ", 0 harness failures"
    failures = rate(summary.failures, summary.episodes)
    return (
        f", {counted(summary.failures, 'harness failure')} = {failures.point:.1%} "
        f"({failures.low:.1%} to {failures.high:.1%})"
    )


def folder_name(scenario: str) -> str:
    """Make a name for the folder of a run; of a path only the file's own name."""
    file, _, rest = scenario.rpartition(".py:")
    return "-".join([*([Path(file).name] if file else []), *rest.split("/")]).strip(".-") or "run"


def again_command(folder: Path | str) -> str:
    """Give the command that goes on with a run."""
    return shlex.join(["simharness", "run", "--resume", str(folder)])


def interrupted(finished: int, total: int, folder: Path) -> str:
    """Say how far a run had come, and how to go on."""
    if not (folder / ABOUT).is_file():
        return "stopped before anything was played"
    return (
        f"stopped after {finished} of {counted(total, 'episode')}, which are in {folder}\n"
        f"  go on: {again_command(folder)}"
    )


def report(result: Result, folder: str, as_json: bool) -> None:
    """Print what came out."""
    summary = result.summary
    decision = decision_of(read_lines(Path(folder)))
    record = {**summary.record(folder), **decision.record()}
    if as_json:
        emit_json({**record, **more(result)})
        return
    score, failure = record["score"], record["failure_rate"]
    click.echo(f"{counted(record['episodes'], 'episode')} in {folder}")
    if score["mean"] is not None:
        click.echo(f"  score mean {score['mean']:.3f}, min {score['min']:.3f}")
    click.echo("  verdicts: " + ", ".join(f"{kind} {n}" for kind, n in record["verdicts"].items()))
    if record["codes"]:
        click.echo("  codes: " + ", ".join(f"{code} {n}" for code, n in record["codes"].items()))
    click.echo(
        f"  valid for training: {record['valid']}; failures of the harness: {failure['point']:.1%} "
        f"(95 %: {failure['low']:.1%} to {failure['high']:.1%})"
    )
    told_gate(decision)
    if summary.usage:
        click.echo(f"  {told_usage(summary.usage)}")
    external = summary.classes[Class.EXTERNAL]
    if summary.outside is not None and not summary.is_lost:
        wrapped(
            f"failed from outside, and not counted as failures: {counted(external, 'episode')}; "
            f"the first: {summary.outside['sentence']}"
        )
    if result.groups:
        kept = [group for group in result.groups if not group.dropped]
        members = sum(len(group.members) for group in kept)
        click.echo(
            f"  groups: {len(kept)} of {len(result.groups)} kept, with "
            f"{sum(len(group.scores) for group in kept)} of {counted(members, 'member')} left in"
        )
    if result.lost:
        told = f"  {counted(len(result.lost), 'worker')} lost and replaced; the last: "
        click.echo(told + result.lost[-1])
    if result.stopped == BREAKER and result.breaker is not None:
        tell_breaker(result.breaker, result, folder)
        return
    for line in summary.worst[:1]:
        if line["score"] is None:
            wrapped(f"{line['key']} broke: {line['sentence']}")
        click.echo(f"  look at: {look_at(line['key'], folder)}")


def told_usage(usage: Mapping[str, int]) -> str:
    """Say what the answers of models took."""
    retries = usage["retries"]
    return (
        f"models: {counted(usage['requests'], 'request')}"
        + (f" ({retries} after a failure)" if retries else "")
        + f", {usage['prompt_tokens']:,} tokens in and {usage['completion_tokens']:,} out, "
        f"{humanize(usage['ms'] * MS)} of real time"
    )


def tell_lost(summary: Summary) -> None:
    """Say, where it can't be missed, that a run has measured nothing."""
    assert summary.outside is not None
    click.echo(
        f"NOTHING WAS MEASURED: {'every' if summary.episodes > 1 else 'the'} episode failed from "
        f"outside, neither by the model nor by the harness. The first: "
        f"{summary.outside['primary']}, {summary.outside['sentence']}",
        err=True,
    )


def more(result: Result) -> dict[str, object]:
    """Give what `--json` prints beside the summary."""
    breaker = result.breaker if result.stopped == BREAKER else None
    return {
        "asked": result.total,
        "stopped": result.stopped,
        "reason": breaker.reason if breaker is not None else "",
        "workers_lost": len(result.lost),
        **({"groups": [group.record() for group in result.groups]} if result.groups else {}),
    }


def look_at(key: str, folder: str) -> str:
    """Give the command that tells of one episode in full."""
    return shlex.join(["simharness", "audit", folder, "--episode", key])


def tell_breaker(breaker: Breaker, result: Result, folder: str) -> None:
    """Say why the run was stopped, what to look at, and how to go on all the same."""
    click.echo(
        f"stopped after {result.summary.episodes} of {counted(result.total, 'episode')}: "
        f"{breaker.reason}"
    )
    for line in result.summary.worst:
        click.echo(f"  {line['key']}: {line['primary']}, {line['sentence']}")
        click.echo(f"    {look_at(line['key'], folder)}")
    if breaker.planted:
        click.echo(f"  these faults were switched on: {', '.join(breaker.planted)}")
    if breaker.is_outage:
        click.echo(f"  to play the rest, once the provider answers: {again_command(folder)}")
        return
    click.echo(f"  to play the rest all the same: {again_command(folder)} --no-breaker")
