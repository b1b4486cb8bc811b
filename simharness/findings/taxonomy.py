"""The taxonomy: what each code means, how it is found, what to do about it, and what follows.

The data stand in `taxonomy.toml`. `python -m simharness.findings.taxonomy` prints docs/taxonomy.md.
"""

from __future__ import annotations

import importlib.resources
import sys
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from simharness.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator

TAXONOMY_VERSION = 1
"""The version that verdicts carry: the data's, written here so that a verdict reads no file."""


class Kind(StrEnum):
    """Who answers for what a code names."""

    HARNESS = "harness"
    MODEL = "model"
    AMBIGUOUS = "ambiguous"
    EXTERNAL = "external"


class Quarantine(StrEnum):
    """When a finding takes its episode out of training exports and clean scores."""

    ALWAYS = "always"
    BY_EFFECT = "by_effect"
    """When it hindered or helped."""
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One code of the taxonomy; it never changes its meaning and is never used again."""

    code: str
    """A letter and three digits, e.g. H112."""
    slug: str
    """Its name in words, e.g. cache-invalidation-lost."""
    kind: Kind
    parent: str
    """The general code that this one refines and replaces; empty where there is none."""
    explanation: str
    """What it means."""
    detector: str
    """How it is found in a recording."""
    remedy: str
    """What a harness engineer or a trainer does about it."""
    zero_tolerance: bool
    """A single one fails the gate."""
    quarantines: Quarantine
    advisory: bool
    """Alone it decides nothing."""
    undetected: str = ""
    """Why no detector looks for it and what tells it instead; empty where one does."""

    def record(self) -> dict[str, Any]:
        """Give the code as JSON and the data file hold it."""
        return {
            "code": self.code,
            "slug": self.slug,
            "class": str(self.kind),
            "parent": self.parent,
            "explanation": self.explanation,
            "detector": self.detector,
            "remedy": self.remedy,
            "zero_tolerance": self.zero_tolerance,
            "quarantines": str(self.quarantines),
            "advisory": self.advisory,
            "undetected": self.undetected,
        }


@lru_cache(maxsize=1)
def load() -> dict[str, Code]:
    """Read the taxonomy, once; codes in the order of the file.

    The result is shared, so don't change it. Raises ValueError when the data are not of this
    version or hold a code twice.
    """
    # As a resource and not by its path: the package may lie in a zip file.
    text = importlib.resources.files("simharness.findings").joinpath("taxonomy.toml")
    data = tomllib.loads(text.read_text(encoding="utf-8"))
    if data["version"] != TAXONOMY_VERSION:
        raise ValueError(
            f"taxonomy version: got {data['version']!r}, expected {TAXONOMY_VERSION} (in the data)"
        )
    codes: dict[str, Code] = {}
    for entry in data["codes"]:
        name: str = entry["code"]
        if name in codes:
            raise ValueError(f"taxonomy code {name!r} is there twice (in the data)")
        fields = {key: value for key, value in entry.items() if key not in ("class", "quarantines")}
        codes[name] = Code(
            **fields, kind=Kind(entry["class"]), quarantines=Quarantine(entry["quarantines"])
        )
    return codes


def code(name: str) -> Code:
    """Look up a code. Raises UnknownName, with the near ones, for what is none."""
    found = load().get(name)
    if found is None:
        raise UnknownName.among("code", name, load())
    return found


def matching(prefix: str) -> tuple[Code, ...]:
    """Give the codes that begin with a prefix, in either case; all of them for an empty one."""
    return tuple(c for c in load().values() if c.code.startswith(prefix.upper()))


def is_harness(name: str) -> bool:
    """Tell whether the harness answers for a code. Raises UnknownName."""
    return code(name).kind is Kind.HARNESS


def is_model(name: str) -> bool:
    """Tell whether the model answers for a code. Raises UnknownName."""
    return code(name).kind is Kind.MODEL


def always_quarantines(name: str) -> bool:
    """Tell whether a code takes its episode out whatever its effect was. Raises UnknownName."""
    return code(name).quarantines is Quarantine.ALWAYS


CLASSES = {
    Kind.HARNESS: (
        "Harness",
        "The product, its caches and workers, the task, the reward, or what runs and records them"
        " is at fault.",
    ),
    Kind.MODEL: (
        "Model",
        "The agent is at fault. Such a code decides a verdict only where the harness is cleared.",
    ),
    Kind.AMBIGUOUS: (
        "Ambiguous",
        "Neither the harness nor the agent is shown to be at fault. A failure rate counts these"
        " episodes on either side, as a band.",
    ),
    Kind.EXTERNAL: (
        "External",
        "Something outside both stopped the episode. It counts in no score and no failure rate.",
    ),
}
"""Title and introduction of each class's chapter."""

GROUPS = {
    "H1": "What the agent is shown",
    "H2": "State",
    "H3": "Concurrency, load and time",
    "H4": "Tools and their schemas",
    "H5": "Reward",
    "H6": "Task",
    "H7": "Realism",
    "H8": "Failures while running",
    "H9": "Recording and replay",
    "M1": "Reading",
    "M2": "Calls",
    "M3": "Course of action",
    "M4": "Rules and limits",
    "M5": "How it ended",
    "M6": "Signalled trouble",
    "M7": "Ways around the task",
    "A1": "Undecided",
    "X8": "Outside causes",
}
"""Title of each group of codes, by letter and first digit."""

INTRODUCTION = f"""\
# Taxonomy of findings

<!-- Generated from simharness/findings/taxonomy.toml: python -m simharness.findings.taxonomy -->

A finding bears a code: a letter for the class, three digits and a name. A code never changes its \
meaning and is never used again. This is version {TAXONOMY_VERSION}, which every verdict carries. \
`simharness list codes` prints the same data, `simharness list codes H1` a part of them.

The taxonomy names what can be told apart. Not every code has a detector: where none looks for \
it, its entry says why, and what tells it instead.

**Quarantine** takes an episode out of training exports and clean scores, and keeps it with its \
evidence. `always`: whatever the finding did to the outcome; `by effect`: when it hindered or \
helped; `never`: not by this code. A code of **zero tolerance** fails the gate at its first \
occurrence. An **advisory** code decides nothing alone. A code with a **parent** refines it: where \
both fit, only the finer one is given.
"""


def document() -> str:
    """Write docs/taxonomy.md."""
    return "\n".join(lines()) + "\n"


def lines() -> Iterator[str]:
    """Give the page line by line: what codes are, a table of all, and a chapter for each class."""
    yield INTRODUCTION
    yield "## All codes"
    yield ""
    yield "| code | name | quarantine | remarks |"
    yield "|---|---|---|---|"
    for c in load().values():
        yield f"| [{c.code}](#{c.code.lower()}-{c.slug}) | {c.slug} | {spoken(c)} | {remarks(c)} |"
    kind = group = ""
    for c in load().values():
        if c.kind != kind:
            kind = c.kind
            title, about = CLASSES[c.kind]
            yield from ("", f"## {title}", "", about)
        if c.code[:2] != group:
            group = c.code[:2]
            yield from ("", f"### {group}: {GROUPS[group]}")
        yield from ("", f"#### {c.code} {c.slug}", "", c.explanation, "")
        yield f"- **Found:** {c.detector}"
        if c.undetected:
            yield f"- **No detector:** {c.undetected}"
        yield f"- **Remedy:** {c.remedy}"
        yield f"- **Quarantine:** {spoken(c)}" + (f"; {remarks(c)}" if remarks(c) else "")


def spoken(c: Code) -> str:
    """Say when a code quarantines."""
    return c.quarantines.replace("_", " ")


def remarks(c: Code) -> str:
    """Say what else is special about a code; often nothing."""
    parts = [
        "zero tolerance" if c.zero_tolerance else "",
        "advisory" if c.advisory else "",
        "no detector" if c.undetected else "",
        f"parent {c.parent}" if c.parent else "",
    ]
    return ", ".join(part for part in parts if part)


if __name__ == "__main__":
    sys.stdout.write(document())
