"""Finding episodes in a recording, a shard or a run directory."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from simharness.errors import RecordingError, TruncatedRecording, UnknownName, UsageError
from simharness.recording.format import PART_SUFFIX
from simharness.recording.reader import iter_episodes, require_complete
from simharness.rollout.key import key_of, split_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
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
            names = dict.fromkeys(shortest([key_of(record) for record in meant]))
            files = dict.fromkeys(record.path for record in meant)
            if len(names) == len(meant):
                hint = "give one of " + ", ".join(map(shlex.quote, names))
            elif len(files) > 1:
                hint = "give the file that is meant: " + ", ".join(map(shlex.quote, files))
            else:
                hint = "they were played alike, by other policies or in other worlds; run one again"
            raise UsageError(f"{len(meant)} episodes in {str(path)!r} are called {name!r}", hint)
        known = dict.fromkeys(shortest([key_of(record) for record in found]))
        raise UnknownName.among(f"episode in {str(path)!r}", name, known)
    if len(found) > 1:
        (first, *_) = shortest([key_of(record) for record in found])
        raise UsageError(
            f"{str(path)!r} holds {len(found)} episodes",
            f"name one with --episode, e.g. {shlex.quote(first)}",
        )
    return found[0]


def shortest(keys: Sequence[str]) -> list[str]:
    """Give each of some keys without its policy and cell, as long as no other one reads like it."""
    short = [":".join(split_key(key)[:2]) for key in keys]
    times = Counter(short)
    return [name if times[name] == 1 else key for name, key in zip(short, keys, strict=True)]
