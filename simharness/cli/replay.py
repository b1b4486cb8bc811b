"""`simharness replay`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simharness.cli.files import episodes, is_unfinished, name_of, one_episode
from simharness.cli.output import ProgressLine, counted, emit_json
from simharness.episode.info import BROKE
from simharness.episode.replay import replay
from simharness.errors import (
    Divergence,
    RecordingError,
    SimharnessError,
    UsageError,
    VersionError,
)
from simharness.recording.diff import first_difference
from simharness.recording.format import FrameType
from simharness.rollout.broken import is_broken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.recording.reader import EpisodeRecord


@click.command("replay")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE|RUN")
@click.option(
    "--until",
    type=click.IntRange(min=0),
    metavar="STEP",
    help="Replay up to this step only; a run needs --episode.",
)
@click.option("--episode", metavar="SCENARIO:SEED", help="Replay one episode of a shard or run.")
@click.option(
    "--diff",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Compare with another recording instead, without running anything.",
)
@click.option(
    "--reverify",
    is_flag=True,
    help="Ask again for what came from outside, such as from a sandbox, and compare.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    path: Path,
    until: int | None,
    episode: str | None,
    diff: Path | None,
    reverify: bool,
    as_json: bool,
) -> int:
    """Replay recordings in lock-step and say whether every frame comes out identical."""
    if diff is not None:
        return compare(path, diff, episode, as_json)
    records = list(episodes(path)) if episode is None else [one_episode(path, episode)]
    if not records:
        raise RecordingError(
            f"no episode in {str(path)!r}", "give a .simrec file or a run directory"
        )
    if until is not None:
        if len(records) > 1:
            raise UsageError(
                f"{str(path)!r} holds {len(records)} episodes", "name one with --episode"
            )
        if until > len(records[0].steps):
            raise UsageError(
                f"no step {until} in this recording", f"give 0 to {len(records[0].steps)}"
            )
    result = Result(reverify)
    progress = ProgressLine("replays")
    for done, record in enumerate(records):
        result.take(record, until)
        progress.update(done + 1, len(records))
    progress.close()
    if as_json:
        emit_json(result.record(str(path)))
    else:
        result.tell(until)
    return result.worst


@dataclass(slots=True)
class Result:
    """What came of replaying one recording after the other."""

    reverify: bool
    """Whether answers from outside are asked for again."""
    digests: list[str] = field(default_factory=list[str])
    """Of those that came out identical."""
    failed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Those that another version has to replay."""
    unfinished: list[str] = field(default_factory=list[str])
    """What there is of episodes that broke, or whose writer was stopped, in words."""
    worst: int = 0
    """The exit code."""

    def take(self, record: EpisodeRecord, until: int | None) -> None:
        """Replay one more; an episode under way when its run was stopped as far as it goes."""
        broke = is_broken(record)
        partial = until is None and (broke or is_unfinished(record))
        steps = whole_steps(record) if partial else until
        try:
            if not partial:
                self.digests.append(replay(record, until=until, reverify=self.reverify).digest)
            elif steps is not None:
                replay(record, until=steps, reverify=self.reverify)
        except SimharnessError as error:
            code = (
                error.args[2]
                if isinstance(error, Divergence) and len(error.args) > 2
                else error.code
            )
            where = self.refused if isinstance(error, VersionError) else self.failed
            where.append(
                {
                    "episode": name_of(record),
                    "code": code,
                    "message": error.message,
                    "next": error.hint,
                }
            )
            self.worst = max(self.worst, error.exit_code)
        else:
            if partial:
                name = name_of(record) if record.header else "an episode"
                so_far = "nothing to replay" if steps is None else f"identical up to step {steps}"
                why = (
                    f"broke ({record.info[BROKE]})"
                    if broke
                    else f"was not finished ({record.problem})"
                )
                self.unfinished.append(f"{name} {why}: {so_far}")

    def record(self, path: str) -> dict[str, Any]:
        """Give the result as `--json` prints it."""
        return {
            "replay": path,
            "episodes": len(self.digests) + len(self.failed) + len(self.refused),
            "identical": len(self.digests),
            "diverged": self.failed,
            "refused": self.refused,
            "unfinished": self.unfinished,
        }

    def tell(self, until: int | None) -> None:
        """Print the result."""
        for entry, more in once(self.failed):
            click.echo(f"{entry['episode']}{more}: {entry['message']}\n  next: {entry['next']}")
        for entry, more in once(self.refused):
            told = f"{entry['code']}: {entry['message']}; {entry['next']}"
            click.echo(f"{entry['episode']}{more}: {told}")
        for line in self.unfinished:
            click.echo(line)
        where = f" up to step {until}" if until is not None else ""
        total = len(self.digests) + len(self.failed) + len(self.refused)
        digest = f", digest {self.digests[0]}" if len(self.digests) == total == 1 else ""
        click.echo(f"{len(self.digests)} of {total} replayed identical{where}{digest}")


def once(entries: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Give the first of all entries that say the same, and in words how many others there are."""
    same = Counter((e["code"], e["message"], e["next"]) for e in entries)
    for entry in entries:
        number = same.pop((entry["code"], entry["message"], entry["next"]), 0)
        if number:
            yield entry, f" and {counted(number - 1, 'other')}" if number > 1 else ""


def whole_steps(record: EpisodeRecord) -> int | None:
    """Give the last step of an unfinished episode that is all there; None before its beginning is.

    A CHECKPOINT may belong to a STEP, and only a frame after the two says that it doesn't.
    """
    if not record.of(FrameType.CHECKPOINT):
        return None
    return len(record.steps) - (record.frames[-1].kind is FrameType.STEP)


def compare(path: Path, other: Path, episode: str | None, as_json: bool) -> int:
    """Compare two recordings frame by frame."""
    difference = first_difference(one_episode(path, episode), one_episode(other, episode))
    if as_json:
        emit_json({"equal": difference is None, "difference": difference})
    else:
        click.echo("equal" if difference is None else difference)
        if difference is not None and difference.startswith("header "):
            hint = "next: simharness show each; --diff compares recordings of one plan"
            click.echo(hint, err=True)
    return 0 if difference is None else 3
