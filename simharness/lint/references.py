"""Finds uses of forbidden names: clocks, generators, threads, files, hashes and the like."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from simharness.kernel.forbidden import NAMES, PACKAGES, code_of, may_at_import
from simharness.lint.kinds import GENERATOR
from simharness.lint.names import How
from simharness.lint.sets import is_order_free
from simharness.lint.spot import Spot, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.lint.kinds import Kinds
    from simharness.lint.names import File

FILE_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes"}
"""Methods of paths, by names that nothing else is likely to have."""
FOLDER_METHODS = {"iterdir", "rglob", "glob"}
WORDS_OF_DATES = re.compile(r"%[aAbBcpxX]")


def check(file: File, kinds: Kinds) -> Iterator[Spot]:
    """Find uses of forbidden names."""
    yield from star_imports(file)
    for node in file.nodes:
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                yield from reference(file, kinds, node)
            case ast.Subscript(ctx=ast.Load()) | ast.Call():
                if isinstance(node, ast.Call):
                    yield from call(file, node)
                dotted = file.dotted(node)
                # A module that is looked up is told where something of it is used.
                if dotted is not None and "." in dotted and not is_part(file, node):
                    yield from found(file, node, dotted)
            case ast.FunctionDef(name="__del__"):
                yield Spot(node, "SH010", "`__del__`")
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=spec)])):
                if isinstance(spec, str) and spec.endswith("n"):
                    yield Spot(node, "SH009", f"the format {spec!r}")
            case _:
                pass


def reference(file: File, kinds: Kinds, node: ast.Name | ast.Attribute) -> Iterator[Spot]:
    """Check a name or an attribute that is read."""
    if is_part(file, node):
        return
    dotted = file.dotted(node)
    if isinstance(node, ast.Name):
        sources = file.sources(node.id, file.scopes[node])
        if any(source.how is not How.IMPORT for source in sources):
            return  # told where it was bound
    elif file.dotted(node.value) is None:
        kind = kinds.of(node.value)
        if kind is not None and kind.name == GENERATOR:
            yield Spot(node, "SH003", shown(node))
        return
    if dotted is not None:
        yield from found(file, node, dotted)


def is_part(file: File, node: ast.AST) -> bool:
    """Whether a node only leads to the name that is meant, as `time` does in `time.time`."""
    above = file.parents.get(node)
    match above:
        case ast.Attribute() | ast.Subscript():
            return file.dotted(above) is not None
        case ast.Call(args=[first, *_]) if first is node:
            return file.dotted(above) is not None
        case ast.Assign(value=value) if value is node:
            # Another name for a module; what is used of it is told there.
            return isinstance(node, ast.Name) and file.dotted(node) in PACKAGES
        case _:
            return False


def found(file: File, node: ast.AST, dotted: str) -> Iterator[Spot]:
    """Give the spot for a full name, if it is forbidden here."""
    code = code_of(dotted)
    subject = f"`{dotted.removeprefix('builtins.')}`"
    if code == "SH008":
        yield from folder(file, node, subject)
    elif may_at_import(dotted) and not file.in_function(node):
        return
    elif code is not None:
        yield Spot(node, code, subject)


def folder(file: File, node: ast.AST, subject: str) -> Iterator[Spot]:
    """Check what lists files: sorted and at import it is fine."""
    above = file.parents.get(node)
    called = above if isinstance(above, ast.Call) and above.func is node else node
    if not is_order_free(file, called):
        yield Spot(node, "SH008", subject)
    elif file.in_function(node):
        yield Spot(node, "SH007", subject)


def call(file: File, node: ast.Call) -> Iterator[Spot]:
    """Check calls that only some arguments, or the name of a method, make forbidden."""
    dotted = file.dotted(node.func) or ""
    if dotted in ("weakref.ref", "weakref.proxy"):
        if len(node.args) > 1 or node.keywords:
            yield Spot(node, "SH010", f"the callback of `{dotted}`")
        return
    if not isinstance(node.func, ast.Attribute) or code_of(dotted) is not None:
        return
    name = node.func.attr
    match name:
        case "__hash__" if not node.args:
            yield Spot(node, "SH012", shown(node))
        case _ if name in FILE_METHODS and file.in_function(node):
            yield Spot(node, "SH007", f"`.{name}`")
        case _ if name in FOLDER_METHODS:
            yield from folder(file, node.func, f"`.{name}`")
        case "strftime":
            for given in node.args:
                match given:
                    case ast.Constant(value=str(text)) if WORDS_OF_DATES.search(text):
                        yield Spot(node, "SH009", f"the format {text!r}")
                    case _:
                        pass
        case _:
            pass


def star_imports(file: File) -> Iterator[Spot]:
    """Check `from x import *`."""
    for module, node in file.stars:
        if code_of(module) is not None:
            yield Spot(node, code_of(module) or "", f"`from {module} import *`")
            continue
        for name in file.nodes:
            if (
                isinstance(name, ast.Name)
                and f"{module}.{name.id}" in NAMES
                and not file.sources(name.id, file.scopes[name])
            ):
                yield from found(file, name, f"{module}.{name.id}")
