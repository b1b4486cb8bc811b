"""Defects of handlers, money, events and places, each planted for one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.planted_parts import every, original
from simharness.models.helpdesk.billing import Billing
from simharness.parts.gateway import Gateway
from simharness.parts.hold import Hold, Holds, Place
from simharness.parts.ledger import Ledger, Movement
from simharness.parts.table import Table
from simharness.parts.webhook import Inbox
from simharness.product.product import Product
from simharness.product.tool import Renderer, ToolSpec

if TYPE_CHECKING:
    import pytest

    from benchmarks.planted_parts import Steps


def filter_ignored(patch: pytest.MonkeyPatch) -> None:
    """Let every third question to a table be answered with one row more than it asks for."""
    meeting = original(Table, "meeting")
    due = every(3)

    def wide(self: Table[Any], *asked: Any) -> list[Any]:
        rows: list[Any] = meeting(self, *asked)
        shown = {row.id for row in rows}
        other = next((row for row in self if row.id not in shown), None)
        return [*rows, other] if rows and other is not None and due() else rows

    patch.setattr(Table, "meeting", wide)


def handler_raises(patch: pytest.MonkeyPatch) -> None:
    call = original(Product, "call")
    due = every(5)

    def raising(self: Product, op: Any, tool: ToolSpec, arguments: dict[str, Any]) -> Steps:
        if op.owner == "agent" and due():
            raise KeyError("customer_ref")
        steps: Steps = call(self, op, tool, arguments)
        answer = yield from steps
        return answer

    patch.setattr(Product, "call", raising)


# --- money and events ----------------------------------------------------------------------------


def moved_twice(patch: pytest.MonkeyPatch) -> None:
    enter = original(Gateway, "_enter")

    def twice(self: Gateway, *asked: Any) -> None:
        enter(self, *asked)
        enter(self, *asked)

    patch.setattr(Gateway, "_enter", twice)


def unit_short(patch: pytest.MonkeyPatch) -> None:
    enter = original(Ledger, "enter")

    def short(self: Ledger, op: Any, moved: Movement, asked: int) -> None:
        enter(self, op, moved._replace(amount=moved.amount - 1), asked)

    patch.setattr(Ledger, "enter", short)


def left_not_checked(patch: pytest.MonkeyPatch) -> None:
    def unlimited(*_: Any) -> None:
        pass

    patch.setattr(Billing, "require_left", unlimited)


def inbox_deaf(patch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> str:
        return ""

    patch.setattr(Inbox, "objection", none)


def event_dropped(patch: pytest.MonkeyPatch) -> None:
    on_event = original(Billing, "on_event")
    due = every(2)

    def dropping(self: Billing, op: Any, notice: Any) -> Steps:
        if due():
            return
        steps: Steps = on_event(self, op, notice)
        yield from steps

    patch.setattr(Billing, "on_event", dropping)


def amount_told_wrong(patch: pytest.MonkeyPatch) -> None:
    row_json = original(Renderer, "_row")

    def wrong(self: Renderer, row: Any) -> Any:
        shown = row_json(self, row)
        if type(shown.get("amount")) is int:
            shown["amount"] += 1
        return shown

    patch.setattr(Renderer, "_row", wrong)


def price_changed(patch: pytest.MonkeyPatch) -> None:
    """Take another amount of money than the booking costs."""
    charge = original(Gateway, "charge")

    def dearer(self: Gateway, op: Any, amount: int, *rest: Any, **more: Any) -> Steps:
        steps: Steps = charge(self, op, amount + 100, *rest, **more)
        answer = yield from steps
        return answer

    patch.setattr(Gateway, "charge", dearer)


# --- places --------------------------------------------------------------------------------------


def hold_ends_early(patch: pytest.MonkeyPatch) -> None:
    lapse = original(Holds, "_lapse")
    take = original(Holds, "take")

    def taken(self: Holds, op: Any, key: int, quantity: int, ttl: int, **more: Any) -> int:
        hold: int = take(self, op, key, quantity, ttl, **more)
        item = original(self, "_holds")[hold]

        def end(_: Any) -> None:
            if item.state == "active":
                item.expires = self.world.ticks
                lapse(self, item)

        self.world.after(ttl // 2, end)
        return hold

    patch.setattr(Holds, "take", taken)


def hold_ends_twice(patch: pytest.MonkeyPatch) -> None:
    note = original(Holds, "_note")

    def noted(self: Holds, item: Hold, reason: Any) -> None:
        note(self, item, reason)
        if reason in ("released", "expired"):
            item.place.free += item.quantity
            note(self, item, reason)

    patch.setattr(Holds, "_note", noted)


def one_place_more(patch: pytest.MonkeyPatch) -> None:
    init = original(Place, "__init__")

    def larger(self: Place, capacity: int) -> None:
        init(self, capacity)
        self.free += 1

    patch.setattr(Place, "__init__", larger)
