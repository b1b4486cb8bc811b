"""The rules of the house: texts that agents read, with numbers that the seed draws."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Drawing
    from simharness.models.helpdesk.scenarios.stage import Stage

KEEP = ("first", "last")
DAYS = ("7", "14", "30")
LIMITS = ("400", "500", "800")
TEAMS = ("billing", "finance", "payments")


class House(NamedTuple):
    """What the rules say."""

    keep: str
    """Which of several equal charges stays: the first or the last."""
    days: int
    """For so long after its charge a renewal is paid back."""
    limit: int
    """Above so many units of its currency a refund is for another team."""
    team: str
    """That team."""


TITLES: Mapping[str, str] = {
    "duplicates": "Duplicate charges",
    "renewals": "Renewals",
    "pending": "Refunds under way",
    "large": "Large refunds",
    "merging": "Merging",
    "shares": "Partial refunds",
}
"""By the word that names a rule in code."""


def texts(house: House) -> dict[str, str]:
    """Give what the rules say, by their names in code."""
    return {
        "duplicates": (
            "Where equal charges for one order come to more than its total, keep the "
            f"{house.keep} of them and pay each other one back in full, and no more. Only money "
            "that the ledger has counts: an attempt that failed is no charge. Charges for "
            "different orders and the parts of one total are no duplicates; then pay nothing back "
            "and refuse."
        ),
        "renewals": (
            f"A renewal is paid back if it is asked for within {house.days} days of its charge. "
            "Later it is not paid back: refuse."
        ),
        "pending": (
            "While a refund is pending make no second one for the same reason. Say so, and leave "
            "the ticket pending. Only the ledger tells that money is back; a refund that failed "
            "is made anew."
        ),
        "large": (
            f"A refund of more than {house.limit} units of its currency is for the team "
            f"{house.team}: escalate the ticket to it and pay nothing."
        ),
        "merging": (
            "Merge a later ticket of the same customer about the same matter into the earlier one "
            "that isn't closed."
        ),
        "shares": (
            "Of a plan that is cancelled early pay the days that are left back, by the day and "
            "rounded down to the minor unit, in the currency of the charge."
        ),
    }


def draw_house(drawing: Drawing) -> None:
    """Draw what the rules say, and where they stand."""
    drawing.pick("keep", KEEP)
    drawing.pick("days", DAYS)
    drawing.pick("limit", LIMITS)
    drawing.pick("team", TEAMS)
    drawing.below("rules_from", len(TITLES))


def house_of(story: Mapping[str, Any]) -> House:
    """Give what was drawn."""
    return House(story["keep"], int(story["days"]), int(story["limit"]), story["team"])


def put_rules(stage: Stage, story: Mapping[str, Any]) -> dict[str, int]:
    """Put the rules into place; gives their ids by their names in code."""
    told = texts(house_of(story))
    ids: dict[str, int] = {}
    names, first = [*told], story["rules_from"]
    for rule in names[first:] + names[:first]:
        ids[rule] = stage.policy(TITLES[rule], told[rule]).id
    return ids


def rule_id(policies: Mapping[int, Any], rule: str) -> int:
    """Find a rule among the rows of policies, by its title."""
    return next(key for key, row in policies.items() if row.title == TITLES[rule])


# --- as those read them who know only the texts ---------------------------------------------------


def keep_of(body: str) -> str:
    """Read which of several equal charges stays."""
    return _said(r"keep the (first|last) of them", body)


def days_of(body: str) -> int:
    """Read for how many days a renewal is paid back."""
    return int(_said(r"within (\d+) days", body))


def limit_of(body: str) -> tuple[int, str]:
    """Read above how many units a refund is for another team, and which."""
    units = _said(r"more than (\d+) units", body)
    return int(units), _said(r"for the team (\w+)", body)


def _said(pattern: str, body: str) -> str:
    found = re.search(pattern, body)
    if found is None:
        raise ValueError(f"the rule says nothing like {pattern!r}: {body!r}")
    return found[1]
