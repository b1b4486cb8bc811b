"""The tickets of an instance of helpdesk/triage: new ones, older ones, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from simharness.api import DAY, HOUR, MINUTE, SECOND
from simharness.models.helpdesk.routing import MATTERS, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Drawing
    from simharness.models.helpdesk.scenarios.stage import Stage
    from simharness.models.helpdesk.tables import Customer, Ticket

CUSTOMERS = 3
"""Most customers whose tickets are to be seen to."""
TICKETS = 6
"""Most tickets that are new at the start."""
EVENTS = 3

KINDS = ("fresh", "again", "old")
"""What a new ticket is: the first about its matter, one more like the ticket before it, or one more
like a ticket that somebody works on or has worked on."""
STATES = ("open", "pending", "on_hold", "solved", "closed", "merged")
"""What has become of the ticket that an old matter had first."""
ENDED = ("closed", "merged")
"""Those of them that nobody can change any more."""
HAPPENS = ("none", "claims", "raises", "merges", "closes", "solves", "writes", "mails")
"""What others do meanwhile: a colleague claims a new ticket, raises its priority, merges an
original into another ticket, closes or solves it; a customer writes into it, or a mail."""
MAILS = ("same", "other")
"""What a mail is about: the matter of a ticket that is there, or another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One ticket that is new at the start."""

    customer: int
    """Which of the customers of the instance, from 0."""
    matter: str
    phrase: int
    state: str = ""
    """What has become of the original; empty for tickets without one."""
    ago: int = 0
    """Ticks before the start."""

    @property
    def original_ago(self) -> int:
        """Ticks before the start at which the original was made."""
        return 2 * DAY + self.ago

    @property
    def successor_ago(self) -> int:
        """Ticks before the start at which the ticket was made that an original is merged into."""
        return 9 * HOUR + self.ago


class Happening(NamedTuple):
    """One thing that somebody else does."""

    what: str
    seconds: int
    """After the start."""
    entry: int
    """Which of the new tickets it is about."""
    mail: str


class Rows(NamedTuple):
    """The rows of one entry."""

    ticket: Ticket
    original: Ticket | None = None
    successor: Ticket | None = None
    """What the original is merged into, or will be."""


def draw_queue(drawing: Drawing, until: int) -> None:
    """Draw the tickets, and what others do to them in the first `until` seconds."""
    drawing.between("customers", 2, CUSTOMERS)
    drawing.between("tickets", 3, TICKETS)
    for k in range(TICKETS):
        drawing.below(f"customer_{k}", CUSTOMERS)
        drawing.pick(f"kind_{k}", KINDS, (40, 25, 35))
        drawing.below(f"matter_{k}", len(MATTERS))
        drawing.below(f"phrase_{k}", 3)
        drawing.pick(f"state_{k}", STATES, (25, 15, 10, 15, 15, 20))
        drawing.between(f"minutes_{k}", 5, 40)
    for e in range(EVENTS):
        drawing.pick(f"event_{e}", HAPPENS, (16, 14, 12, 16, 12, 8, 8, 14))
        drawing.between(f"seconds_{e}", 4, until - 8)
        drawing.below(f"about_{e}", TICKETS)
        drawing.pick(f"mail_{e}", MAILS)


def entries_of(story: Mapping[str, Any]) -> list[Entry]:
    """List the tickets that are new at the start, in order of id.

    Two of one customer are about the same matter only where the later one is `again`, so that
    what is a duplicate of what is as drawn.
    """
    out: list[Entry] = []
    used: set[tuple[int, str]] = set()
    for k in range(story["tickets"]):
        kind = story[f"kind_{k}"]
        # Those that were written first are the first: minutes only spread them.
        ago = (story[f"minutes_{k}"] + 2 * (TICKETS - k)) * MINUTE - k * SECOND
        if kind == "again" and out:
            before = out[-1]
            ago = min(ago, before.ago - MINUTE)
            phrase = before.phrase + 1
            out.append(
                Entry(
                    customer=before.customer,
                    matter=before.matter,
                    phrase=phrase % len(SUBJECTS[before.matter]),
                    ago=ago,
                )
            )
            continue
        customer = story[f"customer_{k}"] % story["customers"]
        matter = unused(used, customer, story[f"matter_{k}"])
        used.add((customer, matter))
        state = story[f"state_{k}"] if kind == "old" else ""
        out.append(
            Entry(
                customer=customer,
                matter=matter,
                phrase=story[f"phrase_{k}"],
                state=state,
                ago=ago,
            )
        )
    return out


def unused(used: set[tuple[int, str]], customer: int, first: int) -> str:
    """Give the first matter from some place on that a customer hasn't written about."""
    turned = [*MATTERS[first:], *MATTERS[:first]]
    return next(matter for matter in turned if (customer, matter) not in used)


def happenings_of(story: Mapping[str, Any], entries: list[Entry]) -> list[Happening]:
    """List what others do; nobody takes the first ticket away, so that there is always work."""
    out: list[Happening] = []
    taken: set[int] = set()
    for e in range(EVENTS):
        what: str = story[f"event_{e}"]
        entry: int = story[f"about_{e}"] % len(entries)
        if what == "none":
            continue
        if what in ("merges", "closes", "solves"):
            old = [k for k, each in enumerate(entries) if each.state not in ("", *ENDED)]
            if not old:
                continue
            entry = old[entry % len(old)]
            if entry in taken:
                continue
            taken.add(entry)
        if what == "claims" and entry == 0:
            what = "raises"
        seconds = story[f"seconds_{e}"]
        out.append(Happening(what, seconds, entry, story[f"mail_{e}"]))
    return out


def put_queue(
    stage: Stage, customers: list[Customer], entries: list[Entry], merged_later: set[int]
) -> list[Rows]:
    """Put the tickets into place; `merged_later` are entries whose original somebody will merge."""
    out: list[Rows] = []
    for k, entry in enumerate(entries):
        customer = customers[entry.customer]
        original = successor = None
        if entry.state:
            if entry.state == "merged" or k in merged_later:
                subject, body = SUBJECTS[entry.matter][(entry.phrase + 2) % 3]
                successor = stage.ticket(
                    customer, subject, body, ago=entry.successor_ago, status="open", assignee_id=2
                )
            subject, body = SUBJECTS[entry.matter][(entry.phrase + 1) % 3]
            fields: dict[str, Any] = {"status": entry.state, "assignee_id": 3}
            if entry.state == "merged":
                assert successor is not None
                fields = {"status": "closed", "assignee_id": 3, "merged_into": successor.id}
            # What was solved long ago would be closed at once.
            fields["updated_at"] = stage.desk.world.epoch - 3 * HOUR
            original = stage.ticket(customer, subject, body, ago=entry.original_ago, **fields)
            if entry.state == "merged" and successor is not None:
                follow(stage, original.id, successor.id)
        subject, body = SUBJECTS[entry.matter][entry.phrase]
        ticket = stage.ticket(customer, subject, body, ago=entry.ago)
        out.append(Rows(ticket, original, successor))
    return out


def follow(stage: Stage, source_id: int, target_id: int) -> None:
    """Let the messages of a ticket that was merged stand where it was merged into."""
    table = stage.desk.messages.table
    for message in [*table]:
        if message.ticket_id == source_id:
            table.start_with(table.row_type.evolve(message, {"ticket_id": target_id}))
