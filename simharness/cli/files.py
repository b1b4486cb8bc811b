"""Finding episodes in a recording, a shard or a run directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.errors import RecordingError, TruncatedRecording, UnknownName, UsageError
from simharness.recording.format import PART_SUFFIX
from simharness.recording.reader import iter_episodes, require_complete
from simharness.rollout.key import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from simharness.recording.reader import EpisodeRecord


def recordings(path: Path) -> list[Path]:
    """List the recordings that a path stands for: itself, or a run's shards, unsealed ones too."""
    if not path.is_dir():
        return [path]
    shards = path / "shards"
    folder = shards if shards.is_dir() else path
    found = sorted([*folder.glob("*.simrec"), *folder.glob(f"*.simrec{PART_SUFFIX}")])
    if not found:
        raise RecordingError(
            f"no recordings in {str(path)!r}", "give a .simrec file or a run directory"
        )
    return found


def episodes(path: Path) -> Iterator[EpisodeRecord]:
    """Read all episodes that a path stands for; a shard stopped before its first byte has none."""
    for file in recordings(path):
        try:
            yield from iter_episodes(file)
        except TruncatedRecording:
            if file == path or file.suffix != PART_SUFFIX:
                raise


def is_unfinished(record: EpisodeRecord) -> bool:
    """Tell an episode whose writer was stopped, in a .part, from one that has lost its end."""
    return record.problem.startswith("truncated") and record.path.endswith(PART_SUFFIX)


def name_of(record: EpisodeRecord) -> str:
    """Name an episode within its file: `scenario:seed`."""
    return f"{record.header.get('scenario')}:{record.header.get('seed')}"


def one_episode(path: Path, name: str | None) -> EpisodeRecord:
    """Read the one episode that is meant, with its header at least.

    Raises UsageError when several could be meant, TruncatedRecording or DamagedRecording when
    nothing is left of it.
    """
    every = list(episodes(path))
    found = [record for record in every if record.header]
    if not found:
        for record in every:
            require_complete(record)
        raise RecordingError(f"no episode in {str(path)!r}", "give a .simrec file that holds one")
    if name is not None:
        meant = [r for r in found if name in (key_of(r), name_of(r), str(r.header.get("seed")))]
        if len(meant) == 1:
            return meant[0]
        if meant:
            names = dict.fromkeys(name_of(record) for record in meant)
            files = dict.fromkeys(record.path for record in meant)
            if len(names) > 1:
                hint = "give one of " + ", ".join(names)
            elif len(files) > 1:
                hint = "give the file that is meant: " + ", ".join(files)
            elif len(keys := dict.fromkeys(map(key_of, meant))) > 1:
                hint = "give one of " + ", ".join(map(repr, keys))
            else:
                hint = "they were played alike, by other policies or in other worlds; run one again"
            raise UsageError(f"{len(meant)} episodes in {str(path)!r} are called {name!r}", hint)
        raise UnknownName.among(f"episode in {str(path)!r}", name, map(name_of, found))
    if len(found) > 1:
        raise UsageError(
            f"{str(path)!r} holds {len(found)} episodes",
            f"name one with --episode, e.g. {name_of(found[0])}",
        )
    return found[0]
