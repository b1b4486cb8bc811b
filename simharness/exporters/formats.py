"""The formats, by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from simharness.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from simharness.exporters.loss import Loss
    from simharness.exporters.trajectory import Trajectory


class Exporter(Protocol):
    """Writes trajectories to a file, one by one."""

    def add(self, trajectory: Trajectory) -> None:
        """Write one episode, as far as it can be written before the others are known."""
        ...

    def close(self) -> None:
        """Write what stands behind all episodes; the file itself stays open."""
        ...

    def abandon(self) -> None:
        """Let go of the file, of which nothing will be kept."""
        ...


class Maker(Protocol):
    """Makes the exporter of a format, such as the function `exporter` of its module."""

    def __call__(self, file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> Exporter:
        """Make an exporter that writes to `file`, which will be called `out`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format."""

    name: str
    doc: str
    module: str
    """Imported when it is used: one of them needs an extra."""
    function: str = "exporter"
    suffixes: tuple[str, ...] = ()
    """Endings of which a file must have one for its readers to take it; empty: any."""
    carries_truth: bool = True

    def maker(self) -> Maker:
        """Import what makes an exporter. Raises UsageError where an extra is missing."""
        made: Maker = getattr(importlib.import_module(self.module), self.function)
        return made


_HERE = "simharness.exporters"

FORMATS = {
    format.name: format
    for format in (
        Format(
            name="atif",
            doc="Harbor's Agent Trajectory Interchange Format, v1.7",
            module=f"{_HERE}.atif",
            suffixes=(".json", ".jsonl"),
        ),
        Format(
            name="inspect",
            doc="a log of Inspect AI",
            module=f"{_HERE}.inspect_log",
            suffixes=(".eval",),
        ),
        Format(
            name="openai",
            doc="messages in JSON Lines, exactly as OpenAI's fine-tuning takes them",
            module=f"{_HERE}.chat",
            function="openai",
            carries_truth=False,
        ),
        Format(
            name="parquet",
            doc="a table with a row a step (needs simharness[parquet])",
            module=f"{_HERE}.parquet",
        ),
        Format(
            name="perfetto",
            doc="a timeline for ui.perfetto.dev, as Chrome's JSON trace",
            module=f"{_HERE}.perfetto",
        ),
        Format(
            name="trl",
            doc="messages in JSON Lines with the columns of TRL and Hugging Face datasets",
            module=f"{_HERE}.chat",
            function="trl",
        ),
        Format(
            name="verifiers",
            doc="traces.jsonl of verifiers v1",
            module=f"{_HERE}.verifiers",
        ),
    )
}


def format_named(name: str) -> Format:
    """Look up a format. Raises UnknownName."""
    if name not in FORMATS:
        raise UnknownName.among("format", name, FORMATS)
    return FORMATS[name]
