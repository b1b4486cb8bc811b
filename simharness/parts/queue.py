"""A job queue: work that is put down now and done later, by so many workers.

A job is an operation of its own. Whoever works on it may refuse (`Refused`); then it is tried again
after a while, a limited number of times, and in the end put aside as dead.

A worker that takes too long may be taken for dead: after the visibility time-out the job is handed
out once more, so that it can be done twice. A sound worker says in time that it is still at it.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.reaction import Reactions
from simharness.parts.refusal import Refused
from simharness.units import DAY, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World
    from simharness.parts.reaction import Reaction

P = TypeVar("P")

ENDED = ("done", "dead", "dropped")
"""States that a job doesn't leave."""

BACKOFF_MAX = DAY
"""Longest wait between two attempts, in ticks."""


def backoff_ticks(first: int, failed: int) -> int:
    """Give the wait after the `failed`-th failure: `first` ticks, and double each time."""
    return min(first << min(failed - 1, 62), BACKOFF_MAX)


class Job(Generic[P]):
    """One job, from being put down to its end."""

    __slots__ = ("attempts", "label", "number", "op", "payload", "running", "state")

    def __init__(self, op: Reaction, number: int, label: str, payload: P) -> None:
        self.op = op
        self.number = number
        """Place in the order of being put down, from 1."""
        self.label = label
        """What it is called in the journal."""
        self.payload = payload
        self.attempts = 0
        """Attempts begun."""
        self.running = 0
        """Attempts under way: more than one where a slow worker was taken for dead."""
        self.state = "waiting"
        """waiting, running, resting (until it is tried again), done, dead or dropped."""


class JobQueue(Generic[P]):
    """One queue and its workers."""

    __slots__ = (
        "_busy",
        "_count",
        "_idle",
        "_reactions",
        "_ready",
        "_staff",
        "_workers",
        "attempts",
        "backoff",
        "dead",
        "handler",
        "heartbeat",
        "length",
        "name",
        "once",
        "order",
        "paused",
        "visibility",
        "world",
    )

    def __init__(
        self,
        world: World,
        name: str,
        handler: Callable[[Reaction, P], Generator[Event, Any, object]],
        *,
        workers: int = 1,
    ) -> None:
        self.world = world
        self.name = name
        self.handler = handler
        """Does a job, under the job's own operation. Refused means that it failed."""
        self.order = "fifo"
        """fifo: the oldest first; any: in a drawn order."""
        self.length = 0
        """Jobs that may wait; what comes above is dropped. 0 for no bound."""
        self.attempts = 5
        """Attempts, from 1, after which a job is dead."""
        self.backoff = SECOND
        """Ticks until the second attempt; doubled for each further one, at most a day."""
        self.visibility = 30 * SECOND
        """Ticks after which a job is handed out again whose worker says nothing; 0 for never."""
        self.heartbeat = True
        """Whether workers say in time that they are still at it."""
        self.once = False
        """Whether the queue promises that no job is done twice; a promise, no means."""
        self.paused = False
        self.dead: list[Job[P]] = []
        """Jobs that were given up, the earliest first."""
        self._reactions = Reactions(world, name)
        self._count = 0
        self._ready: list[tuple[int, int, Job[P]]] = []
        self._idle: deque[Wait] = deque()
        self._staff = 0
        self._busy = 0
        self._workers = 0
        self.workers = workers

    # --- workers ----------------------------------------------------------------------------------

    @property
    def workers(self) -> int:
        """Jobs that are worked on at a time; a cut takes effect as jobs end."""
        return self._workers

    @workers.setter
    def workers(self, workers: int) -> None:
        self._workers = workers
        while self._staff < workers:
            self._staff += 1
            self.world.spawn(f"{self.name}/worker/{self._staff}", self._work())
        self._hand_out()

    def pause(self) -> None:
        """Hand out no more jobs; those under way go on."""
        self.paused = True

    def resume(self) -> None:
        """Hand out jobs again."""
        self.paused = False
        self._hand_out()

    # --- jobs -------------------------------------------------------------------------------------

    def put(self, op: Operation, payload: P, label: str = "") -> Job[P] | None:
        """Put a job down, as a reaction to `op`; None when the queue is full and it is dropped."""
        world = self.world
        self._count += 1
        reaction = self._reactions.begin(op)
        job = Job(reaction, self._count, label, payload)
        world.emit(
            (
                journal.JOB,
                world.ticks,
                reaction.owner_number,
                reaction.n,
                world.numbers[self.name],
                world.numbers[label],
                int(self.once),
            )
        )
        if self.length and len(self._ready) >= self.length:
            world.alarms += 1
            self._end(job, "dropped")
            return None
        self._offer(job)
        return job

    @property
    def waiting(self) -> int:
        """Jobs that could be begun at once if there were workers enough."""
        return len(self._ready)

    def _offer(self, job: Job[P]) -> None:
        job.state = "waiting"
        rank = job.op.bits("order") if self.order == "any" else 0
        heappush(self._ready, (rank, job.number, job))
        self._hand_out()

    def _hand_out(self) -> None:
        while self._idle:
            job = self._next()
            if job is None:
                return
            self._idle.popleft().succeed(job)

    def _next(self) -> Job[P] | None:
        """Take the next job for a worker, if there is one and it may be begun."""
        while self._ready and not self.paused and self._busy < self._workers:
            job = heappop(self._ready)[2]
            if job.state == "waiting":  # else a slow worker has done it after all
                self._busy += 1
                job.state = "running"
                job.running += 1
                job.attempts += 1
                return job
        return None

    def _work(self) -> Generator[Event, Any, None]:
        while True:
            job = self._next()
            if job is None:
                wait = Wait(self.world, f"a job of {self.name}")
                self._idle.append(wait)
                job = yield wait
            yield from self._attempt(job)
            self._busy -= 1

    def _attempt(self, job: Job[P]) -> Generator[Event, Any, None]:
        """Try a job once."""
        world = self.world
        op = job.op
        if job.state in ENDED:  # a slow worker was faster than this one
            job.running -= 1
            self._close(job)
            return
        attempt = job.attempts
        number = world.numbers[self.name]
        world.emit((journal.JOBSTART, world.ticks, op.owner_number, op.n, number, attempt))
        sound = self.heartbeat or f"queue:{self.name}" in world.repair
        if self.visibility and not sound:
            world.after(self.visibility, lambda _: self._show_again(job, attempt))
        try:
            yield from self.handler(op, job.payload)
        except Refused:
            job.running -= 1
            if job.state == "running" and job.attempts == attempt:
                self._failed(job)
            else:
                self._close(job)
            return
        job.running -= 1
        if job.state in ENDED:
            world.alarms += 1
            self._note(job, "done")  # once more
            self._close(job)
        else:
            self._end(job, "done")

    def _show_again(self, job: Job[P], attempt: int) -> None:
        if job.state == "running" and job.attempts == attempt < self.attempts:
            self._note(job, "visible")
            self._offer(job)

    def _failed(self, job: Job[P]) -> None:
        if job.attempts >= self.attempts:
            self.dead.append(job)
            self._end(job, "dead")
            return
        job.state = "resting"
        self._note(job, "failed")

        def again(_: Event) -> None:
            if job.state == "resting":
                self._offer(job)

        self.world.after(backoff_ticks(self.backoff, job.attempts), again)

    def _end(self, job: Job[P], reason: str) -> None:
        job.state = reason
        self._note(job, reason)
        self._close(job)

    def _close(self, job: Job[P]) -> None:
        """End the job's operation once nobody is at it any more."""
        if job.state in ENDED and not job.running:
            job.op.end()

    def _note(self, job: Job[P], reason: str) -> None:
        world = self.world
        op = job.op
        number, why = world.numbers[self.name], world.numbers[reason]
        world.emit((journal.JOBEND, world.ticks, op.owner_number, op.n, number, why))
