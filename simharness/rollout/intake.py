"""An intake: a run directory of episodes that were not planned, but played by whoever came.

A run knows its episodes beforehand; a server or a trainer's process doesn't. What they play is
appended here in the order in which it ends, to the same shards, lines and catalogue, so that
`audit`, `show` and `export` read it as they read any run.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from simharness.episode.policies import MEMBER
from simharness.errors import RecordingError
from simharness.recording.format import FrameType
from simharness.recording.reader import parse
from simharness.recording.writer import FrameLog, ShardWriter
from simharness.rollout.block import BLOCK, shard_name
from simharness.rollout.broken import close_broken
from simharness.rollout.key import CELL
from simharness.rollout.line import line_of
from simharness.rollout.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from simharness.blame.verdict import Verdict
    from simharness.episode.plan import Plan
    from simharness.rollout.line import Line

About = dict[str, str | int]


class Intake:
    """Takes in episodes, from any thread, one after the other."""

    def __init__(self, folder: Path, policy: str, about: Mapping[str, Any]) -> None:
        """Make a new run directory.

        Args:
            folder: Where; it must be new.
            policy: The name under which recordings tell who played.
            about: What `run.json` says of it.

        Raises:
            UsageError: The folder holds something.
            RecordingError: It can't be made.
        """
        self.folder = folder
        self.policy = policy
        self.failure: RecordingError | None = None
        """Why nothing is taken in any more: the disk is full or refuses."""
        self.count = 0
        self._store = RunStore.create(folder, about)
        self._writer: ShardWriter | None = None
        self._shards = 0
        self._begun: Counter[tuple[str, int, int, tuple[str, ...]]] = Counter()
        self._lock = threading.Lock()

    def about(self, plan: Plan) -> About:
        """Give what the INFO frame says of an episode that begins: which one of its instance."""
        key = plan.scenario, plan.seed, plan.load, plan.faults
        with self._lock:
            member = self._begun[key]
            self._begun[key] += 1
        return {CELL: f"member={member}", **({MEMBER: member} if member else {})}

    def take(self, plan: Plan, about: About, log: FrameLog, verdict: Verdict, steps: int) -> Line:
        """Append an episode that has its verdict and its footer. Raises RecordingError."""
        with self._lock:
            writer = self._open()
            try:
                writer.append(log)
            except RecordingError as error:
                raise self._failed(error) from error
            return self._tell(writer, plan, about, verdict, steps)

    def take_broken(
        self, plan: Plan, about: About, cause: str, code: str, log: FrameLog | None = None
    ) -> tuple[Line, Verdict]:
        """Append what there is of an episode that broke; without a log it never began.

        The log may still grow: what it holds now is taken. Raises RecordingError.
        """
        with self._lock:
            writer = self._open()
            left = None
            try:
                if log is not None:
                    now = FrameLog()
                    for payload in tuple(log.payloads):
                        kind = FrameType(payload[1])
                        if kind not in (FrameType.VERDICT, FrameType.FOOTER):
                            now.write(payload, kind)
                            writer.write(payload, kind)
                    left = next(iter(parse(now.to_bytes())), None)
                verdict = close_broken(writer, plan, self.policy, about, cause, code, left=left)
            except RecordingError as error:
                raise self._failed(error) from error
            steps = 0 if left is None else len(left.steps)
            return self._tell(writer, plan, about, verdict, steps), verdict

    def close(self, stopped: str = "") -> None:
        """Seal the last shard, write the catalogue, and let go. Raises RecordingError."""
        with self._lock:
            try:
                if self._writer is not None and self.failure is None:
                    self._seal()
            finally:
                self._store.close(stopped)

    def _open(self) -> ShardWriter:
        if self.failure is not None:
            raise self.failure
        if self._writer is None:
            path = self._store.shards / shard_name(self._shards)
            try:
                self._writer = ShardWriter(path)
            except RecordingError as error:
                raise self._failed(error) from error
        return self._writer

    def _tell(
        self, writer: ShardWriter, plan: Plan, about: About, verdict: Verdict, steps: int
    ) -> Line:
        """Write the line of the episode that was just recorded, and seal a shard that is full."""
        header = {name: getattr(plan, name) for name in ("scenario", "seed", "load", "faults")}
        line = line_of(
            header,
            self.policy,
            about,
            verdict.record(),
            shard=shard_name(self._shards),
            place=writer.episodes - 1,
            digest=writer.digest,
            steps=steps,
        )
        try:
            self._store.add(line)
            if writer.episodes == BLOCK:
                self._seal()
        except RecordingError as error:
            raise self._failed(error) from error
        self.count += 1
        return line

    def _seal(self) -> None:
        assert self._writer is not None
        self._writer.seal()
        self._writer = None
        self._shards += 1

    def _failed(self, error: RecordingError) -> RecordingError:
        self.failure = error
        return error
