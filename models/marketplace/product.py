"""The marketplace: its tools put together with its faults and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import (
    GATEWAY_EVENTS,
    Gateway,
    Inbox,
    Sweep,
    Webhook,
    bind_gateway,
    bind_sweep,
    bind_webhook,
    gateway_knobs,
    refund_knobs,
    sweep_knobs,
    webhook_knobs,
)
from simharness.models.marketplace.faults import FAULTS
from simharness.models.marketplace.habits import KNOBS as PEOPLE
from simharness.models.marketplace.horizon import Horizon
from simharness.models.marketplace.invariants import Invariants
from simharness.models.marketplace.looks import Looks
from simharness.models.marketplace.own_knobs import KNOBS
from simharness.models.marketplace.places import Places
from simharness.models.marketplace.profiles import PROFILES
from simharness.models.marketplace.rewards import REWARD_MODES
from simharness.models.marketplace.scenarios import SCENARIOS
from simharness.models.marketplace.showcases import SHOWCASES
from simharness.models.marketplace.tools.bookings import BookingTools
from simharness.models.marketplace.tools.calendar import CalendarTools
from simharness.models.marketplace.tools.requests import RequestTools
from simharness.models.marketplace.tools.search import SearchTools
from simharness.models.marketplace.tools.writing import WritingTools

if TYPE_CHECKING:
    from simharness.api import Answer, Operation, ToolSpec

PLACES = "places:slots"
"""How ablation names what keeps the places of slots."""
SOUND: dict[str, Any] = {
    "booking.isolation": "lock",
    "booking.recheck": True,
    "hold.late_payment": "reject",
    "hold.leak": False,
    "booking.on_webhook": "guarded",
}
"""Parsed values under which no place is given away twice, and none is lost."""
ZONES = "zones:slots"
"""How ablation names what tells at which instant a provider can be booked."""
HELD_ROWS = ("lock:holds", "lock:bookings")
"""How it names what keeps a hold, and what is booked on it, from being written over."""
COUPONS = "lock:coupons"
"""How it names what keeps two uses of a coupon from being counted as one."""
KEEPERS = {
    "is booked outside": ZONES,
    "of one provider": ZONES,
    "coupons:": COUPONS,
    "places, and": PLACES,
    "is active past its end": PLACES,
    "ended": PLACES,
}
"""What the text of a broken invariant says, to what should have kept it."""


class Marketplace(SearchTools, RequestTools, BookingTools, CalendarTools, WritingTools):
    """A mock marketplace of bookable services with other people in it."""

    name = "marketplace"
    semantics = 2
    profiles = PROFILES
    faults = FAULTS
    keepers = KEEPERS
    reward_modes = REWARD_MODES
    scenarios = SCENARIOS
    showcases = SHOWCASES
    own_knobs = (
        *KNOBS,
        *PEOPLE,
        *gateway_knobs(),
        *sweep_knobs(),
        *refund_knobs(),
        *webhook_knobs(kinds=GATEWAY_EVENTS),
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.calendar = Horizon(self)
        self.looks = Looks(self)
        self.places = Places(self)
        self._invariants = Invariants(self)
        self.settings.bind("hold.leak", self.places.holds, "leak")
        self.repairable += [PLACES, ZONES, "lock:holds", COUPONS]
        self.sound |= dict.fromkeys((PLACES, *HELD_ROWS), SOUND)
        self.sound[COUPONS] = {"coupon.claim": "atomic"}
        self.sound[ZONES] = {"zones": "exact", "slots.checked": True}
        hook = Webhook(self.world, "gateway-events", self.on_event)
        self.inbox = Inbox(self.world, "payments")
        bind_webhook(self, hook, self.inbox)
        self.gateway = Gateway(self.world, hook)
        bind_gateway(
            self,
            self.gateway,
            sound={
                "booking.compensate": "guarded",
                "booking.on_webhook": "guarded",
                "refund.books": "after_gateway",
            },
        )
        bind_sweep(self, Sweep(self.gateway, self.payments.table, self.inbox, self.learn))

    def call(self, op: Operation, tool: ToolSpec, arguments: dict[str, Any]) -> Answer[Any]:
        """Serve one call of any actor; of the agent's, note what it is told of slots."""
        steps = super().call(op, tool, arguments)
        return self.looks.heed(op, tool.name, arguments, steps) if op.actor.audited else steps

    def invariants(self) -> list[str]:
        """Name what is broken: capacities, hours, holds, money, coupons, what stands elsewhere."""
        return self._invariants.broken()
