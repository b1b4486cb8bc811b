"""Whether the program has changed what it runs on: the standard library, the builtins, the runner.

It is evidence and no lock: a program that shares its interpreter with a check can fool the check.
"""

# The program's objects are of any type, and nothing is known of them.
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
import sys
from typing import Any

WATCHED = (
    "builtins",
    "datetime",
    "json",
    "math",
    "posix",
    "pytest",
    "random",
    "time",
    "unittest",
    "unittest.case",
    "unittest.result",
    "simharness.sandbox.guest.asserts",
    "simharness.sandbox.guest.integrity",
    "simharness.sandbox.guest.main",
    "simharness.sandbox.guest.report",
    "simharness.sandbox.guest.running",
    "simharness.sandbox.guest.values",
)
CLASSES = (
    ("unittest.case", "TestCase"),
    ("unittest.result", "TestResult"),
    ("json.decoder", "JSONDecoder"),
    ("json.encoder", "JSONEncoder"),
    ("random", "Random"),
    ("simharness.sandbox.guest.main", "Guest"),
    ("simharness.sandbox.guest.report", "Report"),
    ("simharness.sandbox.guest.running", "Ended"),
    ("simharness.sandbox.guest.running", "Outcome"),
    ("simharness.sandbox.guest.running", "Tests"),
)
# These change by being used.
VOLATILE = frozenset({"__warningregistry__", "_", "__builtins__", "_inst", "_showwarnmsg_impl"})


class Seal:
    """What the watched names stood for when the interpreter was built."""

    def __init__(self) -> None:
        self._modules: list[tuple[str, Any, dict[str, Any]]] = []
        self._classes: list[tuple[str, Any, dict[str, Any]]] = []

    def close(self) -> None:
        """Note what is there now."""
        self._modules = []
        self._classes = []
        for name in WATCHED:
            module = sys.modules[name]
            held = dict(vars(module))
            self._modules.append((name, module, held))
        for name, key in CLASSES:
            value = vars(sys.modules[name])[key]
            self._classes.append((f"{name}.{key}", value, dict(vars(value))))

    def broken(self) -> list[str]:
        """Name what stands for something else now."""
        found: list[str] = []
        for name, module, held in self._modules:
            if sys.modules.get(name) is not module:
                found.append(name)
            found += _changed(name, vars(module), held)
        added = vars(sys.modules["builtins"]).keys() - self._modules[0][2].keys() - VOLATILE
        found += [f"builtins.{key}" for key in sorted(added)]
        for name, cls, held in self._classes:
            found += _changed(name, vars(cls), held)
        return found


_MISSING = object()
_all, _len, _map, _is = all, len, map, operator.is_


def _changed(name: str, now: Any, held: dict[str, Any]) -> list[str]:
    # Nearly always nothing has changed, and then no key has to be looked up.
    if _len(now) == _len(held) and _all(_map(_is, now.values(), held.values())):
        return []
    get = now.get
    return [
        f"{name}.{key}"
        for key, value in held.items()
        if get(key, _MISSING) is not value and key not in VOLATILE
    ]
