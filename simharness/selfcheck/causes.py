"""Why episodes came apart, ranked by which variants did, with the lines that lint finds guilty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simharness.episode.info import source_files
from simharness.errors import UsageError
from simharness.lint.check import lint
from simharness.product.registry import load_scenario
from simharness.selfcheck.variants import Axis

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from simharness.lint.check import Finding

SENTENCES: dict[Axis, str] = {
    Axis.REPEAT: (
        "differs from itself in two equal processes: the wall clock, uuid, os.urandom, secrets, "
        "random, a process id, or an address by id() or repr"
    ),
    Axis.HASH_SEED: (
        "differs under another hash seed: the order of a set, hash(), or an order by id()"
    ),
    Axis.COLLECTOR: (
        "differs with the collector off or eager: a __del__, a weakref or its callback, gc"
    ),
    Axis.ORDER: (
        "differs with what the process has played before: state of a module or class, such as a "
        "counter or a cache"
    ),
    Axis.TIME_ZONE: "differs in another time zone: local time, from time.localtime or a naive date",
    Axis.LOCALE: (
        "differs in another locale: the locale module, or files opened without an encoding"
    ),
    Axis.OPTIMISED: "differs under -O: an assert or `if __debug__` that does something",
    Axis.MSGPACK: "differs with msgpack in Python: values that only one of the two can pack",
    Axis.PYTHON: (
        "differs on another Python: the text of an exception, how a float is written, or a library "
        "that changes"
    ),
}

RANKS = tuple(SENTENCES)
"""What explains most comes first. Who differs from himself differs from all; who depends on the
collector may depend on whatever changes the number of objects."""

RULES: dict[Axis, tuple[str, ...]] = {
    Axis.REPEAT: (
        "SH001",
        "SH003",
        "SH004",
        "SH005",
        "SH006",
        "SH007",
        "SH011",
        "SH018",
        "SH019",
    ),
    Axis.HASH_SEED: ("SH013", "SH012", "SH011"),
    Axis.COLLECTOR: ("SH010",),
    Axis.ORDER: ("SH015", "SH016", "SH017"),
    Axis.TIME_ZONE: ("SH001", "SH009"),
    Axis.LOCALE: ("SH009", "SH007", "SH005"),
    Axis.OPTIMISED: (),
    Axis.MSGPACK: ("SH014",),
    Axis.PYTHON: ("SH018", "SH019", "SH014"),
}
"""Rules of lint that are about an axis."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One likely cause."""

    axis: Axis
    sentence: str
    places: tuple[Finding, ...] = ()
    """What lint finds of that kind in the product's own files."""

    def record(self) -> dict[str, Any]:
        """Give the cause as `--json` prints it."""
        return {
            "axis": str(self.axis),
            "sentence": self.sentence,
            "places": [place.record() for place in self.places],
        }


def rank(axes: Collection[Axis], findings: Sequence[Finding] = ()) -> list[Cause]:
    """Rank the likely causes by the axes on which something came apart."""
    if Axis.REPEAT in axes:
        # Every other variant then differs for the same reason, whatever it is about.
        axes = (Axis.REPEAT,)
    return [
        Cause(axis, SENTENCES[axis], tuple(f for f in findings if f.code in RULES[axis]))
        for axis in RANKS
        if axis in axes
    ]


def suspects(scenario: str) -> list[Finding]:
    """Give what lint finds in the files of a scenario's product, if it can read them."""
    product, _ = load_scenario(scenario)
    try:
        return list(lint(source_files(product)).findings)
    except UsageError:
        return []
