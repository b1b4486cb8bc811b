"""Processes: named, supervised, and able to be held up or broken off from outside."""
# SimPy's events keep their state in underscored attributes, which a drive loop without method calls
# must read, and the type of their callbacks leaves open what a callback takes.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import simpy
from simpy.events import NORMAL, URGENT, Event, Initialize

from simharness.errors import HarnessError, ProcessFailed, SimharnessError
from simharness.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simharness.kernel.world import World

EVENTS_PER_INSTANT = 1_000_000
"""Events at one instant after which the world is taken to spin."""


class Wait(Event):
    """An event of a lock, pool or mailbox that says what it stands for."""

    def __init__(self, env: World, what: str) -> None:
        super().__init__(env)
        self.what = what


class Process(simpy.Process):
    """A supervised process with a stable name of its own."""

    _held_until = 0
    _late: Event | None = None

    def __init__(self, world: World, generator: Generator[Event, Any, Any], name: str) -> None:
        self._label = name
        self._world = world
        super().__init__(world, generator)

    @property
    def name(self) -> str:
        """The name given to `World.spawn`."""
        return self._label

    @property
    def waits_for(self) -> Event | None:
        """The event that wakes it; None once it has ended, which SimPy's `target` doesn't say."""
        return self._target

    @property
    def result(self) -> Any:
        """What the generator has returned; SimPy types `value` so that it might always be None."""
        return self.value

    def _resume(self, event: Event) -> None:
        """Go on after `event`: SimPy's own steps, but for a failure, which is thrown as it is.

        SimPy throws a copy, `type(e)(*e.args)`: attributes vanish and a class that takes other
        arguments is a TypeError.
        """
        world = self._world
        world._active_proc = self
        straight_on = 0
        while True:
            try:
                if event._ok:
                    event = self._generator.send(event._value)
                else:
                    event._defused = True
                    event = self._generator.throw(event._value)
            except StopIteration as end:
                self._end(True, end.value)
                break
            except BaseException as error:
                self._end(False, error)
                break
            try:
                callbacks: Any = event.callbacks
            except AttributeError:
                kind = type(event).__name__
                self._end(
                    False, HarnessError(f"process {self._label!r} yields a {kind}, not an event")
                )
                break
            if callbacks is not None:
                callbacks.append(self._resume)
                self._target = event
                break
            straight_on += 1
            if straight_on == EVENTS_PER_INSTANT:
                self._end(False, world.spinning())
                break
        world._active_proc = None

    # --- pausing and breaking off -----------------------------------------------------------------

    def hold(self, until: int) -> None:
        """Let the process do nothing before tick `until`: what wakes it earlier is taken up then.

        Costs the processes that are never held nothing.
        """
        target = self.waits_for
        callbacks: Any = target.callbacks if target is not None else None
        if callbacks is None:
            return  # has ended, or goes on at this very moment
        if self._resume in callbacks:
            callbacks[callbacks.index(self._resume)] = self._hear
            self._held_until = 0
        self._held_until = max(self._held_until, until)

    def _hear(self, event: Event) -> None:
        """Take up an event, or put it off for as long as the process is held."""
        world = self._world
        rest = self._held_until - world._now
        if rest <= 0:
            self._late = None
            self._resume(event)
            return
        if not event._ok:
            event._defused = True
        self._late = event
        wake = Event(world)
        wake._ok = True
        wake._value = None
        wake.callbacks.append(self._wake)
        self._target = wake
        world.schedule(wake, NORMAL, rest)

    def _wake(self, _: Event) -> None:
        if self._late is not None:
            self._hear(self._late)

    def break_off(self, error: BaseException, due: Callable[[], bool]) -> None:
        """Raise `error` where the process waits, before anything else of this instant, if `due`.

        What it waits for stays as it is; whoever waits in a queue must leave it on that error.
        """
        event = Event(self._world)
        event._ok = False
        event._value = error
        event._defused = True
        event.callbacks.append(partial(self._break_off, due))
        self._world.schedule(event, URGENT)

    def _break_off(self, due: Callable[[], bool], event: Event) -> None:
        target = self.waits_for
        if target is None or not due():
            return
        callbacks: Any = target.callbacks
        if callbacks is not None:
            own = (self._resume, self._hear, self._wake)
            callbacks[:] = [c for c in callbacks if c not in own]
        self._resume(event)

    def _end(self, ok: bool, value: object) -> None:
        self._ok = ok
        self._value = value
        self._target = None  # type: ignore[assignment]  # as SimPy leaves it
        self.env.schedule(self)


def has_started(process: simpy.Process) -> bool:
    """Tell whether the generator of a process has been entered."""
    target = process.target
    return not isinstance(target, Initialize) or target.processed


def describe(process: Process) -> str:
    """Say what a process waits for."""
    target = process.waits_for
    if isinstance(target, Wait):
        return target.what
    if isinstance(target, Process):
        return f"the end of {target.name}"
    if target is None:
        return "nothing"
    return "a timer" if target.triggered else "an event that nobody has triggered"


def failure(world: World, event: Event) -> BaseException:
    """Build what to raise for an event that failed with nobody to handle it."""
    cause: BaseException = event._value
    if not isinstance(cause, Exception):
        return cause  # KeyboardInterrupt and SystemExit, which SimPy catches like any failure
    if isinstance(cause, SimharnessError):
        return cause
    name = event.name if isinstance(event, Process) else type(event).__name__
    error = ProcessFailed(
        f"process {name!r} raised {type(cause).__name__}: {cause} ({place_of(cause)}, "
        f"simulated time {format_duration(world.ticks)})"
    )
    error.__cause__ = cause
    return error


def place_of(error: BaseException) -> str:
    """Say where an exception was raised: file, line and function."""
    trace = error.__traceback__
    if trace is None:
        return "nowhere"
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    return f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}, in {code.co_name}"
