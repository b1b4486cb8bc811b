"""crm/hygiene: deals whose field is out of order, and what the agent may write meanwhile."""

from __future__ import annotations

from functools import cache
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from simharness.api import DAY, SECOND, Criterion, Drawing, Ending, Instance, Scenario
from simharness.models.crm.base import CONTACTS_EACH, DEALS, EPOCH, REPS, base_rows
from simharness.models.crm.habits import TEAM
from simharness.models.crm.people.colleagues import (
    add_later,
    change_later,
    hand_account_later,
    start_desks,
)
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.team import start_team
from simharness.models.crm.policies import coping, hygiene
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.tables import Activity, Deal
from simharness.models.crm.upkeep import (
    FIELDS,
    FRESH,
    STALE,
    TODAY,
    UNTIL,
    instructions,
    selected,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Change, Policy, Row
    from simharness.models.crm.product import Crm

RECENTLY = 60 * SECOND
"""Simulated time that the agent needs to see and to act: a deal that came to be selected later than
that before the end may be left, and an owner of an account counts for so long after another one."""


class Cast(NamedTuple):
    """Which deals play which part."""

    due: tuple[int, ...]
    """Selected from the start."""
    spared: tuple[int, ...]
    """Out of order and an exception."""
    elsewhere: tuple[int, ...]
    """Out of order, and not in the scope."""
    closed: int
    """Out of order and closed."""


class Hygiene(Scenario["Crm"]):
    """Put one field of all deals right that a rule selects."""

    id = "crm/hygiene"
    doc = (
        "every deal that the prompt's rule selects, and no other, has the asked field right; those "
        "that came to be selected in the last minute may be left"
    )
    epoch = EPOCH
    steps_max = 100
    team = TEAM
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": hygiene.expert,
        "lazy": hygiene.lazy,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the company."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw the rule, its scope and exception, the deals, and what others do to them."""
        drawing.between("user", 1, REPS)
        rule = drawing.pick("rule", tuple(FIELDS), (40, 35, 25))
        scopes = ("all", "stage") if rule == "ownerless" else ("all", "stage", "book")
        drawing.pick("scope", scopes)
        drawing.pick("stage", OPEN_STAGES)
        drawing.between("book", 1, REPS)
        drawing.pick("until", tuple(UNTIL))
        drawing.pick("heir", ("account", "rep"))
        drawing.between("rep", 1, REPS)
        drawing.pick("stale", STALE)
        drawing.pick("fresh", FRESH)
        exception = drawing.pick("exception", ("none", "inactive", "task"))
        drawing.between("due", 3, 6)
        drawing.between("spared", *((0, 0) if exception == "none" else (1, 2)))
        drawing.below("first", len(open_deals()))
        drawing.between("gap", 1, 13)
        drawing.between("late", 1, 30)
        drawing.pick("rival", ("none", "sets", "closes"), (35, 40, 25))
        drawing.between("rival_at", 10, 60)
        drawing.between("newcomers", 0, 2)
        drawing.between("newcomer_at", 5, 60)
        drawing.pick("account_moves", ("no", "yes"))
        drawing.between("account_moves_at", 5, 60)

    def start(self, product: Crm, instance: Instance) -> int:
        """Put the deals of the instance out of order."""
        story: Any = instance
        parts = cast_of(story)
        deals, accounts, tasks = (
            product.deals.table,
            product.accounts.table,
            product.activities.table,
        )
        kind = deals.row_type
        in_scope, elsewhere = scope_fields(story)
        for n, key in enumerate((*parts.due, *parts.spared)):
            fields = {**in_scope, **disorder(story, n)}
            deals.start_with(kind.evolve(deals.rows[key], fields))
        for n, key in enumerate(parts.elsewhere):
            fields = {**disorder(story, n), **elsewhere}
            deals.start_with(kind.evolve(deals.rows[key], fields))
        closed = deals.rows[parts.closed]
        deals.start_with(kind.evolve(closed, disorder(story, 0)))
        for n, key in enumerate(parts.spared, 1):
            account = accounts.rows[deals.rows[key].account_id]
            if story["exception"] == "inactive":
                accounts.start_with(accounts.row_type.evolve(account, {"active": False}))
            else:
                task = Activity(
                    id=DEALS + n, deal_id=key, kind="task", subject="ask first", done=False
                )
                tasks.start_with(task)
        return int(story["user"])

    def people(self, product: Crm, instance: Instance) -> None:
        """Start the reps, the machines, and the colleagues whose deals these are."""
        story: Any = instance
        parts = cast_of(story)
        touched = (*parts.due, *parts.spared, *parts.elsewhere)
        start_team(product, None, spared=touched)
        start_machines(product, spare_deals=touched)
        start_desks(product, parts.due)
        first = product.deals.table.rows[parts.due[0]]
        if story["rival"] != "none":
            change_later(
                product,
                "owner",
                story["rival_at"],
                first.id,
                own_order(story),
                lambda deal: selected(story, deal),
            )
        in_scope, _ = scope_fields(story)
        model = product.deals.table.rows[parts.due[-1]]
        for n in range(story["newcomers"]):
            fields = {
                "account_id": model.account_id,
                "title": f"{model.title} {n + 2}",
                "stage": model.stage,
                "amount": 900_00,
                "owner_id": model.owner_id,
                "champion_id": (model.account_id - 1) * CONTACTS_EACH + 1,
                "next_step": "call back",
                **in_scope,
                **disorder(story, n),
            }
            add_later(product, f"new/{n}", story["newcomer_at"] + 20 * n, fields)
        if story["account_moves"] == "yes":
            account = product.accounts.table.rows[model.account_id]
            hand_account_later(
                product,
                "account",
                story["account_moves_at"],
                account.id,
                1 + (account.owner_id or 0) % REPS,
            )

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        brief = self.brief(instance)
        return (
            f"You are user {brief['user_id']} and keep the CRM in order. "
            f"{instructions(brief)} Then call finish."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        names = ["rule", "scope", "exception"]
        if instance["scope"] != "all":
            names.append(str(instance["scope"]))
        if instance["rule"] == "overdue":
            names.append("until")
        elif instance["rule"] == "stale":
            names += ["stale", "fresh"]
        elif instance["heir"] == "rep":
            names.append("rep")
        return {"user_id": instance["user"], **{name: instance[name] for name in names}}

    def goal(self, product: Crm, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge what is left, what the agent has set, and what else it has written."""
        story: Any = instance
        field = FIELDS[story["rule"]]
        deals = product.deals.table
        left = left_over(product, story)
        own = [change for change in deals.changes if change.owner == self.agent]
        wrong = [text for change in own if (text := wrong_value(product, story, change))]
        harm = forbidden_writes(product, story, self.agent)
        written = dict.fromkeys(change.key for change in own if sets(change, field))
        return (
            Criterion(
                "no selected deal is left",
                not left,
                ", ".join(f"deals:{key} is left" for key in left) or "none is",
                tuple(f"deals:{key}.{field}" for key in left or written),
            ),
            Criterion(
                "set to what was asked",
                not wrong,
                "; ".join(wrong) or ", ".join(f"deals:{key}" for key in written) or "none was set",
                tuple(f"deals:{key}.{field}" for key in written),
            ),
            Criterion("nothing else", not harm, "; ".join(harm) or "none", role="footprint"),
        )


# --- the deals of an instance ---------------------------------------------------------------------


@cache
def open_deals() -> tuple[tuple[int, int], ...]:
    """List the deals that are open at the start, each with its account."""
    rows: Any = base_rows()["deals"]
    return tuple((row.id, row.account_id) for row in rows if row.stage in OPEN_STAGES)


@cache
def closed_deals() -> tuple[int, ...]:
    """List the deals that are closed at the start."""
    rows: Any = base_rows()["deals"]
    return tuple(row.id for row in rows if row.stage not in OPEN_STAGES)


def cast_of(story: Mapping[str, Any]) -> Cast:
    """Choose the deals: those that are due belong to no account of an exception."""
    every = open_deals()
    number = len(every)
    # The walk comes to every deal once.
    gap = next(g for g in range(int(story["gap"]), number + 2) if gcd(g, number) == 1)
    walk = [every[(int(story["first"]) + k * gap) % number] for k in range(number)]
    spared = walk[: story["spared"]]
    barred = {account for _, account in spared}
    rest = [deal for deal, account in walk[story["spared"] :] if account not in barred]
    due, beyond = rest[: story["due"]], rest[story["due"] :]
    closed = closed_deals()
    return Cast(
        tuple(due),
        tuple(deal for deal, _ in spared),
        tuple(beyond[: 0 if story["scope"] == "all" else 2]),
        closed[story["first"] % len(closed)],
    )


def disorder(story: Mapping[str, Any], n: int) -> dict[str, object]:
    """Give the columns of the n-th deal that is out of order."""
    if story["rule"] == "overdue":
        return {"close_on": TODAY - (story["late"] + n) * DAY}
    if story["rule"] == "ownerless":
        return {"owner_id": None}
    return {"next_step": story["stale"]}


def own_order(story: Mapping[str, Any]) -> dict[str, object]:
    """Give what a deal's owner makes of it, who doesn't ask the agent."""
    if story["rival"] == "closes":
        return {"stage": "closed_lost", "lost_reason": "price"}
    if story["rule"] == "overdue":
        return {"close_on": EPOCH + 40 * DAY}
    if story["rule"] == "ownerless":
        return {"owner_id": 1 + story["rep"] % REPS}
    return {"next_step": "wait for reply"}


def scope_fields(story: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, object]]:
    """Give the columns of a deal in the scope, and those of one that isn't."""
    if story["scope"] == "stage":
        other = OPEN_STAGES[(OPEN_STAGES.index(story["stage"]) + 1) % len(OPEN_STAGES)]
        return {"stage": story["stage"]}, {"stage": other}
    if story["scope"] == "book":
        return {"owner_id": story["book"]}, {"owner_id": 1 + story["book"] % REPS}
    return {}, {}


# --- judging --------------------------------------------------------------------------------------


def asked_for(crm: Crm, story: Mapping[str, Any], deal: Deal) -> bool:
    """Tell whether the rule selects a deal, with its exceptions."""
    if not selected(story, deal):
        return False
    if story["exception"] == "inactive":
        account = crm.accounts.table.rows.get(deal.account_id)
        return account is not None and account.active
    if story["exception"] == "task":
        return all(row.done or row.deal_id != deal.id for row in crm.activities.table)
    return True


def left_over(crm: Crm, story: Mapping[str, Any]) -> list[int]:
    """List the deals that are selected, and have been for long enough to be seen."""
    table = crm.deals.table
    candidates = {*cast_of(story).due, *table.history}
    out: list[int] = []
    for key in sorted(candidates):
        row = table.rows.get(key)
        if row is None or not asked_for(crm, story, row):
            continue
        since: int | None = None
        for change in reversed(table.history.get(key, ())):
            if change.old is None or not asked_for(crm, story, change.old):
                since = change.t
                break
        if since is None or since <= crm.world.ticks - RECENTLY:
            out.append(key)
    return out


def sets(change: Change, field: str) -> bool:
    """Tell whether a change of a row that was there gave a column another value."""
    return (
        change.old is not None
        and change.new is not None
        and getattr(change.old, field) != getattr(change.new, field)
    )


def wrong_value(crm: Crm, story: Mapping[str, Any], change: Change) -> str:
    """Say what a write set the field to, where that isn't what was asked for."""
    field = FIELDS[story["rule"]]
    if not sets(change, field):
        return ""
    value = getattr(change.new, field)
    if value in asked_values(crm, story, change):
        return ""
    return f"deals:{change.key} v{change.version} has {field} {value!r}"


def asked_values(crm: Crm, story: Mapping[str, Any], change: Change) -> list[object]:
    """Give what the field of a deal was to be set to, by the facts at a write or shortly before."""
    if story["rule"] == "overdue":
        return [UNTIL[story["until"]]]
    if story["rule"] == "stale":
        return [story["fresh"]]
    if story["heir"] == "rep":
        return [story["rep"]]
    accounts = crm.accounts.table
    key: int = change.new.account_id
    before = [
        fact.old
        for fact in accounts.history.get(key, ())
        if fact.order < change.order and fact.t >= change.t - RECENTLY
    ]
    found = [accounts.row_at(key, change.order), *before]
    return [row.owner_id for row in found if row is not None]


def forbidden_writes(crm: Crm, story: Mapping[str, Any], agent: str) -> list[str]:
    """List the agent's commits that the task doesn't allow, each with its row, in commit order."""
    out = [
        (change.order, f"{name}:{change.key} {reason}")
        for name, store in crm.stores.items()
        for change in store.table.changes
        if change.owner == agent and (reason := objection(crm, story, name, change))
    ]
    return [text for _, text in sorted(out)]


def objection(crm: Crm, story: Mapping[str, Any], table: str, change: Change) -> str:
    """Say why a write isn't allowed, or give an empty text; notes are free."""
    old, new = change.old, change.new
    if table == "activities" and old is None and new.kind == "note":
        return ""
    if table != "deals":
        return "is none of the task's rows"
    if old is None or new is None:
        return "was deleted" if new is None else "was made"
    field = FIELDS[story["rule"]]
    for column in Deal.__slots__:
        if column != field and getattr(old, column) != getattr(new, column):
            return f"changed {column}"
    if sets(change, field) and not asked_for(crm, story, old):
        return "was not to be changed"
    return ""
