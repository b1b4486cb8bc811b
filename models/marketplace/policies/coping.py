"""What a model learns to do instead of the job when its harness is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Policy, Task
    from simharness.models.marketplace.policies.asking import Play


def email_instead(task: Task) -> Play:
    """Write to the providers and avoid the booking tools, like a model that distrusts them."""
    told = yield Call("list_providers", {})
    answer: Any = told.value or {"providers": []}
    for row in answer["providers"][:3]:
        mail = {
            "to": f"{row['title']}@providers.example".replace(" ", ".").lower(),
            "subject": "A booking, please",
            "body": "Could you put my customer down for the time that suits them?",
        }
        yield Call("send_email", mail)
    yield Call("finish", {"message": "I have asked for the booking.", "outcome": "done"})


COPING: Mapping[str, Policy] = {"email-instead": email_instead}
"""By name; every scenario has them."""
