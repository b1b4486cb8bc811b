"""Finds state that outlives an episode: of the module, of a class, in defaults, in caches."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from simharness.lint.names import Function, How
from simharness.lint.spot import Spot, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.lint.kinds import Kinds
    from simharness.lint.names import File, Scope, Source

CHANGING = {
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft",
    "insert", "intersection_update", "pop", "popitem", "popleft", "remove", "reverse", "rotate",
    "setdefault", "sort", "subtract", "symmetric_difference_update", "update", "__setitem__",
    "__delitem__", "send", "move_to_end",
}  # fmt: skip
"""Methods that change what they are called on."""
CHANGING_CALLS = {
    "bisect.insort", "bisect.insort_left", "bisect.insort_right", "builtins.delattr",
    "builtins.next", "builtins.setattr", "heapq.heapify", "heapq.heappop", "heapq.heappush",
    "heapq.heappushpop", "heapq.heapreplace", "operator.delitem", "operator.setitem",
    "random.shuffle",
}  # fmt: skip
"""Functions that change their first argument."""
COUNTERS = {"itertools.count", "itertools.cycle"}
CACHES = {"functools.cache", "functools.lru_cache", "functools.cached_property"}
OF_A_WORLD = {"World", "Operation", "Product", "Store", "Table", "Actor", "Stream", "Transaction"}
SHARED = ("simharness.api.Scenario", "simharness.Scenario")
"""Classes whose objects are made once and serve all episodes."""


def check(file: File, kinds: Kinds) -> Iterator[Spot]:
    """Find state that outlives an episode."""
    del kinds
    for node in file.nodes:
        match node:
            case ast.Call():
                yield from counter(file, node)
                yield from changing_call(file, node)
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from changed(file, node, target)
            case ast.AugAssign(target=target):
                yield from changed(file, node, target)
            case ast.AnnAssign(target=target) if node.value is not None:
                yield from changed(file, node, target)
            case ast.Delete(targets=targets):
                for target in targets:
                    yield from changed(file, node, target)
            case ast.FunctionDef():
                yield from cache(file, node)
            case _:
                pass


def counter(file: File, node: ast.Call) -> Iterator[Spot]:
    """Check counters that are made when the file is imported."""
    if file.dotted(node.func) in COUNTERS and not file.in_function(node):
        in_class = any(isinstance(above, ast.ClassDef) for above in file.enclosing(node))
        yield Spot(node, "SH016" if in_class else "SH015", shown(node))


def changing_call(file: File, node: ast.Call) -> Iterator[Spot]:
    """Check calls that change what they are called on or given."""
    if not file.in_function(node):
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        yield from shared(file, node, node.func.value)
    elif file.dotted(node.func) in CHANGING_CALLS and node.args:
        yield from shared(file, node, node.args[0])
    elif file.dotted(node.func) == "builtins.globals":
        yield Spot(node, "SH015", shown(node))


def changed(file: File, statement: ast.AST, target: ast.expr) -> Iterator[Spot]:
    """Check a place that a statement writes to."""
    if not file.in_function(statement):
        return
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from changed(file, statement, part)
        case ast.Name(id=name) if name in file.scopes[target].outside:
            yield Spot(statement, "SH015", f"the write to `{name}`")
        case ast.Attribute(value=ast.Name()) if file.class_of(target.value) is not None:
            yield from set_on_self(file, statement, target)
        case ast.Attribute(value=value):
            yield from shared(file, statement, value, sets_attribute=True)
        case ast.Subscript(value=value):
            yield from shared(file, statement, value)
        case _:
            pass


def set_on_self(file: File, statement: ast.AST, target: ast.Attribute) -> Iterator[Spot]:
    """Check `self.x = ...`, which is fine but for `cls.x` and in scenarios, made only once."""
    owner = file.class_of(target.value)
    function = next(above for above in file.enclosing(statement) if isinstance(above, Function))
    if owner is None or isinstance(function, ast.Lambda):
        return
    of_class = any(isinstance(d, ast.Name) and d.id == "classmethod"
                   for d in function.decorator_list)  # fmt: skip
    once = any(name in SHARED for name in file.base_names(owner))
    if of_class or (once and function.name not in ("__init__", "__new__")):
        yield Spot(statement, "SH016", f"the write to {shown(target)}")


def shared(
    file: File, statement: ast.AST, value: ast.expr, *, sets_attribute: bool = False
) -> Iterator[Spot]:
    """Check whether what is changed outlives the episode."""
    root, chain = root_of(value)
    if isinstance(root, ast.Call):
        if file.dotted(root.func) == "builtins.type" and sets_attribute:
            yield Spot(statement, "SH016", f"the write to {shown(value)}")
        return
    if not isinstance(root, ast.Name):
        return
    owner = file.class_of(root)
    if owner is not None:
        once = any(name in SHARED for name in file.base_names(owner))
        if chain and (once or chain[0] == "__class__" or is_class_level(file, owner, chain[0])):
            yield Spot(statement, "SH016", shown(changed_part(statement)))
        return
    scope, sources = home(file, root)
    if scope is None:
        return
    if any(isinstance(source.node, ast.ClassDef) for source in sources):
        yield Spot(statement, "SH016", shown(changed_part(statement)))
    elif any(source.how is How.IMPORT for source in sources):
        # Constants of another module; functions of modules such as `np.append` change nothing.
        last = chain[-1] if chain else root.id
        if last.isupper() or (sets_attribute and not chain):
            yield Spot(statement, "SH015", shown(changed_part(statement)))
    elif scope.is_module:
        counts = any(
            isinstance(s.node, ast.Call) and file.dotted(s.node.func) in COUNTERS for s in sources
        )
        if not counts:
            yield Spot(statement, "SH015", shown(changed_part(statement)))
    elif is_default(root.id, scope):
        yield Spot(statement, "SH015", f"the default of `{root.id}`, which all calls share,")


def home(file: File, root: ast.Name) -> tuple[Scope | None, list[Source]]:
    """Give where a name is bound; one that only stands for another name leads to that one."""
    for _ in range(8):
        scope = file.scope_of(root.id, file.scopes[root])
        sources = file.sources(root.id, file.scopes[root])
        if scope is None or scope.is_module or len(sources) != 1:
            return scope, sources
        following = sources[0].node
        if sources[0].how is not How.VALUE or not isinstance(following, ast.Name):
            return scope, sources
        root = following
    return None, []


def root_of(value: ast.expr) -> tuple[ast.expr, list[str]]:
    """Give the beginning of `a.b[c].d`, and the attributes on the way."""
    chain: list[str] = []
    while isinstance(value, ast.Attribute | ast.Subscript):
        if isinstance(value, ast.Attribute):
            chain.insert(0, value.attr)
        value = value.value
    return value, chain


def is_class_level(file: File, owner: ast.ClassDef, attribute: str) -> bool:
    """Whether an attribute has its value from the class and never one of the object's own."""
    members = file.members(owner, attribute)
    own = [s for s in members if s.how is How.VALUE and file.in_function(s.statement)]
    shared_values = [
        source
        for source in members
        if source.how is How.VALUE and file.scopes[source.statement].is_class
    ]
    return bool(shared_values) and not own and any(is_mutable(s.node) for s in shared_values)


def is_mutable(node: ast.AST) -> bool:
    """Whether a value can be changed: anything but constants, tuples and descriptions of fields."""
    match node:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(func=called):
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            return name in {"list", "dict", "set", "defaultdict", "Counter", "OrderedDict", "deque",
                            "bytearray"}  # fmt: skip
        case _:
            return False


def is_default(name: str, scope: Scope) -> bool:
    """Whether a parameter has a default that can be changed."""
    if not isinstance(scope.node, Function) or len(scope.names.get(name, ())) != 1:
        return False
    given = scope.node.args
    places = [*given.posonlyargs, *given.args]
    defaults = {
        argument.arg: default
        for argument, default in zip(places[::-1], given.defaults[::-1], strict=False)
    }
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = default
    return name in defaults and is_mutable(defaults[name])


def changed_part(statement: ast.AST) -> ast.AST:
    """Give what a message shows of a statement."""
    match statement:
        case ast.Assign(targets=[target]):
            return target
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return target
        case _:
            return statement


def cache(file: File, node: ast.FunctionDef) -> Iterator[Spot]:
    """Check functools caches: fine on a pure function of plain values alone."""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        dotted = file.dotted(called)
        if dotted not in CACHES or dotted == "functools.cached_property":
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        hints = {
            part.id if isinstance(part, ast.Name) else getattr(part, "attr", "")
            for argument in given
            if argument.annotation is not None
            for part in ast.walk(argument.annotation)
        }
        inside = [part for statement in node.body for part in ast.walk(statement)]
        is_method = file.scopes[node].is_class and bool(given)
        if (
            is_method
            or not hints.isdisjoint(OF_A_WORLD)
            or any(isinstance(p, ast.Yield | ast.YieldFrom | ast.Global) for p in inside)
        ):
            yield Spot(decorator, "SH017", f"the cache of `{node.name}`")
