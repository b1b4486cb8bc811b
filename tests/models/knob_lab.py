"""A CRM in which an agent and a rival go through a fixed script, a view at a time: for knobs.

The agent reads the view ten times around what the rival does: an update that stays open for a
while, a row that comes into being, and a second update. In between the agent writes itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import HOUR, MS, Actor, Criterion, Refused, Scenario, parse_instant
from simharness.models.crm.product import Crm
from simharness.models.crm.tables import Account, Activity, ApprovalRequest, Contact, Deal, User

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simharness.api import Drawing, Ending, Instance, Row

EPOCH = parse_instant("2026-03-02T09:00:00Z")
Act = tuple[str, Mapping[str, Any]]
AT = "2026-03-02T09:00:05.600Z"
"""When the rival's first update is committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How one view is looked at."""

    view: str
    read: Act
    """The tool that reads it."""
    own: Act
    """A write of the agent's own to row 1."""
    again: Act
    """The same tool and column with another value, for the rival."""
    table: str = ""
    """Whose row 1 the rival changes; by default the view's."""
    one: Mapping[str, Any]
    """What the rival changes first."""
    two: Mapping[str, Any]
    """What it changes last; afterwards filtered lists don't match the row any more."""
    other: Mapping[str, Any]
    """What it changes in row 2, which filtered lists never match."""
    clash: Mapping[str, Any]
    """A change of the column that the agent writes."""
    new: Mapping[str, Any]
    """A row that the rival makes, which lists and searches of the view match."""
    missing: Act | None = None
    """The tool that reads that row before it exists."""

    @property
    def place(self) -> str:
        """The table of row 1."""
        return self.table or self.view.partition(".")[0]


USERS: dict[str, Any] = {
    "own": ("grant", {"user_id": 1, "role": "manager"}),
    "again": ("grant", {"user_id": 1, "role": "admin"}),
    "one": {"full_name": "Ann"},
    "two": {"full_name": "Bea"},
    "other": {"full_name": "Dee"},
    "clash": {"grants": ("rep",)},
    "new": {"full_name": "Cy"},
}
ACCOUNTS: dict[str, Any] = {
    "own": ("update_account", {"account_id": 1, "fields": {"industry": "energy"}}),
    "again": ("update_account", {"account_id": 1, "fields": {"industry": "media"}}),
    "one": {"title": "Birch One"},
    "two": {"title": "Elm"},
    "other": {"title": "Fir"},
    "clash": {"industry": "retail"},
    "new": {"title": "Birch Three", "domain": "three.example"},
}
CONTACTS: dict[str, Any] = {
    "own": ("update_contact", {"contact_id": 1, "fields": {"role": "finance"}}),
    "again": ("update_contact", {"contact_id": 1, "fields": {"role": "legal"}}),
    "one": {"full_name": "Ann Birch"},
    "two": {"full_name": "Bea Elm"},
    "other": {"full_name": "Dee Fir"},
    "clash": {"role": "buyer"},
    "new": {"full_name": "Cy Birch", "email": "cy@birch.example", "account_id": 1},
}
DEALS: dict[str, Any] = {
    "own": ("update_deal", {"deal_id": 1, "fields": {"lost_reason": "price"}}),
    "again": ("update_deal", {"deal_id": 1, "fields": {"lost_reason": "other"}}),
    "one": {"amount": 100},
    "two": {"title": "Elm", "owner_id": 3},
    "other": {"amount": 200},
    "clash": {"lost_reason": "budget"},
    "new": {"account_id": 1, "title": "Birch pilot", "owner_id": 2},
}
NOTES: dict[str, Any] = {
    **DEALS,
    "table": "deals",
    "own": ("add_note", {"deal_id": 1, "body": "spoke"}),
    "again": ("add_note", {"deal_id": 2, "body": "wrote"}),
}
APPROVALS: dict[str, Any] = {
    "own": ("request_approval", {"deal_id": 2, "discount_pct": 20}),
    "again": ("request_approval", {"deal_id": 2, "discount_pct": 25}),
    "one": {"decided_by": 2},
    "two": {"decided_by": 3},
    "other": {},
    "clash": {"decided_by": 3},
    "new": {"deal_id": 1, "discount_pct": 5},
}

PROBES = {
    probe.view: probe
    for probe in (
        # Every call reads the caller's own row.
        Probe(view="users.auth", read=("get_deal", {"deal_id": 1}), **USERS),
        Probe(
            view="users.detail",
            read=("get_user", {"user_id": 1}),
            missing=("get_user", {"user_id": 4}),
            **USERS,
        ),
        Probe(
            view="accounts.detail",
            read=("get_account", {"account_id": 1}),
            missing=("get_account", {"account_id": 3}),
            **ACCOUNTS,
        ),
        Probe(view="accounts.list", read=("list_accounts", {}), **ACCOUNTS),
        Probe(view="accounts.search", read=("search_accounts", {"text": "birch"}), **ACCOUNTS),
        Probe(view="accounts.feed", read=("account_changes", {}), **ACCOUNTS),
        Probe(
            view="contacts.detail",
            read=("get_contact", {"contact_id": 1}),
            missing=("get_contact", {"contact_id": 3}),
            **CONTACTS,
        ),
        Probe(view="contacts.search", read=("search_contacts", {"text": "birch"}), **CONTACTS),
        Probe(
            view="deals.detail",
            read=("get_deal", {"deal_id": 1}),
            missing=("get_deal", {"deal_id": 3}),
            **DEALS,
        ),
        Probe(view="deals.list", read=("list_deals", {"owner_id": 2}), **DEALS),
        Probe(view="deals.search", read=("search_deals", {"text": "birch"}), **DEALS),
        Probe(view="deals.feed", read=("deal_changes", {}), **DEALS),
        Probe(view="deals.export", read=("export_deals", {"since": AT}), **DEALS),
        Probe(view="activities.list", read=("list_activities", {"deal_id": 1}), **NOTES),
        Probe(
            view="approvals.detail",
            read=("get_approval", {"approval_id": 1}),
            missing=("get_approval", {"approval_id": 3}),
            **APPROVALS,
        ),
    )
}

READS = (1.0, 3.0, 5.3, 6.0, 9.0, 20.0, 31.0, 41.0, 52.0, 62.0)
"""Seconds at which the agent reads; at 2 and at 70 it asks for what doesn't exist before
50, at 40 and at 76 it writes."""
OWN_AT, MISSING_AT, AGAIN_AT, END_AT = 40.0, 2.0, 76.0, 80.0


class Script(Scenario["Lab"]):
    """The agent's script is the caller's; the rival's follows from the probe."""

    id = "lab/script"
    doc = "nothing has to be done"
    profile = "bare"
    epoch = EPOCH
    steps_max = 40
    ticks_max = 2 * HOUR
    policies: ClassVar = {}

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        stamp: dict[str, Any] = {"created_at": EPOCH - HOUR, "updated_at": EPOCH - HOUR}
        return {
            "users": [User(id=i, full_name=f"user {i}", role="admin", **stamp) for i in (1, 2, 3)],
            "accounts": [
                Account(id=1, title="Birch", domain="1.example", owner_id=2, **stamp),
                Account(id=2, title="Cedar", domain="2.example", owner_id=2, **stamp),
            ],
            "contacts": [
                Contact(id=1, full_name="A Birch", email="1@x.example", account_id=1, **stamp),
                Contact(id=2, full_name="B Cedar", email="2@x.example", account_id=1, **stamp),
            ],
            "deals": [
                Deal(id=1, account_id=1, title="Birch renewal", owner_id=2, **stamp),
                Deal(id=2, account_id=1, title="Cedar renewal", owner_id=3, **stamp),
            ],
            "activities": [
                Activity(id=1, deal_id=1, kind="call", at=EPOCH - HOUR, author_id=2, **stamp)
            ],
            "approvals": [ApprovalRequest(id=1, deal_id=1, discount_pct=20, **stamp)],
        }

    def draw(self, drawing: Drawing) -> None:
        drawing.pick("probe", tuple(PROBES))
        drawing.pick("rival", tuple(RIVALS))

    def start(self, product: Lab, instance: Instance) -> int:
        # Whoever looks at the view of permissions looks at its own row.
        return 1 if instance["probe"] == "users.auth" else 3

    def people(self, product: Lab, instance: Instance) -> None:
        probe = PROBES[str(instance["probe"])]
        rival = Actor(product.world, "rival", 2)
        third = Actor(product.world, "third", 2)
        for number, (at, what, arguments) in enumerate(RIVALS[str(instance["rival"])](probe)):
            actor = third if arguments.get("tx") == "third" else rival
            steps = act(product, actor, at, what, arguments)
            product.world.spawn(f"rival/{number}", steps)

    def prompt(self, instance: Instance) -> str:
        return "Read."

    def brief(self, instance: Instance) -> dict[str, Any]:
        return {}

    def goal(self, product: Lab, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        return (Criterion("it has ended", ending.message == "over", "the end"),)


Timed = tuple[float, str, dict[str, Any]]


def opened(probe: Probe) -> list[Timed]:
    """Update in transactions that stay open for a while, make a row, write notes."""
    row = {"table": probe.place, "id": 1}
    kind = probe.view.partition(".")[2]
    view = f"{probe.place}.{kind if kind in ('auth', 'detail') else 'detail'}"
    notes: list[Timed] = [
        (at, "add_note", {"deal_id": deal, "body": "me too"})
        for at, deal in ((3.5, 1), (8.5, 1), (22.0, 2))
    ]
    return [
        (4.8, "db.begin", {"tx": "one"}),
        (5.0, "db.update", {"tx": "one", **row, "fields": dict(probe.one)}),
        (5.1, "db.read", {"tx": "one", "view": view, "id": 1}),
        (5.6, "db.commit", {"tx": "one"}),
        *(changed(25.0, "other", {**row, "id": 2}, probe.other) if probe.other else []),
        (49.8, "db.begin", {"tx": "new"}),
        (50.0, "db.insert", {"tx": "new", "table": probe.place, "fields": dict(probe.new)}),
        (50.1, "db.commit", {"tx": "new"}),
        *changed(60.0, "two", row, probe.two),
        *notes,
    ]


def changed(at: float, tx: str, row: dict[str, Any], fields: Mapping[str, Any]) -> list[Timed]:
    """Update one row in a transaction of 0.4 s."""
    return [
        (at - 0.2, "db.begin", {"tx": tx}),
        (at, "db.update", {"tx": tx, **row, "fields": dict(fields)}),
        (at + 0.2, "db.commit", {"tx": tx}),
    ]


def called(probe: Probe) -> list[Timed]:
    """Write the agent's column before and during its own write, then keep the row locked."""
    row = {"table": probe.place, "id": 1}
    tool, arguments = probe.again
    return [
        *changed(38.0, "clash", row, probe.clash),
        *changed(38.5, "one", row, probe.one),
        (40.5, tool, dict(arguments)),
        (44.8, "db.begin", {"tx": "long"}),
        (45.0, "db.lock", {"tx": "long", **row}),
        (76.5, "db.begin", {"tx": "third"}),
        (77.0, "db.update", {"tx": "third", **row, "fields": dict(probe.one)}),
        (78.0, "db.commit", {"tx": "third"}),
        (85.0, "db.rollback", {"tx": "long"}),
    ]


def leased(probe: Probe) -> list[Timed]:
    """Take the lease of the table, and write under it: early, and long after it has ended."""
    return [
        (1.5, "lease.acquire", {"table": probe.place}),
        *changed(50.0, "late", {"table": probe.place, "id": 1}, probe.one),
    ]


RIVALS = {"open": opened, "calls": called, "lease": leased}


def act(
    product: Lab, rival: Actor, at: float, what: str, arguments: dict[str, Any]
) -> Generator[Any, Any, None]:
    """Do one thing at its time; a refusal is an answer."""
    yield product.world.timer(int(at * 1_000) * MS)
    try:
        if what in product.operations:
            yield from product.perform(rival, what, arguments)
        else:
            yield from product.request(rival, what, **arguments)
    except Refused:
        return


class Lab(Crm):
    """The CRM with a script for a scenario."""

    name = "lab"
    scenarios = (Script(),)
