"""Exclusive leases: locks that end by themselves.

One rule, here and in the auditor: a lease whose age equals its ttl has ended.

Whoever was paused may still believe in a lease that ended long ago. So each grant has a token, one
larger than the grant before it, and a later write brings its token along; with fencing a write
under a lease that has ended is refused, without it (a defect) it is let through.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.errors import HarnessError
from simharness.kernel import journal
from simharness.kernel.process import Wait
from simharness.parts.node import Crashed
from simharness.parts.refusal import Refused
from simharness.units import SECOND

if TYPE_CHECKING:
    from collections.abc import Generator

    from simpy.events import Event

    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World


class Grant(NamedTuple):
    """What whoever has got a lease is told."""

    token: int
    """From 1; one larger than that of the grant before."""
    expires: int
    """Tick at which the lease ends unless it is renewed."""


class Tenure:
    """One holding of a lease, from its grant to its end."""

    __slots__ = ("beat", "ends", "expires", "frozen_until", "holder", "token")

    def __init__(self, holder: Operation, token: int) -> None:
        self.holder = holder
        self.token = token
        self.expires = 0
        """Tick at which it ends as its holder was told."""
        self.ends = 0
        """Tick at which it does end; another one where the clock is coarse."""
        self.beat = 0
        """Number of the automatic renewal that is due; whatever else is pending is void."""
        self.frozen_until = 0
        """Tick before which nothing renews it by itself."""


class Lease:
    """One lease: who holds it, and who waits for it."""

    __slots__ = ("name", "newest", "tenure", "waiters")

    def __init__(self, name: str) -> None:
        self.name = name
        self.newest = 0
        """The token granted last."""
        self.tenure: Tenure | None = None
        self.waiters: deque[tuple[Operation, Wait]] = deque()


class Leases:
    """The leases of one table: one of the whole table (key 0), and one of each row."""

    __slots__ = ("_leases", "fencing", "granularity", "prefix", "renew_every", "ttl", "world")

    def __init__(self, world: World, prefix: str) -> None:
        self.world = world
        self.prefix = prefix
        self.ttl = 30 * SECOND
        """Ticks, from 1, that a grant or a renewal lasts."""
        self.renew_every = 0
        """Ticks between automatic renewals; 0 for none."""
        self.fencing = True
        self.granularity = 1
        """Unit, in ticks, of the clock that ages are counted by."""
        # Never dropped: the tokens of a lease go on growing.
        self._leases: dict[int, Lease] = {}

    # --- holding ----------------------------------------------------------------------------------

    def acquire(
        self, op: Operation, key: int = 0, patience: int = 0
    ) -> Generator[Event, Any, Grant]:
        """Take the lease of `key`, waiting at most `patience` ticks in turn.

        Raises Refused `locked` when it is still held then.
        """
        world = self.world
        lease = self._lease(key)
        tenure = self._running(lease)
        if tenure is None:
            return self._grant(lease, op)
        if tenure.holder is op:
            raise HarnessError(
                f"{op.name} takes lease {lease.name} twice", "renew it, or release it first"
            )
        granted: Grant | None = None
        if patience > 0:
            wait = Wait(world, f"lease {lease.name}, held by {tenure.holder.name}")
            entry = (op, wait)
            lease.waiters.append(entry)

            def give_up(_: Event) -> None:
                # A lease that ends at this instant goes to whoever waits for it at this instant.
                self._running(lease)
                if not wait.triggered:
                    lease.waiters.remove(entry)
                    wait.succeed(None)

            world.after(patience, give_up)
            try:
                granted = yield wait
            except Crashed:
                if not wait.triggered:
                    lease.waiters.remove(entry)
                    wait.succeed(None)  # its patience is over
                elif wait.value is not None:
                    self.abandon(key, wait.value.token)
                raise
        if granted is None:
            self._refuse(lease, op, 0)
            raise Refused("locked", f"lease {lease.name} is held by somebody else")
        return granted

    def renew(self, key: int, token: int) -> Grant:
        """Let a lease last `ttl` from now. Raises Refused `conflict` when it has ended."""
        lease = self._lease(key)
        tenure = self._held(lease, token)
        if tenure is None:
            raise Refused("conflict", f"lease {lease.name} has ended (token {token})")
        self._prolong(lease, tenure)
        return Grant(token, tenure.expires)

    def release(self, key: int, token: int) -> bool:
        """Give a lease back; False when it had ended before."""
        lease = self._lease(key)
        tenure = self._held(lease, token)
        if tenure is not None:
            self._end(lease, tenure, "released")
        return tenure is not None

    def abandon(self, key: int, token: int) -> None:
        """Renew a lease by itself no more: its holder has crashed.

        A holder that comes back in time goes on with `renew`.
        """
        tenure = self._held(self._lease(key), token)
        if tenure is not None:
            tenure.beat += 1

    def freeze(self, key: int, token: int, until: int) -> None:
        """Renew a lease by itself only from tick `until` on: its holder is paused."""
        tenure = self._held(self._lease(key), token)
        if tenure is not None:
            tenure.frozen_until = max(tenure.frozen_until, until)

    def runs(self, key: int, token: int) -> bool:
        """Tell whether the lease of that token has not ended."""
        return self._held(self._lease(key), token) is not None

    def holder(self, key: int = 0) -> Operation | None:
        """Tell who holds the lease of `key`."""
        lease = self._leases.get(key)
        tenure = self._running(lease) if lease is not None else None
        return tenure.holder if tenure is not None else None

    # --- writing ----------------------------------------------------------------------------------

    def check(self, op: Operation, key: int, token: int) -> None:
        """Let a write under a lease through.

        Raises Refused `conflict` for the token of a lease that has ended, where there is fencing.
        """
        self.fence(op, key, token)
        self.note(op, key, token)

    def fence(self, op: Operation, key: int, token: int) -> None:
        """Refuse a write as `check` does; one that is let through still needs its `note`."""
        lease = self._lease(key)
        if self.fencing and self._held(lease, token) is None:
            self._refuse(lease, op, token)
            raise Refused(
                "conflict",
                f"lease {lease.name} has ended (token {token}, the newest is {lease.newest})",
            )

    def note(self, op: Operation, key: int, token: int) -> None:
        """Put a write under a lease on record."""
        world = self.world
        lease = self._lease(key)
        if self._held(lease, token) is None:
            world.alarms += 1
        number = world.numbers[lease.name]
        world.emit(
            (journal.LEASEWRITE, world.ticks, op.owner_number, op.n, number, token, lease.newest)
        )

    def _refuse(self, lease: Lease, op: Operation, token: int) -> None:
        world = self.world
        number = world.numbers[lease.name]
        world.emit(
            (journal.LEASEREFUSED, world.ticks, op.owner_number, op.n, number, token, lease.newest)
        )

    # --- beginning and ending ---------------------------------------------------------------------

    def _lease(self, key: int) -> Lease:
        lease = self._leases.get(key)
        if lease is None:
            name = f"{self.prefix}:{key}" if key else self.prefix
            lease = self._leases[key] = Lease(name)
        return lease

    def _running(self, lease: Lease) -> Tenure | None:
        """Give who holds a lease, once one that is due has ended.

        Its timer may come later in this instant.
        """
        tenure = lease.tenure
        if tenure is not None and self.world.ticks >= tenure.ends:
            self._end(lease, tenure, "expired")
        return lease.tenure

    def _held(self, lease: Lease, token: int) -> Tenure | None:
        """Give the tenure of a token; None when it has ended."""
        if not 1 <= token <= lease.newest:
            raise HarnessError(f"token {token} of lease {lease.name} was never granted")
        tenure = self._running(lease)
        return tenure if tenure is not None and tenure.token == token else None

    def _grant(self, lease: Lease, op: Operation) -> Grant:
        lease.newest += 1
        lease.tenure = tenure = Tenure(op, lease.newest)
        self._prolong(lease, tenure)
        return Grant(tenure.token, tenure.expires)

    def _prolong(self, lease: Lease, tenure: Tenure) -> None:
        """Let a tenure last `ttl` from now."""
        world = self.world
        now, ttl, unit = world.ticks, self.ttl, self.granularity
        tenure.expires = now + ttl
        # The first instant at which the age, in whole units, is not below the ttl.
        tenure.ends = now + ttl if unit == 1 else -(-(now // unit * unit + ttl) // unit) * unit
        world.alarms += tenure.ends != tenure.expires
        holder = tenure.holder
        number = world.numbers[lease.name]
        world.emit(
            (
                journal.LEASE,
                now,
                holder.owner_number,
                holder.n,
                number,
                tenure.token,
                tenure.expires,
            )
        )

        def end(_: Event) -> None:
            self._running(lease)

        world.after(tenure.ends - now, end)
        tenure.beat = beat = tenure.beat + 1
        if not self.renew_every:
            return

        def renew(_: Event) -> None:
            if tenure.beat != beat or self._running(lease) is not tenure:
                return
            if tenure.frozen_until > world.ticks:
                world.after(tenure.frozen_until - world.ticks, renew)
            else:
                self._prolong(lease, tenure)

        world.after(self.renew_every, renew)

    def _end(self, lease: Lease, tenure: Tenure, reason: str) -> None:
        """End a tenure; the lease goes straight to whoever has waited longest."""
        world = self.world
        holder = tenure.holder
        world.emit(
            (
                journal.LEASEEND,
                world.ticks,
                holder.owner_number,
                holder.n,
                world.numbers[lease.name],
                tenure.token,
                world.numbers[reason],
            )
        )
        lease.tenure = None
        if lease.waiters:
            heir, wait = lease.waiters.popleft()
            wait.succeed(self._grant(lease, heir))
