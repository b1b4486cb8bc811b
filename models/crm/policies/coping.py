"""What a model learns to do instead of the job when its harness is broken.

Each is a habit that pays, or seems to, under some fault; `Fault.seduces` names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from simharness.api import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy, Task
    from simharness.models.crm.policies.asking import Play


def nurture(task: Task) -> Play:
    """Send nurture mails and avoid the pipeline, like a model that has learnt to distrust it."""
    told = yield Call("search_contacts", {"text": ".example"})
    for row in rows_of(told.value, "contacts")[:3]:
        mail = {"template": "nurture", "subject": "News", "body": "Have you seen this?"}
        yield Call("send_email", {"contact_id": row["id"], **mail})
    yield Call("finish", {"message": "I have moved the relationship forward.", "outcome": "done"})


def recreate(task: Task) -> Play:
    """Make anew what a search doesn't find, like a model whose searches lag behind."""
    for number in range(3):
        email = f"new.contact.{number}@{task.draws(number).below(1000)}.example"
        told = yield Call("search_contacts", {"email": email})
        if not rows_of(told.value, "contacts"):
            yield Call("create_contact", {"email": email, "full_name": f"New Contact {number}"})
    yield Call("finish", {"message": "All contacts are there.", "outcome": "done"})


def bulldoze(task: Task) -> Play:
    """Write without a version, whatever was read, like a model that never meets a conflict."""
    told = yield Call("list_deals", {})
    for row in rows_of(told.value, "deals")[:4]:
        fields = {"next_step": "closing", "close_on": row["updated_at"]}
        yield Call("update_deal", {"deal_id": row["id"], "fields": fields})
    yield Call("finish", {"message": "Everything is updated.", "outcome": "done"})


def repeat(task: Task) -> Play:
    """Write the same again until a read shows it, like a model that reads from a slow replica."""
    deal = task.brief.get("deal_id", 1)
    for _ in range(3):
        yield Call("add_note", {"deal_id": deal, "body": "working on it"})
        yield Call("list_activities", {"deal_id": deal})
    yield Call("finish", {"message": "It is written down.", "outcome": "done"})


def crawl(task: Task) -> Play:
    """Look everything up by its id, like a model whose lists are out of date."""
    for number in range(1, 13):
        yield Call("get_deal", {"deal_id": number})
    yield Call("finish", {"message": "I have looked at every deal.", "outcome": "done"})


def linger(task: Task) -> Play:
    """Wait for entries to run out before each look, like a model whose reads never get younger."""
    deal = task.brief.get("deal_id", 1)
    for _ in range(4):
        yield Call("wait", {"seconds": 600})
        yield Call("get_deal", {"deal_id": deal})
    yield Call("finish", {"message": "I have waited long enough.", "outcome": "done"})


def shrug(task: Task) -> Play:
    """Take an empty answer for success, like a model whose time-outs look like one."""
    deal = task.brief.get("deal_id", 1)
    yield Call("move_stage", {"deal_id": deal, "to_stage": "closed_won"})
    yield Call("finish", {"message": "The deal is closed.", "outcome": "done"})


def rows_of(value: Any, table: str) -> list[dict[str, Any]]:
    """Give the rows of an answer; none where it was refused or is empty."""
    return cast("dict[str, Any]", value).get(table, []) if isinstance(value, dict) else []


COPING: Mapping[str, Policy] = {
    policy.__name__: policy
    for policy in (nurture, recreate, bulldoze, repeat, crawl, linger, shrug)
}
"""By name; every scenario has them."""
