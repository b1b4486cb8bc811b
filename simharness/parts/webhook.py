"""Webhooks: events that a sender delivers to an endpoint, and the inbox that applies them.

The sender delivers at least once: an endpoint that refuses, or answers too late, gets the event
again after a while. So events come late, twice and in another order than they were made, and the
receiver has to cope: an inbox knows which events it has had, and never applies one over a newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.queue import backoff_ticks
from simharness.parts.reaction import Reactions
from simharness.parts.refusal import Refused
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from simpy.events import Event

    from simharness.kernel.operation import Operation, Span
    from simharness.kernel.process import Process
    from simharness.kernel.world import World
    from simharness.parts.reaction import Reaction
    from simharness.parts.transaction import Transaction


class Notice(NamedTuple):
    """What an event says: an event of the mock product, none of the simulation."""

    event_id: str
    kind: str
    created: int
    """Instant at which its sender made it, by the sender's clock."""
    ref: str
    """What it is about, e.g. `charges:1`; events of one ref replace each other."""
    payload: Mapping[str, object] = {}


class Webhook:
    """One sender with one endpoint."""

    __slots__ = (
        "_last",
        "_reactions",
        "attempts",
        "backoff",
        "delay",
        "duplicates",
        "endpoint",
        "kinds",
        "lost",
        "name",
        "order",
        "timeout",
        "world",
    )

    def __init__(
        self,
        world: World,
        name: str,
        endpoint: Callable[[Reaction, Notice], Generator[Event, Any, object]],
    ) -> None:
        self.world = world
        self.name = name
        self.endpoint = endpoint
        """Takes an event, under the delivery's own operation. Refused means: not taken."""
        self.delay: Span = (0, 0)
        """Wait `webhook` from the making of an event to its arrival."""
        self.order = "fifo"
        """fifo: an event waits for those sent before it; any: it comes when its delay is over."""
        self.duplicates = 0
        """Further deliveries of each event that was taken, each after a delay of its own."""
        self.attempts = 8
        """Attempts, from 1, after which an event is given up."""
        self.backoff = SECOND
        """Ticks until the second attempt; doubled for each further one, at most a day."""
        self.timeout = 10 * SECOND
        """Ticks after which an attempt without an answer counts as failed, though what it began
        goes on; 0 for never."""
        self.kinds: tuple[str, ...] = ()
        """Kinds that the endpoint listens to; all where it is empty."""
        self.lost: tuple[str, ...] = ()
        """Kinds that are noted as sent and never are (a defect)."""
        self._reactions = Reactions(world, name)
        self._last: Process | None = None

    # --- sending ----------------------------------------------------------------------------------

    def send(self, op: Operation, notice: Notice) -> None:
        """Send an event, as a reaction to `op`; who sends doesn't wait for it."""
        world = self.world
        reaction = self._reactions.begin(op)
        world.emit(
            (
                journal.WEBHOOK,
                world.ticks,
                reaction.owner_number,
                reaction.n,
                world.numbers[self.name],
                world.numbers[notice.event_id],
                world.numbers[notice.kind],
                world.numbers[notice.ref],
                notice.created,
            )
        )
        sound = f"webhook:{self.name}" in world.repair
        if self.kinds and notice.kind not in self.kinds and not sound:
            self._end(reaction, notice, "unheard")
        elif notice.kind in self.lost and not sound:
            world.alarms += 1
            self._end(reaction, notice, "lost")
        else:
            before = self._last if self.order == "fifo" else None
            self._last = world.spawn(reaction.name, self._deliver(reaction, notice, before))

    def _deliver(
        self, op: Reaction, notice: Notice, before: Process | None
    ) -> Generator[Event, Any, None]:
        """Deliver an event until it is taken, and then as often as it is doubled."""
        yield op.latency(self.delay, "webhook", op.next_access())
        if before is not None and before.is_alive:
            yield before
        for attempt in range(1, self.attempts + 1):
            if attempt > 1:
                yield self.world.timer(backoff_ticks(self.backoff, attempt - 1))
            if (yield from self._try(op, notice, attempt)) == "ok":
                break
        else:
            self._end(op, notice, "given_up")
            return
        for copy in range(self.duplicates):
            yield op.latency(self.delay, "webhook", op.next_access())
            yield from self._try(op, notice, attempt + 1 + copy)
        self._end(op, notice, "delivered")

    def _try(self, op: Reaction, notice: Notice, attempt: int) -> Generator[Event, Any, str]:
        """Deliver an event once; gives the answer, `timeout` where none came in time."""
        world = self.world
        answered = Wait(world, f"the answer to {notice.event_id}")
        # An operation of its own: what a slow endpoint began goes on beside the next attempt.
        delivery = self._reactions.attempt(op, attempt)

        def take() -> Generator[Event, Any, None]:
            answer = "ok"
            try:
                yield from self.endpoint(delivery, notice)
            except Refused as refusal:
                answer = refusal.code
            delivery.end()
            self._note(delivery, notice, attempt, answer)
            if not answered.triggered:
                answered.succeed(answer)

        world.spawn(delivery.name, take())
        if self.timeout:

            def give_up(_: Event) -> None:
                if not answered.triggered:
                    answered.succeed("timeout")

            world.after(self.timeout, give_up)
        answer: str = yield answered
        return answer

    def arrive(self, op: Operation, notice: Notice) -> Generator[Event, Any, None]:
        """Let an event arrive now, which somebody else has sent. Raises Refused: not taken."""
        delivery = self._reactions.begin(op)
        answer = "ok"
        try:
            yield from self.endpoint(delivery, notice)
        except Refused as refusal:
            answer = refusal.code
            raise
        finally:
            delivery.end()
            self._note(delivery, notice, 1, answer)

    # --- the journal ------------------------------------------------------------------------------

    def _note(self, op: Reaction, notice: Notice, attempt: int, answer: str) -> None:
        world = self.world
        world.emit(
            (
                journal.DELIVERED,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[self.name],
                world.numbers[notice.event_id],
                attempt,
                world.numbers[answer],
            )
        )

    def _end(self, op: Reaction, notice: Notice, reason: str) -> None:
        world = self.world
        world.emit(
            (
                journal.WEBHOOKEND,
                world.ticks,
                op.owner_number,
                op.n,
                world.numbers[self.name],
                world.numbers[notice.event_id],
                world.numbers[reason],
            )
        )
        op.end()


class Inbox:
    """What a receiver knows of the events that it has applied."""

    __slots__ = ("_applied", "_newest", "apply", "dedupe", "name", "world")

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.dedupe = True
        """Whether an event is applied once only, whatever comes of it."""
        self.apply = "newest"
        """newest: an event older than one already applied to its ref is ignored, and at equal
        `created` the later arrival wins; last_arrived: whatever comes is applied (a defect)."""
        self._applied: dict[str, int] = {}
        self._newest: dict[str, int] = {}

    def objection(self, notice: Notice) -> str:
        """Say why an event isn't to be applied: `duplicate`, `older`, or nothing."""
        sound = f"inbox:{self.name}" in self.world.repair
        if (self.dedupe or sound) and notice.event_id in self._applied:
            return "duplicate"
        if self.apply == "newest" or sound:
            newest = self._newest.get(notice.ref)
            if newest is not None and notice.created < newest:
                return "older"
        return ""

    def take(self, tx: Transaction, notice: Notice) -> bool:
        """Let a transaction apply an event, or say that it is to be ignored.

        Ask at the end, after all waits and right before the commit: what came in between counts.
        The event is known once the transaction has been committed.
        """
        why = self.objection(notice)
        if why:
            self._note(tx.op, notice, why)
            return False
        tx.then(lambda _: self._apply(tx.op, notice))
        return True

    def catch_up(self, ref: str, created: int) -> None:
        """Take note that the receiver has asked and been told all up to the event made then.

        What was sent before and is still on its way is old news when it comes.
        """
        self._newest[ref] = max(created, self._newest.get(ref, created))

    def _apply(self, op: Operation, notice: Notice) -> None:
        event, created = notice.event_id, notice.created
        newest = self._newest.get(notice.ref, created)
        self.world.alarms += created < newest or event in self._applied
        self._newest[notice.ref] = max(created, newest)
        self._applied[event] = created
        self._note(op, notice, "")

    def _note(self, op: Operation, notice: Notice, why: str) -> None:
        world = self.world
        numbers = world.numbers
        row = (
            journal.IGNORED if why else journal.APPLIED,
            world.ticks,
            op.owner_number,
            op.n,
            numbers[self.name],
            numbers[notice.event_id],
            numbers[notice.ref],
            notice.created,
        )
        world.emit((*row, numbers[why]) if why else row)
