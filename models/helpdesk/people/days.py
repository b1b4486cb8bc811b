"""Good and bad days of the bank of one customer: refunds that are slow, declined, or come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MINUTE, MS, SECOND, Manner, later

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Actor, Request
    from simharness.models.helpdesk.product import Helpdesk

SLOW = (35 * SECOND, 55 * SECOND)
"""Wait for an answer of a slow bank: the caller is told sooner that nobody knows."""
OK = Manner()
DAYS: Mapping[str, Sequence[Manner]] = {
    "good": (OK,),
    "quick": (Manner(settle_after=5 * SECOND),),
    "slow": (Manner(latency=SLOW),),
    "declines": (Manner("fail"), OK),
    "takes back": (Manner("async_fail", settle_after=40 * SECOND), OK),
    "late": (Manner(settle_after=7 * MINUTE),),
}
"""By name, what becomes of the first refund, the second and so on; the last for all others."""


class Bank:
    """Decides about the refunds of some charges; others are the gateway's matter."""

    def __init__(self, desk: Helpdesk, charges: Sequence[int], day: str) -> None:
        self.charges = frozenset(f"charges:{key}" for key in charges)
        self.day = DAYS[day]
        self._asked = 0
        desk.gateway.manner = self.decide

    def decide(self, request: Request) -> Manner | None:
        """Say what becomes of a refund."""
        if request.kind != "refund" or request.of not in self.charges:
            return None
        manner = self.day[min(self._asked, len(self.day) - 1)]
        self._asked += 1
        return None if manner == OK else manner


def settle_later(desk: Helpdesk, who: str, ms: int, ref: str, status: str) -> None:
    """Let the bank bring what is pending, `CH-1` or `RF-1`, to its end some milliseconds from now.

    Or dispute a charge.
    """

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.perform(actor, "gateway.settle", {"ref": ref, "status": status})

    later(desk.world, who, 0, ms * MS, act)
