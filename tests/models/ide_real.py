"""The real tools, run in a folder with the same files, to hold the IDE's terminal against."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from simharness.models.ide.initial import Start
from simharness.models.ide.repository.objects import EXECUTABLE
from tests.models.ide_house import EPOCH, House

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "PATH": os.environ["PATH"],
    "TZ": "UTC",
}

STAMP = "2026-03-02 09:00:00.000000000"


@dataclass(frozen=True, slots=True)
class Said:
    """What a command line comes to."""

    exit_code: int
    stdout: str
    stderr: str


VERSIONS = {
    "bash": "version 5.2",
    "diff": "3.8",
    "find": "4.9",
    "git": "version 2.39",
    "grep": "3.8",
    "xargs": "4.9",
}
"""The versions that the terminal is like, where that isn't 9.1 as for coreutils."""


def needs(*tools: str) -> None:
    """Skip a test where a tool isn't there, or is another version's, which words things anew."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} isn't installed here")
        told = subprocess.run([tool, "--version"], capture_output=True, check=False)
        first = told.stdout.decode().partition("\n")[0]
        if VERSIONS.get(tool, "9.1") not in first or ("GNU" not in first and tool != "git"):
            pytest.skip(f"the terminal is like another version than {first}")


def real(folder: Path, line: str, **env: str) -> Said:
    """Run a line in a real bash."""
    done = subprocess.run(
        ["bash", "--norc", "-c", line],
        cwd=folder,
        env={**ENV, "HOME": str(folder), **env},
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=20,
    )
    # What was written just now is as old as everything in the IDE, where no time has passed.
    said = done.stdout.decode()
    out = re.sub(r"(?m)^([-+]{3} .*\t)(?!1970)[-0-9]+ [:.0-9]+", rf"\g<1>{STAMP}", said)
    return Said(done.returncode, out, done.stderr.decode())


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder, all as old as the IDE's are."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")
    stamp = EPOCH * 1_000
    for top, _, names in os.walk(folder):
        for name in names:
            os.utime(os.path.join(top, name), ns=(stamp, stamp))
        os.utime(top, ns=(stamp, stamp))


def house_of(files: Mapping[str, str]) -> House:
    """Make an IDE with files."""
    return House({"terminal.max_output": 1_000_000}, start=Start(files=files))


def typed(house: House, line: str) -> Said:
    """Type a line into the IDE's terminal."""
    told = house.call("run_command", command=line)
    return Said(told["exit_code"], told["stdout"], told["stderr"])


def tree_of(folder: Path) -> dict[str, tuple[str, bool]]:
    """Give the files below a folder, and whether they can be executed; folders without content."""
    out: dict[str, tuple[str, bool]] = {}
    for place in sorted(folder.rglob("*")):
        path = place.relative_to(folder).as_posix()
        if path.partition("/")[0] == ".git":
            continue
        if place.is_dir():
            if not any(place.iterdir()):
                out[path + "/"] = ("", False)
        else:
            out[path] = (place.read_bytes().decode(), os.access(place, os.X_OK))
    return out


def tree_in(house: House) -> dict[str, tuple[str, bool]]:
    """Give the same of the IDE's working tree."""
    tree = house.ide.tree
    out: dict[str, tuple[str, bool]] = {}
    for path, file in tree.entries.items():
        if tree.file(path) is not None:
            out[path] = (file.text, file.mode == EXECUTABLE)
        elif not tree.below(path):
            out[path + "/"] = ("", False)
    return dict(sorted(out.items()))


def lines_sorted(said: Said) -> Said:
    """Give what was said with its lines sorted, for tools that go through folders in any order."""
    return Said(said.exit_code, "".join(sorted(said.stdout.splitlines(keepends=True))), said.stderr)


def check_all(tmp_path: Path, files: Mapping[str, str], lines: Iterable[str]) -> None:
    """Hold each line, on fresh files, against the real tools: output, errors, code and tree."""
    wrong: list[str] = []
    for number, line in enumerate(lines):
        folder = tmp_path / str(number)
        lay_out(folder, files)
        expected = real(folder, line)
        house = house_of(files)
        told = typed(house, line)
        if told != expected or tree_in(house) != tree_of(folder):
            wrong.append(f"{line}\n  real {expected}\n  ours {told}")
            if told == expected:
                wrong[-1] += f"\n  real {tree_of(folder)}\n  ours {tree_in(house)}"
    assert not wrong, "\n".join(wrong)
