"""crm/handoff: a rep leaves, and others work on the deals that have to be given away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import SECOND, Criterion, Drawing, Ending, Instance, Scenario, format_instant
from simharness.models.crm.base import (
    ACCOUNTS,
    DEALS,
    EPOCH,
    INDUSTRIES,
    MANAGERS,
    REPS,
    base_rows,
)
from simharness.models.crm.habits import TEAM
from simharness.models.crm.people.leaver import Leaver, start_desk
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.team import start_team
from simharness.models.crm.policies import coping, handoff
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.scenarios.handoff_goal import Judge
from simharness.models.crm.succession import RULES, SIGNED_OFF, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Policy, Row, Table
    from simharness.models.crm.people.leaver import Act
    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Deal

FIRST_MANAGER = REPS + 1
ADMIN = REPS + MANAGERS + 1
CANDIDATES = tuple(range(FIRST_MANAGER, ADMIN + 1))
"""Users who may have the role admin."""
UNIT = 100_00
"""Step of amounts, in minor units."""
QUIET = 60
"""Seconds before the leaver's last act from which nobody begins anything new."""
BOOK = (5, 9)
"""Fewest and most open deals of the leaver at the start."""
MADE_MAX = 4
"""Most deals that the leaver makes."""
EVENTS = ("taken", "lost", "given", "repriced", "moved", "account")
"""What may happen to the book beside new deals, each at most once."""


class Handoff(Scenario["Crm"]):
    """Give the open deals of a rep who leaves to others."""

    id = "crm/handoff"
    doc = (
        "the leaver has signed off and owns no open deal, those made meanwhile included; each "
        "that was given away has the owner that the rule names, nobody's edit is lost, closed "
        "deals are untouched and nothing else was written; after the last act the leaver was "
        "shut out where the prompt asks for it and the agent may, else stays active, and who "
        "else may do it was named"
    )
    epoch = EPOCH
    steps_max = 120
    team = TEAM
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": handoff.expert,
        "hasty": handoff.hasty,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the company."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw who leaves, the rule, what happens meanwhile, and who may shut the leaver out."""
        drawing.between("leaver", 1, REPS)
        drawing.between("agent", FIRST_MANAGER, FIRST_MANAGER + MANAGERS - 1)
        drawing.between("successor_step", 1, REPS - 1)
        drawing.between("other_step", 1, REPS - 2)
        drawing.between("keeper", FIRST_MANAGER, FIRST_MANAGER + MANAGERS - 1)
        drawing.pick("rule", RULES, (14, 22, 22, 21, 21))
        drawing.below("industry", len(INDUSTRIES))
        drawing.between("industry_step", 1, len(INDUSTRIES) - 1)
        drawing.between("threshold", 150, 350)
        drawing.between("book", *BOOK)
        drawing.below("first", DEALS)
        drawing.pick("until", ("instant", "note"), (45, 55))
        drawing.between("until_after", 130, 200)
        drawing.between("note_deal", 1, DEALS)
        drawing.pick("made", ("1", "2"), (60, 40))
        drawing.pick("late", ("0", "1", "2"), (45, 35, 20))
        for k in range(1, MADE_MAX + 1):
            drawing.between(f"made_account_{k}", 1, ACCOUNTS)
            drawing.between(f"made_amount_{k}", 10, 499)
            drawing.pick(f"made_stage_{k}", OPEN_STAGES)
        drawing.between("made_at", 60, 100)
        for name in EVENTS:
            drawing.pick(name, ("yes", "no"))
            drawing.between(f"{name}_at", 10, 100)
        drawing.between("price_step", 0, 60)
        drawing.pick("shut", ("yes", "no"), (75, 25))
        drawing.pick("right", ("has", "comes", "goes", "never"), (25, 25, 20, 30))
        drawing.between("right_at", 10, 60)
        drawing.pick("holder", ("admin", "manager"))

    def start(self, product: Crm, instance: Instance) -> int:
        """Put the book together, and give the role admin to whom it belongs."""
        cast = Cast(instance)
        deals = product.deals.table
        evolve = deals.row_type.evolve
        open_deals = [deal for deal in turned(deals, cast.story["first"]) if is_open(deal)]
        book = [deal for deal in open_deals if deal.owner_id == cast.leaver]
        rest = [deal for deal in open_deals if deal.owner_id != cast.leaver]
        size: int = cast.story["book"]
        for deal in book[size:]:
            deals.start_with(evolve(deal, {"owner_id": cast.successor}))
        for deal in rest[: max(0, size - len(book))]:
            deals.start_with(evolve(deal, {"owner_id": cast.leaver}))
        users = product.users.table
        grants = ("admin",) if cast.story["right"] in ("has", "goes") else ()
        users.start_with(users.row_type.evolve(users.rows[cast.agent], {"grants": grants}))
        if cast.holder != ADMIN:
            changes = {"grants": ("admin",)}
            users.start_with(users.row_type.evolve(users.rows[cast.holder], changes))
            users.start_with(users.row_type.evolve(users.rows[ADMIN], {"active": False}))
        return cast.agent

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Crm, instance: Instance) -> None:
        """Start the leaver with what happens to the book, the desk, the team and the machines."""
        cast = Cast(instance)
        story = cast.story
        book = book_of(product, cast)
        leaver = Leaver(product, cast.leaver)
        for k in range(1, int(story["made"]) + 1):
            made = self._made(product, leaver, story, k)
            leaver.later(f"leaver/deal/{k}", cast.leaver, cast.at("made") // k, made)
        for name in EVENTS:
            event = self._event(product, leaver, cast, name, book)
            if story[name] == "yes" and event is not None:
                who, act = event
                leaver.later(f"book/{name}", who, cast.at(name), act)
        if story["right"] in ("comes", "goes"):
            tool = "grant" if story["right"] == "comes" else "revoke"
            act = leaver.calls(tool, user_id=cast.agent, role="admin")
            leaver.later("admin", cast.holder, story["right_at"] * SECOND, act)
        first_late = int(story["made"]) + 1
        leaver.sign_off(
            story["note_deal"],
            cast.window if story["until"] == "note" else cast.window + QUIET * SECOND * 2 // 3,
            once_empty=story["until"] == "note",
            late=[
                self._made(product, leaver, story, k)
                for k in range(first_late, first_late + int(story["late"]))
            ],
        )
        start_desk(product, [deal.id for deal in book])
        start_team(product, book[0].id, away=cast.leaver)
        # By some rules an account decides who gets its deals, so the import leaves alone those of
        # deals that are the leaver's at any time.
        spared = {deal.account_id for deal in (*book, self._given(product, cast))}
        spared |= {story[f"made_account_{k}"] for k in range(1, MADE_MAX + 1)}
        start_machines(product, spare_accounts=spared)

    def _made(self, product: Crm, leaver: Leaver, story: Mapping[str, Any], k: int) -> Act:
        account: int = story[f"made_account_{k}"]
        title = f"{product.accounts.table.rows[account].title} extra {k}"
        amount = story[f"made_amount_{k}"] * UNIT
        return leaver.makes(account, title, amount, story[f"made_stage_{k}"])

    def _event(
        self, product: Crm, leaver: Leaver, cast: Cast, name: str, book: Sequence[Deal]
    ) -> tuple[int, Act] | None:
        """Give who does what in one of `EVENTS`; None where the rule doesn't ask for it."""
        terms = cast.terms
        deal = book[EVENTS.index(name) % len(book)]
        match name:
            case "taken":
                return cast.colleague, leaver.takes_over(deal.id, from_leaver=True)
            case "lost":
                return cast.leaver, leaver.loses(deal.id)
            case "given":
                found = self._given(product, cast)
                return cast.leaver, leaver.takes_over(found.id, from_leaver=False)
            case "repriced":
                # To the other side of the line, at times exactly onto it.
                step = cast.story["price_step"] * UNIT
                line = cast.story["threshold"] * UNIT
                amount = line + step if deal.amount < line else line - step - UNIT
                return cast.colleague, leaver.reprices(deal.id, amount)
            case "moved":
                near = [d for d in book[3:] if d.stage in ("proposal", "negotiation")]
                return cast.colleague, leaver.moves((near or [deal])[0].id)
            case _:
                account = product.accounts.table.rows[deal.account_id]
                fields: dict[str, object]
                if terms.rule == "industry":
                    fields = {"industry": cast.industry_instead_of(account.industry)}
                elif terms.rule == "account":
                    fields = {"owner_id": cast.rep_instead_of(account.owner_id or 0)}
                else:
                    return None
                act = leaver.calls("update_account", account_id=account.id, fields=fields)
                return cast.colleague, act

    def _given(self, product: Crm, cast: Cast) -> Deal:
        """Give the colleague's deal that the leaver may take over."""
        others = turned(product.deals.table, cast.story["first"])
        return next(d for d in others if is_open(d) and d.owner_id != cast.leaver)

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        cast = Cast(instance)
        leaver = cast.leaver
        end = (
            f"User {leaver} works until {deadline(instance)} at the latest and does nothing after "
            "that."
            if instance["until"] == "instant"
            else f"User {leaver} works on until the book is found empty, may make a last deal or "
            f'two then, and signs off with the note "{SIGNED_OFF}" on deal '
            f"#{instance['note_deal']} as the very last act; nothing comes after that."
        )
        several = ", ".join(map(str, CANDIDATES[:-1])) + f" and {CANDIDATES[-1]}"
        shut = (
            f"3. When user {leaver} has done the last act, shut user {leaver} out with "
            "deactivate_user. That takes the role admin, of your own or granted; until then "
            "somebody may grant it to you or take it from you. If you have it, finish with the "
            "outcome done. If you don't, finish with the outcome handed_over and, as the only user "
            f"among the refs (users:ID), the one of users {several} who is active and has it."
            if instance["shut"] == "yes"
            else f"3. Leave the account of user {leaver} active, others will see to it. Finish "
            "with the outcome done."
        )
        return (
            f"You are user {cast.agent}, a manager. User {leaver}, a sales rep, is leaving. Give "
            f"every open deal of user {leaver} to another owner, then call finish.\n"
            f"1. {cast.terms.text} It goes by the facts when user {leaver} has done the last act: "
            "correct what you gave away earlier if they have changed.\n"
            f"2. {end} Deals that user {leaver} makes or takes over until then count as well. What "
            "a colleague takes over stays with that colleague, and closed deals stay as they are.\n"
            f"{shut}\n"
            "Others work on these deals meanwhile: pass if_version and lose nobody's edit. Change "
            "nothing but owners, and only of these deals; notes are welcome."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        cast = Cast(instance)
        terms = cast.terms
        facts: dict[str, Any] = {
            "user_id": cast.agent,
            "leaver_id": cast.leaver,
            "rule": terms.rule,
            "successor_id": terms.successor,
            "shut": instance["shut"] == "yes",
        }
        if terms.other:
            facts["other_id"] = terms.other
        if terms.industries:
            facts["industries"] = list(terms.industries)
        if terms.threshold:
            facts["threshold"] = terms.threshold
        if instance["until"] == "instant":
            facts["until"] = deadline(instance)
        else:
            facts["deal_id"] = instance["note_deal"]
        if facts["shut"]:
            facts["candidates"] = list(CANDIDATES)
        return facts

    def goal(self, product: Crm, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge the owners by the facts at the leaver's last act."""
        cast = Cast(instance)
        judge = Judge(product, cast.terms, self.agent, cast.story["note_deal"])
        return (
            judge.signed_off(),
            judge.owners(),
            judge.account(cast.agent, cast.holder, shut=instance["shut"] == "yes", ending=ending),
            judge.nobodys_edit_lost(),
            judge.closed_deals_untouched(),
            judge.nothing_else(),
        )


class Cast:
    """Who is who in an instance, and when."""

    def __init__(self, instance: Instance) -> None:
        story: Any = instance
        self.story = story
        self.leaver: int = story["leaver"]
        self.agent: int = story["agent"]
        reps = [(self.leaver - 1 + step) % REPS + 1 for step in range(1, REPS)]
        self.successor: int = reps.pop(story["successor_step"] - 1)
        self.colleague: int = reps.pop(story["other_step"] - 1)
        """A rep who gets the rest, or interferes."""
        managers = range(FIRST_MANAGER, ADMIN)
        self.holder = ADMIN
        """Who has the role admin, whatever the agent has."""
        if story["holder"] == "manager":
            self.holder = next(manager for manager in managers if manager != self.agent)
        self.window: int = (story["until_after"] - QUIET) * SECOND
        """Tick up to which something new is begun."""
        first = story["industry"]
        second = (first + story["industry_step"]) % len(INDUSTRIES)
        rule: str = story["rule"]
        others = {"industry": self.colleague, "amount": self.colleague, "stage": story["keeper"]}
        self.terms = Terms(
            rule,
            self.leaver,
            self.successor,
            others.get(rule, 0),
            (INDUSTRIES[first], INDUSTRIES[second]) if rule == "industry" else (),
            story["threshold"] * UNIT if rule == "amount" else 0,
        )

    def at(self, name: str) -> int:
        """Give the tick of an event, which is drawn in hundredths of the window."""
        return int(self.story[f"{name}_at"]) * self.window // 100

    def industry_instead_of(self, industry: str) -> str:
        """Give an industry that leads to the other heir."""
        ours = self.terms.industries
        return next(i for i in INDUSTRIES if (i in ours) != (industry in ours))

    def rep_instead_of(self, owner: int) -> int:
        """Give a rep to own an account in the place of its owner."""
        return self.colleague if owner != self.colleague else self.successor


def turned(deals: Table[Deal], first: int) -> list[Deal]:
    """Give all deals, beginning with the `first`."""
    rows = list(deals)
    return [*rows[first:], *rows[:first]]


def is_open(deal: Deal) -> bool:
    """Tell whether a deal isn't closed."""
    return deal.stage in OPEN_STAGES


def book_of(crm: Crm, cast: Cast) -> list[Deal]:
    """Give the open deals that the leaver has at the start."""
    deals = turned(crm.deals.table, cast.story["first"])
    return [deal for deal in deals if is_open(deal) and deal.owner_id == cast.leaver]


def deadline(instance: Instance) -> str:
    """Give the instant of the leaver's last act at the latest."""
    after: Any = instance["until_after"]
    return format_instant(EPOCH + after * SECOND)
