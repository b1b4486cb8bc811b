"""Finds what depends on the order of a set."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from simharness.lint.spot import Spot, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.lint.kinds import Kinds
    from simharness.lint.names import File

ORDER_FREE = {
    f"builtins.{name}"
    for name in ("all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum")
}
"""Functions whose result is the same for every order of what they are given."""
WITH_KEY = {"builtins.max", "builtins.min", "builtins.sorted"}
PASSING_ON = {
    f"builtins.{name}"
    for name in ("dict", "enumerate", "filter", "iter", "list", "map", "reversed", "tuple", "zip")
} | {
    f"itertools.{name}"
    for name in ("accumulate", "batched", "chain", "combinations", "cycle", "dropwhile", "islice",
                 "filterfalse", "groupby", "pairwise", "permutations", "product", "starmap",
                 "takewhile", "zip_longest", "chain.from_iterable")
} | {
    "builtins.ascii", "builtins.dict.fromkeys", "builtins.format", "builtins.repr", "builtins.str",
    "collections.Counter", "collections.OrderedDict", "collections.OrderedDict.fromkeys",
    "collections.deque", "functools.reduce", "heapq.merge", "json.dumps", "random.choice",
    "random.sample", "random.shuffle",
}  # fmt: skip
"""Functions that give on the order of what they are given."""
KEEPING = {"join", "extend", "extendleft", "writelines", "fromkeys"}
"""Methods that keep the order of what they are given."""
SET_CHANGERS = {
    "difference", "difference_update", "intersection", "intersection_update", "isdisjoint",
    "issubset", "issuperset", "symmetric_difference", "symmetric_difference_update", "union",
    "update",
}  # fmt: skip
TELLING_APART = {"id", "key", "name", "number", "code", "slug"}
"""Attributes that no two things share, as a rule."""


def check(file: File, kinds: Kinds) -> Iterator[Spot]:
    """Find what depends on the order of a set."""
    for node in file.nodes:
        match node:
            case ast.For(iter=over) | ast.AsyncFor(iter=over) | ast.YieldFrom(value=over):
                if kinds.is_set(over):
                    yield Spot(node, "SH013", f"the loop over {shown(over)}" if isinstance(
                        node, ast.For | ast.AsyncFor) else shown(node))  # fmt: skip
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                yield from comprehension(file, kinds, node)
            case ast.Call():
                yield from call(file, kinds, node)
            case ast.Starred(value=value, ctx=ast.Load()) if kinds.is_set(value):
                above = file.parents.get(node)
                free = isinstance(above, ast.Set) or (
                    isinstance(above, ast.Call) and is_order_free_call(file, above)
                )
                if not free and not (above is not None and is_order_free(file, above)):
                    yield Spot(node, "SH013", shown(node))
            case ast.Assign(targets=[ast.Tuple() | ast.List(), *_], value=value):
                if kinds.is_set(value):
                    yield Spot(node, "SH013", shown(node))
            case ast.FormattedValue(value=value) if kinds.is_set(value):
                yield Spot(node, "SH013", f"the text of {shown(value)}")
            case _:
                pass


def comprehension(
    file: File, kinds: Kinds, node: ast.ListComp | ast.GeneratorExp | ast.DictComp
) -> Iterator[Spot]:
    """Check a comprehension: over a set it is fine where nobody sees the order of its results."""
    if is_order_free(file, node):
        return
    for part in node.generators:
        if kinds.is_set(part.iter):
            yield Spot(part.iter, "SH013", shown(node))


def call(file: File, kinds: Kinds, node: ast.Call) -> Iterator[Spot]:
    """Check a call that is given a set, or made on one."""
    dotted = file.dotted(node.func) or ""
    if isinstance(node.func, ast.Attribute):
        on, name = node.func.value, node.func.attr
        if name in ("pop", "__iter__") and not node.args and kinds.is_set(on):
            yield Spot(node, "SH013", shown(node))
            return
        if name in KEEPING and node.args and kinds.is_set(node.args[0]):
            yield Spot(node, "SH013", shown(node))
            return
        if name == "format" and any(kinds.is_set(given) for given in node.args):
            yield Spot(node, "SH013", shown(node))
            return
    if dotted in WITH_KEY and node.args and kinds.is_set(node.args[0]):
        keys = [word.value for word in node.keywords if word.arg == "key"]
        if keys and not tells_apart(keys[0]):
            yield Spot(node, "SH013", f"{shown(node)}, where keys are equal,")
    elif (
        dotted in PASSING_ON
        and any(kinds.is_set(given) for given in node.args)
        and not is_order_free(file, node)
    ):
        yield Spot(node, "SH013", shown(node))


def tells_apart(key: ast.expr) -> bool:
    """Whether a key surely differs between things that differ: by holding the thing or its id."""
    if not isinstance(key, ast.Lambda) or not key.args.args:
        return False
    name = key.args.args[0].arg
    parts = key.body.elts if isinstance(key.body, ast.Tuple) else [key.body]
    for part in parts:
        match part:
            case ast.Name(id=found) if found == name:
                return True
            case ast.Attribute(value=ast.Name(id=found), attr=attribute) if found == name:
                if attribute in TELLING_APART:
                    return True
            case _:
                pass
    return False


def is_order_free(file: File, node: ast.AST) -> bool:
    """Whether nobody sees the order of what an expression gives."""
    above = file.parents.get(node)
    match above:
        case ast.Call():
            if node not in above.args:
                return False
            if is_order_free_call(file, above):
                return True
            passes = (file.dotted(above.func) or "") in PASSING_ON
            return passes and is_order_free(file, above)
        case ast.comprehension():
            around = file.parents.get(above)
            if isinstance(around, ast.SetComp):
                return True
            return around is not None and above.iter is node and is_order_free(file, around)
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return right is node
        case ast.Starred():
            return is_order_free(file, above)
        case ast.Set():
            return True
        case _:
            return False


def is_order_free_call(file: File, node: ast.Call) -> bool:
    """Whether the result of a call is the same for every order of what it is given."""
    dotted = file.dotted(node.func) or ""
    if dotted in ORDER_FREE:
        return not any(word.arg == "key" and not tells_apart(word.value) for word in node.keywords)
    return isinstance(node.func, ast.Attribute) and node.func.attr in SET_CHANGERS - {"update"}
