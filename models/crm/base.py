"""The company that all instances start from.

The same people, accounts, contacts and deals for every seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import DAY, Draws, Stream, parse_instant
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.tables import Account, Activity, Contact, Deal, User

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.api import Row

EPOCH = parse_instant("2026-03-02T09:00:00Z")

_FIRST_TEXT = """
Ada Ben Carla Deniz Elif Farid Greta Hugo Ines Jamal Kaya Lena Malik Nora Omar Petra Quinn
Rosa Sami Tessa Umar Vera Wanda Xenia Yusuf Zoe
"""
FIRST = tuple(_FIRST_TEXT.split())
_LAST_TEXT = """
Abel Brandt Costa Duarte Evans Fischer Gomez Huber Ivanov Jansen Keller Lopez Meyer Novak
Okafor Pires Quist Reyes Sato Tanaka Urban Vogel Weiss Young Zeman
"""
LAST = tuple(_LAST_TEXT.split())
_COMPANIES_TEXT = """
Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Iris Juniper Katsura Linden Maple Nutmeg
Oak Pine Quince Rowan Spruce Teak Umbra Vine Willow Yew
"""
COMPANIES = tuple(_COMPANIES_TEXT.split())
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
ROLES = ("buyer", "finance", "engineering")

REPS = 6
MANAGERS = 2
ACCOUNTS = len(COMPANIES)
CONTACTS_EACH = 3
DEALS = 84
UNPLANNED = 7
"""Every so manieth deal has no next step."""


def base_rows() -> dict[str, Sequence[Row]]:
    """Build the start rows, by table."""
    stream = Stream(Draws(20260302), "crm/base", 0)
    stamp: dict[str, Any] = {"created_at": EPOCH - 90 * DAY, "updated_at": EPOCH - 2 * DAY}
    users: list[User] = []
    for i in range(1, REPS + MANAGERS + 2):
        role: Any = "rep" if i <= REPS else "manager" if i <= REPS + MANAGERS else "admin"
        users.append(
            User(id=i, full_name=f"{FIRST[i]} {LAST[i * 3 % len(LAST)]}", role=role, **stamp)
        )
    accounts: list[Account] = []
    contacts: list[Contact] = []
    for i in range(1, ACCOUNTS + 1):
        title = COMPANIES[i - 1]
        domain = f"{title.lower()}.example"
        industry = stream.pick(INDUSTRIES, "industry", i)
        owner = 1 + stream.below(REPS, "owner", i)
        accounts.append(
            Account(
                id=i,
                title=f"{title} Ltd",
                domain=domain,
                industry=industry,
                owner_id=owner,
                **stamp,
            )
        )
        for j in range(CONTACTS_EACH):
            key = (i - 1) * CONTACTS_EACH + j + 1
            first = stream.pick(FIRST, "first", key)
            last = stream.pick(LAST, "last", key)
            email = f"{first}.{last}.{key}@{domain}".lower()
            contacts.append(
                Contact(
                    id=key,
                    account_id=i,
                    full_name=f"{first} {last}",
                    email=email,
                    role=ROLES[j],
                    **stamp,
                )
            )
    deals: list[Deal] = []
    activities: list[Activity] = []
    for i in range(1, DEALS + 1):
        account = accounts[stream.below(ACCOUNTS, "account", i)]
        stage: Any = stream.pick(
            (*OPEN_STAGES, *OPEN_STAGES, "closed_won", "closed_lost"), "stage", i
        )
        won = stage == "closed_won"
        deals.append(
            Deal(
                id=i,
                account_id=account.id,
                title=f"{account.title} {stream.pick(THINGS, 'thing', i)}",
                stage=stage,
                amount=(10 + stream.below(490, "amount", i)) * 100_00,
                owner_id=1 + stream.below(REPS, "deal-owner", i),
                close_on=EPOCH + (10 + stream.below(90, "close", i)) * DAY,
                next_step="" if i % UNPLANNED == 0 else stream.pick(NEXT_STEPS, "next", i),
                discount_pct=stream.below(16, "discount", i),
                legal="cleared" if won else "none",
                champion_id=(account.id - 1) * CONTACTS_EACH + 1,
                lost_reason="price" if stage == "closed_lost" else "",
                **stamp,
            )
        )
        activities.append(
            Activity(
                id=i,
                deal_id=i,
                kind="call",
                subject="first call",
                author_id=1,
                at=EPOCH - 20 * DAY,
                **stamp,
            )
        )
    return {
        "users": users,
        "accounts": accounts,
        "contacts": contacts,
        "deals": deals,
        "activities": activities,
    }


NEXT_STEPS = (
    "call back",
    "send slides",
    "book a demo",
    "wait for reply",
    "check budget",
    "meet on site",
)
