"""The names of evidence that reports may expect are those that the detectors give."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from simharness.findings.evidence_names import EVIDENCE
from simharness.parts.ledger import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent.parent.parent / "simharness" / "findings"
MADE = {"f'{moved.kind}s'": {f"{kind}s" for kind in get_args(Kind)}}
"""Names that are put together, with what they can come to."""


class Names:
    """Collects, by name, what the source puts into the evidence of findings.

    That is what `Finding(evidence=...)` is given: dicts as they stand there, dicts of variables and
    parameters of that name, and the keywords that a function takes as `**` and hands on.
    """

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        self.calls: dict[str, list[tuple[ast.Call, ast.FunctionDef]]] = defaultdict(list)
        for function in self.functions:
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    self.calls[name].append((node, function))
        self.seen: set[tuple[str, str]] = set()

    def found(self) -> set[str]:
        """Give all names of evidence."""
        return {
            name
            for call, function in self.calls["Finding"]
            for keyword in call.keywords
            if keyword.arg == "evidence"
            for name in self.of(keyword.value, function)
        }

    def of(self, value: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
        """Give the names of a dict that stands in a function."""
        match value:
            case ast.Dict():
                for key, item in zip(value.keys, value.values, strict=True):
                    yield from self.of(item, function) if key is None else keys(key, function)
            case ast.IfExp():
                yield from self.of(value.body, function)
                yield from self.of(value.orelse, function)
            case ast.Name():
                yield from self.of_variable(value.id, function)
            case ast.Attribute(attr="evidence"):
                # Of another finding, whose own names are collected where it is made.
                pass
            case _:
                raise AssertionError(f"{function.name}: what is in {ast.unparse(value)}?")

    def of_variable(self, name: str, function: ast.FunctionDef) -> Iterator[str]:
        """Give the names of a dict by the name that it has in a function."""
        if (function.name, name) in self.seen:
            return
        self.seen.add((function.name, name))
        known = False
        for value in bound(name, function):
            known = True
            yield from self.of(value, function)
        for target in targets(function):
            match target:
                case ast.Subscript(value=ast.Name(id=there)) if there == name:
                    yield from keys(target.slice, function)
                case _:
                    pass
        told = function.args
        own = [a.arg for a in (*told.posonlyargs, *told.args)]
        extra = told.kwarg is not None and told.kwarg.arg == name
        assert known or extra or name in own, f"{function.name}: where does {name} come from?"
        taken = {*own, *(a.arg for a in told.kwonlyargs)}
        for call, caller in self.calls[function.name] if extra or name in own else ():
            for keyword in call.keywords:
                if extra and keyword.arg is None:
                    yield from self.of(keyword.value, caller)
                elif extra and keyword.arg not in taken:
                    yield str(keyword.arg)
                elif keyword.arg == name:
                    yield from self.of(keyword.value, caller)
            if name in own and own.index(name) < len(call.args):
                yield from self.of(call.args[own.index(name)], caller)


def targets(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Give what a function assigns to."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            yield from node.targets


def bound(name: str, function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Give what a variable is set to in a function."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(value=value):
                for target in node.targets:
                    match target, value:
                        case ast.Name(id=there), _ if there == name:
                            yield value
                        case ast.Tuple(elts=names), ast.Tuple(elts=items):
                            for one, item in zip(names, items, strict=True):
                                if isinstance(one, ast.Name) and one.id == name:
                                    yield item
                        case _:
                            pass
            case ast.AnnAssign(target=ast.Name(id=there), value=ast.expr() as value):
                if there == name:
                    yield value
            case _:
                pass


def keys(key: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
    """Give what a key of a dict can be."""
    match key:
        case ast.Constant(value=str(name)):
            yield name
        case ast.IfExp(body=body, orelse=other):
            yield from keys(body, function)
            yield from keys(other, function)
        case ast.Name(id=name):
            values = [*bound(name, function)]
            assert values, f"{function.name}: what is {name}?"
            for value in values:
                yield from keys(value, function)
        case _:
            text = ast.unparse(key)
            assert text in MADE, f"{function.name}: what can {text} be? Say so in MADE"
            yield from MADE[text]


def named_by_detectors() -> set[str]:
    return Names("\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.py")))).found()


def test_reports_may_name_what_the_detectors_give_and_nothing_else() -> None:
    named = named_by_detectors()
    assert sorted(named - EVIDENCE) == []
    assert sorted(EVIDENCE - named) == []


SOURCE = """
def one(more):
    evidence = {"a": 1, **more}
    evidence["b"] = 2
    return Finding(evidence=evidence)
def two(row, **extra):
    part = "c" if row else "d"
    return Finding(evidence={part: 1, **extra})
def three():
    one({"e": 1})
    one(more={"f": 1} if two(0, g=1) else {})
"""


def test_names_are_followed_through_variables_parameters_and_keywords() -> None:
    assert Names(SOURCE).found() == {*"abcdefg"}
