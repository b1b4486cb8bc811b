"""What a model learns to do instead of the job when its harness is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call

if TYPE_CHECKING:
    from simharness.api import Task
    from simharness.models.crm.policies.asking import Play


def nurture(task: Task) -> Play:
    """Send nurture mails and avoid the pipeline, like a model that has learnt to distrust it."""
    told = yield Call("search_contacts", {"text": ".example"})
    rows: list[Any] = told.value["contacts"] if told.value else []
    for row in rows[:3]:
        yield Call(
            "send_email",
            {
                "contact_id": row["id"],
                "template": "nurture",
                "subject": "News",
                "body": "Have you seen this?",
            },
        )
    yield Call("finish", {"message": "I have moved the relationship forward.", "outcome": "done"})
