"""Products that are paid through a gateway: what the gateway can do to them besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from simharness.errors import UsageError
from simharness.kernel.calendar import parse_instant
from simharness.kernel.operation import Operation  # noqa: TC001  (hints are read)
from simharness.parts.refusal import Refused
from simharness.parts.webhook import Notice
from simharness.product.operations import operation
from simharness.product.product import Product
from simharness.product.tool import Answer, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.parts.gateway import Gateway

FIELDS = ("event_id", "kind", "created", "ref", "status")
"""Fields of an event, all texts."""


class Paid(Product):
    """Base class of products with a payment gateway, which they make as `gateway`."""

    gateway: Gateway

    def ref_of(self, name: str) -> str:
        """Give the row that the gateway's events name, as `charges:1`, also of `CH-1`."""
        return self.row_name(name)

    def ledger(self) -> Mapping[str, int]:
        """Say what is left of each charge by the gateway's ledger."""
        return self.gateway.ledger.net()

    @operation("gateway.deliver")
    def gateway_deliver(self, op: Operation, event: dict[str, Any]) -> Answer[dict[str, Any]]:
        """Let an event of the gateway arrive now: event_id, kind, created, ref and status."""
        notice = self._notice(event)
        hook = self.gateway.webhook
        heard = not hook.kinds or notice.kind in hook.kinds
        if heard:
            yield from hook.arrive(op, notice)
        return {"event_id": notice.event_id, "heard": heard}

    @operation("gateway.settle")
    def gateway_settle(
        self, op: Operation, ref: str, status: Literal["succeeded", "failed", "disputed"]
    ) -> Answer[dict[str, Any]]:
        """Bring a pending charge or refund to its end now, or dispute a charge."""
        yield from ()  # a generator, like all operations
        self.gateway.settle(op, self.ref_of(ref), status)
        return {"ref": ref, "status": status}

    def _notice(self, event: Mapping[str, Any]) -> Notice:
        """Read an event. Raises Refused `invalid_arguments`."""
        wrong = sorted(event.keys() ^ set(FIELDS))
        wrong += [name for name in FIELDS if name not in wrong and type(event[name]) is not str]
        if wrong:
            text = f"event is to have the texts {', '.join(FIELDS)}; see {shown(wrong[0])}"
            raise Refused("invalid_arguments", text)
        try:
            created = parse_instant(event["created"])
        except UsageError as error:
            raise Refused("invalid_arguments", f"event.created: {error.message}") from None
        ref = self.ref_of(event["ref"])
        return Notice(event["event_id"], event["kind"], created, ref, {"status": event["status"]})
