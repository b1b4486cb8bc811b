"""Runs the generators' own texts, to work out what tests expect.

These are texts of this package, filled in by draws. What an agent wrote never comes here: it runs
in the sandbox.
"""

from __future__ import annotations

import builtins
import copy
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from simharness.api import sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.tickets.ticket import Probe


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a value, or the name of the exception's class."""

    value: Any = None
    raised: str = ""
    kept: bool = False
    """It was kept, so that its value is nobody's business."""
    after: tuple[Any, ...] = ()
    """The arguments as the call left them, those by name behind the others."""

    def is_like(self, other: Outcome) -> bool:
        """Tell whether both are the same, types included."""
        if self.raised or other.raised:
            return self.raised == other.raised
        return sandbox.same([self.value, self.after], [other.value, other.after])

    def meets(self, expected: Outcome) -> bool:
        """Tell whether a test that expects another outcome passes with this one.

        Tests compare less than `is_like` does: by `==`, and not what became of the arguments.
        """
        if self.raised or expected.raised:
            return self.raised == expected.raised
        if expected.value is None or expected.value is True or expected.value is False:
            return self.value is expected.value
        return bool(self.value == expected.value)


class Program:
    """The modules of a tree, imported when they are first needed."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def run(self, calls: Sequence[Probe]) -> list[Outcome]:
        """Make calls one after the other; arguments are copied."""
        kept: dict[str, Any] = {}
        outcomes: list[Outcome] = []
        for call in calls:
            try:
                function = self.find(call.target, kept)
            except (ImportError, AttributeError, KeyError) as error:  # nothing of that name
                outcomes.append(Outcome(raised=type(error).__name__))
                continue
            args, kwargs = copy.deepcopy((call.args, dict(call.kwargs)))
            try:
                value = function(*args, **kwargs)
            except Exception as error:  # whatever the call raises is its outcome
                outcomes.append(Outcome(raised=type(error).__name__))
                continue
            if call.keep:
                kept[call.keep] = value
                outcomes.append(Outcome(kept=True))
            else:
                after = (*args, *kwargs.values())
                outcomes.append(Outcome(copy.deepcopy(value), after=after))
        return outcomes

    def find(self, target: str, kept: Mapping[str, Any]) -> Any:
        """Give what a target names."""
        where, _, name = target.partition(":")
        found: Any = kept[where[1:]] if where.startswith("$") else self.load(where)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def load(self, name: str) -> ModuleType:
        """Give a module of the tree. Raises ImportError for one that isn't there."""
        if name in self._modules:
            return self._modules[name]
        path = self._path(name)
        if path is None:
            raise ModuleNotFoundError(name)
        module = self._modules[name] = ModuleType(name)
        vars(module)["__builtins__"] = self._builtins
        code = compile(self._files[path], path, "exec", dont_inherit=True)
        exec(code, vars(module))
        return module

    def _path(self, name: str) -> str | None:
        stem = name.replace(".", "/")
        paths = (f"{stem}.py", f"{stem}/__init__.py")
        return next((path for path in paths if path in self._files), None)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """Import as `from a.b import c` and `from a import b` do; the tree goes before Python."""
        if self._path(name) is None:
            return __import__(name, globals, locals, fromlist, level)
        module = self.load(name)
        for part in fromlist:
            if not hasattr(module, part) and self._path(f"{name}.{part}") is not None:
                setattr(module, part, self.load(f"{name}.{part}"))
        return module
