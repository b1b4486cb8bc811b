"""The stores of the marketplace, who may call, and what its tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from simharness.api import Answer, Bounds, Operation, Paid, Refused, store
from simharness.models.marketplace.tables import (
    Block,
    Booking,
    Coupon,
    Customer,
    Email,
    Hold,
    Payment,
    Provider,
    RemoteEvent,
    Service,
    Slot,
    Waiting,
)

if TYPE_CHECKING:
    from simharness.api import Transaction
    from simharness.models.marketplace.horizon import Horizon
    from simharness.models.marketplace.places import Places

T = TypeVar("T")

PageNumber = Annotated[int, Bounds(1, 10_000)]

WaitSeconds = Annotated[int, Bounds(0, 20)]
"""How long a feed may wait for news; less than the time after which a call is answered anyway."""


class MarketStores(Paid):
    """The tables of the marketplace, without its tools.

    An actor is signed in as the customer of its identity, as the provider of that number below 0,
    or with 0 as nobody in particular, who has every right.
    """

    identities: ClassVar = {"customer_id": ("customers", 1), "provider_id": ("providers", -1)}

    customers = store(Customer, views=())
    providers = store(Provider, views=("list",))
    services = store(Service, views=("list",))
    slots = store(
        Slot,
        views=("detail", "search", "feed"),
        indexes=(("service_id", "starts_at"), ("provider_id", "starts_at")),
        counts=("taken", "held"),
        write=("lock_wait",),
    )
    holds = store(Hold, views=(), indexes=("slot_id", "customer_id", "status"))
    bookings = store(
        Booking,
        views=("detail", "list"),
        unique=("hold_id",),
        indexes=("customer_id", "slot_id", "coupon"),
        write=(),
    )
    coupons = store(Coupon, views=(), unique=("code",))
    payments = store(
        Payment, views=("detail",), indexes=("booking_id", "idempotency_key"), write=()
    )
    waitlist = store(Waiting, views=(), indexes=("slot_id",))
    blocks = store(Block, views=(), indexes=("provider_id",))
    remote_events = store(RemoteEvent, views=(), indexes=("booking_id",))
    emails = store(Email, views=())

    waits = (*Paid.waits, "gateway", "webhook", "remote")

    # The product makes them, once it has its stores.
    places: Places
    calendar: Horizon

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        bind = self.settings.bind
        self.isolation = "lock"
        self.recheck = True
        self.approval = "manual"
        self.remote = "none"
        self.remote_latency = (0, 0)
        self.compensate = "guarded"
        self.on_webhook = "guarded"
        self.hold_ttl = 0
        self.held_shown = True
        self.late_payment = "reject"
        self.refund_books = "after_gateway"
        self.coupon_claim = "atomic"
        self.slots_checked = True
        self.horizon = 1
        self.zones = "exact"
        self.shown_confirmed: list[tuple[str, int]] = []
        """Confirmed bookings that were answered: to whom, and the booking's id."""
        self.made_over: list[tuple[int, int]] = []
        """Slots that were made at the time of another of their provider: that one, the new one."""
        for key, attribute in (
            ("booking.isolation", "isolation"),
            ("booking.recheck", "recheck"),
            ("booking.approval", "approval"),
            ("booking.remote", "remote"),
            ("booking.compensate", "compensate"),
            ("booking.on_webhook", "on_webhook"),
            ("hold.ttl", "hold_ttl"),
            ("hold.visible_to_search", "held_shown"),
            ("hold.late_payment", "late_payment"),
            ("refund.books", "refund_books"),
            ("coupon.claim", "coupon_claim"),
            ("remote.latency", "remote_latency"),
            ("slots.checked", "slots_checked"),
            ("slots.horizon", "horizon"),
            ("zones", "zones"),
        ):
            bind(key, self, attribute)

    # --- permissions ------------------------------------------------------------------------------

    def authorize(self, op: Operation) -> Answer[None]:
        """Let known customers and active providers in."""
        yield from ()  # a generator, as the product's is
        identity = op.actor.identity
        if identity > 0:
            known = self.customers.true(identity) is not None
        else:
            provider = self.providers.true(-identity)
            known = not identity or (provider is not None and provider.active)
        if not known:
            raise Refused("unauthorized", "you are neither a customer nor an active provider")

    def require_own(self, op: Operation, customer_id: int, what: str) -> None:
        """Refuse `forbidden` to customers who aren't the one of a row."""
        if op.actor.identity > 0 and op.actor.identity != customer_id:
            raise Refused("forbidden", f"{what} is another customer's")

    def require_provider(self, op: Operation, provider_id: int) -> None:
        """Refuse `forbidden` to everybody but a provider, and nobody in particular."""
        if op.actor.identity not in (0, -provider_id):
            raise Refused("forbidden", f"only provider {provider_id} may do that")

    def require_party(self, op: Operation, booking: Booking) -> None:
        """Refuse `forbidden` to whoever has no part in a booking."""
        if op.actor.identity < 0:
            slot = self.slots.true(booking.slot_id)
            self.require_provider(op, slot.provider_id if slot is not None else 0)
        else:
            self.require_own(op, booking.customer_id, f"booking {booking.id}")

    # --- what is so now ---------------------------------------------------------------------------

    def paid(self, booking_id: int) -> int:
        """Add up what has been paid for a booking and not given back."""
        return sum(
            payment.amount
            for payment in self.payments.table.where(booking_id=booking_id)
            if payment.status == "succeeded"
        )

    def booking_of(self, hold_id: int) -> Booking | None:
        """Give the booking of a hold."""
        key = self.bookings.table.taken_by("hold_id", hold_id)
        return self.bookings.true(key) if key is not None else None

    def give_back(self, op: Operation, booking_id: int, *, arrived: bool = False) -> None:
        """Pay back what was paid for a booking; nobody waits for it."""
        raise NotImplementedError

    def told(self, op: Operation, key: int) -> Booking:
        """Give a booking as a call's answer, and remember whom a confirmed one was shown."""
        booking = self.bookings.table.rows[key]
        if booking.status == "confirmed":
            self.shown_confirmed.append((op.owner, key))
        return booking

    # --- ends that are part of a transaction ------------------------------------------------------

    def close_booking(self, tx: Transaction, booking: Booking, status: str) -> None:
        """End a booking that isn't to be: its places and its coupon go back.

        The caller hasn't yielded since it read the row, and gives the money back after the commit.
        """
        places = self.places
        hold = self.holds.true(booking.hold_id or 0)
        held = hold is not None and hold.status == "active"
        if held and hold is not None and status == "cancelled":
            tx.update(self.holds.table, hold.id, {"status": "released"})
        tx.update(self.bookings.table, booking.id, {"status": status})
        if booking.status == "confirmed":
            places.put(tx, {booking.slot_id: -booking.quantity})
        elif held and status == "cancelled":
            places.give_back(tx, booking.slot_id, booking.quantity)
        if booking.coupon:
            key = self.coupons.table.taken_by("code", booking.coupon)
            coupon = self.coupons.true(key or 0)
            if coupon is not None and coupon.used > 0:
                tx.update(self.coupons.table, coupon.id, {"used": coupon.used - 1})


def found(row: T | None, kind: str, key: int) -> T:
    """Give the row, or refuse with `not_found`."""
    if row is None:
        raise Refused("not_found", f"no {kind} {key}")
    return row


def require_address(email: str) -> None:
    """Refuse what is no address by its form."""
    name, at, domain = email.partition("@")
    if not (at and name and domain) or any(c.isspace() for c in email):
        raise Refused("invalid_arguments", f"{email!a} is no address of the form name@domain")
