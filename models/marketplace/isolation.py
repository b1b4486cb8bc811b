"""From the check whether places are free to the insert that takes them: what lies between.

How two calls are kept from one place is the knob `booking.isolation`:

- lock: the slot's row is locked from the check to the commit;
- unique: each checks, and the insert itself is refused where somebody was faster;
- hold: the insert looks and takes in one statement, nobody checks before;
- lease: the lease of the slot is held from the check to the end of the call;
- none: each checks, thinks, and inserts what it found free (a defect);
- overwrite: each checks, and hold_slot writes over the hold of whoever was faster (a defect).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.marketplace.places import about, require_open
from simharness.models.marketplace.stores import MarketStores

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from simharness.api import Answer, Operation
    from simharness.models.marketplace.tables import Hold


class Claim:
    """Places that one call is about to take; whoever gets it must close it."""

    def __init__(self, market: MarketStores, op: Operation, wanted: Mapping[int, int]) -> None:
        self.market = market
        self.op = op
        self.wanted = wanted
        """Places by slot; 0 for a slot whose places the caller has already."""
        self.mode = market.isolation
        """As it was when the call checked, whatever becomes of the knob meanwhile."""
        self._locks: list[int] = []
        self._leases: list[tuple[int, int]] = []

    def begin(self) -> Answer[None]:
        """Exclude others as far as the mode does, check, and let the wait `db` pass."""
        market, op = self.market, self.op
        slots = market.slots
        # Everybody takes several slots in one order, so that no circle of waits can close.
        for slot_id in sorted(self.wanted):
            if slots.true(slot_id) is None:
                yield market.database(op)
                require_open(None, slot_id, market.instant)
            with about(slot_id):
                if self.mode == "lock":
                    yield from slots.locks.acquire(op, slot_id, slots.lock_wait)
                    self._locks.append(slot_id)
                elif self.mode == "lease":
                    grant = yield from slots.leases.acquire(op, slot_id, slots.lock_wait)
                    self._leases.append((slot_id, grant.token))
        if self.mode != "hold":
            self._check()
        yield market.database(op)

    def ensure(self, spared: Container[int] = ()) -> None:
        """Make sure, just before the commit, that the places can be had; of spared slots, not.

        Raises Refused as a check does, and `conflict` when a lease has ended.
        """
        if self.mode in ("lock", "unique", "hold", "overwrite"):
            self._check(spared)
        for slot_id, token in self._leases:
            self.market.slots.leases.check(self.op, slot_id, token)
        for slot_id in self.wanted:
            self.market.places.free(slot_id)  # holds that are due end before the commit, not in it

    def rivals(self, customer_id: int) -> dict[int, Hold]:
        """Give what the mode `overwrite` writes over: by slot, the last hold of somebody else's.

        Of slots where somebody was faster, and none in the other modes.
        """
        out: dict[int, Hold] = {}
        if self.mode != "overwrite":
            return out
        market = self.market
        for slot_id, quantity in self.wanted.items():
            if market.places.free(slot_id) >= quantity:
                continue
            for hold in market.holds.table.where(slot_id=slot_id):
                in_force = hold.status in ("active", "confirmed")
                if in_force and hold.quantity == quantity and hold.customer_id != customer_id:
                    out[slot_id] = hold
        return out

    def _check(self, spared: Container[int] = ()) -> None:
        market = self.market
        for slot_id, quantity in self.wanted.items():
            if quantity and slot_id not in spared:
                require_open(market.slots.true(slot_id), slot_id, market.instant)
                market.places.check(self.op, slot_id, quantity)

    def close(self) -> None:
        """Give locks and leases back."""
        slots = self.market.slots
        while self._locks:
            slots.locks.release(self.op, self._locks.pop())
        while self._leases:
            slots.leases.release(*self._leases.pop())


class Isolation(MarketStores):
    """How the tools take places."""

    def claim(self, op: Operation, wanted: Mapping[int, int]) -> Answer[Claim]:
        """Check that places are free, by slot, and let the wait `db` pass.

        The caller ensures and commits without a further wait, or with one and knows why; it must
        close the claim, whatever happens. Raises Refused `not_found`, `slot_taken`, `sold_out`,
        `slot_blocked`, `slot_past` or `locked`.
        """
        claim = Claim(self, op, wanted)
        try:
            yield from claim.begin()
        except BaseException:
            claim.close()
            raise
        return claim
