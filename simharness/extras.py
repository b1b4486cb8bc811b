"""How what is missing gets installed: from where simharness itself came from, if that is known."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from simharness.errors import UsageError

NAME = "simharness"
SETUP = "setup.cfg"
"""What shows that a folder is a checkout."""


def to_install(requirement: str) -> str:
    """Give the command that installs a requirement such as `simharness[ide]`.

    Where simharness was installed from a folder that is still there, an extra of it is too.
    """
    name, bracket, extra = requirement.partition("[")
    source, edits = source_of() if name == NAME else (None, False)
    if source is None:
        return f"pip install {requirement!r}"
    place = "." if source == Path.cwd() else str(source)
    return f"pip install {'-e ' if edits else ''}{place + bracket + extra!r}"


def imported(name: str, extra: str) -> Any:
    """Import a module that an extra brings along. Raises UsageError where it can't be."""
    try:
        return import_module(name)
    except ImportError as error:
        raise absent(name.partition(".")[0], error, extra) from error


def absent(library: str, error: ImportError, extra: str) -> UsageError:
    """Build the error for a library that can't be imported."""
    return UsageError(
        f"{library} can't be imported: {error}", f"run: {to_install(f'{NAME}[{extra}]')}"
    )


def source_of() -> tuple[Path | None, bool]:
    """Give the folder that simharness was installed from, and whether it runs from there."""
    running = Path(__file__).resolve().parents[1]
    if (running / SETUP).is_file():
        return running, True
    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    told = cast("dict[str, Any]", json.loads(text)) if text else {}
    url = urlsplit(str(told.get("url", "")))
    folder = Path(unquote(url.path))
    there = url.scheme == "file" and (folder / SETUP).is_file()
    return (folder if there else None), False
