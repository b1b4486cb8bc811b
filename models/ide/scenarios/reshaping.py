"""Changes of shape that keep what code does: what has to be called how, or lie where."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simharness.api import Criterion
from simharness.models.ide.grading.tokens import without_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simharness.models.ide.grading.exam import Exam
    from simharness.models.ide.tickets import Probe, Ticket

MODULES = ("rules", "core", "logic", "workings", "internals", "engine")
"""What a new module may be called."""
VERBS = ("work_out", "find_out", "determine", "obtain", "produce")
"""What the name of a function may begin with."""
NOUNS = ("Model", "Record", "Holder", "Unit")
"""What the name of a class may end with."""
ALSO = 3
"""Objects, or four times as many calls, that are asked for by their new names as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is to become of the public names of a ticket's module."""

    kind: str
    """move: into another module; rename: to be called otherwise."""
    module: str
    """As it is imported, `shop.shipping`."""
    names: tuple[str, ...]
    """The public names in it."""
    word: str
    """The name of the new module, or what a new name begins or ends with."""

    @classmethod
    def of(cls, ticket: Ticket, kind: str, k: int) -> Shape:
        """Give what the k-th word of a kind means for a ticket."""
        targets = [p.target.partition(":") for p in ticket.probes if p.target[0] != "$"]
        names = tuple(dict.fromkeys(name for _, _, name in targets))
        other_words = NOUNS if names[0][0].isupper() else VERBS
        words = MODULES if kind == "move" else other_words
        return cls(kind=kind, module=targets[0][0], names=names, word=words[k % len(words)])

    @property
    def path(self) -> str:
        """The file of the module."""
        return self.module.replace(".", "/") + ".py"

    @property
    def new_module(self) -> str:
        """Where the names are defined afterwards."""
        package = self.module.rpartition(".")[0]
        return f"{package}.{self.word}" if self.kind == "move" else self.module

    @property
    def new_path(self) -> str:
        """The file of that module."""
        return self.new_module.replace(".", "/") + ".py"

    def new_name(self, name: str) -> str:
        """Give what a name is called afterwards."""
        if self.kind == "move":
            return name
        return f"{name}{self.word}" if name[0].isupper() else f"{self.word}_{name}"

    @property
    def wish(self) -> str:
        """Say what is to be done."""
        if self.kind == "move":
            named = " and ".join(f"`{name}`" for name in self.names)
            return (
                f"Move {named} from `{self.module}` into a new module `{self.new_module}`, with "
                f"all that belongs to it. `{self.module}` must still offer the same names, but "
                "define none of them."
            )
        pairs = " and ".join(f"`{name}` to `{self.new_name(name)}`" for name in self.names)
        return (
            f"Rename {pairs} in `{self.module}`. The old names must still work, as other names "
            "for the same thing."
        )

    # --- the trees --------------------------------------------------------------------------------

    def applied(self, text: str) -> Mapping[str, str]:
        """Give the files that a text of the module becomes."""
        if self.kind == "move":
            names = ", ".join(self.names)
            shim = f'"""Offers what `{self.new_module}` defines."""\n\n'
            shim += f"from {self.new_module} import {names}\n\n"
            shim += f"__all__ = [{', '.join(map(repr, self.names))}]\n".replace("'", '"')
            return {self.new_path: text, self.path: shim}
        for name in self.names:
            text = re.sub(rf"(?<![\w.])({name})(?=\(|:)", self.new_name(name), text)
        others = "".join(f"{name} = {self.new_name(name)}\n" for name in self.names)
        return {self.path: f"{text}\n\n{others}"}

    # --- the judgement ----------------------------------------------------------------------------

    def probes(self, probes: tuple[Probe, ...]) -> tuple[Probe, ...]:
        """Give the hidden calls, by the old names, and some of them by the new ones as well."""
        return (*probes, *self._renamed(probes))

    def _renamed(self, probes: tuple[Probe, ...]) -> Iterator[Probe]:
        kept: list[str] = []
        plain = 0
        for probe in probes:
            where, _, name = probe.target.partition(":")
            if where[0] == "$":
                if where[1:] in kept:
                    yield replace(probe, target=f"$new_{where[1:]}:{name}")
                continue
            if len(kept) >= ALSO or plain >= 4 * ALSO:
                continue
            kept += [probe.keep] if probe.keep else []
            plain += not probe.keep
            target = f"{self.new_module}:{self.new_name(name)}"
            yield replace(probe, target=target, keep=probe.keep and f"new_{probe.keep}")

    def taken(self, exam: Exam, ticket: Ticket) -> Criterion:
        """Judge that the names are defined where they are to be, and nowhere else.

        A module that they moved into has all that they need: it works beside the files of the start
        and one that offers what it defines, without anything else that was handed in.
        """
        handed = exam.handed()
        new, old = handed.files.get(self.new_path, ""), handed.files.get(self.path, "")
        wrong = [
            f"{self.new_path} doesn't define {self.new_name(name)}"
            for name in self.names
            if not defines(new, self.new_name(name))
        ]
        wrong += [f"{self.path} still defines {name}" for name in self.names if mentions(old, name)]
        if self.kind == "move" and not wrong:
            alone = {**exam.base, self.new_path: new, self.path: self.applied("")[self.path]}
            checks = exam.checks_of(alone, tuple(self._renamed(ticket.probes)))
            wrong += [] if checks.passes else [f"{self.new_path} by itself: {checks.summary}"]
            if not self._offered(exam, ticket):
                wrong.append(f"{self.path} has something else than what {self.new_path} defines")
        keys = (f"{handed.key}.files",) if handed.key else ()
        text = "; ".join(wrong) or f"{self.new_path} defines what it is to"
        return Criterion("in its new shape", not wrong, text, keys)

    def _offered(self, exam: Exam, ticket: Ticket) -> bool:
        """Tell whether the old module has what the new one defines, whatever that is.

        A copy under another name, or one that is made as the module is read, answers as before
        where something else stands in the new module.
        """
        stand_in = {self.new_path: "\n\n\n".join(map(standing_in, self.names)) + OTHER_NAMES}
        handed = {**exam.handed().files, **stand_in}
        right = {**exam.base, **self.applied(""), **stand_in}
        probes = tuple(self._renamed(ticket.probes))
        by_old_names = tuple(
            replace(probe, target=probe.target.replace(f"{self.new_module}:", f"{self.module}:"))
            for probe in probes
        )
        return exam.checks_of(handed, by_old_names, right).passes


OTHER_NAMES = """


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **kwargs: "stands in"
"""
"""Whatever else may be asked of a module for which something stands in."""


def standing_in(name: str) -> str:
    """Write a function or class of a name that answers everything alike."""
    if not name[0].isupper():
        return f'def {name}(*args, **kwargs):\n    return "stands in"\n'
    return (
        f"class {name}:\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        pass\n\n"
        "    def __getattr__(self, name):\n"
        '        return lambda *args, **kwargs: "stands in"\n'
    )


def defines(text: str, name: str) -> bool:
    """Tell whether a module has a function or class of a name, and puts nothing in its place.

    Read by patterns, so that it is the same under each Python.
    """
    code = without_texts(text)
    made = re.search(rf"^(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b", code, re.MULTILINE)
    # A name that is bound a second time, by an import, an assignment or a definition further in.
    bound = rf"\bas[ \t]+{name}\b|^{name}[ \t]*(?:[:,][^\n(]*)?=(?!=)"
    bound += rf"|^[ \t]+(?:def|class)[ \t]+{name}\b"
    bound += rf"|^[^\n]*\bimport\b[^\n]*\b{name}\b"
    return made is not None and re.search(bound, code, re.MULTILINE) is None


def mentions(text: str, name: str) -> bool:
    """Tell whether code has a function or class of a name anywhere."""
    code = without_texts(text)
    return re.search(rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b", code, re.M) is not None
