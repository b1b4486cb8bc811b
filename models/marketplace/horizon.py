"""The slots that follow from opening hours: made for some days ahead, and for one more each day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import DAY, Actor, Operation, Transaction, offset_by, zone
from simharness.models.marketplace.hours import EXACT, derived_slots
from simharness.models.marketplace.rules import overlap

if TYPE_CHECKING:
    from simpy.events import Event

    from simharness.models.marketplace.stores import MarketStores
    from simharness.models.marketplace.tables import Provider, Slot


class Horizon:
    """Makes the slots of providers with hours.

    Those of whom the start has slots keep these for the first days: a scenario's rows may be made
    once a process, with `derived_slots`. Those were made by the exact rule of `zones`; by another
    one they are put to where that has them.
    """

    def __init__(self, market: MarketStores) -> None:
        self.market = market
        self._clerk = Actor(market.world, "calendar", 0)
        self._days = 0
        """Days that have passed."""

    def begin(self) -> None:
        """Make the slots of the first days."""
        market = self.market
        slots = market.slots.table
        with_slots = {slot.provider_id for slot in slots}
        with_hours = [p for p in market.providers.table if p.hours]
        if market.zones != EXACT:
            for provider in with_hours:
                self._misplace(provider)
        for slot in self._made([p for p in with_hours if p.id not in with_slots], 0):
            slots.start_with(slot)
        if with_hours:
            market.world.after(DAY, self._next_day)

    def _misplace(self, provider: Provider) -> None:
        """Put a provider's slots to where an inexact rule has them (a defect).

        What is sold stays, and so does what would come to lie on another slot.
        """
        market = self.market
        where = zone(provider.zone)
        slots = market.slots.table
        own = slots.where(provider_id=provider.id)
        own.sort(key=lambda slot: (-slot.starts_at, slot.id))
        for slot in own:
            wall = slot.starts_at + where.offset(slot.starts_at)
            late = wall - offset_by(market.zones, where, zone("UTC").local(wall)) - slot.starts_at
            times = slot.starts_at + late, slot.ends_at + late
            rest = [other for other in own if other.id != slot.id]
            if not late or slot.taken or any(overlap(*times, o.starts_at, o.ends_at) for o in rest):
                continue
            moved = slots.row_type.evolve(slot, {"starts_at": times[0], "ends_at": times[1]})
            own[own.index(slot)] = moved
            slots.start_with(moved)

    def _made(self, providers: list[Provider], day: int) -> list[Slot]:
        market = self.market
        days = 1 if day else market.horizon
        first = market.world.epoch + day * DAY
        top = market.slots.table.top
        services = list(market.services.table)
        return derived_slots(providers, services, first, days, top, market.zones)

    def _next_day(self, _: Event) -> None:
        """Make the slots of the day that has come within the horizon."""
        self._days += 1
        market = self.market
        last = self._days + market.horizon - 1
        tx = Transaction(Operation(market.world, self._clerk, self._days))
        slots = market.slots.table
        with_hours = [p for p in market.providers.table if p.hours]
        for slot in self._made(with_hours, last):
            times = slot.starts_at, slot.ends_at
            same = slots.where(provider_id=slot.provider_id)
            if any(overlap(*times, s.starts_at, s.ends_at) for s in same):
                continue  # it was made by hand before
            away = any(
                overlap(*times, block.starts_at, block.ends_at)
                for block in market.blocks.table.where(provider_id=slot.provider_id)
            )
            tx.insert(
                slots,
                {
                    "provider_id": slot.provider_id,
                    "service_id": slot.service_id,
                    "starts_at": slot.starts_at,
                    "ends_at": slot.ends_at,
                    "blocked": away,
                },
            )
        if len(tx):
            tx.commit()
        market.world.after(DAY, self._next_day)
