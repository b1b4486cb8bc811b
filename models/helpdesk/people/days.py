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
    "takes back twice": (
        Manner("async_fail", settle_after=40 * SECOND),
        Manner("async_fail", settle_after=25 * SECOND),
        OK,
    ),
    "late": (Manner(settle_after=7 * MINUTE),),
}
"""By name, what becomes of the first refund, the second and so on; the last for all others."""


class Bank:
    """Decides about the refunds of some charges; others are the gateway's matter.

    About those that one actor asks for alone, if there is a name in `by`; and where a manner
    doesn't say after how many ticks a refund has settled, `settle_after` does if it is given.
    """

    def __init__(
        self,
        desk: Helpdesk,
        charges: Sequence[int],
        day: str,
        *,
        by: str = "",
        settle_after: int | None = None,
    ) -> None:
        self.charges = frozenset(f"charges:{key}" for key in charges)
        self.day = DAYS[day]
        self.by = by
        self.settle_after = settle_after
        self._asked: dict[str, int] = {}
        """How many there were before, by the row of each that it was asked for."""
        desk.gateway.manner = self.decide

    def decide(self, request: Request) -> Manner | None:
        """Say what becomes of a refund."""
        if request.kind != "refund" or request.of not in self.charges:
            return None
        if self.by and (request.caller is None or request.caller.owner != self.by):
            return None
        number = self._asked.setdefault(request.ref, len(self._asked))
        manner = self.day[min(number, len(self.day) - 1)]
        if manner.settle_after is None:
            manner = manner._replace(settle_after=self.settle_after)
        return None if manner == OK else manner


def settle_later(desk: Helpdesk, who: str, ms: int, ref: str, status: str) -> None:
    """Let the bank bring what is pending, `CH-1` or `RF-1`, to its end some milliseconds from now.

    Or dispute a charge.
    """

    def act(actor: Actor) -> Generator[Any, Any, None]:
        yield from desk.perform(actor, "gateway.settle", {"ref": ref, "status": status})

    later(desk.world, who, 0, ms * MS, act)
