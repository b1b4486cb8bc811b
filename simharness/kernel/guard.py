"""The guard: products that call what they may not are stopped while they run.

It looks only at calls made by the code of products, which are the files under the folders that
`watch` has been told. NumPy, SimPy and this package go on calling what they need. How it sees calls
depends on the Python: see `simharness.kernel.lookouts`.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Protocol

from simharness.errors import ForbiddenCall, UsageError
from simharness.kernel.forbidden import RULES, code_of, may_at_import, public_name

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import CodeType

VARIABLE = "SIMHARNESS_GUARD"
PACKAGE = Path(__file__).parent.parent


class Mode(StrEnum):
    """How products are guarded."""

    OFF = "off"
    ON = "on"
    """`sys.monitoring` from Python 3.12 on; before that, functions of modules are replaced."""
    PROFILE = "profile"
    """`sys.setprofile`: sees most on 3.11, and slows everything down."""


class Lookout(Protocol):
    """A way to see the calls of products."""

    def install(self) -> None:
        """Begin to look."""
        ...

    def remove(self) -> None:
        """Leave everything as it was."""
        ...

    def refresh(self) -> None:
        """Take in what was imported or watched since."""
        ...

    def renew(self) -> None:
        """Look in this thread too, and again where a violation has ended it."""
        ...


class Guard:
    """What is guarded in this process, and who looks."""

    def __init__(self) -> None:
        self.roots: tuple[str, ...] = ()
        """Files, and folders with a slash at the end."""
        self.lookout: Lookout | None = None
        self.depth = 0
        self.lock = threading.RLock()
        self.watched: dict[str, bool] = {}
        """File names asked about so far; a cache, emptied when the roots change."""
        self.pending = threading.local()

    def watches(self, filename: str) -> bool:
        """Whether a file is part of a product."""
        known = self.watched.get(filename)
        if known is None:
            known = filename.startswith(self.roots) if self.roots else False
            self.watched[filename] = known
        return known


GUARD = Guard()


def watch(place: Path) -> None:
    """Take a file, or all files of a folder, for the code of a product."""
    suffix = "" if place.suffix == ".py" else os.sep
    names = {f"{place}{suffix}", f"{place.resolve()}{suffix}"}
    with GUARD.lock:
        if names.issubset(GUARD.roots):
            return
        GUARD.roots = tuple(sorted(names.union(GUARD.roots)))
        GUARD.watched.clear()
        if GUARD.lookout is not None:
            GUARD.lookout.refresh()


watch(PACKAGE / "models")


@contextmanager
def importing(place: Path) -> Generator[None, None, None]:
    """Import a product in here, so that what it imports is guarded too."""
    asked()
    watch(place)
    yield
    with GUARD.lock:
        if GUARD.lookout is not None:
            GUARD.lookout.refresh()


@contextmanager
def guarded(mode: str | None = None) -> Generator[None, None, None]:
    """Guard all products while in here, in all threads of the process.

    `mode` is `on`, `off` or `profile`; None takes it from SIMHARNESS_GUARD, or `on`. Within
    another guard nothing changes. Raises UsageError for an unknown mode.
    """
    chosen = parse_mode(os.environ.get(VARIABLE) or "on", VARIABLE) if mode is None else (
        parse_mode(mode, "guard")
    )  # fmt: skip
    if chosen is Mode.OFF:
        yield
        return
    arm(chosen)
    try:
        yield
    finally:
        disarm()


def parse_mode(text: str, name: str) -> Mode:
    """Read a mode. Raises UsageError."""
    try:
        return Mode(text)
    except ValueError:
        raise UsageError(f"{name} is {text!r}", f"give {', '.join(Mode)}") from None


def is_armed() -> bool:
    """Whether products are guarded now."""
    return GUARD.lookout is not None


def arm(mode: Mode) -> None:
    """Begin to guard; each call needs one of `disarm`."""
    from simharness.kernel.lookouts import lookout_for

    with GUARD.lock:
        if GUARD.depth == 0:
            lookout = lookout_for(mode)
            lookout.install()
            GUARD.lookout = lookout
        GUARD.depth += 1
        assert GUARD.lookout is not None
        GUARD.lookout.renew()


def disarm() -> None:
    """End what `arm` began; the last one leaves everything as it was."""
    with GUARD.lock:
        GUARD.depth -= 1
        if GUARD.depth == 0 and GUARD.lookout is not None:
            lookout, GUARD.lookout = GUARD.lookout, None
            lookout.remove()


def asked() -> None:
    """Arm for the rest of the process if SIMHARNESS_GUARD asks for it. Raises UsageError."""
    text = os.environ.get(VARIABLE)
    if text and not is_armed():
        mode = parse_mode(text, VARIABLE)
        if mode is not Mode.OFF:
            arm(mode)


# --- violations ----------------------------------------------------------------------------------


def begin() -> None:
    """Forget what this thread's product has done before: a step begins."""
    if GUARD.lookout is not None:
        GUARD.pending.error = None
        GUARD.lookout.renew()


def pending() -> ForbiddenCall | None:
    """Give this thread's violation, which the product may have caught, and forget it."""
    if GUARD.lookout is None:
        return None
    found: ForbiddenCall | None = getattr(GUARD.pending, "error", None)
    GUARD.pending.error = None
    return found


def judge(name: str, code: CodeType, line: int) -> None:
    """Raise ForbiddenCall if a product may not call what has this name."""
    name = public_name(name)
    rule = code_of(name)
    if rule is None or (code.co_name == "<module>" and may_at_import(name)):
        return
    error = ForbiddenCall(
        f"the product calls {name.removeprefix('builtins.')} at {code.co_filename}:{line}, which "
        f"{RULES[rule].what} ({rule} {RULES[rule].slug})",
        f"use {RULES[rule].use}",
    )
    GUARD.pending.error = error
    raise error


def is_own(error: BaseException) -> bool:
    """Whether the code of a product raised something, such as SystemExit, and not a signal."""
    trace = error.__traceback__
    if isinstance(error, KeyboardInterrupt) or trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return GUARD.watches(trace.tb_frame.f_code.co_filename)


def is_forbidden(name: str) -> bool:
    """Whether a name, as `name_of` gives it, is one that products may not call."""
    return code_of(public_name(name)) is not None


def name_of(called: Any) -> str:
    """Give the name by which something that is called knows itself, such as `time.time`."""
    if isinstance(called, partial):
        return name_of(called.func)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(called, MethodType):
        return name_of(called.__func__)
    if isinstance(called, FunctionType | type):
        return f"{called.__module__}.{called.__qualname__}"
    if isinstance(called, MethodDescriptorType | WrapperDescriptorType):
        owner = called.__objclass__
        return f"{owner.__module__}.{owner.__qualname__}.{called.__name__}"
    if isinstance(called, BuiltinFunctionType | MethodWrapperType):
        return builtin_name(called.__self__, called.__name__)
    kind: type[object] = called.__class__
    if any("__qualname__" in vars(base) for base in kind.__mro__[:-1]):
        # A function of an extension module, such as NumPy's.
        return f"{called.__module__}.{called.__qualname__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def builtin_name(own: object, name: str) -> str:
    """Give the name of a builtin: of a module, of a class or its base, or of an object's class."""
    if isinstance(own, ModuleType):
        return f"{own.__name__}.{name}"
    kind = own if isinstance(own, type) else type(own)
    for base in kind.__mro__:
        if name in vars(base):
            return f"{base.__module__}.{base.__qualname__}.{name}"
    return f"{kind.__module__}.{kind.__qualname__}.{name}"


def caller(depth: int) -> tuple[CodeType, int]:
    """Give the code and the line of a frame above."""
    frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
    return frame.f_code, frame.f_lineno
