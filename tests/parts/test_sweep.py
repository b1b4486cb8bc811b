"""Sweeps: what is left open too long is asked about, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.kernel.operation import AFTER_COMMIT, Operation
from simharness.parts.gateway import Gateway
from tests.models.market_house import ANN, House

if TYPE_CHECKING:
    from collections.abc import Mapping

PRICE: dict[str, Any] = {"booking_id": 1, "amount": 4000, "currency": "USD"}
SWEPT: Mapping[str, object] = {"gateway.sweep": "60s", "hold.ttl": "30min"}


def booked(config: Mapping[str, object]) -> House:
    """Let Ann have a booking that is to be paid."""
    house = House(config)
    hold = house.call(ANN, "hold_slot", slot_id=3)
    house.call(ANN, "confirm_booking", hold_id=hold.id)
    return house


def dead(house: House) -> None:
    """Let the worker of Ann's payment die once the payment's row is there."""
    told = house.ended(house.start(ANN, "pay", pins={"crash": AFTER_COMMIT}, **PRICE))
    assert told.code == "unknown_outcome"


def statuses(house: House) -> tuple[str, ...]:
    """Give the status of the booking, and of each payment."""
    payments = [row.status for row in house.market.payments.table]
    return (house.row("bookings", 1).status, *payments)


def test_what_the_gateway_was_never_asked_for_has_failed_and_can_be_paid_again() -> None:
    house = booked(SWEPT)
    dead(house)
    house.wait("59s")
    assert statuses(house) == ("pending", "pending")
    assert house.refused(ANN, "pay", **PRICE).code == "invalid_arguments"
    house.wait("2s")
    assert statuses(house) == ("pending", "failed")
    assert house.call(ANN, "pay", **PRICE).status == "succeeded"
    house.wait("1s")
    assert statuses(house) == ("confirmed", "failed", "succeeded")
    assert house.market.invariants() == []
    assert not house.market.moving


def test_without_a_sweep_it_waits_for_ever() -> None:
    house = booked({**SWEPT, "gateway.sweep": "0s"})
    dead(house)
    house.wait("20min")
    assert statuses(house) == ("pending", "pending")


@pytest.mark.parametrize(
    ("mode", "end"),
    [("ok", ("confirmed", "succeeded")), ("async_fail", ("pending", "failed"))],
)
def test_news_that_is_lost_is_asked_for(mode: str, end: tuple[str, ...]) -> None:
    lost = ["charge.succeeded", "charge.failed"]
    config = {"gateway.mode": mode, "gateway.settle_after": "100s", "webhook.lost": lost}
    house = booked({**SWEPT, **config})
    house.call(ANN, "pay", **PRICE)
    house.wait("119s")
    # It has been asked about once, and was under way.
    assert statuses(house) == ("pending", "pending")
    house.wait("2s")
    assert statuses(house) == end
    assert not house.market.moving


def test_what_there_is_news_of_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    look = Gateway.look

    def counting(gateway: Gateway, op: Operation, ref: str) -> Any:
        asked.append(ref)
        return look(gateway, op, ref)

    monkeypatch.setattr(Gateway, "look", counting)
    for settle, times in (("10s", 0), ("100s", 1)):
        house = booked({**SWEPT, "gateway.settle_after": settle})
        house.call(ANN, "pay", **PRICE)
        house.wait("10min")
        assert statuses(house) == ("confirmed", "succeeded")
        assert asked == ["payments:1"] * times


@pytest.mark.parametrize("order", ["fifo", "any"])
@pytest.mark.parametrize("mode", ["ok", "async_fail"])
def test_old_news_does_not_undo_what_was_asked_for(order: str, mode: str) -> None:
    # All that was sent by then arrives after the app has asked, from what was under way on.
    late = {"webhook.order": order, "webhook.delay": ["90s", "300s"]}
    house = booked({**SWEPT, **late, "gateway.mode": mode, "gateway.settle_after": "20s"})
    house.call(ANN, "pay", **PRICE)
    house.wait("61s")
    known = statuses(house)
    assert known == (("confirmed", "succeeded") if mode == "ok" else ("pending", "failed"))
    for _ in range(30):
        house.wait("10s")
        assert statuses(house) == known
        assert house.market.invariants() == []
    assert not house.market.moving
