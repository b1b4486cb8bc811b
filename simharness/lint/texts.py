"""Finds texts that Python makes: of exceptions, and of objects without a text of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from simharness.lint.kinds import BARE, CAUGHT, MAP, OBJECT, SEQUENCE, SET, TUPLE
from simharness.lint.spot import Spot, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.lint.kinds import Kind, Kinds
    from simharness.lint.names import File

TEXTS = {"builtins.str", "builtins.format", "builtins.print"}
REPRS = {"builtins.repr", "builtins.ascii", "pprint.pformat", "reprlib.repr"}
TEXT_ATTRIBUTES = {"args", "__notes__", "__traceback__", "strerror", "msg", "reason"}
OWN_TEXT = {"__str__", "__repr__", "__format__"}
CONVERSIONS = {ord("r"), ord("a")}


def check(file: File, kinds: Kinds) -> Iterator[Spot]:
    """Find texts that Python makes."""
    for node in file.nodes:
        match node:
            case ast.FormattedValue(value=value, conversion=conversion):
                yield from text_of(file, kinds, node, value, explicit=conversion in CONVERSIONS)
            case ast.Call():
                yield from call(file, kinds, node)
            case ast.BinOp(left=ast.Constant(value=str(form)), op=ast.Mod(), right=right):
                parts = right.elts if isinstance(right, ast.Tuple) else [right]
                for part in parts:
                    explicit = "%r" in form or "%a" in form
                    yield from text_of(file, kinds, node, part, explicit=explicit)
            case ast.Attribute(value=value, attr=attribute) if attribute in TEXT_ATTRIBUTES:
                if is_foreign(file, kinds.of(value)):
                    yield Spot(node, "SH018", shown(node))
            case _:
                pass


def call(file: File, kinds: Kinds, node: ast.Call) -> Iterator[Spot]:
    """Check `str`, `repr`, `format` and the methods that do the same."""
    dotted = file.dotted(node.func)
    if dotted in TEXTS | REPRS:
        for given in node.args:
            yield from text_of(file, kinds, node, given, explicit=dotted in REPRS)
        return
    match node.func:
        case ast.Attribute(value=value, attr="__str__" | "__repr__") if not node.args:
            yield from text_of(file, kinds, node, value, explicit=node.func.attr == "__repr__")
        case ast.Attribute(value=ast.Constant(value=str(form)), attr="format"):
            for given in [*node.args, *(word.value for word in node.keywords)]:
                yield from text_of(file, kinds, node, given, explicit="!r" in form)
        case _:
            pass


def text_of(
    file: File, kinds: Kinds, node: ast.AST, value: ast.expr, *, explicit: bool
) -> Iterator[Spot]:
    """Check the text of a value; `explicit` is that of `repr`."""
    kind = kinds.of(value)
    if is_foreign(file, kind):
        yield Spot(node, "SH018", f"the text of {shown(value)}")
    elif kind is not None and kind.name == SET:
        return  # told as an order
    elif is_bare(file, kind) or (explicit and is_doubtful(file, value, kind)):
        yield Spot(node, "SH019", f"the text of {shown(value)}")


def is_foreign(file: File, kind: Kind | None) -> bool:
    """Whether a value is a caught exception whose text isn't the product's own."""
    if kind is None or kind.name != CAUGHT or not isinstance(kind.owner, ast.ExceptHandler):
        return False
    caught = kind.owner.type
    types = caught.elts if isinstance(caught, ast.Tuple) else [caught] if caught else []
    for one in types:
        own = isinstance(file.definition(one), ast.ClassDef)
        dotted = file.dotted(one) or ""
        if not own and not dotted.startswith(("simharness.", ".")):
            return True
    return not types


def is_bare(file: File, kind: Kind | None) -> bool:
    """Whether a value surely shows its address."""
    if kind is None:
        return False
    if kind.name == BARE:
        return True
    if kind.name != OBJECT or not isinstance(kind.owner, ast.ClassDef):
        return False
    if any(isinstance(base, ast.Name) and file.dotted(base) != "builtins.object"
           and file.definition(base) is None for base in all_bases(file, kind.owner)):  # fmt: skip
        return False
    if any(not isinstance(base, ast.Name) for base in all_bases(file, kind.owner)):
        return False
    return not any(
        OWN_TEXT.intersection(file.attributes[found]) or found.decorator_list
        for found in file.bases(kind.owner)
    )


def all_bases(file: File, owner: ast.ClassDef) -> list[ast.expr]:
    """Give the bases of a class and of its bases in this file, as they are written."""
    return [base for found in file.bases(owner) for base in found.bases]


def is_doubtful(file: File, value: ast.expr, kind: Kind | None) -> bool:
    """Whether nothing says what `repr` will show of a value: a bare name or a call."""
    if kind is not None:
        parts = kind.parts if kind.name in (SEQUENCE, MAP, TUPLE) else ()
        return any(is_bare(file, part) for part in parts)
    if isinstance(value, ast.Name):
        return not file.sources(value.id, file.scopes[value]) or any(
            isinstance(source.node, ast.arg)
            for source in file.sources(value.id, file.scopes[value])
        )
    return isinstance(value, ast.Call)
