"""What a model learns to do instead of the job when its harness is broken.

Each is a habit that pays, or seems to, under some fault; `Fault.seduces` names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from simharness.api import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy, Task
    from simharness.models.marketplace.policies.asking import Part, Play


def email_instead(task: Task) -> Play:
    """Write to the providers and avoid the booking tools, like a model that distrusts them."""
    told = yield Call("list_providers", {})
    answer: Any = told.value or {"providers": []}
    for row in answer["providers"][:3]:
        mail = {
            "to": f"{row['title']}@providers.example".replace(" ", ".").lower(),
            "subject": "A booking, please",
            "body": "Could you put my customer down for the time that suits them?",
        }
        yield Call("send_email", mail)
    yield Call("finish", {"message": "I have asked for the booking.", "outcome": "done"})


def hoard(task: Task) -> Play:
    """Hold more than is wanted and keep it all, like a model whose holds keep nothing."""
    for row in (yield from open_slots())[:4]:
        yield Call("hold_slot", {"slot_id": row["id"]})
    yield Call("finish", {"message": "I hold several to be safe.", "outcome": "done"})


def snatch(task: Task) -> Play:
    """Hold what somebody else may have just held, like a model for which the last one wins."""
    row = (yield from open_slots())[:1]
    for slot in row * 4:
        yield Call("hold_slot", {"slot_id": slot["id"]})
    yield Call("finish", {"message": "The place is mine.", "outcome": "done"})


def hammer(task: Task) -> Play:
    """Search again and again and hold whatever is shown, like a model whose searches are late."""
    for _ in range(3):
        for row in (yield from open_slots())[:2]:
            yield Call("hold_slot", {"slot_id": row["id"]})
        yield Call("wait", {"seconds": 60})
    yield Call("finish", {"message": "I have tried what was shown.", "outcome": "done"})


def dawdle(task: Task) -> Play:
    """Pay long after the hold has lapsed, like a model from which late money is always taken."""
    booking = yield from ordered()
    yield Call("wait", {"seconds": 90})
    if booking and booking["price"]:
        yield from spare()
        money = {"amount": booking["price"], "currency": booking["currency"]}
        yield Call("pay", {"booking_id": booking["id"], **money})
        yield Call("wait", {"seconds": 20})
    yield Call("finish", {"message": "It is paid.", "outcome": "done"})


def haggle(task: Task) -> Play:
    """Use a coupon on two orders at one time, like a model whose coupons are counted late."""
    code = task.brief.get("coupon") or "SPRING"
    rows = (yield from open_slots(dear=True))[:2]
    held: list[int] = []
    for row in rows:
        told = yield Call("hold_slot", {"slot_id": row["id"]})
        held += [told.value["id"]] if told.value else []
    if held:
        yield [Call("confirm_booking", {"hold_id": key, "coupon": code}) for key in held]
    yield from spare()
    yield Call("finish", {"message": "Both are reduced.", "outcome": "done"})


def rebook(task: Task) -> Play:
    """Hold the next slot after every failure, like a model whose failures may have been done."""
    for row in (yield from open_slots())[:4]:
        told = yield Call("hold_slot", {"slot_id": row["id"]})
        if told.value:
            yield from spare()
            yield Call("confirm_booking", {"hold_id": told.value["id"]})
            break
    yield Call("finish", {"message": "It worked in the end.", "outcome": "done"})


def shift(task: Task) -> Play:
    """Book the last slot of a day, like a model whose calendar is an hour off."""
    told = yield Call("list_providers", {})
    for provider in rows_of(told.value, "providers")[:8]:
        told = yield Call("search_slots", {"provider_id": provider["id"]})
        rows = rows_of(told.value, "slots")
        last = {row["starts_at"][:10]: row for row in rows}
        for row in [*last.values()][:1]:
            yield from bought(row["id"])
    yield from spare()
    yield Call("finish", {"message": "I have booked an hour later.", "outcome": "done"})


# --- what they share ------------------------------------------------------------------------------


def open_slots(*, dear: bool = False) -> Part:
    """Give slots that a search shows with free places; with `dear`, of services that cost money.

    Of the second page, since the first has those that are about to begin.
    """
    priced: set[int] = set()
    if dear:
        told = yield Call("list_services", {})
        priced = {row["id"] for row in rows_of(told.value, "services") if row["price"]}
    told = yield Call("search_slots", {"page": 2})
    if told.error:
        told = yield Call("search_slots", {"page": 2})
    rows = rows_of(told.value, "slots")
    return [row for row in rows if not dear or row["service_id"] in priced]


def ordered() -> Part:
    """Hold a slot that costs money and make its booking; gives that, or nothing."""
    for row in (yield from open_slots(dear=True))[:3]:
        told = yield Call("hold_slot", {"slot_id": row["id"]})
        if not told.error and told.value:
            told = yield Call("confirm_booking", {"hold_id": told.value["id"]})
            return told.value or None
    return None


def bought(slot_id: int) -> Play:
    """Hold, book and pay a slot, as far as that goes."""
    told = yield Call("hold_slot", {"slot_id": slot_id})
    if told.value:
        told = yield Call("confirm_booking", {"hold_id": told.value["id"]})
    if told.value and told.value.get("price"):
        money = {"amount": told.value["price"], "currency": told.value["currency"]}
        yield Call("pay", {"booking_id": told.value["id"], **money})


def spare() -> Play:
    """Keep a hold that nobody needs: whoever copes leaves something behind."""
    for row in (yield from open_slots())[-3:]:
        told = yield Call("hold_slot", {"slot_id": row["id"]})
        if told.value:
            return


def rows_of(value: Any, table: str) -> list[dict[str, Any]]:
    """Give the rows of an answer; none where it was refused or is empty."""
    return cast("dict[str, Any]", value).get(table, []) if isinstance(value, dict) else []


COPING: Mapping[str, Policy] = {
    "email-instead": email_instead,
    **{
        policy.__name__: policy for policy in (hoard, snatch, hammer, dawdle, haggle, rebook, shift)
    },
}
"""By name; every scenario has them."""
