"""Notes that people leave on a deal, in the transaction of what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simharness.api import Transaction
    from simharness.models.crm.product import Crm


def note_fields(
    deal_id: int, subject: str, body: str, author_id: int = 0
) -> dict[str, int | str | bool]:
    """Give the columns of a note but its time."""
    return {
        "deal_id": deal_id,
        "kind": "note",
        "subject": subject,
        "body": body,
        "author_id": author_id,
    }


def add_note(
    crm: Crm, tx: Transaction, deal_id: int, subject: str, body: str, author_id: int = 0
) -> None:
    """Put a note into a transaction."""
    fields = note_fields(deal_id, subject, body, author_id)
    tx.insert(crm.activities.table, {**fields, "at": crm.instant})
