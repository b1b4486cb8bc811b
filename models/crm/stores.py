"""The stores of the CRM, who may call, and what its tools share."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from simharness.api import Answer, Bounds, Operation, Product, Refused, store
from simharness.models.crm.tables import (
    Account,
    Activity,
    ApprovalRequest,
    Contact,
    Deal,
    Email,
    Quote,
    User,
)

T = TypeVar("T")

PageNumber = Annotated[int, Bounds(1, 10_000)]
Percent = Annotated[int, Bounds(0, 100)]


class CrmStores(Product):
    """The tables of the CRM, without its tools."""

    users = store(User, views=("auth",))
    accounts = store(Account, views=("detail", "list"), unique=("domain",))
    contacts = store(Contact, views=("detail", "search"), unique=("email",))
    deals = store(Deal, views=("detail", "list"))
    activities = store(Activity, views=("list",))
    emails = store(Email, views=())
    quotes = store(Quote, views=())
    approvals = store(ApprovalRequest, views=("detail",))

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.undeliverable: list[tuple[str, int, int | None]] = []
        """Mails that were refused: who wrote, to which contact, about which deal."""

    def authorize(self, op: Operation) -> Answer[None]:
        """Let active users in. An actor that is nobody in particular acts with every right."""
        identity = op.actor.identity
        if identity:
            user = yield from self.users.auth.read(op, identity)
            if user is None or not user.active:
                raise Refused("unauthorized", "you are not an active user")


def every(row: object) -> bool:
    """Match all rows."""
    return True


def found(row: T | None, kind: str, key: int) -> T:
    """Give the row, or refuse with `not_found`."""
    if row is None:
        raise Refused("not_found", f"no {kind} {key}")
    return row
