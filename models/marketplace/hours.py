"""Opening hours in a provider's zone, and the slots that follow from them.

Which offset a local time gets is a rule of `ZONE_RULES`; every rule but `exact` is a defect.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from simharness.api import DAY, MINUTE, offset_by, zone
from simharness.models.marketplace.tables import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.models.marketplace.tables import Provider, Service

HOURS = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])")
EXACT = "exact"


def opening(provider: Provider, date: tuple[int, ...], rule: str = EXACT) -> tuple[int, int] | None:
    """Give the instants at which a provider opens and closes on a local (year, month, day).

    None without hours, or with hours that can't be read or are never. Raises UsageError for a zone
    that isn't known.
    """
    return _opening(provider.hours, provider.zone, date, rule)


@lru_cache(maxsize=4096)
def _opening(
    hours: str, zone_name: str, date: tuple[int, ...], rule: str
) -> tuple[int, int] | None:
    found = HOURS.fullmatch(hours)
    if found is None:
        return None
    first, last = (int(found[i]) * 60 + int(found[i + 1]) for i in (1, 3))
    if not first < last <= DAY // MINUTE:
        return None
    where, utc = zone(zone_name), zone("UTC")
    midnight = utc.instant(*date)
    walls = (midnight + first * MINUTE, midnight + last * MINUTE)
    opens, closes = (wall - offset_by(rule, where, utc.local(wall)) for wall in walls)
    return opens, closes


def within(provider: Provider, starts_at: int, ends_at: int, rule: str = EXACT) -> bool:
    """Tell whether a time is within a provider's hours; without hours every time is.

    Raises UsageError for a time that no zone is known for.
    """
    return _within(provider.hours, provider.zone, starts_at, ends_at, rule)


@lru_cache(maxsize=16384)
def _within(hours: str, zone_name: str, starts_at: int, ends_at: int, rule: str) -> bool:
    if HOURS.fullmatch(hours) is None:
        return True
    open_at = _opening(hours, zone_name, zone(zone_name).local(starts_at)[:3], rule)
    return open_at is not None and open_at[0] <= starts_at and ends_at <= open_at[1]


def times(
    provider: Provider, service: Service, date: tuple[int, ...], rule: str = EXACT
) -> Iterator[tuple[int, int]]:
    """Give the times of a day's slots, service minutes apart; those that end too late left out."""
    hours = opening(provider, date, rule)
    length = service.minutes * MINUTE
    if hours is None or length <= 0:
        return
    starts, closes = hours
    while starts + length <= closes:
        yield starts, starts + length
        starts += length


def derived_slots(
    providers: list[Provider],
    services: list[Service],
    first: int,
    days: int,
    top: int,
    rule: str = EXACT,
) -> list[Slot]:
    """Make the slots of active providers with hours for some days from the one of instant `first`.

    A day is a date: each provider's hours are those of that date in its zone. Ids go on from `top`,
    in order of provider, then of time.
    """
    by_id = {service.id: service for service in services}
    lowest = min(by_id, default=0)
    utc = zone("UTC")
    out: list[Slot] = []
    for provider in providers:
        service = by_id.get(provider.service_id or lowest)
        if service is None or not provider.active:
            continue
        for day in range(days):
            date = utc.local(first + day * DAY)[:3]
            for starts_at, ends_at in times(provider, service, date, rule):
                top += 1
                out.append(
                    Slot(
                        id=top,
                        provider_id=provider.id,
                        service_id=service.id,
                        starts_at=starts_at,
                        ends_at=ends_at,
                        created_at=first,
                        updated_at=first,
                    )
                )
    return out
