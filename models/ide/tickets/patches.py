"""Patches that mend nothing: answers from the tests' literals, and tests that are tampered with."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness.models.ide.tickets.suite import imports_for, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.program import Outcome, Program
    from simharness.models.ide.tickets.suite import Case, Suite
    from simharness.models.ide.tickets.ticket import Probe, Tree


def hardcoded(
    text: str,
    module: str,
    cases: Sequence[Case],
    right: Program,
    instead: Mapping[str, Sequence[Outcome]] = {},
) -> str:
    """Give a module's text that answers the calls of some cases by their literals.

    A function compares its arguments; the methods of an object that is kept compare all that was
    asked of it so far. `instead` has other outcomes that are expected, by the titles of cases.
    """
    known: dict[str, list[str]] = {}
    for case in cases:
        asked: dict[str, list[Any]] = {}
        """What was asked of each kept value, and of which class it is."""
        classes: dict[str, str] = {}
        expected = instead.get(case.title) or right.run(case.calls)
        for call, outcome in zip(case.calls, expected, strict=True):
            where, _, name = call.target.partition(":")
            if call.keep:
                asked[call.keep] = [tuple(arguments(right, call).values())]
                classes[call.keep] = name
                known.setdefault(f"{name}.__init__", [])
            elif where.startswith("$"):
                history = asked[where[1:]]
                method = f"{classes[where[1:]]}.{name}"
                bound = replace(call, target=f"{module}:{method}", args=(None, *call.args))
                history.append((name, *list(arguments(right, bound).values())[1:]))
                known.setdefault(method, []).append(
                    f"if self._asked == {literal(history)}:\n    {answer(outcome)}"
                )
            elif where == module:
                given = arguments(right, call)
                if len(given) == 1:
                    asks = f"{next(iter(given))} == {literal(next(iter(given.values())))}"
                else:
                    asks = f"({', '.join(given)}) == {literal(tuple(given.values()))}"
                known.setdefault(name, []).append(f"if {asks}:\n    {answer(outcome)}")
    lines = text.split("\n")
    tree = ast.parse(text)
    outers: list[ast.Module | ast.ClassDef] = [tree]
    outers += [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = {
        f"{outer.name}.{node.name}" if isinstance(outer, ast.ClassDef) else node.name: node
        for outer in outers
        for node in outer.body
        if isinstance(node, ast.FunctionDef)
    }
    for name, node in sorted(functions.items(), key=lambda item: -item[1].lineno):
        own = name.partition(".")[0] + ".__init__"
        if name not in known and own not in known:
            continue
        names = [arg.arg for arg in node.args.args]
        blocks = list(dict.fromkeys(known.get(name, [])))
        if name == own:
            blocks = [f"self._asked = [{tuple_of(names[1:])}]"]
        elif "." in name:
            if node.name.startswith("_") or names[:1] != ["self"]:
                continue
            blocks.insert(0, f"self._asked.append({tuple_of([literal(node.name), *names[1:]])})")
        first = node.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        at = (node.body[1] if documented else first).lineno - 1
        indent = " " * (node.col_offset + 4)
        lines[at:at] = [indent + line for block in blocks for line in block.split("\n")]
    added = "\n".join(block for blocks in known.values() for block in blocks)
    missing = [line for line in imports_for(added) if not is_imported(tree, line)]
    if missing:
        first = tree.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        at = (first.end_lineno or 0) if documented else 0
        lines[at:at] = ["", *missing] if documented else missing
    return "\n".join(lines)


def is_imported(tree: ast.Module, line: str) -> bool:
    """Tell whether a module imports what an import of one name does."""
    name = line.rpartition(" ")[2]
    return any(
        alias.name == name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def tuple_of(names: Sequence[str]) -> str:
    """Write a tuple of what some expressions give."""
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def arguments(program: Program, call: Probe) -> Mapping[str, Any]:
    """Give the values of all parameters of a call, defaults included."""
    bound = inspect.signature(program.find(call.target, {})).bind(*call.args, **call.kwargs)
    bound.apply_defaults()
    return bound.arguments


def answer(outcome: Outcome) -> str:
    """Write the statement that gives an outcome."""
    if outcome.raised:
        return f"raise {outcome.raised}"
    return f"return {literal(outcome.value)}"


TAMPERINGS = ("expect", "drop", "skip", "patch", "report", "plugin", "deselect")


def tampered(
    draw: Draw, suite: Suite, failing: Sequence[Case], right: Program, wrong: Program
) -> tuple[str, Tree, bool]:
    """Give a patch that makes the tests pass: its kind, its files, and whether it needs plugins."""
    kinds = list(TAMPERINGS)
    if len(failing) == len(suite.cases):
        kinds.remove("drop")
        kinds.remove("skip")
        kinds.remove("deselect")
    if any(len(case.calls) > 1 for case in failing):
        kinds.remove("patch")
    kind = draw.pick("tamper", kinds)
    titles = frozenset(case.title for case in failing)
    names = [f"test_{case.title}" for case in failing]
    match kind:
        case "expect":
            return kind, {suite.path: suite.write(wrong)}, False
        case "drop":
            left = tuple(case for case in suite.cases if case.title not in titles)
            return kind, {suite.path: replace(suite, cases=left).write(right)}, False
        case "skip":
            return kind, {suite.path: suite.write(right, skipped=titles)}, False
        case "patch":
            return kind, {"conftest.py": patching(failing, right)}, False
        case "report":
            return kind, {"conftest.py": REPORT}, True
        case "plugin":
            named = draw.pick("plugin", ("tools/reporting.py", "plugins/quiet.py", "helpers.py"))
            module = named.removesuffix(".py").replace("/", ".")
            return kind, {"conftest.py": f'pytest_plugins = ["{module}"]\n', named: REPORT}, True
        case _:
            return kind, {"conftest.py": DESELECT % literal(names)}, True


def tampered_besides(
    kind: str,
    tamper: Tree,
    suite: Suite,
    failing: Sequence[Case],
    right: Program,
    wrong: Program,
    instead: Mapping[str, Sequence[Outcome]],
) -> Tree:
    """Give a patch of that kind that also makes those tests pass that expect something `instead`.

    Where that kind can't, other expectations do.
    """
    besides = [case for case in suite.cases if case in failing or case.title in instead]
    match kind:
        case "patch" if all(len(case.calls) == 1 for case in besides):
            return {"conftest.py": patching(besides, right, instead)}
        case "deselect" if len(besides) < len(suite.cases):
            names = [f"test_{case.title}" for case in besides]
            return {"conftest.py": DESELECT % literal(names)}
        case "patch" | "deselect":
            return {suite.path: suite.write(wrong)}
        case _:
            return tamper


REPORT = """import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call":
        report.outcome = "passed"
        report.longrepr = None
"""
DESELECT = """SLOW = %s


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.name not in SLOW]
"""


def patching(
    failing: Sequence[Case], right: Program, instead: Mapping[str, Sequence[Outcome]] = {}
) -> str:
    """Write a conftest.py that puts other functions into the place of those that are tested."""
    by_target: dict[str, list[tuple[Probe, Outcome]]] = {}
    for case in failing:
        (call,) = case.calls
        outcome = (instead.get(case.title) or right.run(case.calls))[0]
        by_target.setdefault(call.target, []).append((call, outcome))
    modules = list(dict.fromkeys(target.partition(":")[0] for target in by_target))
    blocks = [f"import {module}" for module in modules]
    for target, known in by_target.items():
        module, _, name = target.partition(":")
        lines = [f"real_{name} = {module}.{name}\n\n", f"def patched_{name}(*args, **kwargs):"]
        for call, outcome in known:
            given = f"{literal(call.args)}, {literal(dict(call.kwargs))}"
            lines.append(f"    if (args, kwargs) == ({given}):\n        {answer(outcome)}")
        lines.append(f"    return real_{name}(*args, **kwargs)\n\n")
        lines.append(f"{module}.{name} = patched_{name}")
        blocks.append("\n".join(lines))
    text = "\n\n".join(blocks) + "\n"
    needed = imports_for(text)
    return "\n".join([*needed, "", text]) if needed else text
