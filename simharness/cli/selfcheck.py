"""`simharness selfcheck`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from simharness.cli.output import ProgressLine, emit_json, table
from simharness.product.registry import load_product, product_names
from simharness.rollout.request import Request, parse_config, parse_seeds
from simharness.selfcheck.check import selfcheck
from simharness.selfcheck.pythons import chosen
from simharness.selfcheck.variants import Axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.selfcheck.check import Report

DIVERGED = 3
NAMES_TOLD = 3
PLACES_TOLD = 5


@click.command("selfcheck")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO...]")
@click.option(
    "--seed", default="0:3", show_default=True, metavar="A:B", help="One seed, or a range."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("expert",),
    show_default=True,
    help="A scripted policy, or transcript:FILE; several may be given.",
)
@click.option("--load", default="1", show_default=True, metavar="X", help="Background load.")
@click.option("--fault", "faults", multiple=True, metavar="F", help="Switch a fault on.")
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
    "--pythons",
    default="auto",
    show_default=True,
    metavar="auto|none|PATH,...",
    help="Other Pythons to try.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    scenarios: tuple[str, ...],
    seed: str,
    policies: tuple[str, ...],
    load: str,
    faults: tuple[str, ...],
    profile: str,
    settings: tuple[str, ...],
    schedule: str,
    pythons: str,
    as_json: bool,
) -> int:
    """Play the same episodes in processes that differ in what must not matter; 3 if any differs.

    Without a SCENARIO, those of all products that are installed. Varied are the hash seed, the
    collector, the order of the episodes, time zone, locale, -O, msgpack in Python, and the Python.
    """
    request = Request(
        scenarios=scenarios or every_scenario(),
        seeds=parse_seeds(seed, None),
        policies=policies,
        faults=(faults,),
        loads=(load,),
        profile=profile,
        config=parse_config(settings),
        schedule=schedule,
    )
    progress = ProgressLine("processes")

    def show(done: int, total: int, name: str) -> None:
        progress.update(done, total, f", last: {name}")

    try:
        named = pythons not in ("auto", "none")
        report = selfcheck(request, chosen(pythons), named=named, progress=show)
    finally:
        progress.close()
    if as_json:
        emit_json(report.record())
    else:
        tell(report, pythons)
    return DIVERGED if report.diverged else 0


def every_scenario() -> tuple[str, ...]:
    """Name the scenarios of all products that are installed."""
    return tuple(s.id for name in product_names() for s in load_product(name).scenarios)


def tell(report: Report, pythons: str) -> None:
    """Print what came out: a line a variant, then for each scenario that differs where and why."""
    rows: list[tuple[object, ...]] = []
    for variant in report.variants:
        different = [n for one in report.diverged if one.variant is variant for n in one.episodes]
        told = f"DIVERGED: {listed(different)}" if different else "identical"
        rows.append((variant.name, str(variant.axis), told))
    rows += [(name, "", f"SKIP: {reason}") for name, reason in report.skipped]
    if pythons == "auto" and not any(one.axis is Axis.PYTHON for one in report.variants):
        rows.append(("another Python", str(Axis.PYTHON), "SKIP: none that can be used was found"))
    table(("variant", "differs in", ""), rows)
    click.echo(
        f"{report.identical} of {len(report.episodes)} episodes identical in "
        f"{len(report.variants) + 1} processes"
    )
    if report.broken:
        scenario, _, seed = report.broken[0].rpartition(":")
        click.echo(
            f"{len(report.broken)} of them broke off in the harness, which shows little of the "
            f"rest: {listed(report.broken)}\n"
            f"  simharness run {scenario} --seed {seed} says why"
        )
    for scenario in report.scenarios():
        explain(report, scenario)


def listed(names: Sequence[str]) -> str:
    """Name a few, and say how many more there are."""
    more = f" and {len(names) - NAMES_TOLD} more" if len(names) > NAMES_TOLD else ""
    return ", ".join(names[:NAMES_TOLD]) + more


def explain(report: Report, scenario: str) -> None:
    """Print where a scenario's episodes part, the likely causes, and how to see it again."""
    one = report.shown_best(scenario)
    click.echo(f"\n{one.episodes[0]}, base (recorded) against {one.variant.name} (produced):")
    for line in one.difference.tell():
        click.echo(f"  {line}")
    click.echo("  likely causes:")
    for number, cause in enumerate(report.causes(scenario), 1):
        click.echo(f"    {number}. {cause.sentence}")
        for place in cause.places[:PLACES_TOLD]:
            click.echo(f"       {place}")
        if not cause.places:
            click.echo("       lint finds nothing of that kind in the product's files")
    click.echo(f"  again:\n    {report.command}\n    {one.command}")
