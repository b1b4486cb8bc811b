"""The reference of helpdesk/triage, and one that looks only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Call, parse_instant
from simharness.api import asking as ask
from simharness.models.helpdesk.routing import ARRIVES_AS, read_routing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Task
    from simharness.models.helpdesk.routing import Place

Shown = dict[str, Any]
"""A ticket as an answer shows it."""

LONGEST_WAIT = 45
"""Seconds: so long is a wait for the last tickets."""
ROUNDS = 60
"""How often some ticket is looked at before the queue is handed over."""


def expert(task: Task) -> ask.Play:
    """See to ticket after ticket, each by what it is shown right before."""
    sorter = Sorter(task.brief)
    try:
        yield from sorter.work()
    except ask.Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    yield Call("finish", {"message": "The queue has been sorted.", "outcome": "done"})


def lazy(task: Task) -> ask.Play:
    """Place what the first look shows, whatever happens meanwhile, and merge nothing."""
    sorter = Sorter(task.brief)
    try:
        yield from sorter.learn()
        yield from sorter.look()
        for row in sorter.waiting():
            place = yield from sorter.place_of(row)
            fields = {"priority": place.priority, "tags": [place.tag]}
            assigned = {"assignee_id": place.agent} if place.agent else {}
            yield Call("update_ticket", {"ticket_id": row["id"], "fields": {**fields, **assigned}})
            yield Call("set_status", {"ticket_id": row["id"], "status": place.status})
    except ask.Impatient:
        pass
    yield Call("finish", {"message": "The queue has been sorted.", "outcome": "done"})


class Sorter:
    """Somebody who knows what the rules and the searches have shown so far."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.customers: list[int] = brief["customers"]
        self.until = parse_instant(brief["until"])
        self.routing = read_routing(())
        self.known: dict[str, Shown] = {}
        """Tickets of these customers, as last seen."""
        self.seen_to: set[str] = set()
        """Tickets that are no longer this one's business."""
        self.mine: dict[str, Place] = {}
        """Tickets that it has given to somebody, or may have."""
        self.raised: dict[str, str] = {}
        """Priorities that it has set."""

    def work(self) -> ask.Play:
        """Do the job."""
        yield from self.learn()
        complete = yield from self.look()
        for _ in range(ROUNDS):
            rows = self.waiting()
            if rows:
                yield from self.see_to(rows[0]["id"])
                continue
            if complete >= self.until:
                return
            left = (self.until - complete) // SECOND + 1
            yield Call("wait", {"seconds": min(LONGEST_WAIT, left)})
            complete = yield from self.look()
        raise ask.Impatient("the queue doesn't come to an end")

    # --- what is known ----------------------------------------------------------------------------

    def learn(self) -> ask.Play:
        """Read the rules."""
        told = yield from ask.read("search_policy", text="triage")
        self.routing = read_routing(told["policies"])

    def look(self) -> ask.Part:
        """Search the customers' tickets; gives the instant up to which all answers are complete."""
        as_of: list[int] = []
        for customer in self.customers:
            page: int | None = 1
            while page is not None:
                told = yield from ask.read(
                    "search_tickets", query=f"customer:{customer}", page=page
                )
                for row in told["tickets"]:
                    self.note(row)
                as_of.append(parse_instant(told["as_of"]))
                page = told["next_page"]
        return min(as_of)

    def note(self, row: Shown) -> None:
        """Take in a ticket, unless something newer is known of it."""
        before = self.known.get(row["id"])
        if before is None or before["version"] <= row["version"]:
            self.known[row["id"]] = row

    def read(self, ticket_id: str) -> ask.Part:
        """Read one ticket as it is now."""
        row = yield from ask.read("get_ticket", ticket_id=ticket_id)
        self.note(row)
        return row

    def waiting(self) -> list[Shown]:
        """Give the tickets that are still to be seen to, oldest first."""
        rows = [
            row
            for key, row in self.known.items()
            if key not in self.seen_to
            and (row["status"] == "new" or key in self.mine)
            and parse_instant(row["created_at"]) <= self.until
        ]
        return sorted(rows, key=age)

    def matter(self, row: Shown) -> str:
        """Say what a ticket is about."""
        return self.routing.matter(row["subject"], row["body"])

    def earlier(self, row: Shown, *, live: bool = True) -> list[Shown]:
        """Give what a ticket is a duplicate of by what is known, or may be, oldest first."""
        rows = [
            other
            for other in self.known.values()
            if other["customer_id"] == row["customer_id"]
            and age(other) < age(row)
            and self.matter(other) == self.matter(row)
            and other["status"] != "closed"
            and (self.routing.goes_on(other["status"]) or not live)
        ]
        return sorted(rows, key=age)

    # --- what is done -----------------------------------------------------------------------------

    def see_to(self, ticket_id: str) -> ask.Play:
        """Merge or place one ticket; where others were faster it stays to be seen to."""
        row = yield from self.read(ticket_id)
        if self.is_others(row):
            self.seen_to.add(ticket_id)
            return
        original = yield from self.original(row)
        if original is None:
            yield from self.put(row)
            return
        told = yield from ask.tried(
            "merge_tickets",
            source_id=ticket_id,
            target_id=original["id"],
            if_version=row["version"],
        )
        if told.value:
            self.note(told.value)
            self.seen_to.add(ticket_id)
        elif ask.unknown(told):
            yield Call("wait", {"seconds": ask.SETTLE_SECONDS})

    def is_others(self, row: Shown) -> bool:
        """Tell whether a ticket is a colleague's by now, or merged, or where it belongs."""
        place = self.mine.get(row["id"])
        if row["merged_into"] is not None or row["status"] == "closed":
            return True
        if place is None:
            return row["assignee_id"] is not None or row["status"] != "new"
        return row["assignee_id"] not in (None, place.agent) or row["status"] != "new"

    def original(self, row: Shown) -> ask.Part:
        """Find the live original of a ticket, looking at each candidate as it is now.

        A customer who writes opens again what was solved.
        """
        for other in self.earlier(row, live=False):
            if not self.routing.goes_on(other["status"]):
                yield from self.read(other["id"])
        while True:
            found = self.earlier(row)
            if not found:
                return None
            now = yield from self.read(found[0]["id"])
            into = now["merged_into"]
            if into is not None and into not in self.known:
                yield from self.read(into)
            if self.earlier(row)[:1] == [now]:
                return now

    def place_of(self, row: Shown) -> ask.Part:
        """Find out where a ticket goes; looks up only what the rules ask for."""
        routing = self.routing
        matter = self.matter(row)
        named = routing.places[matter][1].agent
        currency, written, active = "", 1, True
        if named and routing.exception == "currency":
            customer = yield from ask.read("get_customer", customer_id=row["customer_id"])
            currency = customer["currency"]
        elif named and routing.exception == "twice":
            rows = yield from ask.read_pages("list_messages", "messages", ticket_id=row["id"])
            author = f"customers:{row['customer_id']}"
            written = sum(message["author"] == author for message in rows)
        elif named and routing.exception == "away":
            agent = yield from ask.read("get_agent", agent_id=named)
            active = agent["active"]
        return routing.place(matter, currency=currency, written=written, active=active)

    def put(self, row: Shown) -> ask.Play:
        """Give a ticket what the rules give it, beside what others have set."""
        key = row["id"]
        place = yield from self.place_of(row)
        fields: Shown = {}
        if place.agent and row["assignee_id"] != place.agent:
            fields["assignee_id"] = place.agent
        if (
            row["priority"] in (ARRIVES_AS, self.raised.get(key))
            and row["priority"] != place.priority
        ):
            fields["priority"] = place.priority
        if place.tag not in row["tags"]:
            fields["tags"] = [*row["tags"], place.tag]
        if fields:
            told = yield from ask.tried(
                "update_ticket", ticket_id=key, fields=fields, if_version=row["version"]
            )
            if told.value or ask.unknown(told):
                self.mine[key] = place
                if "priority" in fields:
                    self.raised[key] = place.priority
            if not told.value:
                yield from self.settle(told)
                return
            row = told.value
            self.note(row)
        self.mine[key] = place
        told = yield from ask.tried(
            "set_status", ticket_id=key, status=place.status, if_version=row["version"]
        )
        if told.value:
            self.note(told.value)
            self.seen_to.add(key)
        else:
            yield from self.settle(told)

    def settle(self, told: Any) -> ask.Play:
        """Wait where nobody knows whether a write was done."""
        if ask.unknown(told):
            yield Call("wait", {"seconds": ask.SETTLE_SECONDS})


def age(row: Shown) -> tuple[str, int]:
    """Give the place of a ticket among those of its customer: instants are shown in one form."""
    return row["created_at"], int(row["id"].partition("-")[2])
