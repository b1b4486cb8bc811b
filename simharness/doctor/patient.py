"""A target in a process of its own, asked from here; it may hang, die or print what it likes."""

from __future__ import annotations

import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from simharness.doctor.child import CLOCK_BYTES
from simharness.errors import HarnessError, UsageError
from simharness.extras import to_install

if TYPE_CHECKING:
    from simharness.doctor.target import Target

ROOT = Path(__file__).parents[2]
"""The folder that holds this package."""
LOOK_SECONDS = 0.1
PLACE_SECONDS = 1.0
"""How long a process that hangs is given to say where."""
END_SECONDS = 3.0
"""How long a process is given to end by itself."""
TAIL = 16_384
"""Bytes that are kept of what a target has printed last."""
TRACEBACK = b"Traceback (most recent call last)"


class Stopped(HarnessError):  # noqa: N818  (what has become of it)
    """A target has hung or died, and what it was asked last."""


class OutOfTime(HarnessError):  # noqa: N818  (ends the audit)
    """The time for the whole audit is used up."""


@dataclass(slots=True)
class Said:
    """What a target has printed to one of its streams."""

    count: int = 0
    """Bytes."""
    tracebacks: int = 0
    tail: bytes = b""

    def take(self, stream: IO[bytes]) -> None:
        """Read until the stream ends."""
        while data := os.read(stream.fileno(), 65_536):
            seam = self.tail[-len(TRACEBACK) + 1 :]
            self.tracebacks += (seam + data).count(TRACEBACK)
            self.count += len(data)
            self.tail = (self.tail + data)[-TAIL:]

    def last(self, lines: int = 1) -> str:
        """Give the last lines that say something."""
        text = self.tail.decode("utf-8", "replace").strip()
        return " | ".join(line.strip() for line in text.splitlines()[-lines:])


class Patient:
    """A process that hosts a target."""

    def __init__(self, target: Target, hash_seed: str, until: float) -> None:
        """Start it and open the target. Raises UsageError, Stopped, OutOfTime.

        `until` is when the time for everything is used up, by `time.monotonic`.
        """
        self.target = target
        self.out, self.err = Said(), Said()
        self._until = until
        self._rest = b""
        self._link, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as file:
            file.truncate(CLOCK_BYTES)
            self._clock = mmap.mmap(file.fileno(), CLOCK_BYTES)
            with theirs:
                self._process = self._start(theirs.fileno(), file.fileno(), hash_seed)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._streams = (self._process.stdout, self._process.stderr)
        self._readers = [
            threading.Thread(target=said.take, args=(stream,), daemon=True)
            for said, stream in zip((self.out, self.err), self._streams, strict=True)
        ]
        for reader in self._readers:
            reader.start()
        try:
            answer = self._answer()
        except BaseException:
            self.close()
            raise
        if "unusable" in answer:
            self.close()
            hint = answer["hint"]
            if extra := answer["extra"]:
                hint = f"run: {to_install(f'simharness[{extra}]')}"
            said = f"; it said: {self.err.last()}" if self.err.tail.strip() else ""
            raise UsageError(
                f"{target.name!r} can't be opened: {answer['unusable']}{said}",
                hint or "open it in a Python of your own first",
            )
        self.facts: dict[str, Any] = answer["opened"]

    def _start(self, link: int, clock: int, hash_seed: str) -> subprocess.Popen[bytes]:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        job = json.dumps(self.target.record())
        # -P: what stands in the working folder isn't imported by chance.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "simharness.doctor.child", job, str(link), str(clock)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(link, clock),
            start_new_session=True,
        )

    def ask(self, do: str, **words: Any) -> Any:
        """Have something done. Raises Stopped, OutOfTime."""
        try:
            self._link.sendall(json.dumps({"do": do, **words}).encode("ascii") + b"\n")
        except OSError:
            raise self._died() from None
        answer = self._answer()
        if "broke" in answer:
            raise Stopped(f"it broke: {answer['broke']}")
        return answer["done"]

    def alive(self) -> bool:
        """Tell whether it can be asked."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and all that it started."""
        self._link.close()
        # One that doesn't end is killed below.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._kill()

    def _kill(self) -> None:
        # Maybe none of them is left.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for reader in self._readers:
            reader.join(END_SECONDS)
        # What has left the process group may hold a stream open, and its reader reads on.
        for reader, stream in zip(self._readers, self._streams, strict=True):
            if not reader.is_alive():
                stream.close()

    def _answer(self) -> dict[str, Any]:
        """Wait for an answer for as long as the target makes headway."""
        asked, since = self._asked(), time.monotonic()
        self._link.settimeout(LOOK_SECONDS)
        while b"\n" not in self._rest:
            try:
                data = self._link.recv(1 << 20)
            except TimeoutError:
                now = time.monotonic()
                if self._asked() != asked:
                    asked, since = self._asked(), now
                if now - since > self.target.seconds:
                    raise self._hung() from None
                if now > self._until:
                    self._kill()
                    raise OutOfTime("the time for the whole audit is used up") from None
                continue
            except ConnectionError:
                data = b""
            if not data:
                raise self._died()
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _asked(self) -> int:
        return int.from_bytes(self._clock[:8], "little")

    def _doing(self) -> str:
        text = self._clock[8:].rstrip(b"\0").decode("utf-8", "replace")
        return text or "starting Python"

    def _hung(self) -> Stopped:
        before = self.err.count
        os.kill(self._process.pid, signal.SIGUSR1)
        until = time.monotonic() + PLACE_SECONDS
        while self.err.count == before and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        self._kill()
        place = place_in(self.err.tail.decode("utf-8", "replace"))
        return Stopped(
            f"it gave no answer in {self.target.seconds:g} s: {self._doing()}{place}",
            "give it more time with --timeout",
        )

    def _died(self) -> Stopped:
        self._kill()
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        said = f"; it said last: {self.err.last()}" if self.err.tail.strip() else ""
        return Stopped(f"its process ended with {how}: {self._doing()}{said}")


def place_in(text: str) -> str:
    """Find in a dump of faulthandler where a thread stood; empty where there is none."""
    _, found, dump = text.rpartition("most recent call first):")
    for line in dump.splitlines() if found else ():
        if line.strip().startswith("File "):
            return f" ({line.strip().removeprefix('File ')})"
    return ""
