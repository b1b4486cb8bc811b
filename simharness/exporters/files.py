"""An export is one file, which is there whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from simharness.blame.quarantine import REVIEWS
from simharness.errors import UsageError
from simharness.recording.format import PART_SUFFIX, from_os_error
from simharness.rollout.catalogue import CATALOGUE
from simharness.rollout.lines import VERDICTS
from simharness.rollout.store import ABOUT, make_folder

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

OWN_NAMES = (ABOUT, VERDICTS, REVIEWS, CATALOGUE)
OWN_SUFFIXES = (".simrec", PART_SUFFIX)


def check_target(out: Path, *, force: bool) -> None:
    """Refuse a path that an export may not write to.

    Raises UsageError for a folder, for a name of a run's own files, and for a file that is there,
    unless `force` lets it be replaced.
    """
    if out.name in OWN_NAMES or out.suffix in OWN_SUFFIXES:
        raise UsageError(f"{str(out)!r} is a name that runs use themselves", "give -o another name")
    if "\0" in str(out):
        raise UsageError(f"{str(out)!r} is no path: there is a zero byte in it", "give -o another")
    if out.is_dir():
        raise UsageError(f"{str(out)!r} is a folder", "give -o a file in it")
    if os.path.lexists(out) and not force:
        raise taken(out)


def taken(out: Path) -> UsageError:
    """Build the error for a file that is there."""
    return UsageError(
        f"{str(out)!r} is there already", "give -o another name, or --force to replace it"
    )


@contextmanager
def written(out: Path, *, force: bool) -> Generator[BinaryIO]:
    """Open a file that takes the name `out` once everything is in it and on the disk.

    Whatever fails, nothing is left behind, and a file that had the name keeps it. Raises
    UsageError as `check_target`, RecordingError when it can't be written.
    """
    check_target(out, force=force)
    part = out.with_name(f".{out.name}.{os.getpid()}{PART_SUFFIX}")
    make_folder(out.parent)
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        take_name(part, out, force=force)
        folder = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise from_os_error("write", out, error, "no file of that name was made") from error
    finally:
        # Gone already after a rename; what can't be removed either is told by the first error.
        with suppress(OSError):
            part.unlink()


def take_name(part: Path, out: Path, *, force: bool) -> None:
    """Give a finished file its name. Raises UsageError where somebody else was faster."""
    if force:
        part.replace(out)
        return
    try:
        os.link(part, out)  # which, unlike a rename, never replaces anything
    except FileExistsError:
        raise taken(out) from None
    except OSError:  # a file system without links
        if os.path.lexists(out):
            raise taken(out) from None
        part.replace(out)
