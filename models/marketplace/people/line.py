"""Those who stand in line for a slot, and what they do with a place that they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import SECOND
from simharness.models.marketplace.people.persistence import later
from simharness.models.marketplace.people.team import pay

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Actor, Change
    from simharness.models.marketplace.product import Marketplace
    from simharness.models.marketplace.tables import Booking


class Answer(NamedTuple):
    """What somebody does with a place."""

    what: str
    """pays, declines, or dawdles: nothing, until the hold lapses."""
    seconds: int


def start_line(market: Marketplace, slot_id: int, answers: Mapping[int, Answer]) -> None:
    """Let customers, by id, answer when a place of a slot is kept for them."""

    def hear(change: Change) -> None:
        made: Booking | None = change.new
        if change.old is None and made is not None and made.slot_id == slot_id:
            answer = answers.get(made.customer_id)
            if answer is not None and answer.what != "dawdles":
                _answer_later(market, made, answer)

    market.bookings.table.listeners.append(hear)


def _answer_later(market: Marketplace, booking: Booking, answer: Answer) -> None:
    def act(actor: Actor) -> Generator[Any, Any, None]:
        if answer.what == "declines":
            yield from market.request(actor, "cancel_booking", booking_id=booking.id)
        else:
            yield from pay(market, actor, booking)

    ms = answer.seconds * SECOND // 1000
    later(market, f"waiting/{booking.customer_id}/{booking.id}", booking.customer_id, ms, act)
