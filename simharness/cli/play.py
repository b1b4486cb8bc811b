"""`simharness play`: a person plays the agent, in the terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simharness.cli.output import counted
from simharness.cli.person import COMMANDS, Abandoned, Person
from simharness.cli.prompt import Prompt
from simharness.cli.run import folder_name
from simharness.cli.truth import print_truth
from simharness.env import finish, make_plan, new_episode
from simharness.episode.play import observe
from simharness.errors import UsageError
from simharness.kernel.calendar import format_instant
from simharness.recording.format import PART_SUFFIX
from simharness.recording.reader import read_file
from simharness.recording.writer import ShardWriter
from simharness.rollout.request import parse_config
from simharness.rollout.store import make_folder

if TYPE_CHECKING:
    from simharness.episode.episode import Episode

PERSON = "person:terminal"
"""What recordings call who played; no script bears such a name."""


@click.command("play")
@click.argument("scenario", metavar="SCENARIO")
@click.option("--seed", default="0", show_default=True, metavar="N", help="N, train:N or eval:N.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="F",
    help="Switch a fault on; id or id@from=60s,until=10min.",
)
@click.option("--load", default="1", show_default=True, metavar="X", help="Background load.")
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
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The recording; must be new. Default: a free name in runs.",
)
def command(
    scenario: str,
    seed: str,
    faults: tuple[str, ...],
    load: str,
    profile: str,
    settings: tuple[str, ...],
    schedule: str,
    out: Path | None,
) -> int:
    """Play the agent: type calls of tools, see what an agent sees, and the truth at the end.

    Lines come from the terminal or through a pipe, whose end is that of the agent, who goes away.
    What was played is kept, however it ends.
    """
    plan = make_plan(scenario, seed, load, faults, profile, parse_config(settings), schedule)
    file = out if out is not None else free_file(Path("runs"), folder_name(scenario), plan.seed)
    if file.exists():
        raise UsageError(f"{str(file)!r} is there already", "give -o another name, or remove it")
    make_folder(file.parent)
    with ShardWriter(file) as writer:
        episode = new_episode(plan, PERSON, writer)
        tools = episode.product.tools
        person = Person(tools, Prompt(tools, list(COMMANDS)), writer.flush)
        click.echo(f"{scenario}, seed {plan.seed}, {format_instant(episode.world.instant)}")
        try:
            finish(episode, person.play, askable=False)
        except (Abandoned, KeyboardInterrupt) as stopped:
            writer.close()
            stopped_by_key = isinstance(stopped, KeyboardInterrupt)
            click.echo(left(episode, writer.part), err=stopped_by_key)
            return 130 if stopped_by_key else 0
    last = episode.steps[-1]
    if last.results:
        person.tell(observe(episode, last))
    click.echo()
    reveal(file)
    return 0


def free_file(folder: Path, name: str, seed: int) -> Path:
    """Give the first free name of the form `folder/name-seed-001.simrec`."""
    number = 1
    while True:
        file = folder / f"{name}-{seed}-{number:03d}.simrec"
        if not file.exists() and not Path(f"{file}{PART_SUFFIX}").exists():
            return file
        number += 1


def left(episode: Episode, part: Path) -> str:
    """Say what is kept of an episode that was left."""
    kept = counted(episode.count, "step")
    return f"stopped after {kept}; the recording is {part}\n  look: {told_by('show', part)}"


def told_by(command: str, file: Path) -> str:
    """Give a command about a recording."""
    return shlex.join(["simharness", command, str(file)])


def reveal(file: Path) -> None:
    """Tell what the person couldn't see, and where to look further."""
    (record,) = read_file(file)
    click.echo(click.style("the episode is over; what was true:", bold=True))
    print_truth(record)
    click.echo(f"look further: {told_by('show', file)}")
    click.echo(f"              {told_by('view', file)}")
