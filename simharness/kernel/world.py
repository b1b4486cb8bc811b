"""The world: SimPy's environment with integer time, named processes, addressed draws and a journal.

SimPy itself is not forked. In SimPy 4.1 everything reaches the heap through `Environment.schedule`,
so overriding that one method is enough to order events; the drive loop is our own because SimPy's
`run` leaves its stop event queued after a failure and says nothing when nobody can move.
"""
# SimPy's events keep their state in underscored attributes, which a drive loop without method calls
# must read, and the type of their callbacks leaves open what a callback takes.
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import simpy
from simpy.events import NORMAL, Event, EventPriority, Initialize, Interruption

from simharness.errors import Deadlock, HarnessError, UsageError
from simharness.kernel import journal
from simharness.kernel.draws import Draws
from simharness.kernel.outside import Outside
from simharness.kernel.process import (
    EVENTS_PER_INSTANT,
    Process,
    Wait,
    describe,
    failure,
    has_started,
)
from simharness.kernel.schedule import Fifo, Scheduler
from simharness.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simharness.kernel.journal import RawRow
    from simharness.kernel.operation import Operation


class Numbers(dict[str, int]):
    """Names to numbers, in the order of their first use.

    A hit costs no Python call, and rows are full of names.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def __missing__(self, name: str) -> int:
        world = self._world
        number = self[name] = len(self)
        world.emit((journal.STR, world.ticks, number, name))
        return number


class World(simpy.Environment):
    """One simulated universe: clock, schedule, random draws, commit order, journal.

    Ticks are ints (microseconds since the start). Everything between two yields of a process is
    atomic.
    """

    def __init__(self, seed: int, *, scheduler: Scheduler | None = None, epoch: int = 0) -> None:
        self._now: int = 0
        super().__init__(0)
        self.draws = Draws(seed)
        self.outside = Outside()
        """What this world asks of something outside of it."""
        self.epoch = epoch
        """The instant of tick 0: microseconds since 1970-01-01T00:00:00Z."""
        self.order = 0
        """Commits so far: the total order of all changes of state."""
        self.rows: list[RawRow] = []
        """The journal, oldest first."""
        self.emit: Callable[[RawRow], None] = self.rows.append
        self.repair: frozenset[str] = frozenset()
        """Mechanisms that tell the truth in this run, by name (`cache:deals.detail`)."""
        self.patches: frozenset[str] = frozenset()
        """Changes of the product that are in force in this episode, by name."""
        self.pins: dict[tuple[str, int], Mapping[str, int]] = {}
        """Waits that callers have fixed, by owner and number of the operation."""
        self.alive: dict[str, Process] = {}
        """Processes that haven't ended, by name, in the order of their start."""
        self.heard: Callable[[Operation, str, Mapping[str, Any]], None] | None = None
        """Told of each call as it begins, with tool and arguments; whoever listens changes
        nothing."""
        self.alarms = 0
        """Times that a part did what a sound one doesn't: a verdict looks closer after any."""
        self.calls: dict[Operation, Process] = {}
        """Calls under way that a pause or a crash of their actor's node concerns."""
        self.reactions = 0
        """Effects of actions that are still under way (a settling episode waits for them)."""
        self.numbers = Numbers(self)
        """Interned names; looking up a new one introduces it in the journal."""
        self._serial = 0
        self._done = Event(self)
        self._done._ok = True
        self._done._value = None
        # Already processed: yielding it costs no event.
        self._done.callbacks = None  # type: ignore[assignment]
        self.scheduler: Scheduler = scheduler or Fifo()
        self.ranked = not isinstance(self.scheduler, Fifo)
        self._caller = ""
        if self.ranked:
            self._sequences: dict[str, int] = {}
            self._start_ranks: dict[str, int] = {}
            self.schedule = self._schedule_ranked  # type: ignore[method-assign]

    # --- time and order ---------------------------------------------------------------------------

    if TYPE_CHECKING:

        @property
        def ticks(self) -> int:
            """The simulated time in ticks."""
            ...
    else:
        # What everything asks for all the time is read without a Python call.
        ticks = property(attrgetter("_now"), doc="The simulated time in ticks.")

    @property
    def scheduled(self) -> int:
        """Events put on the heap so far."""
        return self._serial

    @property
    def instant(self) -> int:
        """The simulated time as an instant: microseconds since 1970-01-01T00:00:00Z."""
        return self.epoch + self._now

    def schedule(
        self, event: Event, priority: EventPriority = NORMAL, delay: int | float = 0
    ) -> None:
        """Put an event on the heap, `delay` ticks from now.

        Raises UsageError unless the delay is an int >= 0.
        """
        if type(delay) is not int or delay < 0:
            raise bad_delay(delay)
        self._serial = serial = self._serial + 1
        heappush(self._queue, (self._now + delay, priority, serial, event))

    def _schedule_ranked(
        self, event: Event, priority: EventPriority = NORMAL, delay: int | float = 0
    ) -> None:
        if type(delay) is not int or delay < 0:
            raise bad_delay(delay)
        self._serial = serial = self._serial + 1
        owner = self._owner(event)
        sequence = self._sequences.get(owner, 0)
        self._sequences[owner] = sequence + 1
        rank = self.scheduler.rank(owner, sequence)
        if isinstance(event, Initialize):
            self._start_ranks[owner] = rank
        elif isinstance(event, Interruption) and not has_started(event.process):
            # No interrupt comes before the start.
            rank = max(rank, self._start_ranks[event.process.name])
        if rank:
            self.emit((journal.RANK, self._now, self.intern(owner), sequence, rank))
        # One key: SimPy's heap entries have four places, and rank << 64 | serial keeps them so.
        heappush(self._queue, (self._now + delay, priority, rank << 64 | serial, event))

    def _owner(self, event: Event) -> str:
        """Name the process that a decision belongs to.

        A global count of decisions would shift with every addition.
        """
        if isinstance(event, Initialize):
            started: Any = event.callbacks[0]
            name: str = started.__self__.name
            return name
        active = self._active_proc
        return active.name if active is not None else self._caller

    def pause(self, ticks: int) -> Event:
        """Give an event `ticks` from now; 0 is over already: who yields it goes straight on."""
        if ticks == 0 and type(ticks) is int:
            return self._done
        event = Event.__new__(Event)
        event.env = self
        event.callbacks = []
        event._value = None
        event._ok = True
        self.schedule(event, NORMAL, ticks)
        return event

    def timer(self, ticks: int) -> Event:
        """Give an exact timer (a TTL, lease, deadline), which no policy may stretch."""
        return self.pause(ticks)

    def patched(self, name: str) -> bool:
        """Tell whether a change of the product is in force; see `Product.patched`."""
        return name in self.patches

    def point(self, label: str) -> Event:
        """Mark a place where a real system could be preempted: others of this instant may run."""
        event = Wait(self, label)
        event._ok = True
        event._value = None
        self.schedule(event, NORMAL, 0)
        return event

    def after(self, ticks: int, callback: Callable[[Event], None]) -> None:
        """Call `callback` `ticks` from now (0: later in this instant)."""
        if self.ranked:
            callback = self._owned(callback)
        event = Event.__new__(Event)
        event.env = self
        event.callbacks = [callback]
        event._value = None
        event._ok = True
        self.schedule(event, NORMAL, ticks)

    def _owned(self, callback: Callable[[Event], None]) -> Callable[[Event], None]:
        """Let what a callback schedules belong to whoever asked for the callback."""
        caller = self._active_proc.name if self._active_proc is not None else self._caller

        def run(event: Event) -> None:
            self._caller = caller
            callback(event)
            self._caller = ""

        return run

    # --- processes --------------------------------------------------------------------------------

    def spawn(self, name: str, generator: Generator[Event, Any, Any]) -> Process:
        """Start a supervised process. Raises HarnessError when a live process has that name."""
        if name in self.alive:
            generator.close()
            raise HarnessError(
                f"process {name!r} is already running", "give each process a name of its own"
            )
        process = Process(self, generator, name)
        self.alive[name] = process
        process.callbacks.append(self._ended)
        return process

    def _ended(self, event: Event) -> None:
        if isinstance(event, Process):
            del self.alive[event.name]

    def waiting(self) -> list[str]:
        """Say of every live process what it waits for, in the order of their start."""
        return [f"{name} waits for {describe(process)}" for name, process in self.alive.items()]

    # --- the drive loop ---------------------------------------------------------------------------

    def advance_to(self, ticks: int) -> None:
        """Run everything up to and including instant `ticks`, and let the clock stand there."""
        if type(ticks) is not int or ticks < self._now:
            raise UsageError(
                f"can't advance to tick {ticks!r} from tick {self._now}", "time runs forward"
            )
        queue = self._queue
        while queue and queue[0][0] <= ticks:
            self._run_instant(queue)
        self._now = ticks

    def drive(self, until: Event, deadline: int) -> bool:
        """Run until `until` has been processed; False when instant `deadline` comes before that.

        Raises Deadlock when nothing is left to happen.
        """
        queue = self._queue
        awaited: Any = until  # SimPy's types don't say that processed events have no callbacks
        while True:
            start = self._now
            for _ in range(EVENTS_PER_INSTANT):
                if awaited.callbacks is None:
                    return True
                if not queue:
                    raise Deadlock(
                        f"nobody can move at {format_duration(self._now)}: "
                        + "; ".join(self.waiting()[:8]),
                        "look for a lock that is never released or an event that nobody triggers",
                    )
                if queue[0][0] > deadline:
                    # A deadline may have passed already, but no clock runs backward.
                    self._now = max(self._now, deadline)
                    return False
                self._now, _, _, event = heappop(queue)  # type: ignore[assignment]
                callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
                for callback in callbacks:
                    callback(event)
                if not event._ok and not hasattr(event, "_defused"):
                    raise failure(self, event)
            if self._now == start:
                raise self.spinning()

    def settle(self) -> None:
        """Run what is left of this instant."""
        queue = self._queue
        if queue and queue[0][0] == self._now:
            self._run_instant(queue)

    def _run_instant(self, queue: list[Any]) -> None:
        """Run all events of the instant on top of the heap, those that they add to it included."""
        now = self._now = queue[0][0]
        for _ in range(EVENTS_PER_INSTANT):
            if not queue or queue[0][0] != now:
                return
            event = heappop(queue)[3]
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks:
                callback(event)
            if not event._ok and not hasattr(event, "_defused"):
                raise failure(self, event)
        raise self.spinning()

    def spinning(self) -> Deadlock:
        """Build the error for an instant that doesn't end."""
        return Deadlock(
            f"the instant {format_duration(self._now)} has not ended after {EVENTS_PER_INSTANT} "
            f"events: {'; '.join(self.waiting()[:8])}",
            "look for a loop that waits 0 ticks",
        )

    def next_ticks(self) -> int | None:
        """Give the tick of the next event, or None when there is none."""
        # Ints, which `schedule` makes sure of.
        return self._queue[0][0] if self._queue else None  # type: ignore[return-value]

    # --- names ------------------------------------------------------------------------------------

    def intern(self, name: str) -> int:
        """Give the number of `name`, introducing it in the journal when it is new."""
        return self.numbers[name]

    @property
    def names(self) -> list[str]:
        """Interned names by number."""
        return list(self.numbers)


def bad_delay(delay: object) -> UsageError:
    """Build the error for a delay that isn't a tick count."""
    return UsageError(
        f"delay {delay!r} is not a number of ticks",
        "give an int >= 0 in microseconds (simharness.units has helpers)",
    )
