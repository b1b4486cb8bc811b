"""`simharness run`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.cli.output import ProgressLine, counted, emit_json
from simharness.rollout.local import run
from simharness.rollout.request import Request, parse_config, parse_seeds
from simharness.rollout.store import next_folder, split_key

if TYPE_CHECKING:
    from simharness.rollout.store import Summary


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
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
    "--policy", default="expert", show_default=True, help="A scripted policy, or transcript:FILE."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="F",
    help="Switch a fault on; id or id@from=60s,until=10min.",
)
@click.option(
    "--load", default="1", show_default=True, metavar="X", help="Background load; 1 is one team."
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
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Run directory; must be new.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(
    scenarios: tuple[str, ...],
    seed: str,
    episodes: int | None,
    policy: str,
    faults: tuple[str, ...],
    load: str,
    profile: str,
    settings: tuple[str, ...],
    schedule: str,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run episodes of one or more scenarios and write a run directory: recordings, verdicts."""
    request = Request(
        scenarios=scenarios,
        seeds=parse_seeds(seed, episodes, scenarios),
        policy=policy,
        faults=faults,
        load=load,
        profile=profile,
        config=parse_config(settings),
        schedule=schedule,
    )
    folder = out if out is not None else next_folder(Path("runs"), folder_name(scenarios[0]))
    progress = ProgressLine("episodes")
    finished = 0

    def show(done: int, total: int, summary: Summary) -> None:
        nonlocal finished
        finished = done
        progress.update(done, total, f", {summary.failures} harness failures")

    try:
        summary = run(request, folder, show)
    except KeyboardInterrupt:
        progress.close()
        click.echo(stopped(finished, len(request), folder), err=True)
        return 130
    finally:
        progress.close()
    report(summary, str(folder), as_json)
    return 0


def folder_name(scenario: str) -> str:
    """Make a name for the folder of a run; of a path only the file's own name."""
    file, _, rest = scenario.rpartition(".py:")
    return "-".join([*([Path(file).name] if file else []), *rest.split("/")]).strip(".-") or "run"


def stopped(finished: int, total: int, folder: Path) -> str:
    """Say how far a run had come, and where that is."""
    if not finished:
        return f"stopped before the first of {total} episodes was finished"
    return (
        f"stopped after {finished} of {total} episodes; they are in {folder} "
        "(its last shard ends in .part)\n"
        f"  check them: {shlex.join(['simharness', 'replay', str(folder)])}"
    )


def report(summary: Summary, folder: str, as_json: bool) -> None:
    """Print what came out."""
    record = summary.record(folder)
    if as_json:
        emit_json(record)
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
        f"(95 %: {failure['low']:.1%} to {failure['high']:.1%}), gate at 5 %: {record['gate']}"
    )
    if summary.worst:
        scenario, seed, _ = split_key(summary.worst[0])
        look = shlex.join(["simharness", "audit", folder, "--episode", f"{scenario}:{seed}"])
        click.echo(f"  look at: {look}")
