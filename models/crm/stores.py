"""The stores of the CRM, who may call, and what its tools share."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, TypeVar

from simharness.api import Answer, Bounds, Operation, Product, Refused, store
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.tables import (
    Account,
    Activity,
    ApprovalRequest,
    Contact,
    Deal,
    Email,
    Meeting,
    Quote,
    Role,
    User,
)

T = TypeVar("T")

PageNumber = Annotated[int, Bounds(1, 10_000)]

WaitSeconds = Annotated[int, Bounds(0, 20)]
"""How long a feed may wait for news; less than the time after which a call is answered anyway."""

CURRENCY = re.compile(r"[A-Z]{3}")


class CrmStores(Product):
    """The tables of the CRM, without its tools."""

    identities: ClassVar = {"user_id": ("users", 1)}
    pointers: ClassVar = {"owner_id": "users", "champion_id": "contacts"}

    users = store(User, views=("auth", "detail"), write=("lock", "lock_wait", "scope"))
    accounts = store(Account, views=("detail", "list", "search", "feed"), unique=("domain",))
    contacts = store(
        Contact,
        views=("detail", "search"),
        unique=("email",),
        indexes=("email", "account_id"),
    )
    deals = store(
        Deal,
        views=("detail", "list", "search", "feed", "export"),
        indexes=("stage", "owner_id", "account_id", "champion_id"),
    )
    activities = store(Activity, views=("list",), indexes=("deal_id",))
    emails = store(Email, views=())
    meetings = store(Meeting, views=())
    quotes = store(Quote, views=())
    approvals = store(ApprovalRequest, views=("detail",), write=("lock", "lock_wait"))

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.undeliverable: list[tuple[str, int, int | None]] = []
        """Mails that were refused: who wrote, to which contact, about which deal."""

    # --- permissions ------------------------------------------------------------------------------

    def authorize(self, op: Operation) -> Answer[None]:
        """Let active users in. An actor that is nobody in particular acts with every right."""
        identity = op.actor.identity
        if identity:
            user = yield from self.users.auth.read(op, identity)
            if user is None or not user.active:
                raise Refused("unauthorized", "you are not an active user")

    def require_role(self, op: Operation, role: Role) -> None:
        """Refuse `forbidden` to callers without a role; to be asked before a tool's first wait.

        It looks at the row that `authorize` read for this very call, however old that was.
        """
        identity = op.actor.identity
        if identity:
            _, user = op.actor.reads[self.users.table.number, identity]
            if not (isinstance(user, User) and has_role(user, role)):
                raise Refused("forbidden", f"only somebody with the role {role} may do that")

    # --- checks at the commit ---------------------------------------------------------------------
    # Whoever calls these must not yield between the check and its commit.

    def require_owner(self, user_id: int, what: str) -> None:
        """Refuse `invalid_arguments` for an owner who is no active user."""
        user = self.users.true(user_id)
        if user is None or not user.active:
            raise Refused(
                "invalid_arguments", f"there is no active user {user_id} to own the {what}"
            )

    def open_deal_of(self, user_id: int) -> Deal | None:
        """Give the first open deal that a user owns."""
        for deal in self.deals.table.where(owner_id=user_id):
            if deal.stage in OPEN_STAGES:
                return deal
        return None


def has_role(user: User, role: str) -> bool:
    """Tell whether a role is among a user's: the own one and those granted."""
    return role == user.role or role in user.grants


def found(row: T | None, kind: str, key: int) -> T:
    """Give the row, or refuse with `not_found`."""
    if row is None:
        raise Refused("not_found", f"no {kind} {key}")
    return row


def require_text(name: str, value: str | None) -> None:
    """Refuse a blank text; None, for one that isn't given, is fine."""
    if value is not None and not value.strip():
        raise Refused("invalid_arguments", f"{name} is blank")


def require_currency(code: str | None) -> None:
    """Refuse what is no ISO 4217 code by its form; None, for one that isn't given, is fine."""
    if code is not None and CURRENCY.fullmatch(code) is None:
        raise Refused(
            "invalid_arguments", f"currency {code!a} is no ISO 4217 code of three capital letters"
        )


def require_email(email: str | None) -> None:
    """Refuse what is no address by its form; None, for one that isn't given, is fine."""
    if email is not None:
        name, at, domain = email.partition("@")
        if not (at and name and domain) or any(c.isspace() for c in email):
            raise Refused("invalid_arguments", f"{email!a} is no address of the form name@domain")
