"""A run directory.

What was asked (run.json), recordings in shards, a line for each verdict, and an index of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from simharness import __version__
from simharness.errors import UsageError
from simharness.recording.format import from_os_error
from simharness.rollout.block import BLOCK, SHARDS
from simharness.rollout.catalogue import write_catalogue
from simharness.rollout.line import line_text
from simharness.rollout.lines import VERDICTS, read_lines, recorded_lines, sort_lines, write_lines
from simharness.rollout.lock import hold
from simharness.rollout.request import read_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import TextIOWrapper
    from pathlib import Path

    from simharness.rollout.line import Line
    from simharness.rollout.request import Request

ABOUT = "run.json"
ASKED = "asked"
"""Field of `run.json` with the request of a run that was asked for, and thus may be resumed."""
LOCK = "run.lock"
"""An empty file, held by whoever writes the run, and by the workers of its pool."""
TEMPORARY = f"{ABOUT}.tmp"


def create_folder(path: Path) -> Path:
    """Make a new run directory.

    Raises UsageError when it holds anything of a run, or anything else; RecordingError when it
    can't be made.
    """
    make_folder(path)
    try:
        if not is_blank(path):
            raise not_empty(path)
        (path / SHARDS).mkdir(exist_ok=True)
    except OSError as error:
        raise from_os_error("make folder", path, error) from error
    return path


def is_blank(path: Path) -> bool:
    """Whether a folder holds nothing but what a run leaves that was killed before it began."""
    names = {entry.name for entry in path.iterdir()}
    if not names <= {SHARDS, LOCK, TEMPORARY}:
        return False
    return SHARDS not in names or ((path / SHARDS).is_dir() and not any((path / SHARDS).iterdir()))


def not_empty(path: Path) -> UsageError:
    """Build the error for a folder that holds something, such as a run that may be resumed."""
    hint = "give -o another folder, or remove this one"
    if (path / ABOUT).is_file() and ASKED in read_json(path / ABOUT):
        again = shlex.join(["simharness", "run", "--resume", str(path)])
        hint = f"to go on with the run in it: {again}; else {hint}"
    return UsageError(f"folder {str(path)!r} is not empty", hint)


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
class RunStore:
    """A run directory that is held by this process: nobody else may write to it meanwhile."""

    folder: Path
    lock: int
    """Descriptor of the lock; whoever inherits it holds the folder too."""
    done: dict[str, int] = field(default_factory=dict[str, int])
    """Shard to how many of its episodes are there."""
    _about: dict[str, Any] = field(default_factory=dict[str, Any])
    _verdicts: TextIOWrapper | None = None

    @classmethod
    def create(cls, folder: Path, about: Mapping[str, Any]) -> RunStore:
        """Make a new run directory; `about` is what its `run.json` says of it besides.

        Raises UsageError, RecordingError.
        """
        create_folder(folder)
        store = cls(folder, hold_run(folder, patience=0))
        if not is_blank(folder):  # another run was faster
            os.close(store.lock)
            raise not_empty(folder)
        store._about = {
            "block": BLOCK,
            **about,
            "done": None,
            "stopped": "",
            "simharness": __version__,
        }
        store._begin()
        return store

    @classmethod
    def reopen(cls, folder: Path, about: Mapping[str, Any]) -> RunStore:
        """Take up a run that was begun before; its lines tell then of all that is recorded.

        `about` is what its `run.json` says of it from now on, besides what it has said.

        Raises UsageError for what is no run, and while another process writes it; RecordingError
        for what can't be read.
        """
        found, _ = read_about(folder)
        store = cls(folder, hold_run(folder))
        store._about = {**found, **about, "done": None, "stopped": ""}
        try:
            write_lines(folder, recorded_lines(folder))
            for line in read_lines(folder):
                store.done[line["shard"]] = store.done.get(line["shard"], 0) + 1
        except BaseException:
            os.close(store.lock)
            raise
        store._begin()
        return store

    @property
    def shards(self) -> Path:
        """The folder of the recordings."""
        return self.folder / SHARDS

    def _begin(self) -> None:
        try:
            self._write_about()
            self._verdicts = (self.folder / VERDICTS).open("a", encoding="utf-8")
        except BaseException as error:
            os.close(self.lock)
            if isinstance(error, OSError):
                raise from_os_error("write", self.folder, error) from error
            raise

    def _write_about(self) -> None:
        text = json.dumps(self._about, indent=2) + "\n"
        temporary = self.folder / TEMPORARY
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self.folder / ABOUT)

    def add(self, line: Line) -> None:
        """Note an episode that is recorded. Raises RecordingError."""
        assert self._verdicts is not None
        try:
            self._verdicts.write(line_text(line))
            self._verdicts.flush()
        except OSError as error:
            raise from_os_error("write", self.folder / VERDICTS, error) from error
        self.done[line["shard"]] = self.done.get(line["shard"], 0) + 1

    def close(self, stopped: str) -> None:
        """Put the lines in order, index them, and let go. Raises RecordingError.

        `stopped` says what ended the run before its time, if anything did.
        """
        try:
            if self._verdicts is not None:
                # Each line was flushed when it was written; only one that failed can fail now.
                with contextlib.suppress(OSError):
                    self._verdicts.close()
            try:
                sort_lines(self.folder)
                write_catalogue(self.folder)
            finally:
                # How far it came; null says that it runs, or that nobody was left to say so.
                self._about["done"] = sum(self.done.values())
                self._about["stopped"] = stopped
                with contextlib.suppress(OSError):
                    self._write_about()
        finally:
            os.close(self.lock)


def moved(request: Request, base_url: str) -> Request:
    """Give a request whose models are asked at another address, if one is given."""
    return replace(request, base_url=base_url) if base_url else request


def asked_about(request: Request) -> dict[str, Any]:
    """Give what `run.json` says of a run that was asked for."""
    return {ASKED: request.record(), "episodes": len(request), "block": request.block}


def read_json(path: Path) -> Mapping[str, Any]:
    """Read a `run.json`; what can't be read says nothing. Raises RecordingError from the system."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise from_os_error("read", path, error) from error
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def read_about(folder: Path) -> tuple[Mapping[str, Any], Request]:
    """Read what a run was asked for.

    Raises UsageError for what is no run of this version, or was never asked for as a whole.
    """
    path = folder / ABOUT
    if not path.is_file():
        if (folder / SHARDS).is_dir() and is_blank(folder):
            raise UsageError(
                f"the run {str(folder)!r} was ended before it had written what it is to play",
                "begin it again: the same command takes this folder",
            )
        raise UsageError(f"{str(folder)!r} is no run", f"give a folder with a {ABOUT} in it")
    about = read_json(path)
    if about and ASKED not in about:
        raise UsageError(
            f"{str(folder)!r} holds what clients of a server have played, and can't be resumed",
            "serve into another folder, and give the commands both",
        )
    try:
        request = read_request(about[ASKED])
        if about["block"] != request.block:
            raise ValueError(f"blocks of {about['block']}")
        return about, request
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{str(path)!r} is not as this version writes it ({type(error).__name__}: {error})",
            "go on with the version that began the run, or begin another one",
        ) from error


def hold_run(folder: Path, patience: float | None = None) -> int:
    """Lock a run directory, and give the descriptor that holds it; see `hold`."""
    return hold(folder / LOCK, f"the run {str(folder)!r}", patience)
