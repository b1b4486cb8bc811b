"""Test files: cases written down with the values that a program answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from simharness.models.ide.tickets.program import Outcome, Program
    from simharness.models.ide.tickets.ticket import Probe

Style = Literal["functions", "class", "unittest"]
STYLES: tuple[Style, ...] = ("functions", "class", "unittest")
WIDTH = 96
BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}


@dataclass(frozen=True, slots=True)
class Case:
    """One test: calls, each with what it comes to."""

    title: str
    """As in the test's name: `heavy_parcel`."""
    calls: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """A test file."""

    path: str
    style: Style
    cases: tuple[Case, ...]
    doc: str = ""
    """What the file says of itself."""
    procedures: tuple[str, ...] = ()
    """Methods that give nothing back, of which nothing is expected but that they end."""

    def test_id(self, case: Case) -> str:
        """Give the id of a case's test."""
        middle = "" if self.style == "functions" else f"{self._class()}::"
        return f"{self.path}::{middle}test_{case.title}"

    def write(
        self,
        program: Program,
        *,
        skipped: AbstractSet[str] = frozenset(),
        instead: Mapping[str, Sequence[Outcome]] | None = None,
    ) -> str:
        """Write the file.

        Args:
            program: What answers is expected.
            skipped: Titles of cases that are marked to be skipped.
            instead: Other outcomes that are expected, by title.
        """
        bodies: list[str] = []
        for case in self.cases:
            outcomes = (instead or {}).get(case.title) or program.run(case.calls)
            lines = [
                line
                for call, outcome in zip(case.calls, outcomes, strict=True)
                for step in self._step(call, outcome)
                for line in step.split("\n")
            ]
            own = "" if self.style == "functions" else "self"
            head = f"def test_{case.title}({own}):\n    "
            skip = {"unittest": '@unittest.skip("see the ticket")\n'}.get(
                self.style, '@pytest.mark.skip(reason="see the ticket")\n'
            )
            mark = skip if case.title in skipped else ""
            bodies.append(mark + head + "\n    ".join(lines))
        if self.style == "functions":
            body = "\n\n\n".join(bodies)
        else:
            base = "(unittest.TestCase)" if self.style == "unittest" else ""
            inner = "\n\n".join(bodies).replace("\n", "\n    ").replace("\n    \n", "\n\n")
            body = f"class {self._class()}{base}:\n    {inner}"
        doc = f'"""{self.doc}"""\n\n' if self.doc else ""
        return f"{doc}{self._imports(body)}\n\n\n{body}\n"

    def _class(self) -> str:
        stem = self.path.rpartition("/")[2].removesuffix(".py")
        return "".join(word.title() for word in stem.split("_"))

    def _imports(self, body: str) -> str:
        """Write the imports that the tests below them need."""
        names: dict[str, list[str]] = {}
        for case in self.cases:
            for call in case.calls:
                where, _, name = call.target.partition(":")
                top = name.partition(".")[0]
                if not where.startswith("$") and top not in names.setdefault(where, []):
                    names[where].append(top)
        standard: list[str] = []
        if "unittest." in body:
            standard.append("import unittest")
        standard += imports_for(body)
        groups = ["\n".join(standard)]
        groups.append("import pytest" if "pytest." in body else "")
        groups.append(
            "\n".join(f"from {where} import {', '.join(sorted(n))}" for where, n in names.items())
        )
        return "\n\n".join(group for group in groups if group)

    def _step(self, call: Probe, outcome: Outcome) -> list[str]:
        """Write one call and what is expected of it."""
        text = "\n".join(laid_out_call(call))
        checks = self.style == "unittest"
        if call.keep:
            return [f"{call.keep} = {text}"]
        if outcome.raised:
            raises = "self.assertRaises" if checks else "pytest.raises"
            inner = text.replace("\n", "\n    ")
            return [f"with {raises}({outcome.raised}):", f"    {inner}"]
        value = outcome.value
        if value is None and call.target.partition(":")[2] in self.procedures:
            return [text]
        if value is None:
            return [f"self.assertIsNone({text})" if checks else f"assert {text} is None"]
        if value is True or value is False:
            return [f"self.assert{value}({text})" if checks else f"assert {text} is {value}"]
        expected = literal(value)
        line = f"self.assertEqual({text}, {expected})" if checks else f"assert {text} == {expected}"
        if len(line) <= WIDTH and "\n" not in line:
            return [line]
        compare = "self.assertEqual(answer, expected)" if checks else "assert answer == expected"
        return [f"answer = {text}", *laid_out("expected = ", value), compare]


def imports_for(body: str) -> list[str]:
    """Write the imports that the values in a text need."""
    return [
        f"from {module} import {name}"
        for module, name in (("datetime", "date"), ("decimal", "Decimal"))
        if re.search(rf"\b{name}\(", body)
    ]


def call_text(call: Probe) -> str:
    """Write a call as code has it."""
    where, _, name = call.target.partition(":")
    given = [literal(value) for value in call.args]
    given += [f"{key}={literal(value)}" for key, value in call.kwargs.items()]
    function = f"{where[1:]}.{name}" if where.startswith("$") else name
    return f"{function}({', '.join(given)})"


def laid_out_call(call: Probe) -> list[str]:
    """Write a call in as many lines as it needs."""
    whole = call_text(call)
    if len(whole) <= WIDTH - 40:
        return [whole]
    head = whole.partition("(")[0]
    given = [("", value) for value in call.args]
    given += [(f"{key}=", value) for key, value in call.kwargs.items()]
    lines = [f"    {line}" for start, value in given for line in laid_out(start, value, ",")]
    return [f"{head}(", *lines, ")"]


def laid_out(start: str, value: Any, end: str = "") -> list[str]:
    """Write a value behind a text, each item on its own line where it is too long for one."""
    whole = f"{start}{literal(value)}{end}"
    kind = type(value).__name__
    if len(whole) <= WIDTH - 8 or kind not in BRACKETS:
        return [whole]
    opening, closing = BRACKETS[kind]
    items = value.items() if kind == "dict" else (("", item) for item in value)
    lines: list[str] = []
    for key, item in items:
        before = f"{literal(key)}: " if kind == "dict" else ""
        lines += [f"    {line}" for line in laid_out(before, item, ",")]
    return [f"{start}{opening}", *lines, f"{closing}{end}"]


def literal(value: Any) -> str:
    """Write a plain value as code has it, texts in double quotes."""
    kind = type(value).__name__
    if kind == "str":
        return text_literal(value)
    if kind == "Decimal":
        return f'Decimal("{value}")'
    if kind == "date":
        return f"date({value.year}, {value.month}, {value.day})"
    if kind == "dict":
        pairs = (f"{literal(key)}: {literal(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if kind in ("list", "tuple"):
        inner = ", ".join(literal(item) for item in value)
        if kind == "list":
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def text_literal(value: str) -> str:
    """Write a text in double quotes; as Python writes it where it holds some itself."""
    plain = repr(value)
    if '"' in value:
        return plain
    return f'"{plain[1:-1]}"' if plain.startswith("'") else plain
