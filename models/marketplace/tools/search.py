"""Tools that look: services, providers, slots."""

from __future__ import annotations

from simharness.api import (
    MINUTE,
    SECOND,
    Answer,
    Instant,
    Operation,
    Page,
    between,
    format_instant,
    paged,
    query,
    tool,
    where,
)
from simharness.models.marketplace.stores import (
    MarketStores,
    PageNumber,
    WaitSeconds,
    found,
)
from simharness.models.marketplace.tables import Provider, Service, Slot

FRESH = 5 * MINUTE
"""Searches without a first instant begin at a whole multiple of this, so that caches can help."""


class SearchTools(MarketStores):
    """Find what can be booked."""

    @tool
    def list_services(self, op: Operation) -> Answer[Page[Service]]:
        """List all services."""
        return Page("services", (yield from self.services.list.read(op, query())))

    @tool
    def list_providers(
        self, op: Operation, service_id: int | None = None
    ) -> Answer[Page[Provider]]:
        """List the active providers, or those of one service."""

        def matches(row: Provider) -> bool:
            return row.active and (service_id is None or row.service_id in (None, service_id))

        rows = yield from self.providers.list.read(op, query(matches, service_id=service_id))
        return Page("providers", rows)

    @tool
    def search_slots(
        self,
        op: Operation,
        service_id: int | None = None,
        provider_id: int | None = None,
        from_time: Instant | None = None,
        to_time: Instant | None = None,
        full: bool = False,
        page: PageNumber = 1,
    ) -> Answer[Page[Slot]]:
        """Find slots with free places by when they start, from_time on and before to_time.

        They come in order of time, twenty to a page; by default those to come. With `full` also
        those without a free place, and those that are blocked.
        """
        first = self.instant // FRESH * FRESH if from_time is None else from_time
        held_shown = self.held_shown

        def matches(row: Slot) -> bool:
            taken = row.taken - (0 if held_shown else row.held)
            return full or (taken < row.capacity and not row.blocked)

        asked = query(
            matches,
            where(
                service_id=service_id,
                provider_id=provider_id,
                starts_at=between(first, to_time),
            ),
            from_time=format_instant(first),
            to_time=None if to_time is None else format_instant(to_time),
            full=full,
        )
        rows = yield from self.slots.search.read(op, asked)
        return paged("slots", tuple(sorted(rows, key=lambda r: (r.starts_at, r.id))), page)

    @tool
    def get_slot(self, op: Operation, slot_id: int) -> Answer[Slot]:
        """Read one slot."""
        return found((yield from self.slots.detail.read(op, slot_id)), "slot", slot_id)

    @tool
    def slot_changes(
        self, op: Operation, since: Instant | None = None, wait: WaitSeconds = 0
    ) -> Answer[Page[Slot]]:
        """Read the slots changed at or after an instant, or else since your last call of this.

        Where there are none, wait up to so many seconds for the next change.
        """
        return Page("slots", (yield from self.slots.feed.read(op, since, wait * SECOND)))
