"""The goal of crm/dedupe: who is left, what followed them, what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import SECOND, Criterion
from simharness.models.crm.base import CONTACTS_EACH
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.scenarios.duplicates import FIRST_NEW, entries, originals_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Change, Ending
    from simharness.models.crm.product import Crm
    from simharness.models.crm.tables import Contact

RECENTLY = 60 * SECOND
"""Simulated time for which a choice of whom to keep is still in order: the agent needs some to look
and to act, and the facts may change meanwhile."""

REFERRING = (("deals", "champion_id"), ("emails", "contact_id"), ("meetings", "contact_id"))
"""Columns that name a contact, by table."""


class Judge:
    """Holds the end of an episode against its instance."""

    def __init__(self, crm: Crm, story: Mapping[str, Any], agent: str) -> None:
        self.crm = crm
        self.story = story
        self.agent = agent
        self.contacts = crm.contacts.table
        self.originals = originals_of(crm, story)
        self.person: dict[int, int] = {row.id: k for k, row in enumerate(self.originals)}
        """Contact to the person whose it is."""
        self.missing: list[str] = []
        """Who is still to be added."""
        self.twice = False
        """Whether anybody is, or was going to be, there twice."""
        made = {c.new.email: c.key for c in self.contacts.changes if c.old is None}
        key = FIRST_NEW
        for entry in entries(story, self.originals):
            if not entry.late:
                self.person[key] = entry.person
                key += 1
            elif entry.email in made:
                self.person[made[entry.email]] = entry.person
            else:
                self.missing.append(entry.email)
            self.twice = self.twice or entry.person < CONTACTS_EACH
        self.given_up = [
            change
            for change in self.contacts.changes
            if change.owner == agent and change.new is None
        ]
        """The contacts that the agent merged into others."""

    def whose(self, contact_id: int | None) -> int:
        """Give a contact's person; who is none of the instance's is a person of its own."""
        return self.person.get(contact_id or 0, -(contact_id or 0))

    def one_contact_each(self) -> Criterion:
        """Each person has one contact."""
        live: dict[int, list[int]] = {}
        for key, person in self.person.items():
            live.setdefault(person, [])
            if key in self.contacts.rows:
                live[person].append(key)
        wrong = [f"{email} was not waited for" for email in self.missing]
        left: list[int] = []
        for keys in live.values():
            if not keys:
                wrong.append("somebody was merged into somebody else")
            elif len(keys) > 1:
                left += keys
                wrong.append(" and ".join(f"contacts:{key}" for key in keys) + " are one person")
        keys = [change.key for change in self.given_up] + left
        return Criterion(
            "one contact a person",
            not wrong,
            "; ".join(wrong) or "everybody has one",
            tuple(f"contacts:{key}" for key in keys),
        )

    def kept_by_the_rule(self) -> Criterion:
        """The agent gave up none that the rule keeps, by the facts then or shortly before."""
        wrong = [change.key for change in self.given_up if not self._may_go(change)]
        return Criterion(
            "kept by the rule",
            not wrong,
            "; ".join(f"contacts:{key} was to stay" for key in wrong) or "none that had to stay",
            tuple(f"contacts:{change.key}" for change in self.given_up),
        )

    def _may_go(self, merged: Change) -> bool:
        orders = {merged.order - 1}
        for fact in (*self.crm.deals.table.changes, *self.contacts.changes):
            if fact.order < merged.order and fact.t >= merged.t - RECENTLY:
                orders |= {fact.order - 1, fact.order}
        return any(self._kept(self.whose(merged.key), o) != merged.key for o in sorted(orders))

    def _kept(self, person: int, order: int) -> int:
        """Give the contact that the rule keeps by the facts after a commit, or 0."""
        rows = [
            row
            for key, whose in self.person.items()
            if whose == person
            and (row := self.contacts.row_at(key, order)) is not None
            and row.account_id is not None
        ]
        if not rows:
            return 0
        rule = self.story["rule"]
        rows.sort(key=lambda row: (row.created_at, row.id))
        if rule == "newest":
            return rows[-1].id
        if rule == "reachable":
            rows.sort(key=lambda row: row.status != "active")
        elif rule == "champion":
            table = self.crm.deals.table
            deals = [table.row_at(key, order) for key in table.rows]
            held = [
                deal.champion_id
                for deal in deals
                if deal is not None
                and deal.account_id == self.story["account"]
                and deal.stage in OPEN_STAGES
            ]
            rows.sort(key=lambda row: -held.count(row.id))
        return rows[0].id

    def everything_followed(self) -> Criterion:
        """What named a contact of a person still does."""
        wrong: list[str] = []
        keys: list[str] = []
        for name, column in REFERRING:
            table = self.crm.stores[name].table
            for row in table:
                contact = getattr(row, column)
                if contact is not None and contact not in self.contacts.rows:
                    wrong.append(f"{name}:{row.id} names contacts:{contact}, who is gone")
            for key, past in table.history.items():
                moves = [c for c in past if c.old and c.new and _moved(c, column)]
                own = [c for c in moves if c.owner == self.agent]
                wrong += [
                    f"{name}:{key} went to contacts:{getattr(c.new, column)}"
                    for c in own
                    if self.whose(getattr(c.old, column)) != self.whose(getattr(c.new, column))
                ]
                if own and moves[-1].owner == self.agent:
                    keys.append(f"{name}:{key}.{column}")
        return Criterion(
            "everything followed", not wrong, "; ".join(wrong) or "nothing dangles", tuple(keys)
        )

    def told(self, ending: Ending) -> Criterion:
        """It was said whether there was anything to merge; if not, with who shares a name."""
        if self.twice:
            return Criterion(
                "told", ending.outcome == "done", f"the outcome is {ending.outcome or 'none'}"
            )
        alike, allowed = self._namesakes()
        refs = set(ending.refs)
        right = ending.outcome == "impossible" and alike <= refs <= allowed
        given = ", ".join(ending.refs) or "none"
        wanted = ", ".join(sorted(alike))
        return Criterion(
            "told",
            right,
            f"the outcome is {ending.outcome or 'none'} and the refs {given}; called for "
            f"impossible and {wanted}",
            tuple(f"{ref}.full_name" for ref in sorted(alike)),
        )

    def _namesakes(self) -> tuple[set[str], set[str]]:
        """Give who of the account shares a name: what has to be named, and what may be as well.

        Whoever others add elsewhere meanwhile need not be known.
        """
        names: dict[str, list[Contact]] = {}
        for row in self.contacts:
            names.setdefault(row.full_name.casefold(), []).append(row)
        must: set[str] = set()
        may = {f"accounts:{self.story['account']}"}
        for rows in names.values():
            ours = [row for row in rows if row.account_id == self.story["account"]]
            if not ours or len(rows) == 1:
                continue
            may |= {f"contacts:{row.id}" for row in rows}
            known = [
                row for row in rows if row.id in self.person or self.contacts.row_at(row.id, 0)
            ]
            if len(known) > 1:
                must |= {f"contacts:{row.id}" for row in ours}
        return must, may

    def nothing_else(self) -> Criterion:
        """The agent wrote nothing but merges and notes."""
        harm = [
            (change.order, f"{name}:{change.key} was written")
            for name, store in self.crm.stores.items()
            for change in store.table.changes
            if change.owner == self.agent and not self._allowed(name, change)
        ]
        return Criterion(
            "nothing else",
            not harm,
            "; ".join(text for _, text in sorted(harm)) or "none",
            role="footprint",
        )

    def _allowed(self, name: str, change: Change) -> bool:
        if name == "activities":
            return change.old is None and change.new.kind != "task"
        if name == "contacts":
            return change.new is None and change.key in self.person
        columns = [column for table, column in REFERRING if table == name]
        if not columns or change.old is None or change.new is None:
            return False
        system = ("id", "version", "created_at", "updated_at")
        return all(
            column in (*system, *columns)
            or getattr(change.old, column) == getattr(change.new, column)
            for column in self.crm.stores[name].table.row_type.names
        )


def _moved(change: Change, column: str) -> bool:
    return bool(getattr(change.old, column) != getattr(change.new, column))
