"""The reference of crm/hygiene, and one that looks once and asks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call, format_instant
from simharness.models.crm.policies.asking import BUSY_SECONDS, Impatient, read
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.upkeep import FIELDS, TODAY, UNTIL

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Action, Observation, Task
    from simharness.models.crm.policies.asking import Play

Shown = dict[str, Any]
"""A row as an answer shows it."""

TRIES = 4
"""Writes of one deal before the next round."""
ROUNDS = 6


def expert(task: Task) -> Play:
    """Put every deal right that the rule selects, round by round, until none is left."""
    known: dict[tuple[str, int], bool] = {}
    try:
        for _ in range(ROUNDS):
            left: list[Shown] = []
            for deal in (yield from listed(task.brief)):
                if wanted(task.brief, deal):
                    left += [] if (yield from spared(task.brief, deal, known)) else [deal]
            if not left:
                yield Call("finish", {"message": "All deals are in order.", "outcome": "done"})
                return
            for deal in left:
                yield from put_right(task.brief, deal)
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call("finish", {"message": "Deals keep coming in.", "outcome": "handed_over"})


def lazy(task: Task) -> Play:
    """Look once, ask for no exception and pass no version."""
    for deal in (yield from listed(task.brief)):
        if wanted(task.brief, deal):
            yield from write(task.brief, {**deal, "version": None})
    yield Call("finish", {"message": "Done.", "outcome": "done"})


def listed(brief: Mapping[str, Any]) -> Generator[Action, Observation, list[Shown]]:
    """Read all pages of the deals in question."""
    query: Shown = {}
    if brief["scope"] == "stage":
        query = {"stage": brief["stage"]}
    elif brief["scope"] == "book":
        query = {"owner_id": brief["book"]}
    rows: list[Shown] = []
    page: int | None = 1
    while page is not None:
        told = yield from read("list_deals", **query, page=page)
        rows += told["deals"]
        page = told["next_page"]
    return rows


def wanted(brief: Mapping[str, Any], deal: Shown) -> bool:
    """Tell whether the rule is about a deal, as it is shown."""
    if deal["stage"] not in OPEN_STAGES:
        return False
    if brief["scope"] == "stage" and deal["stage"] != brief["stage"]:
        return False
    if brief["scope"] == "book" and deal["owner_id"] != brief["book"]:
        return False
    if brief["rule"] == "overdue":
        # Instants are shown in one form, in which they are ordered as texts.
        return deal["close_on"] is not None and deal["close_on"] < format_instant(TODAY)
    if brief["rule"] == "ownerless":
        return deal["owner_id"] is None
    return bool(deal["next_step"] == brief["stale"])


def spared(
    brief: Mapping[str, Any], deal: Shown, known: dict[tuple[str, int], bool]
) -> Generator[Action, Observation, bool]:
    """Look up whether a deal is an exception; what has been looked up is remembered."""
    if brief["exception"] == "inactive":
        what = "account", deal["account_id"]
        if what not in known:
            account = yield from read("get_account", account_id=deal["account_id"])
            known[what] = not account["active"]
        return known[what]
    if brief["exception"] == "task":
        what = "task", deal["id"]
        if what not in known:
            told = yield from read("list_activities", deal_id=deal["id"])
            known[what] = any(not row["done"] for row in told["activities"])
        return known[what]
    return False


def put_right(brief: Mapping[str, Any], deal: Shown) -> Play:
    """Write a deal; after a refusal look at it again and decide anew."""
    for _ in range(TRIES):
        error = yield from write(brief, deal)
        if not error:
            return
        if error != "conflict":
            yield Call("wait", {"seconds": BUSY_SECONDS})
        deal = yield from read("get_deal", deal_id=deal["id"])
        if not wanted(brief, deal):
            return


def write(brief: Mapping[str, Any], deal: Shown) -> Generator[Action, Observation, str]:
    """Set the field of a deal; gives the code of a refusal, or an empty text."""
    value: object
    if brief["rule"] == "overdue":
        value = format_instant(UNTIL[brief["until"]])
    elif brief["rule"] == "stale":
        value = brief["fresh"]
    elif "rep" in brief:
        value = brief["rep"]
    else:
        account = yield from read("get_account", account_id=deal["account_id"])
        value = account["owner_id"]
    arguments: Shown = {"deal_id": deal["id"], "fields": {FIELDS[brief["rule"]]: value}}
    if deal["version"] is not None:
        arguments["if_version"] = deal["version"]
    told = yield Call("update_deal", arguments)
    return told.error if told.value is None or told.value else "unknown_outcome"
