"""`assert` statements that say what they compared, and the loading of files that hold them."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import ast
import operator
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.sandbox.guest.folder import Folder

SHOWN_MAX = 400
COMPARE = "@compare"
"""What the comparing function is called in a test file: a name that no program can write."""

OPERATORS: dict[type, tuple[str, Any]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda left, right: left in right),
    ast.NotIn: ("not in", lambda left, right: left not in right),
}
NUMBERED = list(OPERATORS.values())
NUMBERS = {kind: number for number, kind in enumerate(OPERATORS)}


def shown(value: Any) -> str:
    """Show a value, whatever its `__repr__` does."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."


def compare(left: Any, right: Any, number: int) -> None:
    """Do what `assert left == right` does, and show both sides if it doesn't hold."""
    sign, holds = NUMBERED[number]
    if not holds(left, right):
        raise AssertionError(f"assert {shown(left)} {sign} {shown(right)}")


BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def rewrite(statements: list[Any]) -> None:
    """Turn each `assert a == b` without a message into a call of `compare`, in place."""
    for at, statement in enumerate(statements):
        if type(statement) is ast.Assert:
            test = statement.test
            if type(test) is ast.Compare and len(test.ops) == 1 and statement.msg is None:
                statements[at] = _called(statement, test)
            continue
        for field in BODIES:
            inner = getattr(statement, field, None)
            if inner and type(inner) is list:
                rewrite(inner)


def _called(node: ast.Assert, test: ast.Compare) -> ast.stmt:
    number = ast.Constant(NUMBERS[type(test.ops[0])])
    name = ast.Name(COMPARE, ast.Load())
    call = ast.Call(name, [test.left, test.comparators[0], number], [])
    made = ast.Expr(call)
    for part in (number, name, call, made):
        part.lineno, part.col_offset = node.lineno, node.col_offset
        part.end_lineno, part.end_col_offset = node.end_lineno, node.end_col_offset
    return made


def load(path: str, folder: Folder) -> types.ModuleType:
    """Import a test file or a conftest.py by its path, as pytest does.

    Its folder, or the first one above that is no package, goes first on the import path.
    """
    nodes = folder.nodes
    above, _, file_name = path.rpartition("/")
    parts = [file_name.removesuffix(".py")]
    while f"{above}/__init__.py" in nodes:
        above, _, package = above.rpartition("/")
        parts.insert(0, package)
    if above not in sys.path:
        sys.path.insert(0, above)
    name = ".".join(parts)
    held = sys.modules.get(name)
    if held is not None:
        if getattr(held, "__file__", None) == path:
            return held
        if parts[-1] != "conftest":
            raise ImportError(
                f"import file mismatch: imported module {name!r} is not {path}; "
                "use a unique basename for your test file modules"
            )
    for depth in range(1, len(parts)):
        __import__(".".join(parts[:depth]))
    source = bytes(folder.find(path)[1].data or b"")
    tree: Any = compile(source, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    rewrite(tree.body)
    module: Any = types.ModuleType(name)
    module.__file__ = path
    module.__package__ = ".".join(parts[:-1])
    module.__dict__[COMPARE] = compare
    sys.modules[name] = module
    try:
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module  # type: ignore[no-any-return]
