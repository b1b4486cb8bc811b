"""Finds and reads the files that are to be checked."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

from simharness.errors import UsageError

SKIPPED = {"__pycache__", "build", "node_modules", "site-packages"}


def own_models() -> Path:
    """Give the folder of the products that come with this package."""
    return (Path(__file__).resolve().parent.parent / "models").resolve()


def python_files(path: Path) -> list[Path]:
    """List the Python files that a path stands for, sorted. Raises UsageError for none."""
    if not path.exists():
        bare = Path(str(path).partition(".py:")[0] + ".py")
        hint = f"did you mean {str(bare)!r}?" if bare.is_file() else "give Python files or folders"
        raise UsageError(f"no file or folder {str(path)!r}", hint)
    if path.is_file():
        return [path]
    if not path.is_dir():
        # A pipe would be waited for, a device read for ever.
        raise UsageError(f"{str(path)!r} is no regular file", "give Python files or folders")
    found = sorted(
        file
        for file in path.rglob("*.py")
        if file.is_file() and not any(is_skipped(part) for part in file.relative_to(path).parts)
    )
    if not found:
        raise UsageError(f"no Python files in {str(path)!r}", "give a folder that holds a product")
    return found


def is_skipped(part: str) -> bool:
    """Whether a folder or file of that name holds no code of a product."""
    return part in SKIPPED or part.startswith(".")


def read_source(path: Path) -> str:
    """Read a file in the encoding that it declares. Raises UsageError for what is no Python."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{shown_path(path)} can't be read: {error.strerror}") from error
    if b"\0" in data:
        raise UsageError(f"{shown_path(path)} is a binary file", "give Python source files")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding=encoding).read().removeprefix("\ufeff")
    except (SyntaxError, LookupError, UnicodeDecodeError) as error:
        reason = str(error)
        if isinstance(error, UnicodeDecodeError):
            reason = f"byte {error.start} is not {error.encoding}"
        elif "missing" in reason:
            reason = "it is not UTF-8 and declares no other encoding"
        raise UsageError(
            f"{shown_path(path)} can't be decoded: {reason}",
            "save it as UTF-8, or declare its encoding in the first line",
        ) from error


def shown_path(path: Path) -> str:
    """Give a path as messages show it: from the current folder where it lies there."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
