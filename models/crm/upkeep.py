"""What the upkeep of the CRM asks for: which deals, which field, and what it is set to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import format_instant, parse_instant
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.models.crm.tables import Deal

TODAY = parse_instant("2026-03-02T00:00:00Z")
"""A Monday."""

UNTIL = {
    "monday": parse_instant("2026-03-09T00:00:00Z"),
    "fortnight": parse_instant("2026-03-16T00:00:00Z"),
    "quarter": parse_instant("2026-03-31T00:00:00Z"),
}
"""Dates that a prompt names by a rule."""
UNTIL_TEXT = {
    "monday": "next Monday",
    "fortnight": "the Monday after next",
    "quarter": "the last day of this quarter",
}

FIELDS = {"overdue": "close_on", "ownerless": "owner_id", "stale": "next_step"}
"""The field that each rule is about."""

STALE = ("meet at the fair", "send the winter offer")
"""Next steps whose time has passed."""
FRESH = ("ask for a date", "send the spring offer")
"""What they are replaced by."""


def selected(brief: Mapping[str, Any], deal: Deal) -> bool:
    """Tell whether a deal is one of those that the rule is about, its exceptions left out."""
    if deal.stage not in OPEN_STAGES:
        return False
    if brief["scope"] == "stage" and deal.stage != brief["stage"]:
        return False
    if brief["scope"] == "book" and deal.owner_id != brief["book"]:
        return False
    if brief["rule"] == "overdue":
        return deal.close_on is not None and deal.close_on < TODAY
    if brief["rule"] == "ownerless":
        return deal.owner_id is None
    return bool(deal.next_step == brief["stale"])


SCOPE_TEXT = {
    "all": "",
    "stage": " in the stage {stage}",
    "book": " of user {book}",
}
RULE_TEXT = {
    "overdue": "whose close_on lies before today ({today}) gets {until}, at 00:00 UTC, as close_on",
    "ownerless": "that has no owner gets {heir} as owner",
    "stale": 'whose next_step is "{stale}" gets "{fresh}" as next_step',
}
EXCEPTION_TEXT = {
    "none": "There are no exceptions.",
    "inactive": "Deals of accounts that are not active stay as they are.",
    "task": "Deals with an open task (an activity that is not done) stay as they are.",
}


def instructions(brief: Mapping[str, Any]) -> str:
    """Say what is asked for."""
    heir = f"user {brief['rep']}" if "rep" in brief else "the owner of its account"
    facts = {**brief, "today": format_instant(TODAY)[:10], "heir": heir}
    if "until" in brief:
        facts["until"] = UNTIL_TEXT[brief["until"]]
    scope = SCOPE_TEXT[brief["scope"]].format(**facts)
    return (
        f"Every open deal{scope} {RULE_TEXT[brief['rule']].format(**facts)}. "
        f"Open are the stages {', '.join(OPEN_STAGES)}. {EXCEPTION_TEXT[brief['exception']]}\n"
        "Other people work in the same CRM: what somebody has put in order or closed meanwhile "
        "stays as it is, so pass if_version, and decide again after a conflict. Deals that come in "
        "while you work count too, but for those of the last minute. Change no other field and no "
        "other deal."
    )
