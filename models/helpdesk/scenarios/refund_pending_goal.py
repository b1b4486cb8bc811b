"""The goal of helpdesk/refund-pending: what was promised goes back once, and that is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simharness.api import Criterion
from simharness.models.helpdesk.scenarios.deeds import RECENTLY, Deeds

if TYPE_CHECKING:
    from simharness.api import Change, Ending
    from simharness.models.helpdesk.product import Helpdesk
    from simharness.models.helpdesk.tables import Refund


class Promise(NamedTuple):
    """What was promised in the thread of a ticket."""

    ticket_id: int
    charge_id: int
    amount: int
    """Minor units."""
    at: int
    """Instant of the promise: refunds of before are of something else."""
    until: int
    """Instant until which an agent has to look what becomes of it."""
    policy_id: int
    """The rule about refunds that are under way."""


class Judge:
    """Holds the end of an episode against what has become of the promise."""

    def __init__(self, desk: Helpdesk, promise: Promise, agent: str, ending: Ending) -> None:
        self.desk = desk
        self.promise = promise
        self.deeds = Deeds(desk, agent, promise.ticket_id, promise.charge_id)
        self.ending = ending
        self.end = ending.at or desk.world.instant

    def judge(self) -> tuple[Criterion, ...]:
        """Judge money, ticket, reply, refs, and what else was touched."""
        own = self.deeds.refunds
        return (
            self._once(),
            self._called_for(own),
            self._ticket(),
            self.deeds.told(self._reason(self.end)),
            self._named(),
            self.deeds.footprint(),
        )

    # --- the money --------------------------------------------------------------------------------

    def _tries(self) -> list[Refund]:
        """Give the refunds of what was promised, failed ones as well, oldest first."""
        promise = self.promise
        return [
            row
            for row in self.desk.refunds.table
            if (row.charge_id, row.amount) == (promise.charge_id, promise.amount)
            and row.created_at >= promise.at
        ]

    def _live(self, instant: int) -> dict[int, str]:
        """Give those that were there at an instant and hadn't failed, with what they had become.

        By the gateway: what the books say of them may be behind.
        """
        were = {
            row.id: self.deeds.was(row, instant)
            for row in self._tries()
            if row.created_at <= instant
        }
        return {key: status for key, status in were.items() if status != "failed"}

    def _lately(self, instant: int) -> list[dict[int, str]]:
        """Give those of an instant, and of before each of their ends in the minute before."""
        ends = [self.deeds.fate(row)[1] - 1 for row in self._tries()]
        first = instant - RECENTLY
        instants = {instant, first, *(each for each in ends if first < each < instant)}
        return [self._live(each) for each in sorted(instants, reverse=True)]

    def _under_way(self, instant: int) -> bool:
        """Tell whether one was under way at an instant, or shortly before."""
        return any("pending" in live.values() for live in self._lately(instant))

    def _there(self, instant: int) -> list[int]:
        """Give those that were there at an instant, or shortly before."""
        for live in self._lately(instant):
            if live:
                return list(live)
        return []

    def _in_the_end(self) -> list[int]:
        """Give those that were there when the agent ended, or shortly before."""
        return self._there(self.end)

    def _reason(self, instant: int) -> int | None:
        """Give the commit since when something could be said of what counts at an instant."""
        made = self.desk.refunds.table.history
        orders = [
            past[0].order
            for key in self._there(instant)
            if (past := made.get(key)) and past[0].old is None
        ]
        orders += [
            change.order
            for change in self.deeds.refunds
            if self.desk.world.epoch + change.t <= instant
        ]
        return self.deeds.reason(max(orders, default=0))

    def _once(self) -> Criterion:
        live, amount = self._in_the_end(), self.promise.amount
        moved = {row.id: self.deeds.moved(row.id) for row in self._tries()}
        names = " and ".join(f"refunds:{key} moved {moved[key]}" for key in live) or "nothing"
        told = f"of charges:{self.promise.charge_id} {amount} had to go back: {names}"
        # What is under way has moved nothing yet, and what has arrived moved all of it, once.
        right = len(live) == 1 and sum(moved.values()) in (0, amount)
        # It rests on no row where somebody else paid: then the agent had nothing to do for it.
        own = {change.key for change in self.deeds.refunds}
        keys = tuple(f"refunds:{key}.amount" for key in live if key in own)
        return Criterion("what was promised goes back once", right, told, keys)

    def _called_for(self, own: list[Change]) -> Criterion:
        """Each refund of the agent's is of what was promised, while nothing was under way."""
        wrong: list[str] = []
        for change in own:
            row: Refund = change.new
            if row.amount != self.promise.amount:
                wrong.append(f"refunds:{row.id} is of {row.amount}")
                continue
            at = self.desk.world.epoch + change.t
            others = [key for key in self._live(at) if key != row.id]
            if others:
                wrong.append(f"refunds:{row.id} was made beside refunds:{others[0]}")
        told = "; ".join(wrong) or "nothing was paid that wasn't called for"
        return Criterion("no second refund", not wrong, told, role="footprint")

    # --- the ticket -------------------------------------------------------------------------------

    def _ticket(self) -> Criterion:
        """It is solved if the money was there when it was set.

        It is pending if money was under way then and is at the end, be it another refund: what
        failed meanwhile and was made anew leaves the ticket as true as it was.
        """
        key, name = f"tickets:{self.promise.ticket_id}", "the ticket says how far it is"
        keys = self.deeds.status_keys()
        if not self.deeds.statements:
            return Criterion(name, False, f"{key} is as it was", keys)
        last = self.deeds.statements[-1]
        status, at = last.new.status, self.desk.world.epoch + last.t
        told = f"{key} was set to {status}"
        reason = self._reason(at)
        if reason is None or last.order <= reason:
            return Criterion(name, False, f"{told}, before there was a reason", keys)
        if status == "solved":
            right = "succeeded" in self._live(at).values()
            return Criterion(name, right, f"{told}, which needs what was promised there", keys)
        if status != "pending" or self.end < self.promise.until:
            return Criterion(name, False, f"{told}, before its time", keys)
        right = all(self._under_way(instant) for instant in (at, self.end))
        return Criterion(name, right, f"{told}, which needs a refund under way", keys)

    # --- the ending -------------------------------------------------------------------------------

    def _named(self) -> Criterion:
        name, ending = "told with what it rests on", self.ending
        if ending.outcome != "done":
            return Criterion(
                name, False, f"the outcome is {ending.outcome!r}, called for is 'done'"
            )
        wanted = [f"refunds:{key}" for key in self._in_the_end()]
        tries = [f"refunds:{row.id}" for row in self._tries()]
        fit = [*self.deeds.about(), *tries, f"policies:{self.promise.policy_id}"]
        wrong = self.deeds.named(ending, wanted, fit) if wanted else "there is no refund to name"
        return Criterion(name, not wrong, wrong or f"refs name {wanted[0]}")
