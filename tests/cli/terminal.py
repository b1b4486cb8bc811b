"""A terminal for commands: what a person sees of them, and the keys that are pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from typing import TYPE_CHECKING

from tests.cli.conftest import command, heed_interrupts

if TYPE_CHECKING:
    from pathlib import Path


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, folder: Path, *argv: object, columns: int = 80) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        env = {**os.environ, "TERM": "xterm", "INPUTRC": os.devnull}
        env.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            command(*argv),
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            start_new_session=True,
            preexec_fn=own_terminal,
        )
        os.close(slave)
        self.shown = ""

    def _read(self) -> str | None:
        """Read what is there, waiting for a second; None when the other side is closed."""
        if not select.select([self.master], [], [], 1)[0]:
            return ""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # which is how Linux says it
            return None
        text = data.decode("utf-8", "replace")
        self.shown += text
        return text or None

    def until(self, text: str) -> str:
        """Read until a text is shown; gives what was shown since the last call."""
        new = ""
        ends = time.monotonic() + 60
        while text not in new:
            read = self._read()
            assert read is not None, f"it ended without {text!r}: {new!r}"
            assert time.monotonic() < ends, f"{text!r} was never shown: {new!r}"
            new += read
        return new

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        """Read to the end and give the exit code."""
        ends = time.monotonic() + 60
        while self._read() is not None:
            assert time.monotonic() < ends, f"it never ended: {self.shown[-200:]!r}"
        return self.process.wait(60)

    def lines(self) -> list[str]:
        """Give what was shown so far, without colours and the like."""
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.shown)
        return [line.rstrip("\r") for line in plain.split("\n")]

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


def own_terminal() -> None:
    """Make the terminal on stdin that of the session, so that its keys send signals."""
    heed_interrupts()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
