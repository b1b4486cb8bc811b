"""Which tests there are: files, functions, classes, parameters."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import itertools
import unittest
from typing import TYPE_CHECKING, Any

from simharness.sandbox.guest import asserts, fixtures
from simharness.sandbox.guest.folder import ROOT
from simharness.sandbox.guest.pytest_names import (
    Fixture,
    Mark,
    MarkDecorator,
    OutcomeException,
    Param,
    Skipped,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.sandbox.guest.fixtures import FixtureRun
    from simharness.sandbox.guest.folder import Folder

IGNORED = ("__pycache__", "node_modules", "venv", "build", "dist")


class Item:
    """One test."""

    def __init__(self, path: str, module: Any, cls: Any, name: str, function: Any) -> None:
        self.path = path
        """Relative to the root."""
        self.module = module
        self.cls = cls
        self.originalname = name
        self.function = function
        self.suffix = ""
        self.instance: Any = None
        self.own_marks: list[Mark] = []
        self.params: dict[str, Any] = {}
        self.indirect: frozenset[str] = frozenset()
        self.fixture_params: dict[str, Any] = {}
        self.tables: list[tuple[dict[str, Fixture], Any]] = []
        """Where fixtures are looked up, the nearest first."""
        self.arguments: list[str] = []
        self.user_properties: list[Any] = []

    @property
    def unittest(self) -> bool:
        """Whether it is a method of a unittest class."""
        return self.cls is not None and issubclass(self.cls, unittest.TestCase)

    @property
    def name(self) -> str:
        """The name with its parameters."""
        return self.originalname + self.suffix

    @property
    def nodeid(self) -> str:
        """The name that is told, `tests/test_a.py::TestB::test_c[1]`."""
        middle = f"{self.cls.__qualname__.replace('.', '::')}::" if self.cls else ""
        return f"{self.path}::{middle}{self.name}"

    @property
    def obj(self) -> Any:
        """The function."""
        return self.function

    @property
    def keywords(self) -> dict[str, Any]:
        """Names by which `-k` and plugins find the test."""
        return {self.name: self, **{m.name: m for m in self.iter_markers()}}

    def iter_markers(self, name: str | None = None) -> Iterator[Mark]:
        """Give the marks, the nearest first."""
        held = list(self.own_marks)
        held += marks_of(self.function)
        if self.cls is not None:
            for base in self.cls.__mro__:
                held += as_marks(vars(base).get("pytestmark"))
        held += as_marks(getattr(self.module, "pytestmark", None))
        return iter([m for m in held if name is None or m.name == name])

    def get_closest_marker(self, name: str, default: Any = None) -> Any:
        """Give the nearest mark of that name."""
        return next(self.iter_markers(name), default)

    def add_marker(self, marker: Any, append: bool = True) -> None:
        """Add a mark."""
        made = Mark(marker, (), {}) if isinstance(marker, str) else marker.mark
        self.own_marks.append(made)


class Problem:
    """A file that could not be collected, or was skipped as a whole."""

    def __init__(self, path: str, error: BaseException) -> None:
        self.nodeid = path
        self.error = error
        self.skipped = isinstance(error, Skipped)


def as_marks(held: Any) -> list[Mark]:
    """Read `pytestmark`, whichever form it has."""
    if held is None:
        return []
    many = held if isinstance(held, list | tuple) else [held]
    return [m.mark if isinstance(m, MarkDecorator) else m for m in many]


def marks_of(function: Any) -> list[Mark]:
    """Give the marks that decorate a function, the nearest first."""
    return as_marks(getattr(function, "pytestmark", None))


class Collector:
    """Collects what arguments name."""

    def __init__(self, plugins: Any, folder: Folder) -> None:
        self._folder = folder
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        self._plugins = plugins
        self._conftests: dict[str, Any] = {}
        self._loaded: dict[str, list[Item]] = {}

    def collect(self, arguments: list[str]) -> None:
        """Collect all tests. Raises UsageError for an argument that names nothing."""
        for argument in arguments or ["."]:
            path, _, inside = argument.partition("::")
            full = self._folder.resolve(path or ".")
            if full not in self._folder.nodes or not f"{full}/".startswith(f"{ROOT}/"):
                raise UsageError(f"file or directory not found: {argument}")
            found: list[Item] = []
            problems = len(self.problems)
            for file in self._test_files(full):
                found += self.file(file)
            if inside:
                prefix = f"{full[len(ROOT) + 1 :]}::{inside}"
                found = [i for i in found if _named(i.nodeid, prefix)]
                if not found and len(self.problems) == problems:
                    raise UsageError(f"not found: {argument}")
            known = {item.nodeid for item in self.items}
            self.items += [item for item in found if item.nodeid not in known]

    def file(self, full: str) -> list[Item]:
        """Collect one file, once."""
        path = full[len(ROOT) + 1 :]
        if path in self._loaded:
            return self._loaded[path]
        self._loaded[path] = []
        try:
            tables = self.conftests(full.rpartition("/")[0])
            module = asserts.load(full, self._folder)
        except BaseException as error:
            self.problems.append(Problem(path, error))
            return []
        try:
            items = list(self._of_module(path, module, tables))
        except (Exception, OutcomeException) as error:
            self.problems.append(Problem(path, error))
            return []
        self._loaded[path] = items
        return items

    def conftests(self, folder: str) -> list[tuple[dict[str, Fixture], Any]]:
        """Load each conftest.py down to a folder; give their fixtures, inmost first."""
        tables: list[tuple[dict[str, Fixture], Any]] = []
        parts = folder[len(ROOT) + 1 :].split("/") if folder != ROOT else []
        for depth in range(len(parts) + 1):
            full = "/".join((ROOT, *parts[:depth], "conftest.py"))
            if full not in self._conftests and full in self._folder.nodes:
                module = asserts.load(full, self._folder)
                self._conftests[full] = module
                self._plugins.add(module)
            if full in self._conftests:
                module = self._conftests[full]
                tables.insert(0, (fixtures.declared_in(module), module))
        others: list[Any] = self._plugins.fixture_tables()
        return tables + others

    def _test_files(self, full: str) -> list[str]:
        """Find the test files at or under a path, in order."""
        nodes = self._folder.nodes
        if nodes[full].data is not None:
            return [full]
        start = len(full) + 1
        found = [
            path.split("/")
            for path, node in nodes.items()
            if path.endswith(".py") and node.data is not None and path.startswith(f"{full}/")
        ]
        return ["/".join(p) for p in sorted(found) if is_test_file("/".join(p)[start:])]

    def _of_module(self, path: str, module: Any, tables: list[Any]) -> Iterator[Item]:
        here = [(fixtures.declared_in(module), module), *tables]
        for name, value in list(vars(module).items()):
            if isinstance(value, type):
                yield from self._of_class(path, module, value, name, here)
            elif name.startswith("test") and inspect.isfunction(inspect.unwrap(value)):
                item = Item(path, module, None, name, value)
                item.tables = here
                yield from self._parametrized(item)

    def _of_class(
        self, path: str, module: Any, cls: type, name: str, tables: list[Any]
    ) -> Iterator[Item]:
        if issubclass(cls, unittest.TestCase):
            if cls.__module__ == "unittest.case":
                return
            for method in unittest.TestLoader().getTestCaseNames(cls):
                item = Item(path, module, cls, method, getattr(cls, method))
                item.tables = [(fixtures.declared_in(cls), cls), *tables]
                yield item
            return
        if not name.startswith("Test") or "__init__" in vars(cls):
            return
        here = [(fixtures.declared_in(cls), cls), *tables]
        seen: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            seen.update(vars(base))
        for method, value in seen.items():
            if isinstance(value, type) and method.startswith("Test"):
                yield from self._of_class(path, module, value, method, here)
            elif method.startswith("test") and callable(getattr(cls, method)):
                item = Item(path, module, cls, method, getattr(cls, method))
                item.tables = here
                yield from self._parametrized(item)

    def _parametrized(self, item: Item) -> Iterator[Item]:
        item.arguments = fixtures.needs(item.function, skip_first=_takes_self(item))
        axes = [_axis(mark) for mark in item.iter_markers("parametrize")]
        direct = {name for axis in axes for values, *_ in axis for name in values}
        run: FixtureRun = fixtures.FixtureRun(None, None)
        for name in run.closure(item):
            declared = run.lookup(item, name)
            if name not in direct and declared and declared[0][0].params is not None:
                axes.append(_fixture_axis(declared[0][0]))
        # The decorator next to the function varies slowest, as in pytest.
        for chosen in itertools.product(*axes):
            made = Item(item.path, item.module, item.cls, item.originalname, item.function)
            made.tables, made.arguments = item.tables, item.arguments
            ids: list[str] = []
            for values, indirect, marks, shown in chosen:
                for name, value in values.items():
                    (made.fixture_params if name in indirect else made.params)[name] = value
                made.own_marks += marks
                ids.append(shown)
            made.suffix = f"[{'-'.join(ids)}]" if ids else ""
            yield made


def _named(nodeid: str, prefix: str) -> bool:
    return nodeid == prefix or nodeid.startswith((f"{prefix}::", f"{prefix}["))


def _takes_self(item: Item) -> bool:
    if item.cls is None:
        return False
    raw = inspect.getattr_static(item.cls, item.originalname)
    return not isinstance(raw, staticmethod)


def _axis(mark: Mark) -> list[tuple[dict[str, Any], frozenset[str], list[Mark], str]]:
    """Read one `parametrize`: for each set its values, which go to fixtures, marks and id."""
    arguments = dict(zip(("argnames", "argvalues", "indirect", "ids"), mark.args, strict=False))
    arguments |= mark.kwargs
    names = arguments["argnames"]
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    given = arguments.get("indirect") or []
    indirect = frozenset(names if given is True else given)
    ids = arguments.get("ids")
    axis: list[tuple[dict[str, Any], frozenset[str], list[Mark], str]] = []
    for index, entry in enumerate(list(arguments["argvalues"])):
        param = entry if isinstance(entry, Param) else None
        many: Any = entry
        values = param.values if param else (entry,) if len(names) == 1 else tuple(many)
        if len(values) != len(names):
            raise UsageError(f"parametrize: {len(names)} names and {len(values)} values")
        pairs = dict(zip(names, values, strict=True))
        shown = param.id if param and param.id else None
        if shown is None and isinstance(ids, list | tuple) and ids[index] is not None:
            shown = str(ids[index])
        if shown is None:
            say = ids if callable(ids) else None
            shown = "-".join(_id(v, n, index, say) for n, v in pairs.items())
        axis.append((pairs, indirect, list(param.marks) if param else [], shown))
    counts: dict[str, int] = {}
    shown_all = [entry[3] for entry in axis]
    unique: list[tuple[dict[str, Any], frozenset[str], list[Mark], str]] = []
    for pairs, into, marks, shown in axis:
        if shown_all.count(shown) > 1:
            counts[shown] = counts.get(shown, -1) + 1
            shown = f"{shown}{counts[shown]}"
        unique.append((pairs, into, marks, shown))
    return unique


def _fixture_axis(fixture: Fixture) -> list[tuple[dict[str, Any], frozenset[str], list[Mark], str]]:
    kwargs = {"ids": fixture.ids} if fixture.ids else {}
    options = {"argvalues": fixture.params, "indirect": True, **kwargs}
    return _axis(Mark("parametrize", (fixture.name,), options))


def _id(value: Any, name: str, index: int, say: Any) -> str:
    if say is not None:
        told = say(value)
        if told is not None:
            return str(told)
    if value is None or isinstance(value, bool | int | float | complex):
        return str(value)
    if isinstance(value, str):
        return value.encode("unicode_escape").decode("ascii")
    if isinstance(value, type) or inspect.isfunction(value):
        return value.__name__
    return f"{name}{index}"


def is_test_file(path: str) -> bool:
    """Say whether a file below a folder that is searched holds tests, by its name."""
    *folders, name = path.split("/")
    if not (name.startswith("test_") or name.endswith("_test.py")):
        return False
    return not any(folder.startswith(".") or folder in IGNORED for folder in folders)
