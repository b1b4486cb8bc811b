"""What a customer asks for, and which slots would do, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import DAY, zone
from simharness.models.marketplace.requirements import weekday

if TYPE_CHECKING:
    from collections.abc import Mapping

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


class Wish(NamedTuple):
    """A wish for one slot."""

    service: str
    providers: tuple[str, ...]
    """Who will do, the best first."""
    date: str
    """Of the customer, as "2026-04-02"."""
    hours: tuple[int, ...]
    """Full hours of that day that will do, in the customer's zone, the best first."""
    zone: str
    first: str
    """What matters more: `time` or `provider`."""
    quantity: int = 1
    coupon: str = ""
    price_max: int | None = None
    """Of all places together, in minor units."""

    @classmethod
    def of(cls, brief: Mapping[str, Any]) -> Wish:
        """Take the wish from a task's brief."""
        given: dict[str, Any] = {name: brief[name] for name in cls._fields}
        given.update({name: tuple(given[name]) for name in ("providers", "hours")})
        return cls(**given)

    def brief(self) -> dict[str, Any]:
        """Give it as data."""
        return {
            **self._asdict(),
            "providers": list(self.providers),
            "hours": list(self.hours),
        }

    def starts(self) -> tuple[int, ...]:
        """Give the instants of its hours."""
        year, month, day = map(int, self.date.split("-"))
        where = zone(self.zone)
        return tuple(where.instant(year, month, day, hour) for hour in self.hours)

    def ranked(self) -> list[tuple[str, int]]:
        """Give all pairs of a provider's title and a start that will do, the best first."""
        if self.first == "time":
            return [(title, at) for at in self.starts() for title in self.providers]
        return [(title, at) for title in self.providers for at in self.starts()]

    def day_text(self) -> str:
        """Say the day, as "Thursday 2 April 2026"."""
        year, month, day = map(int, self.date.split("-"))
        days = zone("UTC").instant(year, month, day) // DAY
        return f"{weekday(days)} {day} {MONTHS[month - 1]} {year}"

    def text(self) -> str:
        """Say it in words."""
        places = "a place" if self.quantity == 1 else f"{self.quantity} places"
        first, *others = [f"{hour}:00" for hour in self.hours]
        lines = [
            f'They want {places} of "{self.service}" on {self.day_text()} at {first} their time '
            f"({self.zone}) with one of these, the best first: {', '.join(self.providers)}."
        ]
        if others:
            lines.append(f"If need be {', else '.join(others)} will do.")
            lines.append(
                "The time matters more than with whom."
                if self.first == "time"
                else "With whom matters more than the time."
            )
        if self.price_max is not None:
            lines.append(f"All together it may cost {self.price_max} in minor units at most.")
        if self.coupon:
            lines.append(f'Use their coupon "{self.coupon}" if it is still good.')
        return " ".join(lines)
