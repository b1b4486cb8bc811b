"""Starts the processes and takes their answers; what goes wrong names the variant."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import HarnessError
from simharness.selfcheck.child import job_text

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.rollout.request import Request
    from simharness.selfcheck.variants import Variant

SECONDS_MAX = 300
"""Wall time after which a process is taken to hang."""
LINES_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What one process came to."""

    variant: Variant
    digests: dict[int, tuple[str, str]]
    """Number of an episode to the digests of its frames and of its verdict."""
    folder: Path
    """Where its recordings are."""
    command: str
    """The line for a shell that plays the same again."""

    def recording(self, number: int) -> Path:
        """Give the path of an episode's recording."""
        return self.folder / f"{number}.simrec"


def play(
    variant: Variant,
    request: Request,
    folder: Path,
    seconds: int,
    running: list[subprocess.Popen[str]],
) -> Played:
    """Play episodes in a fresh process, which is added to `running` for whoever must stop it.

    Raises HarnessError that names the variant.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    again = variant.shell(job_text(request, variant.order, variant.collector, None))
    line = variant.command(job_text(request, variant.order, variant.collector, folder))
    try:
        process = subprocess.Popen(
            line,
            env=variant.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise failed(variant, f"can't be started: {error.strerror}", again) from None
    with process:
        running.append(process)
        try:
            answer, told = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise failed(variant, f"gave no answer in {seconds} s", again) from None
    code = process.returncode
    if code != 0:
        said = told.strip().splitlines()[-LINES_TOLD:]
        how = f"signal {-code}" if code < 0 else f"code {code}"
        raise failed(variant, f"ended with {how}: {' | '.join(said) or 'no reason given'}", again)
    digests = answer_of(variant, answer, again)
    return Played(variant=variant, digests=digests, folder=folder, command=again)


def answer_of(variant: Variant, text: str, again: str) -> dict[int, tuple[str, str]]:
    """Read what a process has answered. Raises HarnessError for anything but digests."""
    try:
        answer: Any = json.loads(text)
    except ValueError:
        raise failed(variant, f"answered {text!r:.80}, which is no JSON", again) from None
    match answer:
        case {"episodes": dict()} if answer["episodes"]:
            out: dict[int, tuple[str, str]] = {}
            for number, found in cast("dict[str, object]", answer["episodes"]).items():
                match found:
                    case [str(digest), str(verdict)] if number.isdigit():
                        out[int(number)] = (digest, verdict)
                    case _:
                        raise failed(variant, f"answered {found!r:.80} for {number!r:.20}", again)
            return out
        case {"error": {"code": code, "message": message}}:
            raise failed(variant, f"failed: {code}: {message}", again)
        case _:
            raise failed(variant, f"answered {text!r:.80}, which holds no digests", again)


def failed(variant: Variant, what: str, again: str) -> HarnessError:
    """Build the error for a process that gave no digests."""
    return HarnessError(f"selfcheck: the process {variant.name!r} {what}", f"again: {again}")
