"""All lines of a run: verdicts.jsonl, which is a log while the run goes on and in order at its end.

Whatever becomes of it, it is made again from the shards.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from simharness.recording.format import PART_SUFFIX, from_os_error
from simharness.rollout.block import SHARDS, intact
from simharness.rollout.line import line_of_record, line_text, read_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from simharness.rollout.line import Line

VERDICTS = "verdicts.jsonl"


def recorded_lines(folder: Path) -> Iterator[Line]:
    """Tell of every whole episode in the shards of a run, in order, those under way included.

    Raises RecordingError for a sealed shard that isn't whole.
    """
    shards = folder / SHARDS
    names = {path.name.removesuffix(PART_SUFFIX) for path in shards.glob("*.simrec*")}
    for name in sorted(names):
        whole, _ = intact(shards / name)
        for place, record in enumerate(whole):
            yield line_of_record(record, name, place)


def read_lines(folder: Path) -> Iterator[Line]:
    """Read the lines of verdicts.jsonl, those that are whole."""
    path = folder / VERDICTS
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                line = read_line(text)
                if line is not None:
                    yield line
    except OSError as error:
        raise from_os_error("read", path, error) from error


def sort_lines(folder: Path) -> None:
    """Put verdicts.jsonl in the order of the shards. Raises RecordingError."""
    lines = list(read_lines(folder))
    ordered = sorted(lines, key=lambda line: (line["shard"], line["place"]))
    if ordered != lines:
        write_lines(folder, ordered)


def write_lines(folder: Path, lines: Iterable[Line]) -> None:
    """Write verdicts.jsonl anew. Raises RecordingError, and leaves the old one then."""
    path = folder / VERDICTS
    temporary = path.with_name(f"{VERDICTS}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(map(line_text, lines))
        os.replace(temporary, path)
    except OSError as error:
        raise from_os_error("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
