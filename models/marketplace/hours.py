"""Opening hours, and the slots that follow from them.

Local times are taken for UTC in every zone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.api import DAY, MINUTE
from simharness.models.marketplace.tables import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.models.marketplace.tables import Provider, Service

HOURS = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])")


def opening(provider: Provider, midnight: int) -> tuple[int, int] | None:
    """Give when a provider opens and closes on the day that begins at an instant.

    None without hours, or with hours that can't be read or are never.
    """
    found = HOURS.fullmatch(provider.hours)
    if found is None:
        return None
    first, last = (int(found[i]) * 60 + int(found[i + 1]) for i in (1, 3))
    if not first < last <= DAY // MINUTE:
        return None
    return midnight + first * MINUTE, midnight + last * MINUTE


def within(provider: Provider, starts_at: int, ends_at: int) -> bool:
    """Tell whether a time is within a provider's hours; without hours every time is."""
    if HOURS.fullmatch(provider.hours) is None:
        return True
    hours = opening(provider, starts_at - starts_at % DAY)
    return hours is not None and hours[0] <= starts_at and ends_at <= hours[1]


def times(provider: Provider, service: Service, midnight: int) -> Iterator[tuple[int, int]]:
    """Give the times of a day's slots, service minutes apart; those that end too late left out."""
    hours = opening(provider, midnight)
    length = service.minutes * MINUTE
    if hours is None or length <= 0:
        return
    starts, closes = hours
    while starts + length <= closes:
        yield starts, starts + length
        starts += length


def derived_slots(
    providers: list[Provider], services: list[Service], first: int, days: int, top: int
) -> list[Slot]:
    """Make the slots of active providers with hours for some days from the one of instant `first`.

    Their ids go on from `top`; they are in order of provider, then of time.
    """
    by_id = {service.id: service for service in services}
    lowest = min(by_id, default=0)
    out: list[Slot] = []
    midnight = first - first % DAY
    for provider in providers:
        service = by_id.get(provider.service_id or lowest)
        if service is None or not provider.active:
            continue
        for day in range(days):
            for starts_at, ends_at in times(provider, service, midnight + day * DAY):
                top += 1
                out.append(
                    Slot(
                        id=top,
                        provider_id=provider.id,
                        service_id=service.id,
                        starts_at=starts_at,
                        ends_at=ends_at,
                        created_at=midnight,
                        updated_at=midnight,
                    )
                )
    return out
