"""The stores of the helpdesk, who may call, and what its tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from simharness.api import Answer, Bounds, Operation, Paid, Refused, money, store
from simharness.models.helpdesk.tables import (
    Agent,
    Charge,
    Credit,
    Customer,
    Entry,
    Escalation,
    Event,
    Message,
    Order,
    Policy,
    Refund,
    Role,
    Ticket,
)

if TYPE_CHECKING:
    from simharness.api import Inbox

T = TypeVar("T")

PageNumber = Annotated[int, Bounds(1, 10_000)]

WaitSeconds = Annotated[int, Bounds(0, 20)]
"""How long a feed may wait for news; less than the time after which a call is answered anyway."""

LOCKS = ("lock", "lock_wait", "scope")


class HelpdeskStores(Paid):
    """The tables of the helpdesk, without its tools.

    An actor is signed in as the agent of its identity, as the customer of that number below 0, or
    with 0 as nobody in particular, who has every right.
    """

    identities: ClassVar = {"agent_id": ("agents", 1), "customer_id": ("customers", -1)}
    pointers: ClassVar = {
        "assignee_id": "agents",
        "merged_into": "tickets",
        "attempt_of": "charges",
    }

    customers = store(Customer, write=())
    agents = store(Agent, views=("auth", "detail"), write=LOCKS)
    tickets = store(
        Ticket,
        views=("detail", "list", "search", "feed", "export"),
        indexes=("status", "assignee_id", "customer_id"),
    )
    messages = store(Message, views=("list",), indexes=("ticket_id",))
    orders = store(Order, write=LOCKS)
    charges = store(
        Charge, views=("detail", "list"), indexes=("customer_id", "order_id"), write=LOCKS
    )
    refunds = store(
        Refund, views=("detail", "list"), indexes=("charge_id", "idempotency_key"), write=LOCKS
    )
    credits = store(Credit, views=())
    entries = store(Entry, views=("list",), indexes=("order_id", "ref"), table="ledger")
    webhooks = store(Event, views=())
    policies = store(Policy, views=("search",))
    escalations = store(Escalation, views=())

    waits = (*Paid.waits, "gateway", "webhook")

    # The product makes it, once it has its stores.
    inbox: Inbox

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.refund_check = "atomic"
        self.refund_books = "after_gateway"
        self.refund_rounding = "cumulative"
        self.status_moves_money = True
        self.claim_mode = "atomic"
        self.merge_mode = "guarded"
        self.inbound_group = "per_thread"
        self.auto_close = 0
        self.reward_window = 0
        for key, attribute in (
            ("refund.check", "refund_check"),
            ("refund.books", "refund_books"),
            ("refund.rounding", "refund_rounding"),
            ("order.status_moves_money", "status_moves_money"),
            ("ticket.claim", "claim_mode"),
            ("ticket.merge", "merge_mode"),
            ("inbound.group", "inbound_group"),
            ("ticket.auto_close", "auto_close"),
            ("reward.window", "reward_window"),
        ):
            self.settings.bind(key, self, attribute)

    # --- permissions ------------------------------------------------------------------------------

    def authorize(self, op: Operation) -> Answer[None]:
        """Let active agents in. An actor that is nobody in particular acts with every right."""
        identity = op.actor.identity
        if identity:
            agent = yield from self.agents.auth.read(op, identity)
            if agent is None or not agent.active:
                raise Refused("unauthorized", "you are not an active agent")

    def require_role(self, op: Operation, *roles: Role) -> None:
        """Refuse `forbidden` to callers without one of some roles; to be asked before any wait.

        It looks at the row that `authorize` read for this very call, however old that was.
        """
        identity = op.actor.identity
        if identity:
            _, agent = op.actor.reads[self.agents.table.number, identity]
            if not (isinstance(agent, Agent) and agent.role in roles):
                raise Refused("forbidden", f"only a {' or '.join(roles)} may do that")

    # --- names ------------------------------------------------------------------------------------

    @staticmethod
    def author(op: Operation) -> str:
        """Name who writes a message."""
        identity = op.actor.identity
        if identity < 0:
            return f"customers:{-identity}"
        return f"agents:{identity}" if identity else "desk"

    @staticmethod
    def shown_ref(ref: str) -> str:
        """Give the name of a charge or refund as people know it, `CH-1` for `charges:1`."""
        table, _, key = ref.partition(":")
        return f"{'CH' if table == 'charges' else 'RF'}-{key}"


def found(row: T | None, kind: str, key: int | str) -> T:
    """Give the row, or refuse with `not_found`."""
    if row is None:
        raise Refused("not_found", f"no {kind} {key}")
    return row


def ticket_name(key: int) -> str:
    """Write a ticket's id, as `TK-1`."""
    return f"TK-{key}"


def charge_name(key: int) -> str:
    """Write a charge's id, as `CH-1`."""
    return f"CH-{key}"


def require_text(name: str, value: str) -> None:
    """Refuse a blank text."""
    if not value.strip():
        raise Refused("invalid_arguments", f"{name} is blank")


def require_currency(code: str) -> None:
    """Refuse what is no active ISO 4217 code."""
    if code not in money.EXPONENTS:
        raise Refused("invalid_arguments", f"currency {code!a:.60} is no active ISO 4217 code")
