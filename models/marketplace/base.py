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

EPOCH = parse_instant("2026-03-25T09:00:00Z")
"""A Wednesday; Europe sets its clocks forward on the Sunday after it, America did before."""
DAYS = 10

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
    ("Language lesson", 60, 45_00, 1),
    ("Tax advice", 60, 80_00, 1),
    ("Pottery class", 60, 40_00, 6),
    ("Training room", 60, 30_00, 1),
    ("Personal trainer", 60, 60_00, 1),
)
"""Title, minutes, price, places of a slot."""
INTRO, LESSON, ADVICE, CLASS, ROOM, TRAINER = range(1, 7)
PROVIDERS = (
    ("Studio North", INTRO, "Europe/Berlin", "09:00-17:00"),
    ("Studio South", INTRO, "America/New_York", "09:00-17:00"),
    ("Lingua Birch", LESSON, "Europe/Berlin", "09:00-18:00"),
    ("Lingua Cedar", LESSON, "Europe/London", "08:00-17:00"),
    ("Lingua Elm", LESSON, "Europe/Athens", "10:00-19:00"),
    ("Lingua Oak", LESSON, "Africa/Lagos", "09:00-18:00"),
    ("Ledger Juniper", ADVICE, "America/New_York", "08:00-17:00"),
    ("Ledger Willow", ADVICE, "America/Chicago", "08:00-17:00"),
    ("Ledger Hazel", ADVICE, "America/New_York", "10:00-19:00"),
    ("Ledger Rowan", ADVICE, "America/Bogota", "08:00-17:00"),
    ("Kiln House", CLASS, "Europe/Berlin", "09:00-18:00"),
    ("Clay Corner", CLASS, "Europe/Lisbon", "09:00-18:00"),
    ("Glaze Works", CLASS, "Africa/Lagos", "09:00-18:00"),
    ("Room Larch", ROOM, "Europe/Berlin", "09:00-17:00"),
    ("Room Maple", ROOM, "Europe/Berlin", "09:00-17:00"),
    ("Room Spruce", ROOM, "Europe/Berlin", "09:00-17:00"),
    ("Trainer Fern", TRAINER, "Europe/Berlin", "09:00-17:00"),
    ("Trainer Ivy", TRAINER, "Europe/Berlin", "09:00-17:00"),
    ("Trainer Sage", TRAINER, "Europe/Berlin", "09:00-17:00"),
)
"""Title, service, zone, local opening hours."""
HOMES = (
    "Europe/Berlin", "Europe/London", "America/New_York", "Africa/Lagos", "America/Chicago",
)  # fmt: skip
"""Zones that customers live in, one after the other."""
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
        home = HOMES[i % len(HOMES)]
        customers.append(
            Customer(id=i, full_name=f"{first} {last}", email=email, zone=home, **stamp)
        )
    services = [
        Service(id=i, title=title, minutes=minutes, price=price, **stamp)
        for i, (title, minutes, price, _) in enumerate(SERVICES, 1)
    ]
    providers = [
        Provider(id=i, title=title, zone=where, hours=hours, service_id=service, **stamp)
        for i, (title, service, where, hours) in enumerate(PROVIDERS, 1)
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
        Coupon(id=1, code="SPRING", limit=500, percent=10, **stamp),
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
