"""The module `pytest` of the guest: what tests write, and no more.

`install` puts it into `sys.modules`; the runner reads the marks and fixtures that it leaves behind.
"""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import importlib
import math
import re
import sys
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = "8.0"


class OutcomeException(BaseException):
    """A test that ends itself; no `except Exception` of a program catches it."""

    def __init__(self, msg: str = "") -> None:
        super().__init__(msg)
        self.msg = msg


class Skipped(OutcomeException):
    """The test was skipped."""

    def __init__(self, msg: str = "", *, allow_module_level: bool = False) -> None:
        super().__init__(msg)
        self.allow_module_level = allow_module_level


class Failed(OutcomeException):
    """The test said that it failed."""


class XFailed(Failed):
    """The test said that it was expected to fail."""


class UsageError(Exception):
    """Somebody used this module in a way that it doesn't know."""


def skip(reason: str = "", *, allow_module_level: bool = False) -> Any:
    """Skip this test."""
    raise Skipped(reason, allow_module_level=allow_module_level)


def fail(reason: str = "", pytrace: bool = True) -> Any:
    """Fail this test."""
    raise Failed(reason)


def xfail(reason: str = "") -> Any:
    """Say that this test fails as expected."""
    raise XFailed(reason)


def importorskip(modname: str, minversion: Any = None, reason: str | None = None) -> Any:
    """Import a module, or skip."""
    try:
        return importlib.import_module(modname)
    except ImportError as error:
        raise Skipped(
            reason or f"could not import {modname!r}: {error}", allow_module_level=True
        ) from None


for _call, _kind in ((skip, Skipped), (fail, Failed), (xfail, XFailed)):
    _call.Exception = _kind  # type: ignore[attr-defined]


# --- marks ------------------------------------------------------------------------------------


class Mark:
    """A mark as the runner reads it."""

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name = name
        self.args = args
        self.kwargs = kwargs


class MarkDecorator:
    """`pytest.mark.NAME`, with or without arguments."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        self.name = mark.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Mark a function or a class, or take arguments first."""
        if len(args) == 1 and not kwargs and (isinstance(args[0], type) or _is_function(args[0])):
            target = args[0]
            held = target.__dict__.get("pytestmark", [])
            target.pytestmark = [*held, self.mark]
            return target
        merged = {**self.mark.kwargs, **kwargs}
        return MarkDecorator(Mark(self.name, self.mark.args + args, merged))

    with_args = __call__


def _is_function(value: Any) -> bool:
    return isinstance(value, types.FunctionType | Fixture)


class Marks:
    """`pytest.mark`."""

    def __getattr__(self, name: str) -> MarkDecorator:
        if name.startswith("_"):
            raise AttributeError(name)
        return MarkDecorator(Mark(name, (), {}))


mark = Marks()


class Param:
    """`pytest.param(...)`."""

    def __init__(self, values: tuple[Any, ...], marks: Any, id: str | None) -> None:
        self.values = values
        held = marks if isinstance(marks, list | tuple) else (marks,)
        self.marks = [m.mark if isinstance(m, MarkDecorator) else m for m in held]
        self.id = id


def param(*values: Any, marks: Any = (), id: str | None = None) -> Param:
    """Give one set of parameters with an id or with marks."""
    return Param(values, marks, id)


# --- fixtures and hooks -----------------------------------------------------------------------


class Fixture:
    """What `@pytest.fixture` leaves in the place of the function."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.name: str = options.get("name") or function.__name__
        scope = options.get("scope", "function")
        self.scope: str = scope if isinstance(scope, str) else "function"
        self.params: list[Any] | None = (
            None if options.get("params") is None else list(options["params"])
        )
        self.ids = options.get("ids")
        self.autouse = bool(options.get("autouse"))
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a test asks for a fixture by its name."""
        raise Failed(f'fixture "{self.__name__}" called directly')


def fixture(function: Any = None, **options: Any) -> Any:
    """Declare a fixture."""
    if function is not None and callable(function):
        return Fixture(function, options)
    return lambda real: Fixture(real, options)


def hookimpl(function: Any = None, **options: Any) -> Any:
    """Mark a function as the implementation of a hook."""

    def mark_it(real: Any) -> Any:
        real.pytest_impl = options
        return real

    return mark_it(function) if function is not None else mark_it


# --- raises -----------------------------------------------------------------------------------


class ExceptionInfo:
    """What `raises` gives: the exception, once there is one."""

    def __init__(self) -> None:
        self.value: Any = None
        self.type: Any = None
        self.tb: Any = None

    @property
    def typename(self) -> str:
        """The name of the exception's class."""
        return str(self.type.__name__)

    def match(self, pattern: Any) -> bool:
        """Search the exception's text for a pattern."""
        text = str(self.value)
        if not re.search(pattern, text):
            shown = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
            raise AssertionError(
                f"Regex pattern did not match.\n Regex: {shown!r}\n Input: {text!r}"
            )
        return True


class Raises:
    """The context of `with pytest.raises(...)`."""

    def __init__(self, expected: Any, pattern: Any) -> None:
        self.expected = expected
        self.pattern = pattern
        self.info = ExceptionInfo()

    def __enter__(self) -> ExceptionInfo:
        return self.info

    def __exit__(self, kind: Any, value: Any, tb: Any) -> bool:
        if kind is None:
            raise Failed(f"DID NOT RAISE {self.expected}")
        if not issubclass(kind, self.expected):
            return False
        self.info.type, self.info.value, self.info.tb = kind, value, tb
        if self.pattern is not None:
            self.info.match(self.pattern)
        return True


def raises(expected_exception: Any, *args: Any, match: Any = None, **kwargs: Any) -> Any:
    """Expect an exception."""
    wanted = expected_exception if isinstance(expected_exception, tuple) else (expected_exception,)
    if not wanted or not all(isinstance(w, type) and issubclass(w, BaseException) for w in wanted):
        raise TypeError(
            f"expected exception must be a BaseException type, not {expected_exception!r}"
        )
    if args:
        with Raises(expected_exception, match) as info:
            args[0](*args[1:], **kwargs)
        return info
    return Raises(expected_exception, match)


# --- approx -----------------------------------------------------------------------------------


class Approx:
    """A number, or a container of numbers, that equals what is near enough."""

    __array_priority__ = 100

    def __init__(self, expected: Any, rel: Any, abs_: Any, nan_ok: bool) -> None:
        self.expected = expected
        self.rel = rel
        self.abs = abs_
        self.nan_ok = nan_ok

    def _one(self, actual: Any, expected: Any) -> bool:
        numbers = (int, float, complex, Decimal)
        if isinstance(expected, bool) or not isinstance(expected, numbers):
            return bool(actual == expected)
        size: Any = abs(expected)
        if actual == expected:
            return True
        try:
            if math.isnan(size):
                return self.nan_ok and math.isnan(abs(actual))
            if math.isinf(size):
                return False
            number: Any = Decimal if isinstance(expected, Decimal) else float
            near = number("1e-12") if self.abs is None else self.abs
            if self.rel is not None or self.abs is None:
                relative = number("1e-6") if self.rel is None else self.rel
                near = max(relative * size, near)
            return bool(abs(expected - actual) <= near)
        except TypeError:
            return False

    def __eq__(self, actual: object) -> bool:
        wanted = self.expected
        if isinstance(wanted, Mapping):
            return (
                isinstance(actual, Mapping)
                and actual.keys() == wanted.keys()
                and all(self._one(actual[key], wanted[key]) for key in wanted)
            )
        if isinstance(wanted, Sequence) and not isinstance(wanted, str | bytes):
            return (
                isinstance(actual, Sequence)
                and len(actual) == len(wanted)
                and all(map(self._one, actual, wanted))
            )
        return self._one(actual, wanted)

    def __ne__(self, actual: object) -> bool:
        return not self == actual

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"approx({self.expected!r})"


def approx(expected: Any, rel: Any = None, abs: Any = None, nan_ok: bool = False) -> Approx:
    """Compare with a tolerance: a millionth of the expected, or 1e-12."""
    return Approx(expected, rel, abs, nan_ok)


# --- monkeypatch ------------------------------------------------------------------------------

_UNSET = object()


class MonkeyPatch:
    """Changes that are undone when the test ends."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def setattr(self, target: Any, name: Any, value: Any = _UNSET, raising: bool = True) -> None:
        """Set an attribute; the target may be a dotted text."""
        if value is _UNSET:
            dotted, value = target, name
            owner, _, name = dotted.rpartition(".")
            target = _import_dotted(owner)
        old = target.__dict__.get(name, _UNSET) if isinstance(target, type) else _UNSET
        if old is _UNSET:
            old = getattr(target, name, _UNSET)
        if raising and old is _UNSET:
            raise AttributeError(f"{target!r} has no attribute {name!r}")
        self._undo.append(
            lambda: delattr(target, name) if old is _UNSET else setattr(target, name, old)
        )
        setattr(target, name, value)

    def delattr(self, target: Any, name: str, raising: bool = True) -> None:
        """Delete an attribute."""
        old = getattr(target, name, _UNSET)
        if old is _UNSET:
            if raising:
                raise AttributeError(name)
            return
        self._undo.append(lambda: setattr(target, name, old))
        delattr(target, name)

    def setitem(self, mapping: Any, name: Any, value: Any) -> None:
        """Set an item of a dictionary."""
        old = mapping.get(name, _UNSET)
        self._undo.append(
            lambda: mapping.pop(name, None) if old is _UNSET else mapping.__setitem__(name, old)
        )
        mapping[name] = value

    def delitem(self, mapping: Any, name: Any, raising: bool = True) -> None:
        """Delete an item of a dictionary."""
        if name not in mapping:
            if raising:
                raise KeyError(name)
            return
        old = mapping[name]
        self._undo.append(lambda: mapping.__setitem__(name, old))
        del mapping[name]

    def setenv(self, name: str, value: str, prepend: str | None = None) -> None:
        """Set an environment variable."""
        import os

        if prepend and name in os.environ:
            value = f"{value}{prepend}{os.environ[name]}"
        self.setitem(os.environ, name, str(value))

    def delenv(self, name: str, raising: bool = True) -> None:
        """Delete an environment variable."""
        import os

        self.delitem(os.environ, name, raising)

    def syspath_prepend(self, path: Any) -> None:
        """Put a folder first on the import path."""
        before = list(sys.path)
        self._undo.append(lambda: sys.path.__setitem__(slice(None), before))
        sys.path.insert(0, str(path))

    def chdir(self, path: Any) -> None:
        """Change the working directory."""
        import os

        before = os.getcwd()
        self._undo.append(lambda: os.chdir(before))
        os.chdir(path)

    def undo(self) -> None:
        """Take every change back, the last first."""
        while self._undo:
            self._undo.pop()()


def _import_dotted(dotted: str) -> Any:
    parts = dotted.split(".")
    found: Any = importlib.import_module(parts[0])
    done = parts[0]
    for part in parts[1:]:
        done += f".{part}"
        if not hasattr(found, part):
            importlib.import_module(done)
        found = getattr(found, part)
    return found


PUBLIC = """
ExceptionInfo MarkDecorator MonkeyPatch UsageError approx fail fixture hookimpl importorskip
mark param raises skip xfail
""".split()  # noqa: SIM905


def install() -> types.ModuleType:
    """Make the module `pytest`."""
    module: Any = types.ModuleType("pytest", "A small, deterministic pytest.")
    for name in PUBLIC:
        setattr(module, name, globals()[name])
    module.__version__ = VERSION
    module.Config = module.Item = module.Function = module.Session = object
    sys.modules["pytest"] = module
    return module  # type: ignore[no-any-return]
