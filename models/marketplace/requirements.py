"""What a customer asks for: the requirements of a booking, and which of them an offer fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import DAY, HOUR, MINUTE, zone
from simharness.models.marketplace.rules import overlap, price_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WEEKDAYS = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
_THURSDAY = 3
"""The weekday of 1970-01-01."""

RELAXED: Mapping[str, str] = {
    "nothing": "",
    "provider": "If no such time is to be had, any other provider of it will do.",
    "hours": "If no such time is to be had, any other time of these days will do.",
}
"""Requirements that may be given up where nothing meets all, with how that is said."""


class Offer(NamedTuple):
    """What a slot offers."""

    service: str
    provider: str
    starts_at: int
    ends_at: int
    price: int
    """Of one place, in minor units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked for; days and times are those of `zone`."""

    service: str
    """How the title of the service begins."""
    minutes: int
    """Shortest length."""
    providers: tuple[str, ...] = ()
    """Titles of the providers that will do; empty for all."""
    zone: str
    first_day: str
    last_day: str
    """Dates, as in 2026-03-05; the last is one of them."""
    weekdays: tuple[str, ...] = WEEKDAYS
    opens: str = "00:00"
    closes: str = "24:00"
    """It begins at `opens` or later, and ends at `closes` or earlier on the same day."""
    places: int = 1
    price_max: int
    """Of all places together, in minor units."""
    gap: int = 0
    """Minutes that are kept free before and after the customer's other bookings."""
    relax: str = "nothing"
    """The requirement, of `RELAXED`, that is given up where nothing meets all."""

    @classmethod
    def of_brief(cls, brief: Mapping[str, Any]) -> Wish:
        """Make a wish from what `brief` gave."""
        told: dict[str, Any] = {name: brief[name] for name in cls.__slots__}
        for name in ("providers", "weekdays"):
            told[name] = tuple(brief[name])
        return cls(**told)

    def brief(self) -> dict[str, Any]:
        """Give the wish as data."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {"providers": [*self.providers], "weekdays": [*self.weekdays]}

    def failing(
        self, offer: Offer, busy: Iterable[tuple[int, int]] = (), percent: int = 0
    ) -> frozenset[str]:
        """Name the requirements that an offer fails.

        Args:
            offer: The slot; whether places are free is none of the wish's business.
            busy: From when to when the customer has other bookings.
            percent: What a coupon takes off.
        """
        starts, ends = offer.starts_at, offer.ends_at
        day, minute = local_time(self.zone, starts)
        last_day, last_minute = local_time(self.zone, ends)
        if last_day == day + 1 and not last_minute:
            last_day, last_minute = day, DAY // MINUTE
        gap = self.gap * MINUTE
        holds = {
            "service": offer.service.startswith(self.service),
            "length": ends - starts >= self.minutes * MINUTE,
            "provider": not self.providers or offer.provider in self.providers,
            "day": weekday(day) in self.weekdays
            and self.first_day <= date_text(self.zone, starts) <= self.last_day,
            "hours": last_day == day
            and clock_minutes(self.opens) <= minute
            and last_minute <= clock_minutes(self.closes),
            "price": price_of(offer.price, self.places, percent) <= self.price_max,
            "gap": not any(overlap(starts, ends, a - gap, b + gap) for a, b in busy),
        }
        return frozenset(name for name, held in holds.items() if not held)

    def span(self) -> tuple[int, int]:
        """Give when its first day begins and its last one ends."""
        where = zone(self.zone)
        return where.parse(f"{self.first_day}T00:00:00"), next_midnight(self.zone, self.last_day)

    def level(self, failed: frozenset[str]) -> int:
        """Tell how good it is to fail some requirements: 1 best, 2 will do, 0 won't."""
        if not failed:
            return 1
        return 2 if failed == frozenset({self.relax}) else 0

    def text(self, currency: str, coupon: str = "", percent: int = 0) -> str:
        """Say it, a line a requirement."""
        people = f"{self.places} places in one slot" if self.places > 1 else "one place"
        price = f"{self.price_max} {currency} in minor units" if self.price_max else "nothing"
        lines = [
            f'- {people} of a service whose title begins with "{self.service}" and that takes at '
            f"least {self.minutes} minutes;",
            f"- with {' or '.join(self.providers) if self.providers else 'any provider'};",
            f"- on a day from {self.first_day} to {self.last_day} that is a "
            f"{' or '.join(self.weekdays)};"
            if len(self.weekdays) < len(WEEKDAYS)
            else f"- on any day from {self.first_day} to {self.last_day};",
            f"- not before {self.opens} and over by {self.closes};",
            f"- for at most {price} in all"
            + (f"; coupon {coupon} takes {percent} % off, if it can still be used;" if coupon
               else ";"),
            "- not while, nor less than "
            f"{self.gap} minutes before or after, another booking of theirs."
            if self.gap
            else "- not while they have another booking.",
        ]  # fmt: skip
        return "\n".join(lines)


def weekday(day: int) -> str:
    """Give the weekday of a day since 1970."""
    return WEEKDAYS[(day + _THURSDAY) % 7]


def clock_minutes(text: str) -> int:
    """Give the minutes since midnight of a time such as 14:30."""
    hour, _, minute = text.partition(":")
    return int(hour) * (HOUR // MINUTE) + int(minute)


def local_time(zone_name: str, instant: int) -> tuple[int, int]:
    """Give the days since 1970 and the minute of the day, in a zone."""
    local = instant + zone(zone_name).offset(instant)
    return local // DAY, local % DAY // MINUTE


def date_text(zone_name: str, instant: int) -> str:
    """Give the date in a zone, as in 2026-03-05."""
    year, month, day, *_ = zone(zone_name).local(instant)
    return f"{year:04}-{month:02}-{day:02}"


def next_midnight(zone_name: str, date: str) -> int:
    """Give when a date, as in 2026-03-05, ends in a zone."""
    where = zone(zone_name)
    # 36 hours after midnight it is the next day, also where clocks are set meanwhile.
    year, month, day, *_ = where.local(where.parse(f"{date}T00:00:00") + 36 * HOUR)
    return where.instant(year, month, day)
