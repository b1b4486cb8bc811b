"""`simharness replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from simharness.cli.files import episodes, name_of, one_episode
from simharness.cli.output import ProgressLine, emit_json
from simharness.episode.replay import replay
from simharness.errors import Divergence, RecordingError, SimharnessError, UsageError
from simharness.recording.diff import first_difference


@click.command("replay")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE|RUN")
@click.option("--until", type=click.IntRange(min=0), metavar="STEP", help="Replay up to this step only.")
@click.option("--episode", metavar="SCENARIO:SEED", help="Replay one episode of a shard or run.")
@click.option(
    "--diff",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Compare with another recording instead, without running anything.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(path: Path, until: int | None, episode: str | None, diff: Path | None, as_json: bool) -> int:
    """Replay recordings in lock-step and say whether every frame comes out identical."""
    if diff is not None:
        return compare(path, diff, episode, as_json)
    identical = 0
    failed: list[dict[str, Any]] = []
    worst = 0
    records = list(episodes(path)) if episode is None else [one_episode(path, episode)]
    if not records:
        raise RecordingError(f"no episode in {str(path)!r}", "give a .simrec file or a run directory")
    if until is not None and len(records) > 1:
        raise UsageError(f"{str(path)!r} holds {len(records)} episodes", "name one with --episode")
    progress = ProgressLine("replays")
    digests: list[str] = []
    for done, record in enumerate(records):
        try:
            digests.append(replay(record, until=until).digest)
            identical += 1
        except SimharnessError as error:
            code = error.args[2] if isinstance(error, Divergence) and len(error.args) > 2 else error.code
            failed.append({"episode": name_of(record), "code": code, "message": error.message, "next": error.hint})
            worst = max(worst, error.exit_code if error.exit_code != 2 else 2)
        progress.update(done + 1, len(records))
    progress.close()
    if as_json:
        emit_json({"replay": str(path), "episodes": len(records), "identical": identical, "diverged": failed})
        return worst
    for entry in failed:
        click.echo(f"{entry['episode']}: {entry['message']}\n  next: {entry['next']}")
    where = f" up to step {until}" if until is not None else ""
    digest = f", digest {digests[0]}" if len(digests) == 1 and not failed else ""
    click.echo(f"{identical} of {len(records)} replayed identical{where}{digest}")
    return worst


def compare(path: Path, other: Path, episode: str | None, as_json: bool) -> int:
    """Compare two recordings frame by frame."""
    difference = first_difference(one_episode(path, episode), one_episode(other, episode))
    if as_json:
        emit_json({"equal": difference is None, "difference": difference})
    else:
        click.echo("equal" if difference is None else difference)
    return 0 if difference is None else 3
