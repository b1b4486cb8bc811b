"""How the references look what becomes of a refund, up to an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import SECOND, Call, asking, parse_instant
from simharness.models.helpdesk.policies.reading import moved

if TYPE_CHECKING:
    from simharness.api import Observation

POLL_SECONDS = 12
"""Pause between two looks."""


def watched(refund_id: str, order_id: int, until: int) -> asking.Part:
    """Look until an instant what becomes of a refund; gives succeeded, failed or pending.

    That it has arrived the gateway's ledger says, and that it has failed the books.
    """
    while True:
        entries = yield from moved(order_id)
        if refund_id in entries:
            return "succeeded"
        told: Observation = yield Call("get_refund", {"refund_id": refund_id})
        status = told.value["status"] if told.value else "unknown"
        if status == "failed":
            return status
        left = until - parse_instant(told.t)
        if status != "unknown" and left <= 0:
            return "pending"
        seconds = min(POLL_SECONDS, max(1, -(-left // SECOND)))
        yield Call("wait", {"seconds": seconds})
