"""A run directory: what was asked (run.json), recordings in shards, a line for each verdict."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simharness import __version__
from simharness.blame.quarantine import reason_for
from simharness.blame.statistics import LIMIT, gate, rate
from simharness.errors import RecordingError, UsageError
from simharness.recording.format import from_os_error
from simharness.recording.writer import ShardWriter

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from simharness.blame.verdict import Verdict
    from simharness.episode.episode import Episode
    from simharness.rollout.request import Request

VERDICTS = "verdicts.jsonl"
BLOCK = 64
"""Episodes to a shard."""


def split_key(key: str) -> tuple[str, str, str]:
    """Split an episode's key into scenario, seed and policy; the outer two may hold colons."""
    found = re.fullmatch(r"(.+?):(\d+):(.*)", key, re.DOTALL)
    if found is None:
        raise UsageError(f"key {key!r} is not readable", "give SCENARIO:SEED:POLICY")
    return found[1], found[2], found[3]


def create_folder(path: Path) -> Path:
    """Make a new run directory.

    Raises UsageError when it holds something, RecordingError when it can't be made.
    """
    make_folder(path)
    full = UsageError(
        f"folder {str(path)!r} is not empty", "give -o another folder, or remove this one"
    )
    try:
        if any(path.iterdir()):
            raise full
        (path / "shards").mkdir()
    except FileExistsError:  # another run was faster
        raise full from None
    except OSError as error:
        raise from_os_error("make folder", path, error) from error
    return path


def make_folder(path: Path) -> None:
    """Make a folder unless it is there.

    Raises UsageError for a file, RecordingError when it can't be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{str(path)!r} is a file", "give -o a folder") from None
    except (OSError, ValueError) as error:
        raise from_os_error("make folder", path, error) from error


def next_folder(base: Path, name: str) -> Path:
    """Give the first free name of the form `base/name-001`."""
    number = 1
    while (base / f"{name}-{number:03d}").exists():
        number += 1
    return base / f"{name}-{number:03d}"


@dataclass(slots=True)
class Summary:
    """Counts of a run so far."""

    episodes: int = 0
    valid: int = 0
    failures: int = 0
    """Episodes with a decisive harness finding, or that the harness could not finish."""
    quarantined: int = 0
    classes: Counter[str] = field(default_factory=Counter[str])
    codes: Counter[str] = field(default_factory=Counter[str])
    scores: list[int] = field(default_factory=list[int])
    worst: list[str] = field(default_factory=list[str])

    def add(self, key: str, verdict: Verdict) -> None:
        """Count one episode."""
        self.episodes += 1
        self.valid += verdict.valid
        self.classes[str(verdict.kind)] += 1
        self.codes.update(verdict.codes)
        if verdict.score is not None:
            self.scores.append(verdict.score)
        self.quarantined += bool(reason_for(verdict))
        if verdict.kind == "harness":
            self.failures += 1
            if len(self.worst) < 3:
                self.worst.append(key)

    def record(self, run: str) -> dict[str, Any]:
        """Give the summary as `--json` prints it."""
        scores = self.scores
        return {
            "run": run,
            "episodes": self.episodes,
            "score": {
                "mean": round(sum(scores) / len(scores) / 1_000_000, 6) if scores else None,
                "min": min(scores) / 1_000_000 if scores else None,
            },
            "valid": self.valid,
            "verdicts": dict(sorted(self.classes.items())),
            "codes": dict(sorted(self.codes.items())),
            "quarantined": self.quarantined,
            "failure_rate": rate(self.failures, self.episodes).record(),
            "gate": str(gate(self.failures, self.episodes, LIMIT)),
        }


class RunStore:
    """Writes a run directory, episode by episode; what was written survives whatever stops it."""

    def __init__(self, folder: Path, request: Request) -> None:
        self.folder = create_folder(folder)
        self.summary = Summary()
        self._policy = request.policy
        self._writer: ShardWriter | None = None
        self._shard = 0
        self._in_shard = 0
        self._about: dict[str, Any] = {
            "asked": request.record(),
            "episodes": len(request),
            "done": None,
            "simharness": __version__,
        }
        try:
            self._write_about()
            self._verdicts = (folder / VERDICTS).open("w", encoding="utf-8")
        except OSError as error:
            raise from_os_error("write", folder, error) from error

    def _write_about(self) -> None:
        text = json.dumps(self._about, indent=2) + "\n"
        (self.folder / "run.json").write_text(text, encoding="utf-8")

    def writer(self) -> ShardWriter:
        """Give the shard that the next episode goes to."""
        if self._writer is None:
            self._writer = ShardWriter(self.folder / "shards" / f"{self._shard:05d}.simrec")
        return self._writer

    def add(self, episode: Episode, verdict: Verdict) -> None:
        """Take a finished episode: a line of its own, counts, the next shard when this is full."""
        reason = reason_for(verdict)
        key = f"{episode.plan.scenario}:{episode.plan.seed}:{self._policy}"
        line = {
            "key": key,
            "scenario": episode.plan.scenario,
            "seed": episode.plan.seed,
            "shard": f"{self._shard:05d}.simrec",
            "digest": episode.digest,
            "steps": len(episode.steps),
            "quarantined": bool(reason),
            "reason": reason,
            **{k: v for k, v in verdict.told().items() if k != "findings"},
        }
        try:
            self._verdicts.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._verdicts.flush()
        except OSError as error:
            raise from_os_error("write", self.folder / VERDICTS, error) from error
        self.summary.add(key, verdict)
        self._in_shard += 1
        if self._in_shard == BLOCK:
            self._seal()

    def _seal(self) -> None:
        if self._writer is not None:
            self._writer.seal()
            self._writer = None
            self._shard += 1
            self._in_shard = 0

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._writer is None:
                return
            if kind is None:
                self._seal()
            else:
                # What came before the failure is whole; the shard is not, and keeps its .part name.
                self._writer.flush()
                self._writer.close()
        except RecordingError:
            if kind is None:
                raise
        finally:
            # Each line was flushed when it was written; only one that failed then can fail now.
            with contextlib.suppress(OSError):
                self._verdicts.close()
            # How far it came; null says that it runs, or that nobody was left to say so.
            self._about["done"] = self.summary.episodes
            with contextlib.suppress(OSError):
                self._write_about()
