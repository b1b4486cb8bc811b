"""All lines of a run: verdicts.jsonl, which is a log while the run goes on and in order at its end.

Whatever becomes of it, it is made again from the shards.
"""

from __future__ import annotations

import contextlib
import os
from sys import intern
from typing import TYPE_CHECKING, BinaryIO

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


def told_keys(path: Path) -> list[str]:
    """Give the keys in the verdicts.jsonl of a run; none of what has no such file.

    Ask before the shards are read: a run that goes on writes an episode first, and then its line.
    Raises RecordingError.
    """
    return [line["key"] for line in read_lines(path)] if (path / VERDICTS).is_file() else []


def sort_lines(folder: Path) -> None:
    """Put verdicts.jsonl in the order of the shards. Raises RecordingError.

    Only places are kept in memory: a line is some kB there, and a run may have millions.
    """
    path = folder / VERDICTS
    try:
        with path.open("rb") as file:
            found = list(placed(file))
            ordered = sorted(found)
            if ordered != found:
                write_texts(folder, copied(file, ordered))
    except OSError as error:
        raise from_os_error("read", path, error) from error


def placed(file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Give the shard and the place of each line that is whole, and where in the file it begins."""
    at = 0
    for text in file:
        line = read_line(text.decode("utf-8", "replace"))
        if line is not None:
            yield intern(line["shard"]), line["place"], at
        at += len(text)


def copied(file: BinaryIO, places: Iterable[tuple[str, int, int]]) -> Iterator[bytes]:
    """Give lines by where they begin."""
    for _, _, at in places:
        file.seek(at)
        yield file.readline().rstrip(b"\n") + b"\n"


def write_lines(folder: Path, lines: Iterable[Line]) -> None:
    """Write verdicts.jsonl anew. Raises RecordingError, and leaves the old one then."""
    write_texts(folder, (line_text(line).encode() for line in lines))


def write_texts(folder: Path, texts: Iterable[bytes]) -> None:
    """Write verdicts.jsonl anew; see `write_lines`."""
    path = folder / VERDICTS
    temporary = path.with_name(f"{VERDICTS}.tmp")
    try:
        with temporary.open("wb") as file:
            file.writelines(texts)
        os.replace(temporary, path)
    except OSError as error:
        raise from_os_error("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
