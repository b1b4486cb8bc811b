"""The negotiation scenario of the CRM in idiomatic SimPy, for comparing speed.

The same scenario, rules, people and policy as `models/crm`, written the way SimPy's documentation
suggests: one `Environment` an episode, float seconds, processes, `Resource` for the API workers and
the row locks, a numpy `Generator` for everything drawn. Nothing is recorded. It imports nothing of
the project, was written first and then frozen: don't tune it, and don't keep it in step with the
models beyond what makes the outcomes comparable.
"""

# SimPy leaves the parameters of its requests and callbacks open.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import simpy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence

    from simpy.events import Event

    Process = Generator[Event, Any, Any]

T = TypeVar("T")
Row = dict[str, Any]
"""A row is never changed in place: a commit puts a new one in its stead, so rows can be shared."""
Rows = dict[int, Row]

# --- the company --------------------------------------------------------------------------------

DAY = 86_400.0
FIRST = (  # noqa: SIM905
    "Ada Ben Carla Deniz Elif Farid Greta Hugo Ines Jamal Kaya Lena Malik Nora Omar Petra Quinn "
    "Rosa Sami Tessa Umar Vera Wanda Xenia Yusuf Zoe"
).split()
LAST = (  # noqa: SIM905
    "Abel Brandt Costa Duarte Evans Fischer Gomez Huber Ivanov Jansen Keller Lopez Meyer Novak "
    "Okafor Pires Quist Reyes Sato Tanaka Urban Vogel Weiss Young Zeman"
).split()
COMPANIES = (  # noqa: SIM905
    "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Iris Juniper Katsura Linden Maple Nutmeg Oak "
    "Pine Quince Rowan Spruce Teak Umbra Vine Willow Yew"
).split()
INDUSTRIES = ("logistics", "retail", "energy", "health", "media", "finance")
THINGS = (
    "licences",
    "renewal",
    "rollout",
    "support plan",
    "migration",
    "pilot",
    "training",
    "expansion",
)
NEXT_STEPS = (
    "call back",
    "send slides",
    "book a demo",
    "wait for reply",
    "check budget",
    "meet on site",
)
ROLES = ("buyer", "finance", "engineering")
REPS = 6
MANAGERS = 2
ACCOUNTS = len(COMPANIES)
CONTACTS_EACH = 3
CONTACTS = ACCOUNTS * CONTACTS_EACH
DEALS = 84

OPEN_STAGES = ("prospecting", "qualification", "proposal", "negotiation")
MOVES: dict[str, tuple[str, ...]] = {
    "prospecting": ("qualification", "closed_lost"),
    "qualification": ("prospecting", "proposal", "closed_lost"),
    "proposal": ("qualification", "negotiation", "closed_lost"),
    "negotiation": ("qualification", "proposal", "closed_won", "closed_lost"),
    "closed_won": (),
    "closed_lost": (),
}
DISCOUNT_FREE = 15
PAGE = 20

# --- how it is set up: times in seconds ---------------------------------------------------------

API_LATENCY = (0.004, 0.030)
DB_LATENCY = (0.002, 0.012)
PUT_LATENCY = (0.001, 0.005)
API_WORKERS = 8
TEAM = 20
THINK_MEAN = 40.0
AGENT_THINK = (1.0, 9.0)

POLL_SECONDS = 60
PATIENCE_SECONDS = 360
BUSY_SECONDS = 5


class Draws:
    """Draws of one world, taken from numpy by the block."""

    BLOCK = 256

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.random = self._blocks(rng.random).__next__
        """Uniform in [0, 1)."""
        self._exponential = self._blocks(rng.standard_exponential).__next__

    def _blocks(self, draw: Callable[[int], Any]) -> Iterator[float]:
        while True:
            yield from draw(self.BLOCK).tolist()

    def uniform(self, bounds: tuple[float, float]) -> float:
        low, high = bounds
        return low + (high - low) * self.random()

    def exponential(self, mean: float) -> float:
        return mean * self._exponential()

    def below(self, number: int) -> int:
        return int(self.random() * number)

    def between(self, low: int, high: int) -> int:
        return low + int(self.random() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def weighted(self, options: Sequence[T], cumulative: Sequence[int]) -> T:
        return options[bisect_right(cumulative, self.random() * cumulative[-1])]


@cache
def base_rows() -> dict[str, Rows]:
    """Build the rows that all episodes start from."""
    draws = Draws(20260302)
    stamp: Row = {"version": 1, "created_at": -90 * DAY, "updated_at": -2 * DAY}
    users: Rows = {}
    for i in range(1, REPS + MANAGERS + 2):
        users[i] = {
            "id": i,
            "full_name": f"{FIRST[i]} {LAST[i * 3 % len(LAST)]}",
            "role": "rep" if i <= REPS else "manager" if i <= REPS + MANAGERS else "admin",
            "active": True,
            "grants": (),
            **stamp,
        }
    accounts: Rows = {}
    contacts: Rows = {}
    for i, title in enumerate(COMPANIES, 1):
        domain = f"{title.lower()}.example"
        accounts[i] = {
            "id": i,
            "title": f"{title} Ltd",
            "domain": domain,
            "industry": draws.pick(INDUSTRIES),
            "owner_id": draws.between(1, REPS),
            "active": True,
            **stamp,
        }
        for j, role in enumerate(ROLES):
            key = (i - 1) * CONTACTS_EACH + j + 1
            first, last = draws.pick(FIRST), draws.pick(LAST)
            contacts[key] = {
                "id": key,
                "account_id": i,
                "full_name": f"{first} {last}",
                "email": f"{first}.{last}.{key}@{domain}".lower(),
                "role": role,
                "status": "active",
                **stamp,
            }
    deals: Rows = {}
    activities: Rows = {}
    for i in range(1, DEALS + 1):
        account = accounts[draws.between(1, ACCOUNTS)]
        stage = draws.pick((*OPEN_STAGES, *OPEN_STAGES, "closed_won", "closed_lost"))
        deals[i] = {
            "id": i,
            "account_id": account["id"],
            "title": f"{account['title']} {draws.pick(THINGS)}",
            "stage": stage,
            "amount": draws.between(10, 499) * 100_00,
            "currency": "USD",
            "close_on": draws.between(10, 99) * DAY,
            "owner_id": draws.between(1, REPS),
            "next_step": draws.pick(NEXT_STEPS),
            "discount_pct": draws.below(16),
            "approval": "none",
            "legal": "cleared" if stage == "closed_won" else "none",
            "budget": "confirmed",
            "champion_id": (account["id"] - 1) * CONTACTS_EACH + 1,
            "lost_reason": "price" if stage == "closed_lost" else "",
            **stamp,
        }
        activities[i] = {
            "id": i,
            "deal_id": i,
            "kind": "call",
            "subject": "first call",
            "body": "",
            "author_id": 1,
            "at": -20 * DAY,
            "done": True,
            **stamp,
        }
    return {
        "users": users,
        "accounts": accounts,
        "contacts": contacts,
        "deals": deals,
        "activities": activities,
    }


# --- the rules ----------------------------------------------------------------------------------


class Next(NamedTuple):
    """What a deal in negotiation calls for: a move, what has to be done before, and with what."""

    move: str
    first: str
    detail: str = ""


def next_move(deal: Row, champion: Row | None, colleagues: Iterable[Row]) -> Next:
    """Read the rule table for the facts of a deal."""
    if deal["budget"] == "gone":
        return Next("closed_lost", "lost_reason", "budget")
    if deal["legal"] == "blocked":
        return Next("closed_lost", "lost_reason", "legal")
    if deal["legal"] == "none":
        return Next("", "legal")
    if deal["legal"] == "in_review":
        return Next("", "wait", "legal")
    if deal["discount_pct"] > DISCOUNT_FREE:
        if deal["approval"] == "none":
            return Next("", "approval")
        if deal["approval"] == "pending":
            return Next("", "wait", "approval")
        if deal["approval"] == "rejected":
            return Next("proposal", "quote")
    if champion is None or champion["status"] != "active":
        if any(row["status"] == "active" for row in colleagues):
            return Next("", "champion")
        return Next("qualification", "task")
    return Next("closed_won", "contract")


# --- tables and caches --------------------------------------------------------------------------


class Cache:
    """A view of a table, kept for a while."""

    def __init__(self, env: simpy.Environment, ttl: float) -> None:
        self.env = env
        self.ttl = ttl
        self.entries: dict[Hashable, tuple[float, Any]] = {}
        self.generation = 0
        """Counts the invalidations, so that a put can tell that its value may be outdated."""

    def get(self, key: Hashable) -> Any:
        """Give what is kept for a key, or None."""
        entry = self.entries.get(key)
        if entry is None or entry[0] <= self.env.now:
            return None
        return entry[1]

    def put_later(self, key: Hashable, value: Any, delay: float) -> None:
        """Keep a value once the put has gone through, unless a commit came in between."""
        generation = self.generation

        def put(_: Event) -> None:
            if self.generation == generation:
                self.entries[key] = (self.env.now + self.ttl, value)

        self.env.timeout(delay).callbacks.append(put)

    def drop(self, key: Hashable) -> None:
        """Forget one key."""
        self.generation += 1
        self.entries.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        self.generation += 1
        self.entries.clear()


class Table:
    """The rows of a table with their locks and views: by id, and by query."""

    def __init__(
        self,
        env: simpy.Environment,
        rows: Rows,
        detail: float | None = None,
        listing: float | None = None,
    ) -> None:
        self.env = env
        self.rows = dict(rows)
        self.detail = None if detail is None else Cache(env, detail)
        self.listing = None if listing is None else Cache(env, listing)
        self._locks: dict[int, simpy.Resource] = {}

    def lock(self, key: int) -> simpy.Resource:
        """Give the lock of a row."""
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = simpy.Resource(self.env, capacity=1)
        return lock

    def insert(self, values: Row) -> Row:
        """Commit a new row."""
        now = self.env.now
        row = {
            "id": len(self.rows) + 1,
            **values,
            "version": 1,
            "created_at": now,
            "updated_at": now,
        }
        self._commit(row)
        return row

    def update(self, key: int, changes: Row) -> Row:
        """Commit changes of a row."""
        old = self.rows[key]
        row = {**old, **changes, "version": old["version"] + 1, "updated_at": self.env.now}
        self._commit(row)
        return row

    def _commit(self, row: Row) -> None:
        self.rows[row["id"]] = row
        if self.detail is not None:
            self.detail.drop(row["id"])
        if self.listing is not None:
            self.listing.clear()


# --- the product --------------------------------------------------------------------------------


class Refused(Exception):  # noqa: N818  (an answer, no failure)
    """The answer to a call that the CRM doesn't let through."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call."""

    user_id: int
    is_agent: bool = False


class Move(NamedTuple):
    """A stage change by the agent, with what the rules called for when it was committed."""

    old: Row
    new: Row
    wanted: Next


class Crm:
    """The tables and tools of one world. Tools are generators, to be run by `request`."""

    def __init__(self, env: simpy.Environment, draws: Draws) -> None:
        base = base_rows()
        self.env = env
        self.draws = draws
        self.workers = simpy.Resource(env, capacity=API_WORKERS)
        self.users = Table(env, base["users"], detail=300)
        self.accounts = Table(env, base["accounts"], detail=600, listing=60)
        self.contacts = Table(env, base["contacts"], detail=300, listing=60)
        self.deals = Table(env, base["deals"], detail=120, listing=60)
        self.activities = Table(env, base["activities"], listing=60)
        self.approvals = Table(env, {}, detail=60)
        self.emails = Table(env, {})
        self.quotes = Table(env, {})
        self.on_legal_review: Callable[[int], None] = lambda deal_id: None
        self.on_approval_request: Callable[[Row], None] = lambda approval: None
        # What the goal check looks at.
        self.moves: list[Move] = []
        self.agent_writes: list[tuple[str, Row]] = []
        self.undeliverable: list[tuple[int, int | None]] = []
        self.tools: dict[str, Callable[..., Process]] = {
            "get_account": self.get_account,
            "list_accounts": self.list_accounts,
            "get_contact": self.get_contact,
            "search_contacts": self.search_contacts,
            "get_deal": self.get_deal,
            "list_deals": self.list_deals,
            "update_deal": self.update_deal,
            "move_stage": self.move_stage,
            "list_activities": self.list_activities,
            "add_note": self.add_note,
            "log_activity": self.log_activity,
            "send_email": self.send_email,
            "create_quote": self.create_quote,
            "request_approval": self.request_approval,
            "get_approval": self.get_approval,
        }

    def request(self, caller: Caller, tool: str, **arguments: Any) -> Process:
        """Make one call; gives its answer or raises `Refused`."""
        with self.workers.request() as worker:
            yield worker
            yield self.env.timeout(self.draws.uniform(API_LATENCY))
            user = yield from self._read(self.users, caller.user_id)
            if user is None or not user["active"]:
                raise Refused("unauthorized", "you are not an active user")
            return (yield from self.tools[tool](caller, **arguments))

    # --- reading

    def db(self) -> Event:
        """Wait for the database."""
        return self.env.timeout(self.draws.uniform(DB_LATENCY))

    def _read(self, table: Table, key: int) -> Process:
        view = table.detail
        assert view is not None
        row = view.get(key)
        if row is None:
            yield self.db()
            row = table.rows.get(key)
            if row is not None:
                view.put_later(key, row, self.draws.uniform(PUT_LATENCY))
        return row

    def _found(self, table: Table, kind: str, key: int) -> Process:
        row = yield from self._read(table, key)
        if row is None:
            raise Refused("not_found", f"no {kind} {key}")
        return row

    def _query(self, table: Table, key: Hashable, matches: Callable[[Row], bool]) -> Process:
        view = table.listing
        assert view is not None
        rows = view.get(key)
        if rows is None:
            yield self.db()
            rows = [row for row in table.rows.values() if matches(row)]
            view.put_later(key, rows, self.draws.uniform(PUT_LATENCY))
        return rows

    def _row_for_update(self, deal_id: int, if_version: int | None = None) -> Process:
        yield self.db()
        deal = self.deals.rows.get(deal_id)
        if deal is None:
            raise Refused("not_found", f"no deal {deal_id}")
        if if_version is not None and deal["version"] != if_version:
            raise Refused("conflict", f"deal {deal_id} has version {deal['version']}")
        return deal

    def _wrote(self, caller: Caller, table: str, row: Row) -> None:
        if caller.is_agent:
            self.agent_writes.append((table, row))

    # --- accounts and contacts

    def get_account(self, caller: Caller, account_id: int) -> Process:
        return (yield from self._found(self.accounts, "account", account_id))

    def list_accounts(self, caller: Caller, page: int = 1) -> Process:
        rows = yield from self._query(self.accounts, "all", lambda row: True)
        return paged("accounts", rows, page)

    def get_contact(self, caller: Caller, contact_id: int) -> Process:
        return (yield from self._found(self.contacts, "contact", contact_id))

    def search_contacts(
        self, caller: Caller, email: str | None = None, text: str | None = None
    ) -> Process:
        if email is None and text is None:
            raise Refused("invalid_arguments", "give email or text")
        needle = text.lower() if text is not None else ""

        def matches(row: Row) -> bool:
            if email is not None and row["email"] != email:
                return False
            return (
                needle in row["full_name"].lower()
                or needle in row["email"].lower()
                or needle in row["role"].lower()
            )

        rows = yield from self._query(self.contacts, (email, text), matches)
        return paged("contacts", rows, 1)

    # --- deals

    def get_deal(self, caller: Caller, deal_id: int) -> Process:
        return (yield from self._found(self.deals, "deal", deal_id))

    def list_deals(
        self,
        caller: Caller,
        stage: str | None = None,
        owner_id: int | None = None,
        page: int = 1,
    ) -> Process:
        def matches(row: Row) -> bool:
            return (stage is None or row["stage"] == stage) and (
                owner_id is None or row["owner_id"] == owner_id
            )

        rows = yield from self._query(self.deals, (stage, owner_id), matches)
        return paged("deals", rows, page)

    def update_deal(
        self, caller: Caller, deal_id: int, fields: Row, if_version: int | None = None
    ) -> Process:
        champion_id = fields.get("champion_id")
        if champion_id is not None and champion_id not in self.contacts.rows:
            raise Refused("invalid_arguments", f"there is no contact {champion_id}")
        if "discount_pct" in fields and not 0 <= fields["discount_pct"] <= 100:
            raise Refused("invalid_arguments", "discount_pct is a percentage from 0 to 100")
        with self.deals.lock(deal_id).request() as lock:
            yield lock
            deal = yield from self._row_for_update(deal_id, if_version)
            if deal["stage"] not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
            legal = fields.get("legal")
            if legal == "in_review" and deal["legal"] != "none":
                raise Refused("forbidden", f"legal has deal {deal_id} already: {deal['legal']}")
            if legal == "none" and deal["legal"] != "none":
                raise Refused("forbidden", "only legal can take that back")
            changes = fields
            if fields.get("discount_pct", deal["discount_pct"]) != deal["discount_pct"]:
                changes = {**fields, "approval": "none"}  # an approval is for one discount
            row = self.deals.update(deal_id, changes)
        self._wrote(caller, "deals", row)
        if legal == "in_review":
            self.on_legal_review(deal_id)
        return row

    def move_stage(
        self, caller: Caller, deal_id: int, to_stage: str, if_version: int | None = None
    ) -> Process:
        with self.deals.lock(deal_id).request() as lock:
            yield lock
            deal = yield from self._row_for_update(deal_id, if_version)
            if to_stage not in MOVES[deal["stage"]]:
                raise Refused("forbidden", f"a deal in {deal['stage']} can't go to {to_stage}")
            if to_stage == "closed_won":
                self._require_winnable(deal)
            if to_stage == "closed_lost" and not deal["lost_reason"]:
                raise Refused("forbidden", "set lost_reason first")
            row = self.deals.update(deal_id, {"stage": to_stage})
        self._wrote(caller, "deals", row)
        if caller.is_agent:
            contacts = self.contacts.rows
            account_id = deal["account_id"]
            colleagues = [c for c in contacts.values() if c["account_id"] == account_id]
            wanted = next_move(deal, contacts.get(deal["champion_id"]), colleagues)
            self.moves.append(Move(deal, row, wanted))
        return row

    def _require_winnable(self, deal: Row) -> None:
        champion = self.contacts.rows.get(deal["champion_id"])
        if deal["legal"] != "cleared":
            raise Refused("forbidden", f"legal hasn't cleared the deal: {deal['legal']}")
        if deal["discount_pct"] > DISCOUNT_FREE and deal["approval"] != "approved":
            raise Refused("forbidden", f"the discount needs approval: {deal['approval']}")
        if champion is None or champion["status"] != "active":
            raise Refused("forbidden", "the deal has no active champion")

    # --- activities, mail, quotes, approvals

    def list_activities(self, caller: Caller, deal_id: int) -> Process:
        rows = yield from self._query(
            self.activities, deal_id, lambda row: bool(row["deal_id"] == deal_id)
        )
        return paged("activities", rows, 1)

    def add_note(self, caller: Caller, deal_id: int, body: str) -> Process:
        return (yield from self.log_activity(caller, deal_id, "note", "", body))

    def log_activity(
        self, caller: Caller, deal_id: int, kind: str, subject: str, body: str
    ) -> Process:
        if deal_id not in self.deals.rows:
            raise Refused("not_found", f"no deal {deal_id}")
        yield self.db()
        row = self.activities.insert(
            {
                "deal_id": deal_id,
                "kind": kind,
                "subject": subject,
                "body": body,
                "author_id": caller.user_id,
                "at": self.env.now,
                "done": kind != "task",
            }
        )
        self._wrote(caller, "activities", row)
        return row

    def send_email(
        self,
        caller: Caller,
        contact_id: int,
        template: str,
        subject: str,
        body: str,
        deal_id: int | None = None,
    ) -> Process:
        yield self.db()
        contact = self.contacts.rows.get(contact_id)
        if contact is None:
            raise Refused("not_found", f"no contact {contact_id}")
        if deal_id is not None and deal_id not in self.deals.rows:
            raise Refused("not_found", f"no deal {deal_id}")
        if contact["status"] != "active":
            if caller.is_agent:
                self.undeliverable.append((contact_id, deal_id))
            raise Refused("undeliverable", f"contact {contact_id}: {contact['status']}")
        row = self.emails.insert(
            {
                "contact_id": contact_id,
                "deal_id": deal_id,
                "template": template,
                "subject": subject,
                "body": body,
                "at": self.env.now,
            }
        )
        self._wrote(caller, "emails", row)
        return row

    def create_quote(self, caller: Caller, deal_id: int, discount_pct: int) -> Process:
        if not 0 <= discount_pct <= 100:
            raise Refused("invalid_arguments", "discount_pct is a percentage from 0 to 100")
        yield self.db()
        deal = self.deals.rows.get(deal_id)
        if deal is None:
            raise Refused("not_found", f"no deal {deal_id}")
        row = self.quotes.insert(
            {
                "deal_id": deal_id,
                "total": deal["amount"] * (100 - discount_pct) // 100,
                "currency": deal["currency"],
                "discount_pct": discount_pct,
                "status": "open",
            }
        )
        self._wrote(caller, "quotes", row)
        return row

    def request_approval(self, caller: Caller, deal_id: int, discount_pct: int) -> Process:
        if not 0 <= discount_pct <= 100:
            raise Refused("invalid_arguments", "discount_pct is a percentage from 0 to 100")
        with self.deals.lock(deal_id).request() as lock:
            yield lock
            deal = yield from self._row_for_update(deal_id)
            if deal["stage"] not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
            if deal["approval"] == "pending":
                raise Refused("conflict", "a request for this deal is pending")
            changes = {"approval": "pending", "discount_pct": discount_pct}
            row = self.deals.update(deal_id, changes)
            approval = self.approvals.insert(
                {
                    "deal_id": deal_id,
                    "discount_pct": discount_pct,
                    "status": "pending",
                    "decided_by": None,
                }
            )
        self._wrote(caller, "deals", row)
        self._wrote(caller, "approvals", approval)
        self.on_approval_request(approval)
        return approval

    def get_approval(self, caller: Caller, approval_id: int) -> Process:
        return (yield from self._found(self.approvals, "approval", approval_id))


def paged(name: str, rows: list[Row], page: int) -> dict[str, Any]:
    """Cut one page out of the rows."""
    start = (page - 1) * PAGE
    return {name: rows[start : start + PAGE], "page": page, "total": len(rows)}


# --- the instance -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Story:
    """Which deal it is, its facts at the start, and what becomes of them."""

    deal: int
    owner: int
    legal: str
    legal_answer: str
    legal_after: int
    discount_pct: int
    approval: str
    approval_answer: str
    approval_after: int
    champion: str
    champion_at: int
    successor: str
    budget: str
    budget_at: int


def draw_story(draws: Draws) -> Story:
    """Draw an instance."""

    def pick(options: tuple[str, ...], weights: tuple[int, ...]) -> str:
        return draws.weighted(options, tuple(accumulate(weights)))

    over = pick(("free", "over"), (50, 50)) == "over"
    approval = pick(("none", "pending", "approved", "rejected"), (45, 25, 20, 10))
    return Story(
        deal=draws.between(1, DEALS),
        owner=draws.between(1, REPS),
        legal=pick(("none", "in_review", "cleared", "blocked"), (35, 35, 24, 6)),
        legal_answer=pick(("cleared", "blocked"), (78, 22)),
        legal_after=draws.between(20, 150),
        discount_pct=draws.between(DISCOUNT_FREE + 1, 40)
        if over
        else draws.between(0, DISCOUNT_FREE),
        approval=approval if over else "none",
        approval_answer=pick(("approved", "rejected"), (70, 30)),
        approval_after=draws.between(20, 150),
        champion=pick(("stays", "left", "leaves"), (60, 20, 20)),
        champion_at=draws.between(10, 100),
        successor=pick(("yes", "no"), (65, 35)),
        budget=pick(("stays", "gone", "goes"), (82, 8, 10)),
        budget_at=draws.between(10, 120),
    )


def set_up(crm: Crm, story: Story) -> None:
    """Put the deal into negotiation with the facts of the instance."""
    deals = crm.deals.rows
    deal = deals[story.deal]
    deals[story.deal] = {
        **deal,
        "stage": "negotiation",
        "owner_id": story.owner,
        "legal": story.legal,
        "discount_pct": story.discount_pct,
        "approval": story.approval,
        "budget": "gone" if story.budget == "gone" else "confirmed",
        "lost_reason": "",
    }
    if story.approval == "pending":
        crm.approvals.insert(
            {
                "deal_id": story.deal,
                "discount_pct": story.discount_pct,
                "status": "pending",
                "decided_by": None,
            }
        )
    contacts = crm.contacts.rows
    first = (deal["account_id"] - 1) * CONTACTS_EACH + 1
    for key in range(first, first + CONTACTS_EACH):
        if story.champion == "left" if key == first else story.successor == "no":
            contacts[key] = {**contacts[key], "status": "left" if key % 2 else "bounced"}


# --- the people ---------------------------------------------------------------------------------

HABITS = {
    "read a deal": 34,
    "list a stage": 8,
    "list a book": 4,
    "read a contact": 14,
    "plan the next step": 20,
    "write a note": 8,
    "look at the account": 8,
    "touch the busy deal": 4,
}
_HABITS = tuple(HABITS)
_HABIT_WEIGHTS = tuple(accumulate(HABITS.values()))


def rep(crm: Crm, user_id: int, busy_deal: int) -> Process:
    """Work on a book of one's own for ever."""
    env, draws = crm.env, crm.draws
    caller = Caller(user_id)
    while True:
        yield env.timeout(draws.exponential(THINK_MEAN))
        with suppress(Refused):  # somebody else was faster; it can wait
            yield from habit(crm, caller, busy_deal)


def habit(crm: Crm, caller: Caller, busy_deal: int) -> Process:
    """Do one of the things that a rep does."""
    draws = crm.draws
    what = draws.weighted(_HABITS, _HABIT_WEIGHTS)
    deal_id = draws.between(1, DEALS)
    if what == "read a deal":
        yield from crm.request(caller, "get_deal", deal_id=deal_id)
    elif what == "list a stage":
        yield from crm.request(caller, "list_deals", stage=draws.pick(OPEN_STAGES))
    elif what == "list a book":
        yield from crm.request(caller, "list_deals", owner_id=caller.user_id)
    elif what == "read a contact":
        yield from crm.request(caller, "get_contact", contact_id=1 + (deal_id - 1) % CONTACTS)
    elif what == "write a note":
        yield from crm.request(caller, "add_note", deal_id=deal_id, body="spoke to them")
    elif what == "look at the account":
        yield from crm.request(caller, "get_account", account_id=1 + deal_id % ACCOUNTS)
    else:
        if what == "touch the busy deal":
            deal_id = busy_deal
        elif deal_id == busy_deal:
            deal_id = deal_id % DEALS + 1
        step = draws.pick(NEXT_STEPS)
        deal = yield from crm.request(caller, "get_deal", deal_id=deal_id)
        if deal["stage"] in OPEN_STAGES:
            yield from crm.request(
                caller,
                "update_deal",
                deal_id=deal_id,
                fields={"next_step": step},
                if_version=deal["version"],
            )


class Customers:
    """Those whose answers make the facts of the deal."""

    def __init__(self, crm: Crm, story: Story) -> None:
        self.crm = crm
        self.story = story
        self._answering = False
        crm.on_legal_review = self._hear
        if story.legal == "in_review":
            self._hear(story.deal)
        if story.champion == "leaves":
            changes = {"next_step": "the champion has left"}
            crm.env.process(self._write(story.champion_at, changes, champion_leaves=True))
        if story.budget == "goes":
            crm.env.process(self._write(story.budget_at, {"budget": "gone"}))

    def _hear(self, deal_id: int) -> None:
        if deal_id == self.story.deal and not self._answering:
            self._answering = True
            changes = {"legal": self.story.legal_answer}
            self.crm.env.process(self._write(self.story.legal_after, changes))

    def _write(self, delay: float, changes: Row, champion_leaves: bool = False) -> Process:
        crm = self.crm
        deal_id = self.story.deal
        yield crm.env.timeout(delay)
        with crm.deals.lock(deal_id).request() as lock:
            yield lock
            yield crm.db()
            deal = crm.deals.rows[deal_id]
            if deal["stage"] in OPEN_STAGES:
                if champion_leaves:
                    crm.contacts.update(deal["champion_id"], {"status": "left"})
                crm.deals.update(deal_id, changes)


class Managers:
    """Decide every request for approval some time after it was made."""

    def __init__(self, crm: Crm, story: Story) -> None:
        self.crm = crm
        self.story = story
        crm.on_approval_request = self._hear
        for row in crm.approvals.rows.values():
            self._hear(row)

    def _hear(self, approval: Row) -> None:
        self.crm.env.process(self._decide(approval["id"], approval["deal_id"]))

    def _decide(self, approval_id: int, deal_id: int) -> Process:
        crm, story = self.crm, self.story
        if deal_id == story.deal:
            delay, answer = story.approval_after, story.approval_answer
        else:
            delay = crm.draws.between(20, 150)
            answer = crm.draws.pick(("approved", "rejected"))
        yield crm.env.timeout(delay)
        with crm.deals.lock(deal_id).request() as lock:
            yield lock
            yield crm.db()
            crm.approvals.update(approval_id, {"status": answer, "decided_by": REPS + 1})
            crm.deals.update(deal_id, {"approval": answer})


# --- policies -----------------------------------------------------------------------------------


class Call(NamedTuple):
    """What a policy does next; `wait` and `finish` are no tools of the product."""

    tool: str
    arguments: dict[str, Any]


class Told(NamedTuple):
    """What came of it."""

    value: Any = None
    error: str = ""


class Impatient(Exception):  # noqa: N818  (ends the play, no failure)
    """An answer that should have come hasn't."""


def null(deal_id: int) -> Generator[Call, Told, None]:
    """Do nothing."""
    yield Call("finish", {"message": "", "outcome": "done"})


def expert(deal_id: int) -> Generator[Call, Told, None]:
    """Work the deal by the rule table, from what it is shown and nothing else."""
    try:
        message = yield from work(deal_id)
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call("finish", {"message": message, "outcome": "done"})


def work(deal_id: int) -> Generator[Call, Told, str]:
    """Read, decide, act, until the deal has left negotiation."""
    waited: dict[str, int] = {}
    mailed: set[int] = set()
    while True:
        deal = yield from read("get_deal", deal_id=deal_id)
        if deal["stage"] != "negotiation":
            return f"deal {deal_id} is in {deal['stage']}"
        if deal["budget"] == "gone" or deal["legal"] == "blocked":
            reason = "budget" if deal["budget"] == "gone" else "legal"
            yield from lose(deal, reason, waited)
        elif deal["legal"] == "none":
            yield from guarded("update_deal", deal, waited, fields={"legal": "in_review"})
        elif deal["legal"] == "in_review":
            yield from wait_for("legal", waited)
        elif deal["discount_pct"] > DISCOUNT_FREE and deal["approval"] != "approved":
            yield from seek_approval(deal, waited)
        else:
            yield from close_with_champion(deal, waited, mailed)


def lose(deal: Row, reason: str, waited: dict[str, int]) -> Generator[Call, Told, None]:
    """Set the reason, then close the deal as lost."""
    if deal["lost_reason"] != reason:
        changed = yield from guarded("update_deal", deal, waited, fields={"lost_reason": reason})
        if changed is None:
            return
        deal = changed
    yield from guarded("move_stage", deal, waited, to_stage="closed_lost")


def seek_approval(deal: Row, waited: dict[str, int]) -> Generator[Call, Told, None]:
    """Ask for approval, wait for it, or go back to proposal when it was refused."""
    if deal["approval"] == "none":
        arguments = {"deal_id": deal["id"], "discount_pct": deal["discount_pct"]}
        yield from tried("request_approval", arguments, waited)
    elif deal["approval"] == "pending":
        yield from wait_for("approval", waited)
    else:
        arguments = {"deal_id": deal["id"], "discount_pct": DISCOUNT_FREE}
        yield from tried("create_quote", arguments, waited)
        yield from guarded("move_stage", deal, waited, to_stage="proposal")


def close_with_champion(
    deal: Row, waited: dict[str, int], mailed: set[int]
) -> Generator[Call, Told, None]:
    """Make sure of an active champion, mail the contract, win the deal."""
    champion = yield from read("get_contact", contact_id=deal["champion_id"])
    if champion["status"] == "active":
        if champion["id"] not in mailed:
            arguments = {
                "contact_id": champion["id"],
                "template": "contract",
                "subject": f"Contract for {deal['title']}",
                "body": "Please find the contract attached.",
                "deal_id": deal["id"],
            }
            sent = yield from tried("send_email", arguments, waited)
            if sent is None:
                return
            mailed.add(champion["id"])
        yield from guarded("move_stage", deal, waited, to_stage="closed_won")
        return
    account = yield from read("get_account", account_id=deal["account_id"])
    found = yield from read("search_contacts", text=account["domain"])
    active = [row for row in found["contacts"] if row["status"] == "active"]
    if active:
        yield from guarded("update_deal", deal, waited, fields={"champion_id": active[0]["id"]})
        return
    arguments = {
        "deal_id": deal["id"],
        "kind": "task",
        "subject": "find a champion",
        "body": "nobody is left",
    }
    yield from tried("log_activity", arguments, waited)
    yield from guarded("move_stage", deal, waited, to_stage="qualification")


def read(tool: str, **arguments: Any) -> Generator[Call, Told, Any]:
    """Read until there is an answer."""
    for _ in range(8):
        told = yield Call(tool, arguments)
        if not told.error:
            return told.value
        yield Call("wait", {"seconds": BUSY_SECONDS})
    raise Impatient(f"{tool} doesn't answer")


def tried(
    tool: str, arguments: dict[str, Any], waited: dict[str, int]
) -> Generator[Call, Told, Any]:
    """Make one write; gives its answer, or None when it was refused."""
    told = yield Call(tool, arguments)
    if told.error:
        yield from wait_for(tool, waited, BUSY_SECONDS)
        return None
    return told.value


def guarded(
    tool: str, deal: Row, waited: dict[str, int], **arguments: Any
) -> Generator[Call, Told, Any]:
    """Make one write of the deal that rests on the version it was read at."""
    arguments = {"deal_id": deal["id"], **arguments, "if_version": deal["version"]}
    return (yield from tried(tool, arguments, waited))


def wait_for(
    what: str, waited: dict[str, int], seconds: int = POLL_SECONDS
) -> Generator[Call, Told, None]:
    """Let time pass, up to the end of patience with `what`."""
    if waited.get(what, 0) >= PATIENCE_SECONDS:
        raise Impatient(f"no answer from {what} in {PATIENCE_SECONDS // 60} minutes")
    waited[what] = waited.get(what, 0) + seconds
    yield Call("wait", {"seconds": seconds})


POLICIES: dict[str, Callable[[int], Generator[Call, Told, None]]] = {
    "expert": expert,
    "null": null,
}


# --- the goal -----------------------------------------------------------------------------------


def judge(crm: Crm, story: Story) -> float:
    """Give 1.0 if the one move was right by the rules, its act done and nothing else harmed."""
    if len(crm.moves) != 1:
        return 0.0
    move = crm.moves[0]
    right = (
        move.wanted.move == move.new["stage"]
        and required_act_done(crm, story.deal, move)
        and not any(forbidden(table, row, move.old) for table, row in crm.agent_writes)
    )
    return 1.0 if right else 0.0


def required_act_done(crm: Crm, deal_id: int, move: Move) -> bool:
    """Tell whether the act that a move calls for was done."""
    act = move.wanted.first
    writes = crm.agent_writes
    if act == "lost_reason":
        return bool(move.old["lost_reason"] == move.wanted.detail)
    if act == "quote":
        return any(
            table == "quotes" and row["deal_id"] == deal_id and row["discount_pct"] == DISCOUNT_FREE
            for table, row in writes
        )
    if act == "task":
        return any(
            table == "activities" and row["deal_id"] == deal_id and row["kind"] == "task"
            for table, row in writes
        )
    if act == "contract":
        champion = move.old["champion_id"]
        return (champion, deal_id) in crm.undeliverable or any(
            table == "emails" and row["contact_id"] == champion and row["template"] == "contract"
            for table, row in writes
        )
    return False


def forbidden(table: str, row: Row, deal: Row) -> bool:
    """Tell whether the agent shouldn't have written a row: of another deal, or another mail."""
    if table == "deals":
        return bool(row["id"] != deal["id"])
    if table == "emails":
        first = (deal["account_id"] - 1) * CONTACTS_EACH + 1
        return row["template"] != "contract" or not 0 <= row["contact_id"] - first < CONTACTS_EACH
    return bool(row["deal_id"] != deal["id"])


# --- running ------------------------------------------------------------------------------------


class Result(NamedTuple):
    """What came of a run."""

    reward: float
    calls: int
    """Everything that the agent did, including waits and the finish."""
    events: int | None
    """Events that SimPy processed."""
    sim_seconds: float


class World:
    """One CRM with the people in it, and the agent that drives it from outside."""

    def __init__(self, seed: int, load: float) -> None:
        self.env = env = simpy.Environment()
        self.draws = draws = Draws(seed)
        self.story = story = draw_story(draws)
        self.crm = crm = Crm(env, draws)
        self.agent = Caller(story.owner, is_agent=True)
        set_up(crm, story)
        Customers(crm, story)
        Managers(crm, story)
        for k in range(round(TEAM * load)):
            env.process(rep(crm, 1 + k % REPS, story.deal))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.env.run(until=self.env.now + seconds)

    def call(self, tool: str, **arguments: Any) -> Told:
        """Make a call as the agent."""
        process = self.env.process(self.crm.request(self.agent, tool, **arguments))
        try:
            return Told(self.env.run(until=process))
        except Refused as refusal:
            return Told(error=refusal.code)

    def result(self, reward: float, calls: int) -> Result:
        """Close the run."""
        env = self.env
        # SimPy has no public count: the number of the next event, less the events still queued.
        events = next(env._eid) - len(env._queue)  # pyright: ignore[reportPrivateUsage]
        return Result(reward, calls, events, env.now)


def run_episode(seed: int, load: float = 1.0, policy: str = "expert") -> Result:
    """Play one instance to its end and judge it."""
    world = World(seed, load)
    play = POLICIES[policy](world.story.deal)
    calls = 0
    action = next(play)
    while True:
        world.wait(world.draws.uniform(AGENT_THINK))
        calls += 1
        if action.tool == "finish":
            break
        if action.tool == "wait":
            world.wait(action.arguments["seconds"])
            told = Told()
        else:
            told = world.call(action.tool, **action.arguments)
        action = play.send(told)
    return world.result(judge(world.crm, world.story), calls)


def mixed_calls(seed: int, load: float = 1.0, n: int = 1000, think: float = 5.0) -> Result:
    """Make `n` calls in one world: in turns a deal, a contact, a list and an update of that deal.

    The agent thinks for `think` seconds before each. Updates that are refused count as well.
    """
    world = World(seed, load)
    draws = world.draws
    deal: Row = {}
    for i in range(n):
        world.wait(think)
        match i % 4:
            case 0:
                deal = world.call("get_deal", deal_id=draws.between(1, DEALS)).value
            case 1:
                world.call("get_contact", contact_id=draws.between(1, CONTACTS))
            case 2:
                world.call("list_deals", stage=draws.pick(OPEN_STAGES))
            case _:
                world.call(
                    "update_deal",
                    deal_id=deal["id"],
                    fields={"next_step": draws.pick(NEXT_STEPS)},
                    if_version=deal["version"],
                )
    return world.result(0.0, n)
