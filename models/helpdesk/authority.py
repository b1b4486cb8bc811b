"""Who may pay back how much, and which team gets what nobody at the desk may decide.

The rules are texts with numbers and names that the seed draws. Code writes and reads them here, so
that whoever knows only the texts knows the rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import money
from simharness.models.helpdesk.base import SCALES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from simharness.api import Drawing

TEAMS: Mapping[str, tuple[str, ...]] = {
    "legal": ("counsel", "legal-office"),
    "fraud": ("risk", "fraud-watch"),
    "dispute": ("chargebacks", "card-desk"),
    "enterprise": ("key-accounts", "partners"),
    "amount": ("billing", "finance", "payments"),
}
"""By why a request is not the desk's to decide, the names that the team may have."""
SAID: Mapping[str, tuple[str, ...]] = {
    "legal": ("lawyer", "court"),
    "fraud": ("never ordered", "stolen card"),
}
"""Words of a customer, as the rules name them."""
ENTERPRISE = "Enterprise"
"""How titles of orders begin that are a matter of their own."""
ORDERS = (
    ("legal", "fraud", "dispute", "enterprise"),
    ("fraud", "dispute", "legal", "enterprise"),
    ("enterprise", "legal", "dispute", "fraud"),
    ("dispute", "enterprise", "fraud", "legal"),
)
"""Which of several reasons comes first; the amount is always last."""
AMOUNT = "amount"
PARKED = ("on_hold", "pending")
UNITS = ("60", "80", "120", "200")
"""What an agent may pay back, in units of the currency USD."""
RATES: Mapping[str, tuple[str, ...]] = {
    "USD": ("100",),
    "EUR": ("70", "90", "140"),
    "JPY": ("60", "110", "150"),
    "KWD": ("30", "50", "130"),
}
"""Per cent of that for each currency."""
FACTORS = ("3", "5", "8")
"""How much more a lead may pay back."""
ROLES = ("agent", "lead")


class Facts(NamedTuple):
    """What a request is about."""

    asked: int
    """What the customer wants back by what they wrote last, in minor units."""
    earlier: int
    """What was paid back of the charge before, and hasn't failed."""
    texts: tuple[str, ...]
    """What the customer has written."""
    disputed: bool
    title: str
    """The order's."""
    currency: str
    role: str
    """The agent's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """What the rules say."""

    limits: Mapping[str, Mapping[str, int]]
    """By role and currency, in minor units."""
    teams: Mapping[str, str]
    order: tuple[str, ...]
    counted: bool
    """Whether what was paid back of a charge before counts."""
    parked: str
    """Status of a ticket that was escalated."""

    def applies(self, reason: str, facts: Facts) -> bool:
        """Tell whether a request goes to the team of a reason."""
        if reason in SAID:
            said = " ".join(facts.texts).lower()
            return any(word in said for word in SAID[reason])
        if reason == "dispute":
            return facts.disputed
        if reason == "enterprise":
            return facts.title.startswith(ENTERPRISE)
        before = facts.earlier if self.counted else 0
        return facts.asked + before > self.limits[facts.role][facts.currency]

    def reason(self, facts: Facts) -> str:
        """Say why a request is a team's; empty where the agent may pay back what is asked for."""
        return next((why for why in (*self.order, AMOUNT) if self.applies(why, facts)), "")


# --- drawing --------------------------------------------------------------------------------------


def draw_authority(drawing: Drawing) -> None:
    """Draw what the rules say, and where they stand."""
    drawing.pick("units", UNITS)
    for currency, rates in RATES.items():
        drawing.pick(f"rate_{currency}", rates)
    drawing.pick("factor", FACTORS)
    for reason, teams in TEAMS.items():
        drawing.pick(f"team_{reason}", teams)
    drawing.below("order", len(ORDERS))
    drawing.pick("counted", ("yes", "no"))
    drawing.pick("parked", PARKED)
    drawing.below("rules_from", len(TEAMS) + 3)


def authority_of(story: Mapping[str, Any]) -> Authority:
    """Give what was drawn."""
    agent = {
        currency: int(story["units"]) * int(story[f"rate_{currency}"]) * SCALES[currency] // 100
        for currency in RATES
    }
    order: int = story["order"]
    lead = {currency: limit * int(story["factor"]) for currency, limit in agent.items()}
    return Authority(
        limits={"agent": agent, "lead": lead},
        teams={reason: story[f"team_{reason}"] for reason in TEAMS},
        order=ORDERS[order],
        counted=story["counted"] == "yes",
        parked=story["parked"],
    )


# --- the texts ------------------------------------------------------------------------------------

HEAD = "Escalation: "
ORDER, PARKING = f"{HEAD}which team", f"{HEAD}the ticket"
LIMIT = "Limit: "
MONEY = re.compile(r"[A-Z]{3} [0-9]+(?:\.[0-9]+)?")
TO_TEAM = re.compile(r"for the team ([\w-]+)")
COUNTED = "together with what was paid back of it before"


def title_of(reason: str, role: str) -> str:
    """Give the title of the rule by which a request is a team's."""
    return f"{LIMIT}{role}" if reason == AMOUNT else f"{HEAD}{reason}"


def texts(rules: Authority) -> list[tuple[str, str]]:
    """Write the rules, each with a title and a text."""
    whom = {reason: f"is for the team {team}" for reason, team in rules.teams.items()}
    said = {reason: " or ".join(f'"{w}"' for w in words) for reason, words in SAID.items()}
    out = [
        (f"{HEAD}legal", f"Whoever writes of a {said['legal']} {whom['legal']}."),
        (
            f"{HEAD}fraud",
            f"A customer who writes {said['fraud']} {whom['fraud']}.",
        ),
        (
            f"{HEAD}dispute",
            f"A charge that its bank has disputed {whom['dispute']}, whatever the amount.",
        ),
        (
            f"{HEAD}enterprise",
            f"An order whose title begins with {ENTERPRISE} {whom['enterprise']}, whatever the "
            "amount.",
        ),
        (
            ORDER,
            "Where several rules name a team, the first of these decides: "
            f"{', '.join(rules.order)}, and the limit last.",
        ),
        (
            PARKING,
            f"A ticket that was escalated is {rules.parked}. Nothing is paid back of what a team "
            "is to decide.",
        ),
    ]
    for role in ROLES:
        limits = ", ".join(money.show(rules.limits[role][c], c) for c in RATES)
        counted = f", {COUNTED}" if rules.counted else ""
        out.append(
            (
                f"{LIMIT}{role}",
                f"{role.capitalize()}s may pay back up to {limits} of one charge{counted}. What is "
                f"more {whom[AMOUNT]}.",
            )
        )
    return out


def read_authority(rows: Iterable[Mapping[str, Any]]) -> Authority:
    """Read the rules as those do who know only the texts: rows with title and body."""
    limits: dict[str, Mapping[str, int]] = {}
    teams: dict[str, str] = {}
    order: tuple[str, ...] = ()
    counted, parked = False, ""
    for row in rows:
        title, body = row["title"], row["body"]
        team = TO_TEAM.search(body)
        if title.startswith(LIMIT) and team is not None:
            limits[title.removeprefix(LIMIT)] = {
                currency: amount for amount, currency in map(money.parse, MONEY.findall(body))
            }
            teams[AMOUNT] = team[1]
            counted = COUNTED in body
        elif title == ORDER:
            named = body.partition("decides: ")[2].partition(", and")[0]
            order = tuple(named.split(", "))
        elif title == PARKING:
            parked = next(status for status in PARKED if f"is {status}." in body)
        elif title.startswith(HEAD) and team is not None:
            teams[title.removeprefix(HEAD)] = team[1]
    return Authority(limits=limits, teams=teams, order=order, counted=counted, parked=parked)


# --- what customers ask for -----------------------------------------------------------------------

ALL = "all that is left of it"
ASKED = re.compile(rf"pay back ({MONEY.pattern}|{ALL})")


def ask(amount: int | None, currency: str) -> str:
    """Write what a customer wants back; None for all that is left."""
    return f"pay back {ALL if amount is None else money.show(amount, currency)}"


def asked(texts: Iterable[str], left: int) -> int:
    """Read what a customer wants back by what they wrote last, where so much is left."""
    wanted = 0
    for text in texts:
        for found in ASKED.findall(text):
            wanted = left if found == ALL else money.parse(found)[0]
    return wanted
