"""`simharness soak`."""

from __future__ import annotations

from math import inf
from typing import Any

import click

from simharness.cli.output import ProgressLine, emit_json
from simharness.product.registry import load_product, product_names
from simharness.rollout.soak import PINGS_MAX, Report, soak

PINGS = 20_000
ADDED = ("pings", "errors", "invariants_broken")
WORST = ("p50_us", "p99_us", "simulated_p50_us", "simulated_p99_us", "memory_growth_mb")


@click.command("soak")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@click.option(
    "--pings",
    type=click.IntRange(1, PINGS_MAX),
    help=f"Calls of the agent into each world.  [default: {PINGS}]",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="M",
    help="Real time for all worlds together, in the place of a number of calls.",
)
@click.option(
    "--users", type=click.IntRange(min=0), default=200, show_default=True, help="Background users."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    scenarios: tuple[str, ...],
    pings: int | None,
    minutes: float | None,
    users: int,
    seed: int,
    as_json: bool,
) -> int:
    """Send many pings into a busy world of each product and check every reply; 1 on any failure."""
    firsts = (load_product(name).scenarios[:1] for name in product_names())
    names = scenarios or tuple(scenario.id for first in firsts for scenario in first)
    most = pings or (PINGS if minutes is None else PINGS_MAX)
    seconds = inf if minutes is None else minutes * 60 / len(names)
    failed = 0
    reports: list[Report] = []
    for name in names:
        progress = ProgressLine("pings")
        report = soak(
            name,
            pings=most,
            users=users,
            seed=seed,
            seconds=seconds,
            progress=progress.update,
        )
        progress.close()
        reports.append(report)
        failed += report.failed
        if not as_json:
            tell(
                name,
                report,
                f"simharness soak {name} --pings {max(1, min(most, report.pings + 1))} "
                f"--users {users} --seed {seed}",
            )
    if as_json:
        records = [
            {"scenario": name, **report.record()}
            for name, report in zip(names, reports, strict=True)
        ]
        emit_json(totals(records))
    return 1 if failed else 0


def totals(worlds: list[dict[str, Any]]) -> dict[str, Any]:
    """Add the reports up, with each of them in it; times and memory are those of the worst."""
    added = {key: sum(world[key] for world in worlds) for key in ADDED}
    worst = {key: max(world[key] for world in worlds) for key in WORST}
    return {**added, **worst, "worlds": worlds}


def tell(name: str, report: Report, again: str) -> None:
    """Print a report, and of a failure the command that asks for it again."""
    click.echo(
        f"{name}: {report.pings} pings, {report.users} users, {report.failed} failures, "
        f"{report.invariants_broken} broken invariants"
    )
    click.echo(
        "  replies: " + ", ".join(f"{code} {n}" for code, n in sorted(report.answers.items()))
    )
    click.echo(
        f"  {report.seconds:.1f} s, p50 {report.p50_us:.0f} us, p99 {report.p99_us:.0f} us a ping, "
        f"memory {report.memory_growth_mb:+.0f} MB"
    )
    click.echo(
        f"  simulated: p50 {report.simulated_p50_us / 1000:.1f} ms, "
        f"p99 {report.simulated_p99_us / 1000:.1f} ms to the answer"
    )
    for error in report.errors[:10]:
        click.echo(f"  {error}")
    if report.failed:
        click.echo(f"  again: {again}")
    else:
        part = (
            "" if report.replayed_steps >= report.pings else f" its first {report.replayed_steps}"
        )
        click.echo(f"  replayed{part} identical ({report.digest[:12]})")
