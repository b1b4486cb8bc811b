"""Rows that an instance adds to the marketplace: services, providers, slots, and who has them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from simharness.api import DAY, MINUTE, Row
from simharness.models.marketplace.base import CUSTOMERS, base_rows
from simharness.models.marketplace.tables import Booking, Payment, Provider, Service, Slot

if TYPE_CHECKING:
    from simharness.api import Table
    from simharness.models.marketplace.product import Marketplace

R = TypeVar("R", bound=Row)


class Stage:
    """Puts rows into place before the first instant; their ids are beyond those of the base."""

    def __init__(self, market: Marketplace, shift: int) -> None:
        self.market = market
        self.shift = shift
        """So many ids are left out first, so that no two instances have the same rows."""
        epoch = market.world.epoch
        self._stamp: dict[str, Any] = {"created_at": epoch - 9 * DAY, "updated_at": epoch - DAY}
        self._begun: set[str] = set()

    def service(self, title: str, minutes: int, price: int) -> Service:
        """Add a service."""
        row = Service(
            id=self._id(self.market.services.table),
            title=title,
            minutes=minutes,
            price=price,
            **self._stamp,
        )
        return self._put(self.market.services.table, row)

    def provider(self, title: str, service: Service) -> Provider:
        """Add a provider without hours, who has the slots that are made here and no others."""
        row = Provider(
            id=self._id(self.market.providers.table),
            title=title,
            service_id=service.id,
            **self._stamp,
        )
        return self._put(self.market.providers.table, row)

    def slot(
        self, provider: Provider, service: Service, starts_at: int, capacity: int, *, blocked: bool
    ) -> Slot:
        """Add a slot."""
        row = Slot(
            id=self._id(self.market.slots.table),
            provider_id=provider.id,
            service_id=service.id,
            starts_at=starts_at,
            ends_at=starts_at + service.minutes * MINUTE,
            capacity=capacity,
            blocked=blocked,
            **self._stamp,
        )
        return self._put(self.market.slots.table, row)

    def sell(self, slot: Slot, customer_id: int, quantity: int) -> Booking:
        """Add a confirmed booking, paid where it costs something."""
        service = self.market.services.table.rows[slot.service_id]
        price = service.price * quantity
        bookings = self.market.bookings.table
        booking = Booking(
            id=self._id(bookings),
            slot_id=slot.id,
            customer_id=customer_id,
            quantity=quantity,
            status="confirmed",
            price=price,
            **self._stamp,
        )
        self._put(bookings, booking)
        if price:
            payments = self.market.payments.table
            paid = Payment(
                id=self._id(payments),
                booking_id=booking.id,
                amount=price,
                status="succeeded",
                **self._stamp,
            )
            self._put(payments, paid)
        return booking

    def _id(self, table: Table[Any]) -> int:
        if table.name in self._begun:
            return table.top + 1
        self._begun.add(table.name)
        return first_id(table.name, self.shift)

    @staticmethod
    def _put(table: Table[Any], row: R) -> R:
        table.start_with(row)
        return row


@cache
def _top(table: str) -> int:
    return max((row.id for row in base_rows()[table]), default=0)


def first_id(table: str, shift: int) -> int:
    """Give the id of the first row that an instance adds to a table."""
    return _top(table) + 1 + shift


def others(customer_id: int, k: int) -> int:
    """Give the k-th customer beside one."""
    return 1 + (customer_id + k % (CUSTOMERS - 1)) % CUSTOMERS
