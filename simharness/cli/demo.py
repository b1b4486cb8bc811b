"""`simharness demo`: what a newcomer sees first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.blame.sightings import sightings
from simharness.cli.output import reward_text, table
from simharness.cli.truth import WHO, truth_lines
from simharness.cli.view import write_page
from simharness.env import Outcome, finish, make_plan, new_episode
from simharness.episode.policies import PolicySource
from simharness.episode.replay import replay
from simharness.errors import SimharnessError
from simharness.extras import to_install
from simharness.product.registry import load_product, product_names
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from simharness.review.build import build
from simharness.review.page import page
from simharness.rollout.store import make_folder

if TYPE_CHECKING:
    from simharness.blame.verdict import Verdict
    from simharness.product.product import Product
    from simharness.product.showcase import Showcase

REFERENCE = "expert"
PAGE = "review.html"


@click.command("demo")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs/demo"),
    show_default=True,
    metavar="DIR",
)
def command(out: Path) -> int:
    """Show episodes, faulty and sound: what was seen, what was true, whose fault, the proof."""
    make_folder(out)
    played: dict[Path, Outcome] = {}
    shown = [(p, showcase) for p in map(load_product, product_names()) for showcase in p.showcases]
    for product, showcase in shown:
        if missing := product.missing():
            click.echo(f"episode {showcase.number}: to see it, run: {to_install(missing)}")
        else:
            file, outcome = show(product, showcase, out)
            played[file] = outcome
        click.echo()
    known = {outcome.episode.digest: outcome.verdict for outcome in played.values()}
    write_page(out / PAGE, page(build(out, files=list(played), known=known)))
    for _, showcase in shown[:1]:
        file = out / f"episode-{showcase.number}.simrec"
        click.echo(f"see for yourself in {out / PAGE}, with any browser, or:")
        click.echo(f"    simharness show {file} --truth")
        click.echo(f"    simharness whatif {file} --ablate {showcase.ablate}")
        click.echo(f"    simharness replay {file}")
    return 0


def show(product: type[Product], showcase: Showcase, out: Path) -> tuple[Path, Outcome]:
    """Play one showcase in both forms, and give what came of the faulty one."""
    faults = ", ".join(f"fault {fault}" for fault in showcase.faults)
    who = "" if showcase.policy == REFERENCE else f", policy {showcase.policy}"
    click.echo(f"episode {showcase.number}: {showcase.title}")
    click.echo(
        f"  {showcase.scenario}, seed {showcase.number}, load {showcase.load}{who}, {faults}"
    )
    click.echo()
    file = out / f"episode-{showcase.number}.simrec"
    outcome = play(showcase, showcase.faults, file)
    (record,) = read_file(file)
    verdict = outcome.verdict
    stale = truth_lines(sightings(read_rows(record), product))
    if stale:
        table(("step", "saw", "true", "age"), stale)
    else:
        for line in found_lines(verdict):
            click.echo(f"  {line}")
    click.echo(f"  reward {reward_text(verdict.score)}")
    for arm in verdict.arms:
        reward = reward_text(arm.score)
        click.echo(f"  {showcase.label} true -> reward {reward}, {WHO[str(arm.proof)]}")
    click.echo(f"  verdict: {verdict.headline}, replayed {same(file)}")
    sound_file = out / f"episode-{showcase.number}-sound.simrec"
    sound = play(showcase, (), sound_file)
    click.echo(
        f"  without the fault: reward {reward_text(sound.verdict.score)}, "
        f"{sound.verdict.headline}, replayed {same(sound_file)}"
    )
    if showcase.policy != REFERENCE:
        best = play(replace(showcase, policy=REFERENCE), (), None)
        click.echo(
            f"  {REFERENCE} instead of {showcase.policy}: reward "
            f"{reward_text(best.verdict.score)}, {best.verdict.headline}"
        )
    return file, outcome


def found_lines(verdict: Verdict) -> list[str]:
    """Tell what the verdict rests on, a step of it a line."""
    for finding in verdict.findings:
        if finding.code == verdict.primary:
            what, colon, steps = finding.explanation.partition(": ")
            return [what + colon.strip(), *(f"  {step}" for step in steps.split(", ") if step)]
    return []


def play(showcase: Showcase, faults: tuple[str, ...], file: Path | None) -> Outcome:
    """Run one form and keep its recording, if a file is named."""
    plan = make_plan(
        showcase.scenario, showcase.number, showcase.load, faults, config=showcase.config
    )
    episode = new_episode(plan, showcase.policy)
    source = PolicySource(showcase.policy, episode.scenario, 1)
    outcome = finish(episode, source.policy(0), askable=source.askable)
    if file is not None:
        episode.save(file)
    return outcome


def same(file: Path) -> str:
    """Replay a recording and say how it came out."""
    (record,) = read_file(file)
    try:
        return f"identical ({replay(record).digest[:12]})"
    except SimharnessError as error:
        return f"DIFFERENT: {error.message}"
