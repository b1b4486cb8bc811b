"""The reference of crm/approval, and one who takes the deal's word for its approval."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simharness.api import Call
from simharness.models.crm.policies.asking import (
    BUSY_SECONDS,
    Impatient,
    read,
    tried,
    wait_for,
)
from simharness.models.crm.rules import DISCOUNT_FREE

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Action, Observation, Task
    from simharness.models.crm.policies.asking import Play

    Part = Generator[Action, Observation, Any]

TRIES = 6
FACTS = (
    "stage",
    "amount",
    "discount_pct",
    "approval",
    "legal",
    "budget",
    "champion_id",
    "lost_reason",
)
"""What the rules look at. Whether the champion is still there is asked again when a deal is won."""

COUNTER = re.compile(r"At most (\d+) percent")
"""How a note names the discount that would pass."""


def expert(task: Task) -> Play:
    """Take the deal through approval by the rules, from what it is shown and nothing else."""
    yield from play(Seller(task.brief))


def lazy(task: Task) -> Play:
    """Do the same, but never look for which discount the deal's approval is."""
    yield from play(Seller(task.brief, trusting=True))


def play(seller: Seller) -> Play:
    """Work the deal, then say how it ended."""
    try:
        outcome = yield from seller.work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    message = f"Deal {seller.deal_id}: {outcome}."
    yield Call("finish", {"message": message, "outcome": outcome, "refs": seller.refs})


class Seller:
    """Reads, decides and acts until the deal has ended."""

    def __init__(self, brief: Mapping[str, Any], *, trusting: bool = False) -> None:
        self.brief = brief
        self.trusting = trusting
        self.deal_id: int = brief["deal_id"]
        self.refs: list[str] = []
        """What the end rests on."""
        self.waited: dict[str, int] = {}
        self.quoted: set[tuple[int, int]] = set()
        """Discount and amount of the quotes that it made."""

    def work(self) -> Part:
        """Give the outcome."""
        while True:
            deal = yield from read("get_deal", deal_id=self.deal_id)
            if deal["stage"] != "negotiation":
                return "done"
            if deal["budget"] == "gone" or deal["legal"] == "blocked":
                reason = "budget" if deal["budget"] == "gone" else "legal"
                notes = yield from self.notes()
                said = [note["id"] for note in notes if note["subject"] == reason]
                self.refs = [f"activities:{key}" for key in said[-1:]]
                yield from self.lose(deal, reason)
            elif deal["legal"] == "none":
                yield from self.write("update_deal", deal, fields={"legal": "in_review"})
            elif (yield from self.settled(deal)):
                outcome = yield from self.close(deal)
                if outcome:
                    return outcome
            elif self.refs and self.brief["if_rejected"] == "hand_over":
                return "handed_over"
            elif self.refs:
                yield from self.lose(deal, "price")

    def lose(self, deal: dict[str, Any], reason: str) -> Play:
        """Set the reason, then close the deal as lost."""
        if deal["lost_reason"] != reason:
            changes = {"lost_reason": reason}
            changed = yield from self.write("update_deal", deal, fields=changes)
            if changed is None:
                return
            deal = changed
        yield from self.write("move_stage", deal, to_stage="closed_lost")

    # --- the discount -----------------------------------------------------------------------------

    def settled(self, deal: dict[str, Any]) -> Part:
        """Tell whether the discount may stand; does what is to be done about it.

        Where it may not and never will, `refs` name the rejection.
        """
        self.refs = []
        percent = deal["discount_pct"]
        if percent <= DISCOUNT_FREE:
            return True
        if deal["approval"] == "pending":
            yield from self.wait(f"approval of version {deal['version']}")
            return False
        if deal["approval"] == "none":
            yield from self.request(deal, percent)
            return False
        notes = yield from self.notes()
        numbers = [int(note["subject"][9:]) for note in notes if is_about_request(note)]
        if not numbers:
            yield from self.wait("a note about the decision")
            return False
        request = yield from read("get_approval", approval_id=max(numbers))
        if request["discount_pct"] != percent and not self.trusting:
            yield from self.request(deal, percent)
            return False
        if request["status"] != "rejected":
            self.refs = [f"approvals:{request['id']}"]
            return True
        counter = counter_of(request, notes)
        if counter is not None and counter >= self.brief["floor_pct"]:
            yield from self.request(deal, counter)
            return False
        self.refs = [f"approvals:{request['id']}"]
        return False

    def request(self, deal: dict[str, Any], percent: int) -> Play:
        """Ask for approval."""
        yield from self.write("request_approval", deal, discount_pct=percent)

    def write(self, tool: str, deal: dict[str, Any], **arguments: Any) -> Part:
        """Make a write that rests on the deal, again where only its plans have changed meanwhile.

        Gives the answer, or None when everything has to be thought over again.
        """
        for _ in range(TRIES):
            guard = {"deal_id": deal["id"], **arguments, "if_version": deal["version"]}
            told = yield Call(tool, guard)
            if told.value:  # an empty answer is none
                return told.value
            if told.error != "conflict":
                yield from wait_for(tool, self.waited, BUSY_SECONDS)
                return None
            now = yield from read("get_deal", deal_id=deal["id"])
            if any(now[column] != deal[column] for column in FACTS):
                return None
            deal = now
        return None

    def wait(self, what: str) -> Play:
        """Wait for an answer."""
        yield from wait_for(what, self.waited)

    def notes(self) -> Part:
        """Read what is noted on the deal."""
        page: int | None = 1
        notes: list[dict[str, Any]] = []
        while page is not None:
            told = yield from read("list_activities", deal_id=self.deal_id, page=page)
            notes += told["activities"]
            page = told["next_page"]
        return notes

    # --- the end ----------------------------------------------------------------------------------

    def close(self, deal: dict[str, Any]) -> Part:
        """Make sure of champion, legal and quote, then win the deal.

        Gives handed_over where nobody is left to be the champion, else an empty text.
        """
        champion = yield from read("get_contact", contact_id=deal["champion_id"])
        if champion["status"] != "active":
            return (yield from self.replace(deal))
        if deal["legal"] == "in_review":
            yield from self.wait("legal")
            return ""
        percent, amount = deal["discount_pct"], deal["amount"]
        needed = self.brief["quote"] == "always" or percent <= DISCOUNT_FREE
        if needed and (percent, amount) not in self.quoted:
            arguments = {"deal_id": deal["id"], "discount_pct": percent}
            quote = yield from tried("create_quote", arguments, self.waited)
            if quote is None or quote["total"] != amount * (100 - percent) // 100:
                return ""
            self.quoted.add((percent, amount))
        yield from self.write("move_stage", deal, to_stage="closed_won")
        return ""

    def replace(self, deal: dict[str, Any]) -> Part:
        """Make another active contact the champion; gives handed_over if there is none."""
        account = yield from read("get_account", account_id=deal["account_id"])
        found = yield from read("search_contacts", text=account["domain"])
        for row in found["contacts"]:
            # A search may be a few seconds old, as it says itself; the row is looked up before it
            # is relied upon.
            if row["status"] == "active" and row["account_id"] == deal["account_id"]:
                now = yield from read("get_contact", contact_id=row["id"])
                if now["status"] == "active":
                    changes = {"champion_id": now["id"]}
                    yield from self.write("update_deal", deal, fields=changes)
                    return ""
        self.refs = [f"contacts:{deal['champion_id']}"]
        return "handed_over"


def is_about_request(note: Mapping[str, Any]) -> bool:
    """Tell whether a note's subject is "approval N"."""
    subject: str = note["subject"]
    word, _, number = subject.partition(" ")
    return word == "approval" and number.isdecimal()


def counter_of(request: Mapping[str, Any], notes: list[dict[str, Any]]) -> int | None:
    """Give the discount that would pass, from the request or from the note about it."""
    if request["counter_pct"] is not None:
        return int(request["counter_pct"])
    for note in notes:
        found = COUNTER.search(note["body"])
        if note["subject"] == f"approval {request['id']}" and found is not None:
            return int(found[1])
    return None
