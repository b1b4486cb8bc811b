"""Three ways to see what products call.

- `Monitoring` (Python >= 3.12): CALL events of `sys.monitoring`. Calls from anywhere else are
  switched off one by one as they are seen, so that only products pay.
- `Patching` (3.11): functions of modules are replaced by ones that look who calls them. It reaches
  functions that are found through their module, and names that a product has bound when it was
  imported; no methods of C types such as `datetime.now`.
- `Profiling`: `sys.setprofile`, in the threads that are guarded.
"""

from __future__ import annotations

import builtins
import sys
import threading
from functools import partial, wraps
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from simharness.kernel.forbidden import NAMES, PACKAGES, public_name
from simharness.kernel.guard import GUARD, Mode, caller, is_forbidden, judge, name_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from simharness.kernel.guard import Lookout

FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
UNPATCHED = frozenset({"builtins", "gc", "sys", "traceback"})
"""Modules whose functions look at frames or count references, which a wrapper would add to."""
PATCHED_CLASSES = (
    "multiprocessing.process.BaseProcess",
    "random.Random",
    "subprocess.Popen",
    "threading.Thread",
    "weakref.finalize",
)


def lookout_for(mode: Mode) -> Lookout:
    """Give the lookout for a mode on this Python."""
    if mode is Mode.PROFILE:
        return Profiling()
    if sys.version_info >= (3, 12) and free_tool() is not None:
        return Monitoring()
    return Patching()


# --- sys.monitoring ------------------------------------------------------------------------------

if sys.version_info >= (3, 12):
    TOOLS = (4, 3, 5, 2, 1, 0)
    """Ids to try: those that are reserved for debuggers and the like come last."""

    def free_tool() -> int | None:
        """Give an id of `sys.monitoring` that nobody uses."""
        return next((n for n in TOOLS if sys.monitoring.get_tool(n) is None), None)

    class Monitoring:
        """Sees calls by `sys.monitoring`."""

        def __init__(self) -> None:
            self._tool = -1
            self._clean: set[Any] = set()
            self._clean_modules: set[str] = set()

        def install(self) -> None:
            """Begin to look."""
            tool = free_tool()
            assert tool is not None
            self._tool = tool
            events = sys.monitoring.events
            sys.monitoring.use_tool_id(tool, "simharness guard")
            sys.monitoring.register_callback(tool, events.CALL, self._callback())
            sys.monitoring.set_events(tool, events.CALL)
            # Where an earlier guard has switched calls off, products may have been added since.
            sys.monitoring.restart_events()

        def remove(self) -> None:
            """Leave everything as it was."""
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.register_callback(self._tool, sys.monitoring.events.CALL, None)
            sys.monitoring.free_tool_id(self._tool)

        def refresh(self) -> None:
            """Look again where calls have been switched off."""
            sys.monitoring.restart_events()

        def renew(self) -> None:
            """Do nothing: it looks in all threads."""

        def _callback(self) -> Callable[[CodeType, int, Any, Any], object]:
            disable, clean, modules = sys.monitoring.DISABLE, self._clean, self._clean_modules
            watched, watches = GUARD.watched, GUARD.watches

            def seen(code: CodeType, offset: int, called: Any, first: Any) -> object:
                if not (watched.get(code.co_filename) or watches(code.co_filename)):
                    return disable
                kind = type(called)
                if kind is FunctionType or isinstance(called, type):
                    if called.__module__ not in modules:
                        look(code, offset, called)
                    elif called in CALLING_ON and isinstance(first, FUNCTIONS):
                        look(code, offset, first)
                elif kind is MethodDescriptorType or kind is BuiltinFunctionType:
                    if called not in clean:
                        look(code, offset, called)
                else:
                    look(code, offset, called)
                return None

            def look(code: CodeType, offset: int, called: Any) -> None:
                name = name_of(called)
                if is_forbidden(name):
                    judge(name, code, line_at(code, offset))
                elif isinstance(called, FunctionType | type):
                    if not name.startswith(PARTLY) and not public_name(name).startswith(PARTLY):
                        modules.add(called.__module__)
                elif isinstance(called, MethodDescriptorType) or (
                    # An object's method is made anew each time: not to be remembered.
                    isinstance(called, BuiltinFunctionType)
                    and isinstance(called.__self__, ModuleType)
                ):
                    clean.add(called)

            return seen

    PARTLY = tuple(sorted({f"{name.partition('.')[0]}." for name in NAMES} - {"builtins."}))
    """How names begin in modules of which some may be called and some not."""
    CALLING_ON = (map, filter, partial)
    """Classes that call what they are given first, where no event tells of it."""

    def line_at(code: CodeType, offset: int) -> int:
        """Give the line of an instruction."""
        for start, end, line in code.co_lines():
            if start <= offset < end and line is not None:
                return line
        return code.co_firstlineno

else:

    def free_tool() -> int | None:
        """Give None: this Python has no `sys.monitoring`."""
        return None


# --- replaced functions --------------------------------------------------------------------------


class Patching:
    """Sees calls by functions that stand in for the forbidden ones and look who calls."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        """Where, under which name, and what was there; oldest first."""
        self._added: list[tuple[ModuleType, str]] = []
        """Names that products got for builtins."""
        self._standins: dict[int, tuple[Any, Any]] = {}
        """The id of an original to it and what stands in for it."""
        self._done: set[str] = set()

    def install(self) -> None:
        """Begin to look."""
        self.refresh()

    def remove(self) -> None:
        """Leave everything as it was."""
        for place, name, original in reversed(self._replaced):
            setattr(place, name, original)
        for module, name in self._added:
            vars(module).pop(name, None)
        self._replaced.clear()
        self._added.clear()

    def refresh(self) -> None:
        """Replace what was imported since."""
        for module_name, module in sorted(sys.modules.items()):
            if module_name not in self._done and is_patchable(module_name):
                self._done.add(module_name)
                self._patch(module, module_name)
        for name in PATCHED_CLASSES:
            if name not in self._done and (kind := loaded_class(name)) is not None:
                self._done.add(name)
                self._replace(kind, "__init__", self._standin(vars(kind)["__init__"], name))
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and GUARD.watches(file):
                self._patch_product(module)

    def renew(self) -> None:
        """Do nothing: it looks in all threads."""

    def _patch(self, module: ModuleType, module_name: str) -> None:
        for name, value in list(vars(module).items()):
            dotted = f"{module_name}.{name}"
            fit = callable(value) and not isinstance(value, type | ModuleType)
            public = dotted in NAMES or not name.startswith("_")
            if fit and public and is_forbidden(dotted):
                # What a module has of another one, such as the clock of `socketserver`, is told by
                # its own name, whichever of them comes first.
                own = public_name(name_of(value))
                foreign = own.rpartition(".")[0] != module_name and is_forbidden(own)
                self._replace(module, name, self._standin(value, own if foreign else dotted))

    def _patch_product(self, module: ModuleType) -> None:
        own = vars(module)
        for name, value in list(own.items()):
            known = self._standins.get(id(value))
            if known is not None and known[0] is value:
                self._replace(module, name, known[1])
        for dotted in NAMES:
            place, _, name = dotted.partition(".")
            if place == "builtins" and name not in own:
                setattr(module, name, self._standin(getattr(builtins, name), dotted))
                self._added.append((module, name))

    def _replace(self, place: ModuleType | type, name: str, standin: Any) -> None:
        names = vars(place)
        self._replaced.append((place, name, names[name]))
        setattr(place, name, standin)

    def _standin(self, original: Any, dotted: str) -> Any:
        known = self._standins.get(id(original))
        if known is not None:
            return known[1]

        @wraps(original)
        def looking(*args: Any, **kwargs: Any) -> Any:
            code, line = caller(1)
            if GUARD.watches(code.co_filename):
                judge(dotted, code, line)
            return original(*args, **kwargs)

        self._standins[id(original)] = (original, looking)
        return looking


def is_patchable(module_name: str) -> bool:
    """Whether a module has functions that products may not call."""
    if module_name in UNPATCHED:
        return False
    below = {name.rpartition(".")[0] for name in NAMES}
    return module_name in PACKAGES or module_name in below


def loaded_class(name: str) -> type | None:
    """Give a class of a module that has been imported."""
    module_name, _, attribute = name.rpartition(".")
    found = getattr(sys.modules.get(module_name), attribute, None)
    return found if isinstance(found, type) else None


# --- sys.setprofile ------------------------------------------------------------------------------


class Profiling:
    """Sees calls by `sys.setprofile`, in the thread that armed it and in those started later."""

    def __init__(self) -> None:
        self._before: Any = None
        self._before_threads: Any = None

    def install(self) -> None:
        """Begin to look."""
        self._before = sys.getprofile()
        self._before_threads = threading.getprofile()
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)

    def remove(self) -> None:
        """Leave everything as it was."""
        sys.setprofile(self._before)
        threading.setprofile(self._before_threads)

    def refresh(self) -> None:
        """Do nothing: it looks at every call anyway."""

    def renew(self) -> None:
        """Look in this thread; an exception that a profile function raises takes it away."""
        if sys.getprofile() != self._seen:
            sys.setprofile(self._seen)

    def _seen(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            if GUARD.watches(frame.f_code.co_filename):
                self._judge(name_of(called), frame)
        elif event == "call":
            above = frame.f_back
            if above is not None and GUARD.watches(above.f_code.co_filename):
                module = frame.f_globals.get("__name__", "")
                self._judge(f"{module}.{frame.f_code.co_qualname}", above)

    def _judge(self, name: str, frame: FrameType) -> None:
        if is_forbidden(name):
            judge(name, frame.f_code, frame.f_lineno)
