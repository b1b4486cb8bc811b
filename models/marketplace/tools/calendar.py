"""Tools of providers: make slots, and be away."""

from __future__ import annotations

from simharness.api import (
    DAY,
    MINUTE,
    Answer,
    Instant,
    Operation,
    Refused,
    Transaction,
    format_instant,
    write_tool,
)
from simharness.models.marketplace.hours import within
from simharness.models.marketplace.rules import overlap
from simharness.models.marketplace.stores import MarketStores, found
from simharness.models.marketplace.tables import Block, Provider, Slot

AHEAD_MAX = 366 * DAY
"""How far ahead a slot may be made."""


class CalendarTools(MarketStores):
    """Change when a provider can be booked."""

    @write_tool
    def create_slot(
        self, op: Operation, provider_id: int, service_id: int, starts_at: Instant
    ) -> Answer[Slot]:
        """Make a slot for one, within your hours and beside your other slots."""
        self.require_provider(op, provider_id)
        yield self.database(op)
        provider = self._active(provider_id)
        service = found(self.services.true(service_id), "service", service_id)
        ends_at = starts_at + service.minutes * MINUTE
        if not self.instant < starts_at < self.instant + AHEAD_MAX:
            raise Refused(
                "invalid_arguments",
                f"starts_at {format_instant(starts_at)} is not within the year to come",
            )
        if self.slots_checked and not within(provider, starts_at, ends_at, self.zones):
            raise Refused(
                "outside_hours", f"provider {provider_id} is open {provider.hours} local time"
            )
        met = [
            slot.id
            for slot in self.slots.table.where(provider_id=provider_id)
            if overlap(starts_at, ends_at, slot.starts_at, slot.ends_at)
        ]
        if met and self.slots_checked:
            raise Refused("conflict", f"slot {met[0]} is at that time", id=met[0])
        if self.slots_checked and any(
            overlap(starts_at, ends_at, block.starts_at, block.ends_at)
            for block in self.blocks.table.where(provider_id=provider_id)
        ):
            raise Refused("slot_blocked", f"provider {provider_id} is away at that time")
        tx = Transaction(op)
        key = tx.insert(
            self.slots.table,
            {
                "provider_id": provider_id,
                "service_id": service_id,
                "starts_at": starts_at,
                "ends_at": ends_at,
            },
        )
        tx.commit()
        self.made_over += [(other, key) for other in met]
        return self.slots.table.rows[key]

    @write_tool
    def block_time(
        self, op: Operation, provider_id: int, starts_at: Instant, ends_at: Instant
    ) -> Answer[Block]:
        """Be away for a time in which nobody has a place; nobody can book it from then on."""
        self.require_provider(op, provider_id)
        if ends_at <= starts_at:
            raise Refused("invalid_arguments", "ends_at is not after starts_at")
        yield self.database(op)
        self._active(provider_id)
        met = [
            slot
            for slot in self.slots.table.where(provider_id=provider_id)
            if overlap(starts_at, ends_at, slot.starts_at, slot.ends_at)
        ]
        for slot in met:
            self.places.free(slot.id)  # holds that are due end first
            if self.slots.table.rows[slot.id].taken:
                raise Refused(
                    "conflict", f"somebody has a place of slot {slot.id}", slot_id=slot.id
                )
        tx = Transaction(op)
        key = tx.insert(
            self.blocks.table,
            {"provider_id": provider_id, "starts_at": starts_at, "ends_at": ends_at},
        )
        for slot in met:
            if not slot.blocked:
                tx.update(self.slots.table, slot.id, {"blocked": True})
        tx.commit()
        return self.blocks.table.rows[key]

    def _active(self, provider_id: int) -> Provider:
        provider = found(self.providers.true(provider_id), "provider", provider_id)
        if not provider.active:
            raise Refused("forbidden", f"provider {provider_id} is not active")
        return provider
