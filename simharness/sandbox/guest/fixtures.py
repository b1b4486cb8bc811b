"""Fixtures: who declares them, what they need, when they are made and when they end."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import os
import types
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest.folder import SCRATCH
from simharness.sandbox.guest.pytest_names import Failed, Fixture, MonkeyPatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from simharness.sandbox.guest.collect import Item

SCOPES = ("session", "package", "module", "class", "function")
BUILTIN = ("request", "monkeypatch", "tmp_path", "capsys")


class Request:
    """The fixture `request`."""

    def __init__(self, run: FixtureRun, item: Item, declared: Fixture | None, param: Any) -> None:
        self._run = run
        self._finalizers: list[Callable[[], Any]] = []
        self.node = item
        self.function = item.function
        self.module = item.module
        self.cls = item.cls
        self.instance = item.instance
        self.config = run.config
        self.fixturename = declared.name if declared else None
        self.scope = declared.scope if declared else "function"
        if param is not None:
            self.param = param[0]

    def getfixturevalue(self, name: str) -> Any:
        """Give another fixture by its name."""
        return self._run.value(self.node, name)

    def addfinalizer(self, finalizer: Callable[[], Any]) -> None:
        """Call something when this fixture ends."""
        self._finalizers.append(finalizer)

    def finish(self) -> None:
        """Call the finalizers, the last first."""
        while self._finalizers:
            self._finalizers.pop()()


class Made:
    """A fixture that has a value now."""

    def __init__(self, key: tuple[Any, ...], value: Any, end: Callable[[], Any]) -> None:
        self.key = key
        self.value = value
        self.end = end


def needs(function: Any, skip_first: bool = False) -> list[str]:
    """Name the arguments that have to come from fixtures."""
    if type(function) is types.FunctionType and not hasattr(function, "__wrapped__"):
        code = function.__code__
        count = code.co_argcount - len(function.__defaults__ or ())
        names = list(code.co_varnames[skip_first:count])
        only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        return names + [name for name in only if name not in (function.__kwdefaults__ or {})]
    parameters = list(inspect.signature(function).parameters.values())
    if skip_first:
        parameters = parameters[1:]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]


def declared_in(owner: Any) -> dict[str, Fixture]:
    """Give the fixtures that a module or a class declares, by their names."""
    names: dict[str, Any] = {}
    for base in reversed(owner.__mro__) if isinstance(owner, type) else (owner,):
        names.update(vars(base))
    return {found.name: found for found in names.values() if isinstance(found, Fixture)}


class FixtureRun:
    """The fixtures of one run of tests."""

    def __init__(self, config: Any, capture: Any) -> None:
        self.config = config
        self._capture = capture
        self._made: list[Made] = []
        self._folders = 0

    def lookup(self, item: Item, name: str) -> list[tuple[Fixture, Any]]:
        """Give the declarations of a name that an item sees, the nearest first."""
        found: list[tuple[Fixture, Any]] = []
        for table, owner in item.tables:
            if name in table:
                found.append((table[name], owner))
        return found

    def closure(self, item: Item) -> list[str]:
        """Name all fixtures that an item needs, those that are used by all first."""
        names: list[str] = []
        for table, _ in reversed(item.tables):
            names += [name for name, found in table.items() if found.autouse]
        for mark in item.iter_markers("usefixtures"):
            names += mark.args
        names += item.arguments
        seen: dict[str, None] = {}
        for name in names:
            self._close(item, name, 0, seen)
        return list(seen)

    def _close(self, item: Item, name: str, depth: int, seen: dict[str, None]) -> None:
        if name in seen and depth == 0:
            return
        declared = self.lookup(item, name)
        if depth < len(declared):
            fixture, owner = declared[depth]
            for needed in needs(fixture.function, skip_first=isinstance(owner, type)):
                if needed != "request":
                    self._close(item, needed, depth + 1 if needed == name else 0, seen)
        seen[name] = None

    def value(self, item: Item, name: str, depth: int = 0) -> Any:
        """Give a fixture's value to an item, making it if need be."""
        if name in item.params and not depth and name not in item.indirect:
            return item.params[name]
        declared = self.lookup(item, name)
        if depth >= len(declared):
            if name in BUILTIN:
                return self._builtin(item, name)
            raise Failed(f"fixture {name!r} not found")
        fixture, owner = declared[depth]
        param = (item.fixture_params[name],) if name in item.fixture_params and not depth else None
        key = (id(fixture), scope_key(item, fixture.scope), repr(param))
        for made in self._made:
            if made.key == key:
                return made.value
        return self._make(item, fixture, owner, name, depth, param, key)

    def _make(
        self,
        item: Item,
        fixture: Fixture,
        owner: Any,
        name: str,
        depth: int,
        param: Any,
        key: tuple[Any, ...],
    ) -> Any:
        request = Request(self, item, fixture, param)
        method = isinstance(owner, type)
        arguments: dict[str, Any] = {}
        for needed in needs(fixture.function, skip_first=method):
            if needed == "request":
                arguments[needed] = request
            else:
                arguments[needed] = self.value(item, needed, depth + 1 if needed == name else 0)
        function = fixture.function
        if method:
            function = function.__get__(item.instance or owner())
        if inspect.isgeneratorfunction(function):
            generator = function(**arguments)
            try:
                value = next(generator)
            except StopIteration:
                raise Failed(f"fixture {name!r} did not yield a value") from None

            def end() -> None:
                request.finish()
                if next(generator, _ENDED) is not _ENDED:
                    raise Failed(f"fixture {name!r} has more than one 'yield'")

        else:
            value, end = function(**arguments), request.finish
        self._made.append(Made(key, value, end))
        return value

    def _builtin(self, item: Item, name: str) -> Any:
        key = (name, scope_key(item, "function"), "")
        for made in self._made:
            if made.key == key:
                return made.value
        value: Any
        end: Callable[[], Any] = _nothing
        if name == "request":
            value = Request(self, item, None, None)
            end = value.finish
        elif name == "monkeypatch":
            value = MonkeyPatch()
            end = value.undo
        elif name == "tmp_path":
            import pathlib

            self._folders += 1
            value = pathlib.Path(SCRATCH, f"pytest-{self._folders}")
            os.mkdir(value)
        else:
            value = self._capture()
            end = value.stop
        self._made.append(Made(key, value, end))
        return value

    def end(self, item: Item | None, following: Item | None) -> list[BaseException]:
        """End what the next item has no use for, the last made first; give what was raised."""
        raised: list[BaseException] = []
        kept = {scope_key(following, scope) for scope in SCOPES} if following else set[Any]()
        staying: list[Made] = []
        for made in reversed(self._made):
            if made.key[1] in kept and made.key[1][0] != "function":
                staying.append(made)
                continue
            try:
                made.end()
            except BaseException as error:
                raised.append(error)
        self._made = staying[::-1]
        return raised


_ENDED = object()


def _nothing() -> None:
    return None


def scope_key(item: Item, scope: str) -> tuple[Any, ...]:
    """Say which stretch of the run a fixture of that scope lives for, beginning at an item."""
    match scope:
        case "session":
            return ("session",)
        case "package":
            return ("package", item.path.rpartition("/")[0])
        case "module":
            return ("module", item.path)
        case "class":
            return ("class", item.path, item.cls.__qualname__ if item.cls else item.nodeid)
        case _:
            return ("function", item.nodeid)
