"""A block: some episodes of a run, mostly 64, that one worker plays in order into one shard.

Whoever plays a block that was begun before goes on behind its last intact episode, so that the
sealed shard is the same however often it was broken off.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness.env import finish, new_episode
from simharness.episode.info import sources
from simharness.episode.play import seeded
from simharness.episode.policies import MEMBER, PolicySource
from simharness.errors import ProviderRefused, RecordingError, TruncatedRecording, UsageError
from simharness.kernel.guard import is_own
from simharness.product.registry import load_scenario
from simharness.recording.format import PART_SUFFIX, FrameType
from simharness.recording.reader import read_file
from simharness.recording.writer import ShardWriter
from simharness.rollout.broken import cause_of, close_broken
from simharness.rollout.key import CELL
from simharness.rollout.line import line_of, line_of_record
from simharness.rollout.lock import hold, is_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.recording.reader import EpisodeRecord
    from simharness.rollout.line import Line
    from simharness.rollout.request import Entry, Request

BLOCK = 64
"""Episodes to a shard."""
MODEL_BLOCK = 4
"""The same where models are asked, which takes minutes: more workers find something to do."""
SHARDS = "shards"


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a run, and what its worker has to know of earlier tries."""

    number: int
    """Of its shard, from 0."""
    entries: tuple[Entry, ...]
    told: int = 0
    """Episodes that have been told of before, and whose lines nobody waits for."""
    careful: tuple[int, ...] = ()
    """Places of episodes that are written frame by frame, since a worker was lost in them."""
    broken: tuple[tuple[int, str, str], ...] = ()
    """Places of episodes that are not played again, each with code and cause."""

    @property
    def shard(self) -> str:
        """The name of its file."""
        return shard_name(self.number)


def shard_name(number: int) -> str:
    """Name the file of a shard."""
    return f"{number:05d}.simrec"


@dataclass(slots=True)
class Player:
    """Plays blocks of one run."""

    request: Request
    folder: Path
    _sources: dict[tuple[str, str], PolicySource] = field(
        default_factory=dict[tuple[str, str], PolicySource]
    )

    def play(self, block: Block, stopping: Callable[[], bool]) -> Generator[int | Line, None, bool]:
        """Play what is left of a block, and seal it; gives False when it was asked to stop before.

        Yields the place of each episode that begins, and the line of each that is recorded. Raises
        RecordingError when the shard can't be written, UsageError when its part holds episodes of
        another run or another process writes it, such as a worker that was lost and lives on.
        Whatever is raised, episodes that were told of are on the disk.
        """
        path = self.folder / SHARDS / block.shard
        if path.exists():
            return (yield from self._play(path, block, stopping))
        part = path.with_name(path.name + PART_SUFFIX)
        lock = hold(part, f"the shard {str(part)!r}")
        try:
            return (yield from self._play(path, block, stopping))
        finally:
            if os.fstat(lock).st_size == 0 and is_at(part, lock):
                part.unlink()  # nothing was begun
            os.close(lock)

    def _play(
        self, path: Path, block: Block, stopping: Callable[[], bool]
    ) -> Generator[int | Line, None, bool]:
        whole, left = intact(path)
        for place, record in enumerate(whole):
            self.require_same(record, block, place)
            if place >= block.told:
                yield line_of_record(record, block.shard, place)
        if path.exists():
            if len(whole) < len(block.entries):
                raise RecordingError(
                    f"sealed shard {str(path)!r} holds {len(whole)} of {len(block.entries)} "
                    "episodes",
                    "restore it from a copy, or move it away to have its episodes played again",
                )
            return True
        if stopping():
            return False
        broken = {place: (code, cause) for place, code, cause in block.broken}
        keep = left if left is not None and left.header and len(whole) in broken else None
        after = keep or (whole[-1] if whole else None)
        with CarefulWriter(path, overwrite=after is None, after=after) as writer:
            for place in range(len(whole), len(block.entries)):
                if stopping():
                    writer.close()
                    return False
                yield place
                writer.careful = place in block.careful
                if place in broken:
                    line = self.lost(block.entries[place], writer, *broken[place], keep)
                    keep = None
                else:
                    line = self.episode(block.entries[place], writer)
                line.update(shard=block.shard, place=place)
                yield line
        return True

    def episode(self, entry: Entry, writer: ShardWriter) -> Line:
        """Play one episode; whatever breaks it is recorded and told. Raises RecordingError."""
        plan = self.request.plan(entry)
        about = self.about(entry)
        episode: Episode | None = None
        try:
            source = self.source(entry)
            index = entry.seed - self.request.seeds.start
            policy = seeded(source.policy(index), entry.seed, entry.member)
            episode = new_episode(plan, source.name, writer, about=about)
            verdict = finish(episode, policy, askable=source.askable).verdict
        except (RecordingError, ProviderRefused):
            # Every further episode would fail of the same.
            raise
        except BaseException as error:
            # What the product or its policy raises, whatever it is, broke this episode and no more.
            if not isinstance(error, Exception) and not is_own(error):
                raise
            if not writer.inside and episode is not None:
                raise  # it was closed already
            verdict = close_broken(
                writer, plan, entry.policy, about, cause_of(error), episode=episode
            )
        steps = episode.count if episode is not None else 0
        noted = {**about, **(episode.notes if episode is not None else {})}
        return self.line(plan, entry, noted, verdict.record(), writer.digest, steps)

    def lost(
        self, entry: Entry, writer: ShardWriter, code: str, cause: str, left: EpisodeRecord | None
    ) -> Line:
        """Record an episode in which worker after worker was lost, with what is `left` of it."""
        plan, about = self.request.plan(entry), self.about(entry)
        verdict = close_broken(writer, plan, entry.policy, about, cause, code, left=left)
        steps = len(left.steps) if left is not None else 0
        return self.line(plan, entry, about, verdict.record(), writer.digest, steps)

    def line(
        self,
        plan: Plan,
        entry: Entry,
        about: Mapping[str, Any],
        verdict: Mapping[str, Any],
        digest: str,
        steps: int,
    ) -> Line:
        """Tell of an episode that was just recorded."""
        header = {name: getattr(plan, name) for name in ("scenario", "seed", "load", "faults")}
        return line_of(
            header, entry.policy, about, verdict, shard="", place=0, digest=digest, steps=steps
        )

    def source(self, entry: Entry) -> PolicySource:
        """Give the source of an episode's policy, read once."""
        key = entry.scenario, entry.policy
        found = self._sources.get(key)
        if found is None:
            _, scenario = load_scenario(entry.scenario)
            request = self.request
            found = PolicySource(entry.policy, scenario, len(request.seeds), request.base_url)
            self._sources[key] = found
        return found

    def about(self, entry: Entry) -> dict[str, str | int]:
        """Give what the INFO frame says of an episode beside its policy."""
        cell = self.request.cell(entry)
        return {
            **({CELL: cell} if cell else {}),
            **({MEMBER: entry.member} if entry.member else {}),
        }

    def require_same(self, record: EpisodeRecord, block: Block, place: int) -> None:
        """Hold an episode that is there against the one that is planned.

        Raises UsageError for another one, and for one that other code has played.
        """
        hint = "give -o another folder to begin a new run"
        where = f"episode {place} of {record.path!r}"
        if place >= len(block.entries):
            raise UsageError(f"{where} is one more than was asked for", hint)
        entry = block.entries[place]
        product, _ = load_scenario(entry.scenario)
        drawn: Any = record.header.get("instance", {})
        planned = self.request.plan(entry).header(product, drawn)
        own = self.about(entry)
        about = {"policy": entry.policy, CELL: own.get(CELL), MEMBER: own.get(MEMBER)}
        for name, value in planned.items():
            if record.header.get(name) != value:
                was = record.header.get(name)
                raise UsageError(f"{where} has {name} {was!r:.60}, not {value!r:.60}", hint)
        for name, value in about.items():
            if record.info.get(name) != value:
                raise UsageError(f"{where} was played as another {name}", hint)
        if record.info.get("sources") != sources(product):
            raise UsageError(f"{where} was played by other code of {product.name}", hint)


class CarefulWriter(ShardWriter):
    """A shard's writer that can hand every frame to the system, for episodes that lose workers."""

    careful = False

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Append a frame; see `ShardWriter.write`."""
        super().write(payload, kind)
        if self.careful:
            self.flush()


def intact(path: Path) -> tuple[list[EpisodeRecord], EpisodeRecord | None]:
    """Read what there is of a shard, sealed or not: its whole episodes, and what is left of one.

    Raises RecordingError for a sealed one that isn't whole.
    """
    part = path.with_name(path.name + PART_SUFFIX)
    sealed = path.exists()
    if not sealed and not part.exists():
        return [], None
    try:
        records = read_file(path if sealed else part)
    except TruncatedRecording:
        if sealed:
            raise
        return [], None
    whole = [record for record in records if record.complete]
    left = records[-1] if records and not records[-1].complete else None
    if sealed and left is not None:
        raise RecordingError(
            f"sealed shard {str(path)!r} is damaged: {left.problem}",
            "restore it from a copy, or move it away to have its episodes played again",
        )
    return whole, left
