"""The reference of crm/handoff, and one that looks only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Call, parse_instant
from simharness.models.crm.policies.asking import BUSY_SECONDS, PATIENCE_SECONDS, Impatient
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.succession import SIGNED_OFF, Terms

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.api import Action, Observation, Task
    from simharness.models.crm.policies.asking import Play

TRIES = 4
"""Most attempts at one deal before the others have their turn."""
LOOK_SECONDS = 20
"""Pause between two looks for the leaver's note."""
NAP_SECONDS = 60
"""Longest pause before an instant that is known."""


def expert(task: Task) -> Play:
    """Give the book away, again as long as it changes, and then see to the leaver's account."""
    handover = Handover(task.brief)
    try:
        outcome, refs = yield from handover.work()
    except Impatient as reason:
        yield Call("finish", {"message": str(reason), "outcome": "handed_over"})
        return
    message = f"The deals of user {handover.leaver} have their new owners."
    yield Call("finish", {"message": message, "outcome": outcome, "refs": refs})


def hasty(task: Task) -> Play:
    """Give away what the first look shows, whatever happens meanwhile, and say that it is done."""
    handover = Handover(task.brief)
    try:
        yield from handover.look_at_accounts()
        for deal in (yield from handover.listed("deals", "list_deals", owner_id=handover.leaver)):
            if deal["stage"] in OPEN_STAGES:
                fields = {"owner_id": handover.heir(deal)}
                yield Call("update_deal", {"deal_id": deal["id"], "fields": fields})
        yield from handover.await_the_end()
        if task.brief["shut"]:
            yield Call("deactivate_user", {"user_id": handover.leaver})
    except Impatient:
        pass
    yield Call("finish", {"message": "All handed over.", "outcome": "done"})


class Handover:
    """One handover, as far as its observations tell."""

    def __init__(self, brief: Mapping[str, Any]) -> None:
        self.brief = brief
        self.leaver: int = brief["leaver_id"]
        self.terms = Terms(
            brief["rule"],
            self.leaver,
            brief["successor_id"],
            brief.get("other_id", 0),
            tuple(brief.get("industries", ())),
            brief.get("threshold", 0),
        )
        self.accounts: dict[int, dict[str, Any]] = {}
        self.given: dict[int, dict[str, Any]] = {}
        """Deals that it has given away, as last seen."""
        self.chosen: dict[int, int] = {}
        """Their owners, as it has set them."""
        self.over = False
        """Whether the leaver has done the last act."""
        self.now = 0
        self.waited = 0

    def work(self) -> Generator[Action, Observation, tuple[str, list[str]]]:
        """Do the job; gives the outcome and the refs to finish with."""
        yield from self.ask("deal_changes")  # from here on it is told what changes
        yield from self.look_at_accounts()
        while True:
            over = self.over
            yield from self.give_away()
            if not over:
                yield from self.await_the_end()
            elif (yield from self.is_settled()):
                if not self.brief["shut"]:
                    return "done", []
                if (found := (yield from self.shut_out())) is not None:
                    return found

    # --- asking -----------------------------------------------------------------------------------

    def tell(
        self, tool: str, arguments: dict[str, Any]
    ) -> Generator[Action, Observation, Observation]:
        """Make one call; gives what came of it."""
        told = yield Call(tool, arguments)
        self.now = parse_instant(told.t)
        return told

    def ask(self, tool: str, **arguments: Any) -> Generator[Action, Observation, Any]:
        """Read until there is an answer."""
        for _ in range(8):
            told = yield from self.tell(tool, arguments)
            if told.value:  # an empty answer is none
                return told.value
            yield from self.wait(BUSY_SECONDS)
        raise Impatient(f"{tool} doesn't answer")

    def listed(
        self, table: str, tool: str, **arguments: Any
    ) -> Generator[Action, Observation, list[dict[str, Any]]]:
        """Read all pages of a list."""
        rows: list[dict[str, Any]] = []
        page: int | None = 1
        while page is not None:
            more = {"page": page} if page > 1 else {}
            told = yield from self.ask(tool, **arguments, **more)
            rows += told[table]
            page = told["next_page"]
        return rows

    def wait(self, seconds: int) -> Generator[Action, Observation, None]:
        """Let time pass."""
        yield from self.tell("wait", {"seconds": seconds})

    # --- the deals --------------------------------------------------------------------------------

    def look_at_accounts(self) -> Generator[Action, Observation, None]:
        """Read the accounts, where the rule asks for them; later only those that have changed."""
        if not self.terms.asks_account:
            return
        changed = (yield from self.ask("account_changes"))["accounts"]
        if not self.accounts:
            changed = yield from self.listed("accounts", "list_accounts")
        self.accounts.update((row["id"], row) for row in changed)

    def heir(self, deal: Mapping[str, Any]) -> int:
        """Give who gets a deal."""
        account = self.accounts.get(deal["account_id"], {})
        industry, owner = account.get("industry", ""), account.get("owner_id")
        return self.terms.heir(deal["stage"], deal["amount"], industry, owner)

    def give_away(self) -> Generator[Action, Observation, None]:
        """Give away whatever open deals a list shows, until it shows none."""
        while True:
            rows = yield from self.listed("deals", "list_deals", owner_id=self.leaver)
            rows = [row for row in rows if row["stage"] in OPEN_STAGES]
            if not rows:
                return
            for row in rows:
                yield from self.give(row)

    def give(self, deal: dict[str, Any]) -> Generator[Action, Observation, None]:
        """Give one deal away, unless it turns out to be closed or a colleague's by now."""
        key: int = deal["id"]
        for _ in range(TRIES):
            mine = self.chosen.get(key)
            if deal["stage"] not in OPEN_STAGES or deal["owner_id"] not in (self.leaver, mine):
                return
            to = self.heir(deal)
            if deal["owner_id"] == to:
                self.given[key] = deal
                return
            fields = {"owner_id": to}
            told = yield from self.tell(
                "update_deal", {"deal_id": key, "fields": fields, "if_version": deal["version"]}
            )
            if told.value:
                self.given[key], self.chosen[key] = told.value, to
                return
            if told.error in ("", "unknown_outcome"):  # an empty answer is none
                # If it has that owner now, this call has taken effect.
                self.chosen[key] = to
            if told.error != "conflict":
                yield from self.wait(BUSY_SECONDS)
            deal = yield from self.ask("get_deal", deal_id=key)

    def is_settled(self) -> Generator[Action, Observation, bool]:
        """Correct what was given away on facts that have changed; tells that there was nothing."""
        yield from self.look_at_accounts()
        for row in (yield from self.ask("deal_changes"))["deals"]:
            if row["id"] in self.given:
                self.given[row["id"]] = row
        wrong = [
            row
            for key, row in self.given.items()
            if row["stage"] in OPEN_STAGES
            and row["owner_id"] == self.chosen[key]
            and self.heir(row) != row["owner_id"]
        ]
        for row in wrong:
            yield from self.give(row)
        return not wrong

    # --- the leaver -------------------------------------------------------------------------------

    def await_the_end(self) -> Generator[Action, Observation, None]:
        """Wait a while for the leaver's last act, and notice it."""
        until = self.brief.get("until")
        if until is not None:
            while (left := parse_instant(until) - self.now) > 0:
                yield from self.wait(min(NAP_SECONDS, 1 + left // SECOND))
            self.over = True
            return
        notes = yield from self.listed(
            "activities", "list_activities", deal_id=self.brief["deal_id"]
        )
        for row in notes:
            if row["author_id"] == self.leaver and row["subject"] == SIGNED_OFF:
                self.over = True
                return
        if self.waited >= 2 * PATIENCE_SECONDS:
            raise Impatient(f"user {self.leaver} doesn't sign off")
        self.waited += LOOK_SECONDS
        yield from self.wait(LOOK_SECONDS)

    def shut_out(self) -> Generator[Action, Observation, tuple[str, list[str]] | None]:
        """Shut the leaver out or name who may; None when there is a deal to be given away first."""
        for _ in range(TRIES):
            me = yield from self.ask("get_user", user_id=self.brief["user_id"])
            if not is_admin(me):
                break
            told = yield from self.tell("deactivate_user", {"user_id": self.leaver})
            if not told.error:
                return "done", []
            user = yield from self.ask("get_user", user_id=self.leaver)
            if not user["active"]:
                return "done", []
            if told.error == "conflict":
                return None
            yield from self.wait(BUSY_SECONDS)
        for key in self.brief["candidates"]:
            if key != self.brief["user_id"]:
                user = yield from self.ask("get_user", user_id=key)
                if is_admin(user):
                    return "handed_over", [f"users:{key}"]
        raise Impatient("nobody may shut users out")


def is_admin(user: Mapping[str, Any]) -> bool:
    """Tell whether somebody is active and has the role admin."""
    return user["active"] and (user["role"] == "admin" or "admin" in user["grants"])
