"""The marketplace that all instances start from: the same for every seed.

Providers with opening hours have their slots for the days of the default horizon, made here once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, Draws, Stream, parse_instant
from simharness.models.marketplace.hours import derived_slots
from simharness.models.marketplace.tables import (
    Booking,
    Coupon,
    Customer,
    Payment,
    Provider,
    Service,
    Slot,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Row

EPOCH = parse_instant("2026-03-02T09:00:00Z")
DAYS = 7

_FIRST_TEXT = """
Ada Ben Carla Deniz Elif Farid Greta Hugo Ines Jamal Kaya Lena Malik Nora Omar Petra Quinn
Rosa Sami Tessa Umar Vera Wanda Xenia Yusuf Zoe
"""
FIRST = tuple(_FIRST_TEXT.split())
_LAST_TEXT = """
Abel Brandt Costa Duarte Evans Fischer Gomez Huber Ivanov Jansen Keller Lopez Meyer Novak
Okafor Pires Quist Reyes Sato Tanaka Urban Vogel Weiss Young Zeman
"""
LAST = tuple(_LAST_TEXT.split())

SERVICES = (
    ("Intro call", 30, 0, 1),
    ("Haircut", 60, 45_00, 1),
    ("Massage", 60, 80_00, 1),
    ("Pottery class", 120, 40_00, 6),
)
"""Title, minutes, price, places of a slot."""
PROVIDERS = (
    ("Studio North", 1), ("Studio South", 1), ("Salon Birch", 2), ("Salon Cedar", 2),
    ("Spa Juniper", 3), ("Spa Willow", 3), ("Kiln House", 4), ("Clay Corner", 4),
)  # fmt: skip
"""Title and service."""
CUSTOMERS = 40
SOLD_OF_TEN = 4
"""So many of ten places are booked at the start."""


def base_rows() -> dict[str, Sequence[Row]]:
    """Build the start rows, by table."""
    stream = Stream(Draws(20260302), "marketplace/base", 0)
    stamp: dict[str, Any] = {"created_at": EPOCH - 30 * DAY, "updated_at": EPOCH - 2 * DAY}
    customers: list[Customer] = []
    for i in range(1, CUSTOMERS + 1):
        first, last = FIRST[i % len(FIRST)], LAST[i * 7 % len(LAST)]
        email = f"{first}.{last}.{i}@mail.example".lower()
        customers.append(Customer(id=i, full_name=f"{first} {last}", email=email, **stamp))
    services = [
        Service(id=i, title=title, minutes=minutes, price=price, **stamp)
        for i, (title, minutes, price, _) in enumerate(SERVICES, 1)
    ]
    providers = [
        Provider(id=i, title=title, hours="09:00-17:00", service_id=service, **stamp)
        for i, (title, service) in enumerate(PROVIDERS, 1)
    ]
    slots: list[Slot] = []
    bookings: list[Booking] = []
    payments: list[Payment] = []
    for slot in derived_slots(providers, services, EPOCH, DAYS, 0):
        _, _, price, capacity = SERVICES[slot.service_id - 1]
        sold = 0
        for place in range(capacity):
            if slot.starts_at > EPOCH and stream.below(10, "sold", slot.id * 10 + place) < (
                SOLD_OF_TEN
            ):
                sold += 1
                key = len(bookings) + 1
                customer = 1 + stream.below(CUSTOMERS, "customer", key)
                bookings.append(
                    Booking(
                        id=key,
                        slot_id=slot.id,
                        customer_id=customer,
                        status="confirmed",
                        price=price,
                        **stamp,
                    )
                )
                if price:
                    payments.append(
                        Payment(
                            id=len(payments) + 1,
                            booking_id=key,
                            amount=price,
                            status="succeeded",
                            **stamp,
                        )
                    )
        slots.append(
            Slot(
                id=slot.id,
                provider_id=slot.provider_id,
                service_id=slot.service_id,
                starts_at=slot.starts_at,
                ends_at=slot.ends_at,
                capacity=capacity,
                taken=sold,
                **stamp,
            )
        )
    coupons = [
        Coupon(id=1, code="SPRING", limit=5, percent=10, **stamp),
        Coupon(id=2, code="ONCE", limit=1, percent=25, **stamp),
    ]
    return {
        "customers": customers,
        "services": services,
        "providers": providers,
        "slots": slots,
        "bookings": bookings,
        "payments": payments,
        "coupons": coupons,
    }
