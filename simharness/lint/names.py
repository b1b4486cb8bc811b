"""What the names of a file mean: scopes, imports under other names, where each name was bound."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
DEPTH_MAX = 12
"""Steps from a name to its value's name and so on, after which a name means nothing known."""


class How(Enum):
    """How a name gets its value."""

    IMPORT = auto()
    VALUE = auto()
    ITEM = auto()
    """It is an item of `node`, or place `index` of each item."""
    ANNOTATION = auto()
    CAUGHT = auto()
    DEFINITION = auto()
    OBJECT = auto()
    """It is an object of class `node`, as `self` is."""
    OTHER = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One place where a name is bound."""

    how: How
    node: ast.AST
    statement: ast.AST
    dotted: str = ""
    index: int | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function or comprehension."""

    node: ast.AST
    parent: Scope | None
    names: defaultdict[str, list[Source]] = field(
        default_factory=lambda: defaultdict[str, list[Source]](list)
    )
    outside: set[str] = field(default_factory=set[str])
    """Names declared `global` here."""

    @property
    def is_class(self) -> bool:
        """Whether names of this scope are hidden from the functions in it."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_module(self) -> bool:
        """Whether this is the file itself."""
        return self.parent is None


class File:
    """The tree of one file, with the scope, the parent and the names of every node."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.module = Scope(tree, None)
        self.scopes: dict[ast.AST, Scope] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.annotations: list[ast.expr] = []
        self.stars: list[tuple[str, ast.ImportFrom]] = []
        self.attributes: dict[ast.ClassDef, defaultdict[str, list[Source]]] = {}
        """What objects and bodies of a class have, by name."""
        self._visit(tree, self.module)
        in_annotations = {n for annotation in self.annotations for n in ast.walk(annotation)}
        self.nodes = [n for n in self.scopes if n not in in_annotations]
        """Everything that runs, in the order of the text."""

    # --- building ---------------------------------------------------------------------------------

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        self.scopes[node] = scope
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._function(node, scope)
                return
            case ast.ClassDef():
                self._class(node, scope)
                return
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, scope)
                return
            case _:
                self._bind(node, scope)
        self._children(node, ast.iter_child_nodes(node), scope)

    def _children(self, parent: ast.AST, children: Iterator[ast.AST], scope: Scope) -> None:
        for child in children:
            self.parents[child] = parent
            self._visit(child, scope)

    def _function(self, node: Function, scope: Scope) -> None:
        own = Scope(node, scope)
        body: list[ast.AST]
        given = node.args
        if isinstance(node, ast.Lambda):
            body = [node.body]
        else:
            scope.names[node.name].append(Source(How.DEFINITION, node, node))
            body = list(node.body)
            self._children(node, iter(node.decorator_list), scope)
            if node.returns is not None:
                self.annotations.append(node.returns)
                self._children(node, iter([node.returns]), scope)
        defaults = [*given.defaults, *(d for d in given.kw_defaults if d is not None)]
        self._children(node, iter(defaults), scope)
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        for argument in [*arguments, *filter(None, (given.vararg, given.kwarg))]:
            source = Source(How.OTHER, argument, node)
            if argument.annotation is not None:
                self.annotations.append(argument.annotation)
                self.parents[argument.annotation] = node
                self._visit(argument.annotation, scope)
                if argument in arguments:
                    source = Source(How.ANNOTATION, argument.annotation, node)
            own.names[argument.arg].append(source)
        if scope.is_class and arguments and not is_static(node):
            own.names[arguments[0].arg] = [Source(How.OBJECT, scope.node, node)]
        self._children(node, iter(body), own)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        scope.names[node.name].append(Source(How.DEFINITION, node, node))
        outer = [*node.decorator_list, *node.bases, *node.keywords]
        self._children(node, iter(outer), scope)
        own = Scope(node, scope)
        self.attributes[node] = own.names
        self._children(node, iter(node.body), own)

    def _comprehension(self, node: Comprehension, scope: Scope) -> None:
        own = Scope(node, scope)
        for number, part in enumerate(node.generators):
            self.parents[part] = node
            self.scopes[part] = own
            self._children(part, iter([part.iter]), own if number else scope)
            self._target(part.target, Source(How.ITEM, part.iter, node), own)
            self._children(part, iter([part.target, *part.ifs]), own)
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._children(node, iter(results), own)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    dotted = alias.name if alias.asname else name
                    scope.names[name].append(Source(How.IMPORT, node, node, dotted))
            case ast.ImportFrom():
                base = "." * node.level + (node.module or "")
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append((base, node))
                        continue
                    dotted = f"{base}.{alias.name}"
                    source = Source(How.IMPORT, node, node, dotted)
                    scope.names[alias.asname or alias.name].append(source)
            case ast.Assign():
                for target in node.targets:
                    self._target(target, Source(How.VALUE, node.value, node), scope)
            case ast.AnnAssign():
                self.annotations.append(node.annotation)
                self._target(node.target, Source(How.ANNOTATION, node.annotation, node), scope)
                if node.value is not None:
                    self._target(node.target, Source(How.VALUE, node.value, node), scope)
            case ast.AugAssign():
                combined = ast.BinOp(node.target, node.op, node.value)
                ast.copy_location(combined, node)
                self.scopes[combined] = scope
                self._target(node.target, Source(How.VALUE, combined, node), scope)
            case ast.NamedExpr():
                outer = scope
                while isinstance(outer.node, Comprehension) and outer.parent is not None:
                    outer = outer.parent
                self._target(node.target, Source(How.VALUE, node.value, node), outer)
            case ast.For() | ast.AsyncFor():
                self._target(node.target, Source(How.ITEM, node.iter, node), scope)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self._target(item.optional_vars, Source(How.OTHER, item, node), scope)
            case ast.ExceptHandler(name=str(name)):
                scope.names[name].append(Source(How.CAUGHT, node, node))
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope.names[name].append(Source(How.OTHER, node, node))
            case ast.MatchMapping(rest=str(name)):
                scope.names[name].append(Source(How.OTHER, node, node))
            case ast.Global():
                scope.outside.update(node.names)
            case ast.Nonlocal():
                for name in node.names:
                    scope.names[name].extend(())
            case _:
                pass

    def _target(self, target: ast.expr, source: Source, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                where = self.module if name in scope.outside else scope
                where.names[name].append(source)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                found = self.sources(name, scope)
                if found and found[-1].how is How.OBJECT:
                    owner = found[-1].node
                    assert isinstance(owner, ast.ClassDef)
                    self.attributes[owner][attribute].append(source)
            case ast.Starred():
                self._target(target.value, Source(How.OTHER, target, source.statement), scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for index, part in enumerate(parts):
                    self._target(part, part_of(source, index, len(parts)), scope)
            case _:
                pass

    # --- asking -----------------------------------------------------------------------------------

    def sources(self, name: str, scope: Scope) -> list[Source]:
        """Give the places that bind a name as it is seen from a scope; empty for builtins."""
        here: Scope | None = scope
        while here is not None:
            visible = here is scope or not here.is_class
            if name in here.outside:
                return self.module.names.get(name, [])
            if visible and here.names.get(name):
                return here.names[name]
            here = here.parent
        return []

    def scope_of(self, name: str, scope: Scope) -> Scope | None:
        """Give the scope that binds a name as it is seen from a scope."""
        here: Scope | None = scope
        while here is not None:
            if name in here.outside:
                return self.module
            if (here is scope or not here.is_class) and here.names.get(name):
                return here
            here = here.parent
        return None

    def dotted(self, node: ast.AST, depth: int = 0) -> str | None:
        """Give the full name of what an expression refers to, such as `time.time`; else None."""
        if depth > DEPTH_MAX:
            return None
        match node:
            case ast.Name(id=name):
                return self._dotted_name(node, name, depth)
            case ast.Attribute(value=value, attr=attribute):
                base = self.dotted(value, depth + 1)
                if base is not None:
                    return f"{base}.{attribute}"
                return self._dotted_attribute(node, depth)
            case ast.Call(func=called, args=[ast.Constant(value=str(module)), *_]):
                dotted = self.dotted(called, depth + 1)
                importers = ("builtins.__import__", "importlib.import_module")
                return module if dotted in importers else None
            case ast.Call(func=called, args=[value, ast.Constant(value=str(attribute)), *_]):
                base = self.dotted(value, depth + 1)
                if base is None or self.dotted(called, depth + 1) != "builtins.getattr":
                    return None
                return f"{base}.{attribute}"
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
                base = self.dotted(value, depth + 1) or ""
                if base == "sys.modules":
                    return key
                return f"{base.removesuffix('.__dict__')}.{key}" if "__dict__" in base else None
            case _:
                return None

    def _dotted_name(self, node: ast.AST, name: str, depth: int) -> str | None:
        found = self.sources(name, self.scopes[node])
        if not found:
            return f"builtins.{name}" if hasattr(builtins, name) else None
        for source in found:
            if source.how is How.IMPORT:
                return source.dotted
            if source.how is How.VALUE and isinstance(
                source.node, ast.Name | ast.Attribute | ast.Call | ast.Subscript
            ):
                dotted = self.dotted(source.node, depth + 1)
                if dotted is not None:
                    return dotted
        return None

    def _dotted_attribute(self, node: ast.Attribute, depth: int) -> str | None:
        owner = self.class_of(node.value)
        for source in self.members(owner, node.attr) if owner is not None else ():
            if source.how is How.VALUE:
                dotted = self.dotted(source.node, depth + 1)
                if dotted is not None:
                    return dotted
        return None

    def definition(self, node: ast.AST) -> ast.AST | None:
        """Give the class or function of this file that a name refers to."""
        if isinstance(node, ast.Name):
            for source in self.sources(node.id, self.scopes[node]):
                if source.how is How.DEFINITION:
                    return source.node
        return None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Give the class of this file that an object such as `self` is of."""
        if isinstance(node, ast.Name):
            for source in self.sources(node.id, self.scopes[node]):
                if source.how is How.OBJECT and isinstance(source.node, ast.ClassDef):
                    return source.node
        return None

    def bases(self, owner: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """Give a class and its bases as far as they stand in this file."""
        pending, seen = [owner], list[ast.ClassDef]()
        while pending:
            found = pending.pop(0)
            if found in seen:
                continue
            seen.append(found)
            yield found
            for base in found.bases:
                plain = base.value if isinstance(base, ast.Subscript) else base
                definition = self.definition(plain)
                if isinstance(definition, ast.ClassDef):
                    pending.append(definition)

    def base_names(self, owner: ast.ClassDef) -> list[str]:
        """Give the full names of bases from elsewhere."""
        plain = [
            base.value if isinstance(base, ast.Subscript) else base
            for found in self.bases(owner)
            for base in found.bases
        ]
        return [name for base in plain if (name := self.dotted(base)) is not None]

    def members(self, owner: ast.ClassDef, attribute: str) -> list[Source]:
        """Give the places that bind an attribute in a class or its bases."""
        for found in self.bases(owner):
            if self.attributes[found].get(attribute):
                return self.attributes[found][attribute]
        return []

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """Give the nodes around a node, from the inside out."""
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above

    def in_function(self, node: ast.AST) -> bool:
        """Whether a node runs later than when the file is imported."""
        scope: Scope | None = self.scopes[node]
        while scope is not None:
            if isinstance(scope.node, Function):
                return True
            scope = scope.parent
        return False


def part_of(source: Source, index: int, count: int) -> Source:
    """Give the source of one name of several that are bound at once."""
    statement = source.statement
    if source.how is How.ITEM and source.index is None:
        return Source(How.ITEM, source.node, statement, index=index)
    if source.how is How.VALUE and isinstance(source.node, ast.Tuple | ast.List):
        parts = source.node.elts
        if len(parts) == count and not any(isinstance(part, ast.Starred) for part in parts):
            return Source(How.VALUE, parts[index], statement)
    return Source(How.OTHER, source.node, statement)


def is_static(node: Function) -> bool:
    """Whether a function in a class takes no object."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return isinstance(node, ast.Lambda) or any(
        isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators
    )
