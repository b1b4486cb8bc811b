"""One call of one actor: the unit by which draws, waits and journal rows are addressed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from simharness.kernel.draws import MASK, SLOTS, Stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simpy.events import Event

    from simharness.kernel.world import World

Span = tuple[int, int]
"""An elastic wait: shortest and longest, in ticks; equal ends make it exact."""


BEFORE_COMMIT = 1
AFTER_COMMIT = 2
IN_HANDLER = 3
"""A call whose pin `crash` is one of these dies just before or after its first commit, or raises
what no tool should. Whoever called is told `unknown_outcome`, or the episode is aborted."""

NOTHING: Mapping[Any, int] = MappingProxyType({})
"""What an actor has written that has written nothing: most of a large crowd, most of the time."""


class Actor:
    """Whoever acts: the agent, a background user, a worker.

    Remembers what it has read and written.
    """

    __slots__ = (
        "audited",
        "identity",
        "name",
        "next_n",
        "number",
        "paused_until",
        "reads",
        "stream",
        "tokens",
        "writes",
        "wrote",
    )

    def __init__(self, world: World, name: str, identity: int, *, audited: bool = False) -> None:
        self.name = name
        self.number = world.intern(name)
        """The interned name."""
        self.identity = identity
        """Whom it is signed in as: a row id of the product's table of people; 0 is nobody in
        particular."""
        self.audited = audited
        """True for the agent: what it observes is held against the contract."""
        self.next_n = 1
        """Number of its next operation, for actors that number their own."""
        self.stream: Stream | None = None
        """Draws of the cycle under way; the operation of the same number goes on with the words
        fetched for it."""
        self.reads: dict[tuple[int, int], tuple[int, object]] = {}
        """Last `(version, row)` served, by (table number, key)."""
        self.writes: Mapping[tuple[int, int], int] = NOTHING
        """Last version written, by (table number, key)."""
        self.paused_until = 0
        """Tick before which its node does nothing."""
        self.tokens: Mapping[int, int] = NOTHING
        """Token of the lease that it believes to hold, by table number."""
        self.wrote: Mapping[int, int] = NOTHING
        """Commit order of its last write, by table number."""

    def note_token(self, table: int, token: int) -> None:
        """Remember the token of a lease of a table; 0 forgets it."""
        tokens = {**self.tokens, table: token}
        self.tokens = {t: held for t, held in tokens.items() if held} or NOTHING

    def note_write(self, table: int, key: int, version: int, order: int) -> None:
        """Remember a write of its own: the version made and its commit order."""
        writes, wrote = self.writes, self.wrote
        if not isinstance(writes, dict) or not isinstance(wrote, dict):
            self.writes, self.wrote = {(table, key): version}, {table: order}
        else:
            writes[table, key] = version
            wrote[table] = order


class Operation(Stream):
    """One call: who, the how-manieth, since when, and on which pins."""

    __slots__ = (
        "access",
        "actor",
        "as_of",
        "begin",
        "begin_order",
        "blocked_on",
        "breaches",
        "crash",
        "dated",
        "locks",
        "owner_number",
        "pins",
        "world",
    )

    def __init__(
        self, world: World, actor: Actor, n: int, pins: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(world.draws, actor.name, n)
        self.world = world
        self.actor = actor
        self.owner_number = actor.number
        self.begin = self.as_of = world.ticks
        """Instant of sending, and the tick before which its answer surely holds every commit: that
        or an earlier one."""
        self.begin_order = world.order
        """Commits done before this call began."""
        self.dated = False
        """Whether its answer names `as_of`."""
        self.access = 0
        """Accesses to parts so far: the `k` of their waits."""
        stream = actor.stream
        if stream is not None and stream.n == n:
            self._words = stream._words
        self.crash = 0
        """Where its worker dies: a constant above, from the pin `crash`; 0 for nowhere."""
        if pins is not None:
            world.pins[actor.name, n] = pins
            self.crash = pins.get("crash", 0)
        self.pins = pins
        """Waits fixed by the caller: name to ticks."""
        self.blocked_on: object = None
        """The lock that it waits for, or None."""
        self.locks = 0
        """Locks that it holds."""
        self.breaches = 0
        """Reads served out of contract so far."""

    @property
    def name(self) -> str:
        """Owner and number, as rows show them."""
        return f"{self.owner}#{self.n}"

    def next_access(self) -> int:
        """Count an access to a part; gives the `k` of its waits."""
        k = self.access
        self.access = k + 1
        return k

    def latency(self, span: Span, label: str, k: int = 0) -> Event:
        """Give the event that ends the elastic wait `label`; a wait of 0 is over at once."""
        return self.world.pause(self.wait_ticks(span, label, k))

    def wait_ticks(self, span: Span, label: str, k: int = 0) -> int:
        """Decide the length of the elastic wait `label` in ticks: pinned, exact, or drawn."""
        pins = self.pins
        if pins is not None and label in pins:
            return pins[label]
        low, high = span
        if low == high:
            return low
        bound = high - low + 1
        if k == 0:
            # `below` without its calls, for the commonest draw: a declared purpose that needs no
            # second attempt.
            slot = SLOTS.get(label)
            if slot is not None:
                words = self._words
                if words is None:
                    words = self._words = self._draws.block(self.owner, self.n)
                product = words[slot] * bound
                if product & MASK >= bound:
                    return low + (product >> 64)
        return low + self.below(bound, label, k)
