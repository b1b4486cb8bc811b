"""The life of a hold and a booking, its money, and who may do what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simharness.api import Refused
from simharness.models.marketplace.base import base_rows
from simharness.models.marketplace.rules import BOOKING_LIFE, HOLD_LIFE
from simharness.models.marketplace.tables import Booking, Hold
from tests.models.market_house import ANN, BOB, CEM, EPOCH, GYM, STUDIO, House

if TYPE_CHECKING:
    from collections.abc import Mapping

PRICE: dict[str, Any] = {"amount": 4000, "currency": "USD"}
FREE, CLASS, LARGE = 1, 3, 4
"""Slots: of the free service, of the class for two, and of that for five."""


def pending(house: House, who: int = ANN, slot_id: int = CLASS) -> Any:
    """Book a place that costs something."""
    hold = house.call(who, "hold_slot", slot_id=slot_id)
    return house.call(who, "confirm_booking", hold_id=hold.id)


def paid(house: House, who: int = ANN, slot_id: int = CLASS) -> Any:
    booking = pending(house, who, slot_id)
    house.call(who, "pay", booking_id=booking.id, **PRICE)
    return house.row("bookings", booking.id)


# --- holds ----------------------------------------------------------------------------------------


def test_a_hold_takes_places_until_it_expires_at_its_ttl() -> None:
    house = House({"hold.ttl": "60s"})
    hold = house.call(ANN, "hold_slot", slot_id=LARGE, quantity=3)
    assert (hold.customer_id, hold.quantity, hold.token) == (ANN, 3, 1)
    assert hold.expires_at == EPOCH + 60_000_000
    assert (house.row("slots", LARGE).taken, house.free(LARGE)) == (3, 2)
    assert house.refused(BOB, "hold_slot", slot_id=LARGE, quantity=3).code == "sold_out"
    assert house.call(BOB, "hold_slot", slot_id=LARGE, quantity=2).token == 2
    house.wait("59s")
    assert house.row("holds", 1).status == "active"
    house.wait("1s")
    assert [house.row("holds", key).status for key in (1, 2)] == ["expired", "expired"]
    assert house.free(LARGE) == 5
    assert house.refused(ANN, "confirm_booking", hold_id=1).code == "hold_expired"
    assert house.refused(ANN, "release_hold", hold_id=1).code == "hold_expired"


def test_a_released_hold_is_free_at_once_and_books_nothing() -> None:
    house = House()
    house.call(ANN, "hold_slot", slot_id=FREE)
    assert house.refused(BOB, "hold_slot", slot_id=FREE).code == "slot_taken"
    assert house.refused(BOB, "release_hold", hold_id=1).code == "forbidden"
    assert house.call(ANN, "release_hold", hold_id=1).status == "released"
    assert house.refused(ANN, "confirm_booking", hold_id=1).code == "conflict"
    assert house.call(BOB, "hold_slot", slot_id=FREE).status == "active"


def test_what_cannot_be_held_is_refused() -> None:
    house = House()
    for slot_id, code in ((9, "not_found"), (5, "slot_past"), (6, "slot_blocked")):
        assert house.refused(ANN, "hold_slot", slot_id=slot_id).code == code
        assert house.refused(ANN, "request_booking", slot_id=slot_id).code == code
    for slots in ([FREE], [FREE, FREE], [1, 2, 3, 4, 5, 6]):
        assert house.refused(ANN, "hold_slots", slot_ids=slots).code == "invalid_arguments"


# --- bookings -------------------------------------------------------------------------------------


def test_a_hold_of_what_costs_nothing_is_confirmed_at_once_and_once() -> None:
    house = House()
    house.call(ANN, "hold_slot", slot_id=FREE)
    booking = house.call(ANN, "confirm_booking", hold_id=1)
    assert (booking.status, booking.price, booking.hold_id) == ("confirmed", 0, 1)
    assert house.call(ANN, "confirm_booking", hold_id=1) == booking
    assert (house.row("slots", FREE).taken, house.row("slots", FREE).held) == (1, 0)
    assert house.refused(ANN, "release_hold", hold_id=1).code == "conflict"
    house.wait("1h")
    assert house.row("bookings", 1) == booking


def test_two_confirmations_of_one_hold_make_one_booking() -> None:
    house = House()
    house.call(ANN, "hold_slot", slot_id=FREE)
    calls = [house.start(ANN, "confirm_booking", db="10ms", hold_id=1) for _ in range(2)]
    first, second = house.ended(*calls)
    assert first == second
    assert len(house.market.bookings.table.rows) == 1


def test_the_full_price_confirms_and_less_does_not() -> None:
    house = House()
    booking = pending(house)
    assert (booking.status, booking.price) == ("pending", 4000)
    due = house.refused(ANN, "confirm_booking", hold_id=1)
    assert (due.code, due.details) == ("payment_due", PRICE)
    house.call(ANN, "pay", booking_id=1, amount=1500, currency="USD")
    assert house.row("bookings", 1).status == "pending"
    for wrong in ({"amount": 2501, "currency": "USD"}, {"amount": 2500, "currency": "EUR"}):
        assert house.refused(ANN, "pay", booking_id=1, **wrong).code == "invalid_arguments"
    house.call(ANN, "pay", booking_id=1, amount=2500, currency="USD")
    assert (house.row("bookings", 1).status, house.row("holds", 1).status) == ("confirmed",) * 2
    assert house.call(ANN, "confirm_booking", hold_id=1).id == 1


def test_a_booking_whose_hold_lapses_expires_and_gives_part_payments_back() -> None:
    house = House()
    pending(house)
    house.call(ANN, "pay", booking_id=1, amount=1500, currency="USD")
    house.wait("5min")
    assert house.row("bookings", 1).status == "expired"
    assert house.row("payments", 1).status == "refunded"
    assert house.free(CLASS) == 2
    assert house.refused(ANN, "pay", booking_id=1, **PRICE).code == "hold_expired"


@pytest.mark.parametrize(
    ("after", "told"), [("299999999us", "succeeded"), ("300s", "hold_expired")]
)
def test_the_instant_of_expiry_is_too_late_for_the_money(after: str, told: str) -> None:
    house = House()
    pending(house)
    call = house.start(ANN, "pay", after=after, booking_id=1, **PRICE)
    answer = house.ended(call)
    assert (answer.code if isinstance(answer, Refused) else answer.status) == told
    assert house.market.invariants() == []


def test_a_hold_that_lapses_while_the_payment_is_thought_over_is_refused() -> None:
    house = House()
    pending(house)
    call = house.start(ANN, "pay", after="299s", db="2s", booking_id=1, **PRICE)
    assert house.ended(call).code == "hold_expired"
    assert len(house.market.payments.table.rows) == 0


def test_a_key_pays_once() -> None:
    house = House()
    pending(house)
    keyed: Mapping[str, Any] = {"booking_id": 1, "idempotency_key": "k", **PRICE}
    calls = [house.start(ANN, "pay", db="10ms", **keyed) for _ in range(2)]
    first, second = house.ended(*calls)
    assert first == second == house.call(ANN, "pay", **keyed)
    assert house.refused(ANN, "pay", **{**keyed, "amount": 1}).code == "conflict"
    assert len(house.market.payments.table.rows) == 1


def test_two_payments_at_once_take_the_price_once() -> None:
    house = House()
    pending(house)
    calls = [house.start(ANN, "pay", db="10ms", booking_id=1, **PRICE) for _ in range(2)]
    told = house.ended(*calls)
    assert [getattr(answer, "code", "ok") for answer in told] == ["ok", "invalid_arguments"]


@pytest.mark.parametrize("confirmed", [False, True])
def test_cancelling_gives_back_money_and_places(confirmed: bool) -> None:
    house = House()
    booking = paid(house) if confirmed else pending(house)
    assert house.free(CLASS) == 1
    assert house.call(ANN, "cancel_booking", booking_id=booking.id).status == "cancelled"
    assert house.free(CLASS) == 2
    assert house.row("holds", 1).status == ("confirmed" if confirmed else "released")
    assert [p.status for p in house.market.payments.table] == ["refunded"] * confirmed
    for tool in ("cancel_booking", "pay"):
        more = PRICE if tool == "pay" else {}
        assert house.refused(ANN, tool, booking_id=booking.id, **more).code == "conflict"
    assert (house.findings(), house.market.invariants()) == ([], [])


def test_a_booking_moves_as_a_whole_or_stays() -> None:
    house = House()
    booking = paid(house)
    house.call(BOB, "hold_slot", slot_id=LARGE, quantity=5)
    move = {"booking_id": booking.id, "slot_id": LARGE}
    assert house.refused(ANN, "reschedule_booking", **move).code == "sold_out"
    assert (house.row("bookings", 1).slot_id, house.free(CLASS)) == (CLASS, 1)
    house.call(BOB, "release_hold", hold_id=2)
    assert house.call(ANN, "reschedule_booking", **move).slot_id == LARGE
    assert (house.free(CLASS), house.free(LARGE)) == (2, 4)
    house.call(ANN, "reschedule_booking", booking_id=1, slot_id=CLASS)
    house.call(ANN, "reschedule_booking", **move)
    house.call(ANN, "cancel_booking", booking_id=1)
    assert (house.free(CLASS), house.free(LARGE)) == (2, 5)
    assert (house.findings(), house.market.invariants()) == ([], [])


def test_a_booking_does_not_move_to_another_service_or_before_it_is_confirmed() -> None:
    house = House()
    pending(house)
    move = {"booking_id": 1, "slot_id": LARGE}
    assert house.refused(ANN, "reschedule_booking", **move).code == "conflict"
    house.call(ANN, "pay", booking_id=1, **PRICE)
    for slot_id in (CLASS, FREE):
        told = house.refused(ANN, "reschedule_booking", booking_id=1, slot_id=slot_id)
        assert told.code == "invalid_arguments"


# --- requests -------------------------------------------------------------------------------------


def test_a_request_takes_no_place_until_its_provider_agrees() -> None:
    house = House()
    for who in (ANN, BOB):
        assert house.call(who, "request_booking", slot_id=FREE).status == "pending"
    assert house.free(FREE) == 1
    for who in (ANN, GYM):
        assert house.refused(who, "approve_booking", booking_id=1).code == "forbidden"
    assert house.call(STUDIO, "approve_booking", booking_id=1).status == "confirmed"
    assert house.refused(STUDIO, "approve_booking", booking_id=2).code == "slot_taken"
    assert house.refused(STUDIO, "approve_booking", booking_id=1).code == "conflict"
    assert house.refused(CEM, "request_booking", slot_id=FREE).code == "slot_taken"
    assert house.call(STUDIO, "decline_booking", booking_id=2).status == "cancelled"


def test_a_request_is_paid_before_it_is_approved_and_given_back_when_declined() -> None:
    house = House()
    for who in (ANN, BOB):
        house.call(who, "request_booking", slot_id=CLASS)
    assert house.refused(GYM, "approve_booking", booking_id=1).code == "payment_due"
    for who in (ANN, BOB):
        house.call(who, "pay", booking_id=who, **PRICE)
    assert house.row("bookings", 1).status == "pending"
    assert house.call(GYM, "approve_booking", booking_id=1).status == "confirmed"
    house.call(GYM, "decline_booking", booking_id=2)
    assert [p.status for p in house.market.payments.table] == ["succeeded", "refunded"]
    assert house.free(CLASS) == 1


def test_without_approval_a_request_is_booked_once_it_is_paid_and_there_is_a_place() -> None:
    house = House({"booking.approval": "auto"})
    for who in (ANN, BOB, CEM):
        assert house.call(who, "request_booking", slot_id=CLASS).status == "pending"
    for who in (ANN, BOB):
        house.call(who, "pay", booking_id=who, **PRICE)
        assert house.row("bookings", who).status == "confirmed"
    assert house.refused(CEM, "pay", booking_id=3, **PRICE).code == "sold_out"
    assert house.call(ANN, "request_booking", slot_id=FREE).status == "confirmed"


# --- coupons, lists, rights -----------------------------------------------------------------------


def test_a_coupon_takes_its_percent_off_and_is_given_back_with_the_booking() -> None:
    house = House()
    for who in (ANN, BOB):
        house.call(who, "hold_slot", slot_id=CLASS)
    booking = house.call(ANN, "confirm_booking", hold_id=1, coupon="SPRING")
    assert (booking.price, booking.coupon, house.row("coupons", 1).used) == (3000, "SPRING", 1)
    told = house.refused(BOB, "confirm_booking", hold_id=2, coupon="SPRING")
    assert told.code == "coupon_used_up"
    assert house.refused(BOB, "confirm_booking", hold_id=2, coupon="X").code == "not_found"
    house.call(ANN, "cancel_booking", booking_id=1)
    assert house.row("coupons", 1).used == 0
    assert house.call(BOB, "confirm_booking", hold_id=2, coupon="ALL").status == "confirmed"


def test_people_see_and_touch_what_is_theirs() -> None:
    house = House()
    paid(house)
    for tool in ("get_booking", "cancel_booking"):
        for who in (BOB, STUDIO):
            assert house.refused(who, tool, booking_id=1).code == "forbidden"
    assert house.refused(BOB, "get_payment", payment_id=1).code == "forbidden"
    assert house.refused(BOB, "list_bookings", customer_id=ANN).code == "forbidden"
    for who, ids in ((ANN, [1]), (BOB, []), (GYM, [1]), (STUDIO, []), (0, [1])):
        assert [row.id for row in house.call(who, "list_bookings").rows] == ids
    assert house.call(GYM, "get_booking", booking_id=1).status == "confirmed"
    for who in (9, -3, -9):
        assert house.refused(who, "list_services").code == "unauthorized"


def test_a_line_forms_at_a_slot_that_is_taken() -> None:
    house = House()
    assert house.refused(ANN, "join_waitlist", slot_id=FREE).code == "conflict"
    house.call(CEM, "hold_slot", slot_id=FREE)
    for who in (ANN, BOB):
        assert house.call(who, "join_waitlist", slot_id=FREE).position == who
    assert house.refused(ANN, "join_waitlist", slot_id=FREE).code == "already_waiting"


def test_a_mail_needs_an_address_and_books_nothing() -> None:
    house = House()
    text = {"subject": "s", "body": "b"}
    assert house.refused(ANN, "send_email", to="ann", **text).code == "invalid_arguments"
    assert house.call(ANN, "send_email", to="ann@example.test", **text).author_id == ANN
    assert len(house.market.bookings.table.rows) == 0


@pytest.mark.parametrize("remote", ["before_insert", "after_commit"])
def test_the_calendar_elsewhere_follows(remote: str) -> None:
    house = House({"booking.remote": remote})
    paid(house)
    event = house.row("remote_events", 1)
    assert (event.booking_id, event.slot_id, event.status) == (1, CLASS, "booked")
    house.call(ANN, "reschedule_booking", booking_id=1, slot_id=LARGE)
    assert house.row("remote_events", 1).slot_id == LARGE
    house.call(ANN, "cancel_booking", booking_id=1)
    assert house.row("remote_events", 1).status == "cancelled"
    assert house.market.invariants() == []


def test_what_is_announced_before_the_insert_stays_when_that_is_refused() -> None:
    pending_rows = [Booking(id=i, slot_id=FREE, customer_id=i) for i in (ANN, BOB)]
    house = House(
        {"booking.remote": "before_insert", "booking.isolation": "unique"},
        rows={"bookings": pending_rows},
    )
    calls = [house.start(STUDIO, "approve_booking", db="1s", booking_id=i) for i in (ANN, BOB)]
    house.ended(*calls)
    assert house.market.invariants() == ["remote_events:2 stands for no booking"]


# --- search and start -----------------------------------------------------------------------------


def test_a_search_finds_what_is_free_in_order_of_time() -> None:
    house = House()
    assert [row.id for row in house.call(ANN, "search_slots").rows] == [1, 2, 3, 4]
    window = {"from_time": "2026-03-05T11:00:00Z", "to_time": "2026-03-05T15:00:00Z"}
    assert [row.id for row in house.call(ANN, "search_slots", **window).rows] == [2, 3]
    assert [row.id for row in house.call(ANN, "search_slots", service_id=2).rows] == [3, 4]
    house.call(BOB, "hold_slot", slot_id=FREE)
    assert [row.id for row in house.call(ANN, "search_slots", provider_id=1).rows] == [2]


def test_what_is_held_is_shown_as_free_where_search_does_not_see_holds() -> None:
    house = House({"hold.visible_to_search": False})
    house.call(BOB, "hold_slot", slot_id=FREE)
    assert FREE in [row.id for row in house.call(ANN, "search_slots").rows]
    house.call(BOB, "confirm_booking", hold_id=1)
    assert FREE not in [row.id for row in house.call(ANN, "search_slots").rows]


def test_what_is_taken_at_the_start_follows_from_its_rows() -> None:
    live = Hold(id=1, slot_id=LARGE, customer_id=1, quantity=2, expires_at=EPOCH + 60_000_000)
    over = Hold(id=2, slot_id=LARGE, customer_id=1, quantity=1, expires_at=EPOCH)
    sold = Booking(id=1, slot_id=LARGE, customer_id=2, quantity=2, status="confirmed", price=0)
    house = House(rows={"holds": [live, over], "bookings": [sold]})
    assert (house.row("slots", LARGE).taken, house.row("slots", LARGE).held) == (4, 2)
    assert house.row("holds", 2).status == "expired"
    assert house.free(LARGE) == 1
    house.wait("60s")
    assert (house.row("holds", 1).status, house.free(LARGE)) == ("expired", 3)
    house.call(BOB, "cancel_booking", booking_id=1)
    assert house.free(LARGE) == 5
    assert house.findings() == []


def test_the_base_is_sound_and_says_itself_what_is_taken() -> None:
    rows = base_rows()
    house = House(rows=rows, profile="production")
    assert house.market.invariants() == []
    assert list(house.market.slots.table) == list(rows["slots"])
    assert len(rows["slots"]) > 300


@pytest.mark.parametrize("life", [HOLD_LIFE, BOOKING_LIFE], ids=["hold", "booking"])
def test_nothing_comes_back_from_an_end(life: tuple[Any, ...]) -> None:
    ends = {"released", "expired", "cancelled"}
    assert not ends & {step.before for step in life}
    assert ends & {step.after for step in life}
