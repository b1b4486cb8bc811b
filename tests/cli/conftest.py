from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pytest

from simharness.cli import call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SHOP = Path(__file__).with_name("shop.py")
"""A product by path; see there which of its scenarios break, and where."""


PROGRESS = re.compile(r"\d+(/\d+)? \w+, ")
"""How a line begins that says how far a command has come."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a command answered."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Read the output as JSON; the command must have succeeded in printing it.

        On a slow machine it tells on stderr how far it has come.
        """
        assert [line for line in self.err.splitlines() if not PROGRESS.match(line)] == []
        return json.loads(self.out)


class Cli(Protocol):
    """A command, called in this process."""

    def __call__(self, *argv: object) -> Told: ...


class Spawn(Protocol):
    """A command in a process of its own."""

    def __call__(
        self,
        *argv: object,
        env: Mapping[str, str] | None = None,
        stdout: BinaryIO | None = None,
        stderr: BinaryIO | None = None,
        preexec_fn: Callable[[], None] | None = None,
    ) -> Told: ...


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)

    def run(*argv: object) -> Told:
        capsys.readouterr()
        code = call([str(word) for word in argv])
        out, err = capsys.readouterr()
        return Told(code, out, err)

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Spawn:
    def run(
        *argv: object,
        env: Mapping[str, str] | None = None,
        stdout: BinaryIO | None = None,
        stderr: BinaryIO | None = None,
        preexec_fn: Callable[[], None] | None = None,
    ) -> Told:
        done = subprocess.run(
            command(*argv),
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=stderr or subprocess.PIPE,
            preexec_fn=preexec_fn,
            check=False,
        )
        out, err = (
            (data or b"").decode("utf-8", "backslashreplace") for data in (done.stdout, done.stderr)
        )
        return Told(done.returncode, out, err)

    return run


def command(*argv: object) -> list[str]:
    return [sys.executable, "-m", "simharness", *map(str, argv)]


class Start(Protocol):
    """A command in a process of its own that goes on beside the test."""

    def __call__(self, *argv: object) -> subprocess.Popen[str]: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start commands as a shell does: in a process group of its own, with Ctrl-C in force.

    A shell without job control starts what it puts into the background with SIGINT ignored, and so
    are the tests that such a shell starts. What still goes on when the test ends is killed.
    """
    with ExitStack() as started:

        def run(*argv: object) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                command(*argv),
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                start_new_session=True,
                preexec_fn=heed_interrupts,
            )
            started.enter_context(process)  # closes its pipes and waits for it
            started.callback(kill_group, process)
            return process

        yield run


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill what still runs of a command, its workers too."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def heed_interrupts() -> None:
    """Undo an inherited SIG_IGN."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recordings that many tests read and none changes."""

    file: Path
    """Episode 42, faulty."""
    sound: Path
    """Episode 42 without its fault."""
    run: Path
    """A run of three episodes."""

    def episode(self, number: int) -> Path:
        """Give the faulty form of an episode of the demo."""
        return self.file.with_name(f"episode-{number}.simrec")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    assert call(["demo", "-o", str(folder / "demo")]) == 0
    run = folder / "run"
    words = ["run", "crm/negotiation", "--seed", "0:3", "--policy", "refuse", "-o", str(run)]
    assert call(words) == 0
    return Recorded(
        folder / "demo" / "episode-42.simrec", folder / "demo" / "episode-42-sound.simrec", run
    )
