"""Hooks of plugins: conftest.py files and what they name, when a run lets them."""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import importlib
from typing import Any

from simharness.sandbox.guest import fixtures


class Result:
    """What an old-style wrapper is sent."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get_result(self) -> Any:
        """Give what the hooks inside gave."""
        return self._value

    def force_result(self, value: Any) -> None:
        """Give something else instead."""
        self._value = value


class Plugins:
    """The plugins of a run.

    With `hooks` off a conftest.py only declares fixtures: none of its hooks is called and nothing
    that it names is loaded.
    """

    def __init__(self, hooks: bool) -> None:
        self._hooks = hooks
        self._modules: list[Any] = []

    def load(self, name: str) -> None:
        """Import a plugin by its name."""
        self.add(importlib.import_module(name))

    def add(self, module: Any) -> None:
        """Take a module for a plugin, and those that it names."""
        if not self._hooks or module in self._modules:
            return
        self._modules.append(module)
        named = getattr(module, "pytest_plugins", ())
        for name in (named,) if isinstance(named, str) else named:
            self.load(name)

    def fixture_tables(self) -> list[Any]:
        """Give the fixtures of plugins that are no conftest.py."""
        others = [m for m in self._modules if not (m.__file__ or "").endswith("conftest.py")]
        return [(fixtures.declared_in(module), module) for module in others]

    def call(self, name: str, base: Any = None, **arguments: Any) -> Any:
        """Call a hook: the plugins', last loaded first, then `base`; give the first answer."""
        if not self._modules:
            return base() if base is not None else None
        plain: list[Any] = []
        wrappers: list[Any] = []
        for module in reversed(self._modules):
            function = getattr(module, name, None)
            if not callable(function):
                continue
            options = getattr(function, "pytest_impl", {})
            wraps = options.get("wrapper") or options.get("hookwrapper")
            (wrappers if wraps else plain).append(function)
        plain.sort(key=lambda f: _rank(f))

        def inner() -> Any:
            for function in plain:
                answer = function(**_wanted(function, arguments))
                if answer is not None:
                    return answer
            return base() if base is not None else None

        return _wrapped(wrappers, inner, arguments)


def _rank(function: Any) -> int:
    options = getattr(function, "pytest_impl", {})
    return -1 if options.get("tryfirst") else 1 if options.get("trylast") else 0


def _wanted(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    needed = fixtures.needs(function)
    return {name: arguments[name] for name in needed if name in arguments}


def _wrapped(wrappers: list[Any], inner: Any, arguments: dict[str, Any]) -> Any:
    if not wrappers:
        return inner()
    function, *rest = wrappers
    generator = function(**_wanted(function, arguments))
    next(generator)
    value = _wrapped(rest, inner, arguments)
    modern = getattr(function, "pytest_impl", {}).get("wrapper")
    result = Result(value)
    try:
        generator.send(value if modern else result)
    except StopIteration as end:
        return end.value if modern else result.get_result()
    raise RuntimeError(f"the hook wrapper {function.__name__} has more than one 'yield'")
