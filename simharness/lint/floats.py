"""Finds what makes a float."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from simharness.lint.kinds import PATH
from simharness.lint.spot import Spot, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.lint.kinds import Kinds
    from simharness.lint.names import File

WHOLE = {
    f"math.{name}"
    for name in ("ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "prod",
                 "trunc")
} | {
    f"statistics.{name}" for name in ("median_high", "median_low", "mode", "multimode")
}  # fmt: skip
"""Functions of these modules that give an int for ints."""
MODULES = ("math", "cmath", "statistics")
NUMPY = {
    f"numpy.{name}"
    for name in ("average", "divide", "double", "exp", "float16", "float32", "float64", "inf",
                 "linspace", "log", "log10", "log2", "mean", "nan", "pi", "sqrt", "std",
                 "true_divide", "var")
}  # fmt: skip
METHODS = {"total_seconds"}
TYPE_CHECKS = {"builtins.isinstance", "builtins.issubclass"}


def check(file: File, kinds: Kinds) -> Iterator[Spot]:
    """Find what makes a float."""
    for node in file.nodes:
        match node:
            case ast.Constant(value=float() | complex()):
                yield Spot(node, "SH014", shown(node))
            case ast.BinOp(op=ast.Div()) if not is_path(kinds, node):
                yield Spot(node, "SH014", shown(node))
            case ast.BinOp(op=ast.Pow(), right=ast.UnaryOp(op=ast.USub())):
                yield Spot(node, "SH014", shown(node))
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
                yield from reference(file, node)
            case ast.Call():
                yield from call(file, node)
            case _:
                pass


def is_path(kinds: Kinds, node: ast.BinOp) -> bool:
    """Whether `/` joins paths: a side is a path, or a text, which nobody divides."""
    for side in (node.left, node.right):
        kind = kinds.of(side)
        if kind is not None and kind.name == PATH:
            return True
        if isinstance(side, ast.JoinedStr):
            return True
        if isinstance(side, ast.Constant) and isinstance(side.value, str):
            return True
    return False


def reference(file: File, node: ast.Name | ast.Attribute) -> Iterator[Spot]:
    """Check a name: `float` but in checks of a type, and functions that give floats."""
    dotted = file.dotted(node)
    if dotted is None or isinstance(file.parents.get(node), ast.Attribute):
        return
    if dotted in ("builtins.float", "builtins.complex"):
        if not is_type_check(file, node):
            yield Spot(node, "SH014", f"`{dotted.removeprefix('builtins.')}`")
    elif dotted in NUMPY or (
        "." in dotted and dotted.partition(".")[0] in MODULES and dotted not in WHOLE
    ):
        yield Spot(node, "SH014", f"`{dotted}`")


def is_type_check(file: File, node: ast.AST) -> bool:
    """Whether a type is only compared with."""
    for above in file.enclosing(node):
        match above:
            case ast.Tuple() | ast.BinOp(op=ast.BitOr()):
                continue
            case ast.Call(func=called):
                return file.dotted(called) in TYPE_CHECKS
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn(), *_]):
                return True
            case ast.MatchClass():
                return True
            case _:
                return False
    return False


def call(file: File, node: ast.Call) -> Iterator[Spot]:
    """Check `round` to digits after the point, `pow` to a negative power, and some methods."""
    dotted = file.dotted(node.func)
    match node.args:
        case [_, ast.UnaryOp(op=ast.USub())]:
            if dotted == "builtins.pow":
                yield Spot(node, "SH014", shown(node))
        case [_, _] if dotted == "builtins.round":
            yield Spot(node, "SH014", shown(node))
        case [] if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield Spot(node, "SH014", f"`.{node.func.attr}`")
        case _:
            pass
