"""The reference of crm/dedupe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Call, parse_instant
from simharness.models.crm.names import MAILBOX, renaming, same_name, same_role
from simharness.models.crm.policies.asking import BUSY_SECONDS, Impatient, read, wait_for
from simharness.models.crm.rules import OPEN_STAGES

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task
    from simharness.models.crm.policies.asking import Play

    Rows = list[dict[str, Any]]

LONGEST_WAIT = 45
"""Seconds: so long is a wait for the last additions."""


def expert(task: Task) -> Play:
    """Merge who is one person by the house rules, from what it is shown and nothing else."""
    try:
        yield from Clerk(task).work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})


class Clerk:
    """Somebody who knows what the searches have shown so far."""

    def __init__(self, task: Task) -> None:
        self.account_id: int = task.brief["account_id"]
        self.keep: str = task.brief["keep"]
        self.until = parse_instant(task.brief["until"])
        self.domain = self.title = ""
        self.known: dict[int, dict[str, Any]] = {}
        """Contacts that were found, by id."""
        self.gone: set[int] = set()
        """Contacts that are no more; a search may still show them."""
        self.unsure: set[int] = set()
        """Contacts of which nobody has said whether they were merged away."""
        self.searched: set[str] = set()
        self.aliases: list[tuple[str, str]] = []
        self.merged = 0
        self.waited: dict[str, int] = {}

    def work(self) -> Play:
        """Find, merge, look again after the last addition, and say what came of it."""
        account = yield from read("get_account", account_id=self.account_id)
        self.domain, self.title = account["domain"], account["title"]
        yield from self.search(f"@{self.domain}")
        yield from self.read_notes()
        complete = 0
        while True:
            yield from self.search_names()
            group = next(iter(self.groups()), None)
            if group is not None:
                yield from self.settle(group)
            elif complete >= self.until:
                break
            else:
                if complete:
                    left = (self.until - complete) // SECOND + 1
                    yield Call("wait", {"seconds": min(LONGEST_WAIT, left)})
                complete = yield from self.search(f"@{self.domain}")
        if self.merged:
            message = f"{self.merged} contacts were merged."
            yield Call("finish", {"message": message, "outcome": "done"})
            return
        yield Call(
            "finish",
            {
                "message": "Nobody is in there twice; these only share a name.",
                "outcome": "impossible",
                "refs": self.namesakes(),
            },
        )

    # --- what is known ----------------------------------------------------------------------------

    def search(self, text: str) -> Generator[Action, Observation, int]:
        """Search contacts; gives the instant up to which the answer is complete."""
        page: int | None = 1
        as_of = ""
        while page is not None:
            found = yield from read("search_contacts", text=text, page=page)
            for row in found["contacts"]:
                if row["id"] not in self.gone:
                    self.known[row["id"]] = row
            as_of = min(as_of or found["as_of"], found["as_of"])
            page = found["next_page"]
        return parse_instant(as_of)

    def search_names(self) -> Play:
        """Search the last names of all who are known and haven't been searched for."""
        for name in [row["full_name"] for row in self.ours()] + [old for old, _ in self.aliases]:
            last = name.partition(",")[0] if "," in name else name.rpartition(" ")[2]
            if last not in self.searched:
                self.searched.add(last)
                yield from self.search(last)

    def read_notes(self) -> Play:
        """Read the notes on the account's deals for new names."""
        found = yield from read("search_deals", text=self.title)
        for deal_id in [d["id"] for d in found["deals"] if d["account_id"] == self.account_id]:
            page: int | None = 1
            while page is not None:
                told = yield from read("list_activities", deal_id=deal_id, page=page)
                names = [renaming(activity["body"]) for activity in told["activities"]]
                self.aliases += [pair for pair in names if pair is not None]
                page = told["next_page"]

    def ours(self) -> Rows:
        """Give the contacts that it is about, in order of id."""
        return [
            row
            for _, row in sorted(self.known.items())
            if row["account_id"] == self.account_id
            or (row["account_id"] is None and row["email"].endswith(f"@{self.domain}"))
        ]

    def namesakes(self) -> list[str]:
        """Name who of the account shares a full name with somebody."""
        names = [row["full_name"].casefold() for row in self.known.values()]
        return [
            f"contacts:{key}"
            for key, row in sorted(self.known.items())
            if row["account_id"] == self.account_id and names.count(row["full_name"].casefold()) > 1
        ]

    def groups(self) -> list[Rows]:
        """Group the contacts that are one person's; only groups of several."""
        groups: list[Rows] = []
        for row in self.ours():
            same = [group for group in groups if any(self.one_person(row, one) for one in group)]
            joined = [one for group in same for one in group] + [row]
            groups = [group for group in groups if group not in same] + [joined]
        return [group for group in groups if len(group) > 1]

    def one_person(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        """Tell whether two contacts are one person's by the rules."""
        if MAILBOX in (one["role"], other["role"]) or not same_role(one["role"], other["role"]):
            return False
        return any(same_name(a, b) for a in self.names_of(one) for b in self.names_of(other))

    def names_of(self, row: dict[str, Any]) -> list[str]:
        """Give a contact's name and those that it had before."""
        name = row["full_name"]
        return [name] + [old for old, new in self.aliases if new == name]

    # --- what is done -----------------------------------------------------------------------------

    def settle(self, group: Rows) -> Play:
        """Look each contact of a person up by its id, then merge one of them into who stays."""
        there: Rows = []
        for row in group:
            now = yield from self.look_up(row["id"])
            if now is not None:
                there.append(now)
        if len(there) < len(group):
            return
        stays = yield from self.who_stays(there)
        for row in there:
            if row["id"] == stays:
                continue
            merge = {"source_id": row["id"], "target_id": stays}
            told = yield Call("merge_contacts", merge)
            if not told.value:
                if told.error in ("", "unknown_outcome"):
                    self.unsure.add(row["id"])
                yield from wait_for("merge_contacts", self.waited, BUSY_SECONDS)
                return
            self.merged += 1
            self.forget(row["id"])

    def look_up(self, key: int) -> Generator[Action, Observation, dict[str, Any] | None]:
        """Read one contact, or learn that it is gone."""
        while True:
            told = yield Call("get_contact", {"contact_id": key})
            if told.error == "not_found":
                self.forget(key)
                return None
            if told.value:  # an empty answer is none
                row: dict[str, Any] = told.value
                self.known[key] = row
                return row
            yield Call("wait", {"seconds": 5})

    def forget(self, key: int) -> None:
        """Note that a contact is no more."""
        self.gone.add(key)
        self.known.pop(key, None)
        if key in self.unsure:
            self.unsure.remove(key)
            self.merged += 1

    def who_stays(self, rows: Rows) -> Generator[Action, Observation, int]:
        """Give the id of the contact that the rule keeps."""
        rows = [row for row in rows if row["account_id"] is not None]
        rows.sort(key=lambda row: (parse_instant(row["created_at"]), row["id"]))
        if self.keep == "newest":
            return int(rows[-1]["id"])
        if self.keep == "reachable":
            rows.sort(key=lambda row: row["status"] != "active")
        elif self.keep == "champion":
            # Deals are as of seconds ago, which is soon enough: whoever becomes a champion now may
            # be given up for a while.
            found = yield from read("search_deals", text=self.title)
            held = [
                deal["champion_id"]
                for deal in found["deals"]
                if deal["account_id"] == self.account_id and deal["stage"] in OPEN_STAGES
            ]
            rows.sort(key=lambda row: -held.count(row["id"]))
        return int(rows[0]["id"])
