"""What kind of value an expression has, as far as one file tells: sets above all."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.lint.names import DEPTH_MAX, Function, How

if TYPE_CHECKING:
    from simharness.lint.names import File, Source

SET, MAP, SEQUENCE, PLAIN, TUPLE = "set", "map", "sequence", "plain", "tuple"
GENERATOR, CAUGHT, OBJECT, BARE, PATH = "generator", "caught", "object", "bare", "path"

SET_NAMES = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
MAP_NAMES = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"}
SEQUENCE_NAMES = {
    "list", "List", "Sequence", "MutableSequence", "Iterable", "Iterator", "Collection", "deque",
}  # fmt: skip
PLAIN_NAMES = {"int", "str", "bool", "bytes", "Literal", "LiteralString", "Instant"}
PATH_NAMES = {"Path", "PurePath", "PosixPath", "PurePosixPath"}
TRANSPARENT = {"Annotated", "ClassVar", "Final", "Optional", "Required", "NotRequired", "ReadOnly"}
GENERATORS = {"random.Random", "random.SystemRandom", "numpy.random.Generator",
              "numpy.random.RandomState", "numpy.random.default_rng"}  # fmt: skip
SET_METHODS = {"union", "intersection", "difference", "symmetric_difference"}
PLAIN_CALLS = {
    f"builtins.{name}"
    for name in ("str", "int", "bool", "bytes", "len", "ord", "chr", "abs", "repr", "ascii", "bin",
                 "hex", "oct", "format", "isinstance", "callable", "divmod", "range")
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value, with the kinds of what it holds: items, or key and value, or places."""

    name: str
    parts: tuple[Kind | None, ...] = ()
    owner: ast.AST | None = None
    """The class or function of this file that it is an object of."""

    def part(self, index: int) -> Kind | None:
        """Give the kind of a part; None where it isn't known."""
        return self.parts[index] if index < len(self.parts) else None


A_SET = Kind(SET)
A_PLAIN = Kind(PLAIN)


class Kinds:
    """Finds kinds in one file."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._depth = 0
        self._open: dict[tuple[ast.AST, str], None] = {}
        """Attributes that are being looked at: one that is made of itself says nothing more."""

    def is_set(self, node: ast.AST) -> bool:
        """Whether an expression is known to be a set."""
        kind = self.of(node)
        return kind is not None and kind.name == SET

    def of(self, node: ast.AST) -> Kind | None:
        """Give the kind of an expression; None where the file doesn't tell."""
        if self._depth > DEPTH_MAX:
            return None
        self._depth += 1
        try:
            return self._of(node)
        finally:
            self._depth -= 1

    def _of(self, node: ast.AST) -> Kind | None:
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Compare():
                return A_PLAIN
            case ast.Set(elts=[first, *_]):
                return Kind(SET, (self.of(first),))
            case ast.SetComp(elt=element):
                return Kind(SET, (self.of(element),))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                if isinstance(node, ast.Tuple):
                    return Kind(TUPLE, tuple(self.of(part) for part in parts))
                return Kind(SEQUENCE, (self.of(parts[0]) if parts else None,))
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                return Kind(SEQUENCE, (self.of(element),))
            case ast.Dict(keys=[ast.expr() as key, *_], values=[value, *_]):
                return Kind(MAP, (self.of(key), self.of(value)))
            case ast.DictComp(key=key, value=value):
                return Kind(MAP, (self.of(key), self.of(value)))
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.UnaryOp(operand=operand):
                return A_PLAIN if isinstance(node.op, ast.Not) else self.of(operand)
            case ast.BoolOp(values=values):
                return self._any(values)
            case ast.IfExp(body=body, orelse=otherwise):
                return self._any([body, otherwise])
            case ast.NamedExpr(value=value) | ast.Starred(value=value):
                return self.of(value)
            case ast.Subscript(value=value, slice=place):
                return self._item(self.of(value), place)
            case ast.Call():
                return self._call(node)
            case ast.Lambda():
                return Kind(BARE, owner=node)
            case _:
                return None

    def _any(self, nodes: list[ast.expr]) -> Kind | None:
        """Give the kind that one of several has: sets first, since a set may come out."""
        found = [self.of(node) for node in nodes]
        known = [kind for kind in found if kind is not None]
        sets = [kind for kind in known if kind.name == SET]
        if sets or not known:
            return sets[0] if sets else None
        return known[0] if len(known) == len(found) else None

    def _operation(self, node: ast.BinOp) -> Kind | None:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Div) and PATH in (left and left.name, right and right.name):
            return Kind(PATH)
        if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.BitXor | ast.Sub):
            for side, kind in ((node.left, left), (node.right, right)):
                if (kind is not None and kind.name == SET) or is_key_view(side):
                    return A_SET
        if left is not None and right is not None and left.name == right.name:
            return left
        if left is not None and left.name == PLAIN and isinstance(node.op, ast.Mod):
            return A_PLAIN
        return None

    def _item(self, kind: Kind | None, place: ast.AST) -> Kind | None:
        if kind is None:
            return None
        if kind.name == MAP:
            return kind.part(1)
        if kind.name == PLAIN or isinstance(place, ast.Slice):
            return kind
        if kind.name == TUPLE and isinstance(place, ast.Constant) and type(place.value) is int:
            return kind.part(place.value) if place.value >= 0 else None
        return kind.part(0) if kind.name == SEQUENCE else None

    def iterated(self, kind: Kind | None) -> Kind | None:
        """Give the kind of what a loop over a value gives."""
        if kind is None:
            return None
        if kind.name == TUPLE:
            first = kind.part(0)
            return first if all(part == first for part in kind.parts) else None
        return kind if kind.name == PLAIN else kind.part(0)

    # --- names ------------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Kind | None:
        scope = self.file.scopes.get(node)
        if scope is None:
            return None
        found = self.file.sources(node.id, scope)
        if not found and node.id.startswith("__"):
            return A_PLAIN  # __name__, __file__
        home = self.file.scope_of(node.id, scope)
        if home is scope and len(found) > 1:
            found = reaching(self.file, found, node)
        return self._sources(found)

    def _sources(self, found: list[Source]) -> Kind | None:
        kinds = [self._source(source) for source in found]
        for kind in kinds:
            if kind is not None and kind.name == SET:
                return kind
        for source, kind in zip(found, kinds, strict=True):
            if source.how is How.ANNOTATION and kind is not None:
                return kind
        if any(kind is None for kind in kinds):
            return None
        return kinds[0] if kinds else None

    def _source(self, source: Source) -> Kind | None:
        match source.how:
            case How.VALUE:
                return self.of(source.node)
            case How.ANNOTATION:
                return self.annotated(source.node)
            case How.ITEM:
                item = self.iterated(self.of(source.node))
                if source.index is None or item is None:
                    return item
                return item.part(source.index) if item.name == TUPLE else None
            case How.CAUGHT:
                return Kind(CAUGHT, owner=source.node)
            case How.OBJECT:
                return Kind(OBJECT, owner=source.node)
            case How.DEFINITION:
                return self._defined(source.node)
            case _:
                return None

    def _defined(self, node: ast.AST) -> Kind | None:
        """Give the kind of what a definition makes: a function, but a property gives its result."""
        if not isinstance(node, ast.FunctionDef):
            return None
        for decorator in node.decorator_list:
            if last_name(decorator) in ("property", "cached_property"):
                return self.annotated(node.returns)
            return None
        return Kind(BARE, owner=node)

    def _attribute(self, node: ast.Attribute) -> Kind | None:
        base = self.of(node.value)
        if base is not None and base.name == OBJECT and isinstance(base.owner, ast.ClassDef):
            return self._member(base.owner, node.attr)
        definition = self.file.definition(node.value)
        if isinstance(definition, ast.ClassDef):
            return self._member(definition, node.attr)
        if base is not None or self.file.dotted(node.value) is not None:
            return None
        # Of an unknown object: what every class of the file that has such an attribute says.
        declared = [
            self._sources(names[node.attr])
            for names in self.file.attributes.values()
            if names.get(node.attr)
        ]
        first = declared[0] if declared else None
        if first is None or any(kind is None or kind.name != first.name for kind in declared):
            return None
        return first if first.name in (SET, PLAIN) else None

    def _member(self, owner: ast.ClassDef, name: str) -> Kind | None:
        place = (owner, name)
        if place in self._open:
            return None
        self._open[place] = None
        try:
            return self._sources(self.file.members(owner, name))
        finally:
            del self._open[place]

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Kind | None:
        dotted = self.file.dotted(node.func)
        if dotted is not None:
            kind = self._known_call(dotted, node)
            if kind is not None:
                return kind
        definition = self.file.definition(node.func)
        if isinstance(definition, ast.ClassDef):
            return Kind(OBJECT, owner=definition)
        if isinstance(definition, ast.FunctionDef):
            return self.annotated(definition.returns)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        return None

    def _known_call(self, dotted: str, node: ast.Call) -> Kind | None:
        first = node.args[0] if node.args else None
        held = self.of(first) if first is not None else None
        item = self.iterated(held)
        match dotted:
            case "builtins.set" | "builtins.frozenset":
                return Kind(SET, (item,))
            case "builtins.object":
                return Kind(BARE)
            case "builtins.dict" | "collections.OrderedDict":
                return held if held is not None and held.name == MAP else Kind(MAP)
            case "collections.defaultdict":
                is_set = first is not None and self.file.dotted(first) in (
                    "builtins.set",
                    "builtins.frozenset",
                )
                return Kind(MAP, (None, A_SET if is_set else None))
            case "builtins.list" | "builtins.sorted" | "builtins.tuple" | "builtins.reversed":
                return Kind(SEQUENCE, (item,))
            case "builtins.enumerate":
                return Kind(SEQUENCE, (Kind(TUPLE, (A_PLAIN, item)),))
            case "builtins.zip":
                items = tuple(self.iterated(self.of(argument)) for argument in node.args)
                return Kind(SEQUENCE, (Kind(TUPLE, items),))
            case "builtins.min" | "builtins.max" if len(node.args) == 1:
                return item
            case "pathlib.Path" | "pathlib.PurePath" | "pathlib.PurePosixPath":
                return Kind(PATH)
            case "copy.copy" | "copy.deepcopy" | "typing.cast":
                return self.of(node.args[-1]) if node.args else None
            case _ if dotted in GENERATORS:
                return Kind(GENERATOR)
            case _:
                return (
                    Kind(SEQUENCE, (A_PLAIN,))
                    if dotted == "builtins.range"
                    else (A_PLAIN if dotted in PLAIN_CALLS else None)
                )

    def _method(self, node: ast.Call, called: ast.Attribute) -> Kind | None:
        base = self.of(called.value)
        name = called.attr
        if base is None:
            return None
        if base.name == SET:
            return base if name in SET_METHODS or name == "copy" else None
        if base.name == OBJECT and isinstance(base.owner, ast.ClassDef):
            for source in self.file.members(base.owner, name):
                if isinstance(source.node, ast.FunctionDef):
                    return self.annotated(source.node.returns)
            return None
        if base.name == MAP:
            match name:
                case "items":
                    return Kind(SEQUENCE, (Kind(TUPLE, base.parts),))
                case "values":
                    return Kind(SEQUENCE, (base.part(1),))
                case "keys":
                    return Kind(SEQUENCE, (base.part(0),))
                case "get" | "setdefault" | "pop":
                    return base.part(1) or (self.of(node.args[1]) if node.args[1:] else None)
                case "copy":
                    return base
                case _:
                    return None
        if base.name == SEQUENCE:
            return base if name == "copy" else base.part(0) if name == "pop" else None
        if base.name == PLAIN:
            split = name in ("split", "rsplit", "splitlines", "partition", "rpartition")
            return Kind(SEQUENCE, (A_PLAIN,)) if split else A_PLAIN
        return None

    # --- annotations ------------------------------------------------------------------------------

    def annotated(self, node: ast.AST | None) -> Kind | None:
        """Give the kind that a type hint says."""
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self.annotated(ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return None
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                sides = [self.annotated(s) for s in (left, right) if not is_none(s)]
                known = [kind for kind in sides if kind is not None]
                if any(kind.name == SET for kind in known):
                    return next(kind for kind in known if kind.name == SET)
                return known[0] if known and len(known) == len(sides) else None
            case ast.Subscript(value=value, slice=inner):
                parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                name = last_name(value)
                if name in TRANSPARENT:
                    return self.annotated(parts[0])
                held = tuple(self.annotated(part) for part in parts)
                if name in SET_NAMES:
                    return Kind(SET, held)
                if name in MAP_NAMES:
                    return Kind(MAP, held)
                if name in SEQUENCE_NAMES:
                    return Kind(SEQUENCE, held[:1])
                if name in ("tuple", "Tuple"):
                    endless = len(parts) == 2 and isinstance(parts[1], ast.Constant)
                    return Kind(SEQUENCE, held[:1]) if endless else Kind(TUPLE, held)
                return A_PLAIN if name in PLAIN_NAMES else None
            case ast.Name() | ast.Attribute():
                return self._hinted(node)
            case _:
                return None

    def _hinted(self, node: ast.Name | ast.Attribute) -> Kind | None:
        name = last_name(node)
        if node in self.file.scopes:
            if self.file.dotted(node) in GENERATORS:
                return Kind(GENERATOR)
            definition = self.file.definition(node)
            if isinstance(definition, ast.ClassDef):
                return Kind(OBJECT, owner=definition)
        if isinstance(node, ast.Name):
            # A name for a type, such as `Status = Literal["open", "closed"]`.
            for source in self.file.module.names.get(node.id, ()):
                if source.how is How.VALUE and isinstance(source.node, ast.Subscript | ast.BinOp):
                    self._depth += 1
                    try:
                        return self.annotated(source.node) if self._depth < DEPTH_MAX else None
                    finally:
                        self._depth -= 1
        names = ((SET_NAMES, SET), (PATH_NAMES, PATH), (MAP_NAMES, MAP), (SEQUENCE_NAMES, SEQUENCE))
        for known, kind in (*names, (PLAIN_NAMES, PLAIN)):
            if name in known:
                return Kind(kind)
        return None


def reaching(file: File, found: list[Source], use: ast.AST) -> list[Source]:
    """Leave out the bindings that a later one has surely replaced before the use."""
    place = position(use)
    before = [source for source in found if position(source.statement) < place]
    around = [use, *file.enclosing(use)]
    # A statement's own value is computed before the statement binds.
    before = [s for s in before if s.statement not in around or s.how in (How.ITEM, How.CAUGHT)
              or isinstance(s.statement, Function)]  # fmt: skip
    if not before:
        return found
    blocks = {file.parents.get(node) for node in around}
    kept: list[Source] = []
    for source in reversed(before):
        kept.append(source)
        sure = file.parents.get(source.statement) in blocks or source.statement in around
        if sure and not is_pair(source, before):
            break
    loops = [n for n in around if isinstance(n, ast.For | ast.AsyncFor | ast.While)]
    later = [
        s
        for s in found
        if s not in before and any(loop in file.enclosing(s.statement) for loop in loops)
    ]
    return [*kept[::-1], *later]


def is_pair(source: Source, among: list[Source]) -> bool:
    """Whether a value comes with an annotation of the same statement, which stands before it."""
    return source.how is How.VALUE and any(
        other.statement is source.statement and other.how is How.ANNOTATION for other in among
    )


def position(node: ast.AST) -> tuple[int, int]:
    """Give line and column."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def is_none(node: ast.AST) -> bool:
    """Whether a type hint is `None`."""
    return isinstance(node, ast.Constant) and node.value is None


def is_key_view(node: ast.AST) -> bool:
    """Whether an expression is `x.keys()` or `x.items()`, which operators make a set of."""
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[]):
            return True
        case _:
            return False


def last_name(node: ast.AST) -> str:
    """Give `X` of `X` and of `y.X`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
