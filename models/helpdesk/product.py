"""The helpdesk: its tools put together with its gateway, faults and profiles."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from simharness.api import Gateway, Inbox, Sweep, Webhook, bind_gateway, bind_sweep, bind_webhook
from simharness.models.helpdesk import invariants
from simharness.models.helpdesk.faults import FAULTS
from simharness.models.helpdesk.habits import KNOBS as PEOPLE
from simharness.models.helpdesk.own_knobs import KNOBS
from simharness.models.helpdesk.profiles import PROFILES
from simharness.models.helpdesk.rewards import REWARD_MODES
from simharness.models.helpdesk.scenarios import SCENARIOS
from simharness.models.helpdesk.showcases import SHOWCASES
from simharness.models.helpdesk.shown import Shown
from simharness.models.helpdesk.tools.admin import AdminTools
from simharness.models.helpdesk.tools.orders import OrderTools
from simharness.models.helpdesk.tools.threads import ThreadTools

if TYPE_CHECKING:
    from simharness.api import Answer, Operation, ToolSpec

SOUND_MONEY: dict[str, object] = {
    "refund.check": "atomic",
    "refund.books": "after_gateway",
    "refund.rounding": "cumulative",
    "order.status_moves_money": True,
}
"""Under these no money goes astray."""
THREADS = "threads:tickets"
"""How ablation names what keeps tickets and their threads together."""
SOUND_THREADS: dict[str, Any] = {
    "ticket.claim": "atomic",
    "ticket.merge": "guarded",
    "inbound.group": "per_thread",
}
KEEPERS = {
    "was claimed by": THREADS,
    "is merged": THREADS,
    "was left behind": THREADS,
    "was opened beside": THREADS,
    "are paid back": "gateway:gateway",
}
"""What the text of a broken invariant says, to what should have kept it."""


class Helpdesk(ThreadTools, OrderTools, AdminTools):
    """A mock helpdesk with other people in it, and a payment gateway behind it."""

    name = "helpdesk"
    profiles = PROFILES
    faults = FAULTS
    reward_modes = REWARD_MODES
    own_knobs = (*KNOBS, *PEOPLE)
    scenarios = SCENARIOS
    showcases = SHOWCASES
    keepers = KEEPERS

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        hook = Webhook(self.world, "gateway-events", self.on_event)
        self.inbox = Inbox(self.world, "billing")
        bind_webhook(self, hook, self.inbox)
        self.gateway = Gateway(self.world, hook)
        bind_gateway(self, self.gateway, sound=SOUND_MONEY)
        for money in (self.charges, self.refunds):
            bind_sweep(
                self, Sweep(self.gateway, money.table, self.inbox, partial(self.learn, money))
            )
        self.gateway.ledger.listeners.append(self.on_movement)
        self.shown = Shown(self)
        self.repairable.append(THREADS)
        self.sound[THREADS] = SOUND_THREADS

    def call(self, op: Operation, tool: ToolSpec, arguments: dict[str, Any]) -> Answer[Any]:
        """Serve one call of any actor; of the agent's, note which charges it is shown."""
        steps = super().call(op, tool, arguments)
        return self.shown.heed(op, steps) if op.actor.audited else steps

    def invariants(self) -> list[str]:
        """Name what is broken: shares of tax, merges, threads, claims."""
        return [
            *invariants.shares(self),
            *invariants.merges(self),
            *invariants.split_threads(self),
            *invariants.claims(self),
        ]
