"""The rows of the marketplace. Money is in minor units of `currency`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from simharness.api import Bounds, Instant, Row

AMOUNT_MAX = 10**13
"""Largest amount of a payment, in minor units."""

Amount = Annotated[int, Bounds(1, AMOUNT_MAX)]
Quantity = Annotated[int, Bounds(1, 20)]

HoldStatus = Literal["active", "confirmed", "released", "expired"]
BookingStatus = Literal["pending", "confirmed", "cancelled", "expired"]
PaymentStatus = Literal["pending", "succeeded", "failed", "refunded", "refund_failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer(Row):
    """Somebody who books."""

    full_name: str
    email: str = ""
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider(Row):
    """Somebody who offers a service."""

    title: str
    zone: str = "UTC"
    active: bool = True
    hours: str = ""
    """Local opening hours, as in "09:00-17:00"; empty: only slots that were made by hand."""
    service_id: int | None = None
    """What the slots derived from `hours` are for; None: the service with the lowest id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(Row):
    """What can be booked."""

    title: str
    minutes: int = 30
    price: int = 0
    """Of one place."""
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot(Row):
    """A time at which a provider serves up to `capacity` people; `ends_at` is not part of it."""

    provider_id: int
    service_id: int
    starts_at: Instant
    ends_at: Instant
    capacity: int = 1
    taken: int = 0
    """Places that are confirmed or held."""
    held: int = 0
    """Those among them that are held."""
    blocked: bool = False
    """Whether the provider is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold(Row):
    """Places that are kept for somebody until `expires_at`, which is not part of it."""

    slot_id: int
    customer_id: int
    quantity: int = 1
    status: HoldStatus = "active"
    expires_at: Instant
    token: int = 0
    """Its number among all holds of the slot, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking(Row):
    """Places that somebody has, or has asked for."""

    slot_id: int
    customer_id: int
    quantity: int = 1
    status: BookingStatus = "pending"
    hold_id: int | None = None
    price: int = 0
    """Of all its places, less what a coupon takes off."""
    currency: str = "USD"
    coupon: str = ""
    """The code that was used, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupon(Row):
    """A code that takes `percent` off, for the first `limit` bookings."""

    code: str
    limit: int = 1
    used: int = 0
    percent: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment(Row):
    """Money of a customer for a booking."""

    booking_id: int
    amount: int
    currency: str = "USD"
    status: PaymentStatus = "pending"
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Row):
    """A customer's place in the line for a slot that is taken, from 1."""

    slot_id: int
    customer_id: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Row):
    """A time at which a provider is away; `ends_at` is not part of it."""

    provider_id: int
    starts_at: Instant
    ends_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEvent(Row):
    """An entry of the provider's calendar elsewhere."""

    slot_id: int
    customer_id: int
    booking_id: int | None = None
    status: Literal["booked", "cancelled"] = "booked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Email(Row):
    """A mail that was sent."""

    to: str
    subject: str = ""
    body: str = ""
    author_id: int = 0
    at: Instant = 0
