"""crm/dedupe: people who are entered twice, and people who only seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import (
    DAY,
    SECOND,
    Criterion,
    Drawing,
    Ending,
    Instance,
    Scenario,
    format_instant,
)
from simharness.models.crm.base import (
    ACCOUNTS,
    CONTACTS_EACH,
    DEALS,
    EPOCH,
    REPS,
    base_rows,
)
from simharness.models.crm.habits import TEAM
from simharness.models.crm.names import MAILBOX, PAIRS, RENAMED
from simharness.models.crm.people.clerks import arrive, later, start_editors
from simharness.models.crm.people.machines import start_machines
from simharness.models.crm.people.team import start_team
from simharness.models.crm.policies import coping, dedupe
from simharness.models.crm.rules import OPEN_STAGES
from simharness.models.crm.scenarios.dedupe_goal import Judge
from simharness.models.crm.scenarios.duplicates import (
    DUPLICATES,
    FIRST_NEW,
    KINDS,
    LIKES,
    LOOK_ALIKES,
    entries,
    originals_of,
)
from simharness.models.crm.tables import Activity, Deal, Email, Meeting

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.api import Operation, Policy, Row
    from simharness.models.crm.product import Crm
    from simharness.models.crm.scenarios.duplicates import Entry

OWN_DEALS = (DEALS + 1, DEALS + 2)
"""Ids of the deals that the instance adds."""
EDITOR_THINK = 60 * SECOND

KEEP: Mapping[str, str] = {
    "oldest": "the one that was created first",
    "newest": "the one that was created last",
    "champion": "the one that is the champion of most open deals (of equals, the one created "
    "first)",
    "reachable": "the one whose status is active (of several or none, the one created first)",
}
"""Rules that say which contact of a person has to stay."""


class Dedupe(Scenario["Crm"]):
    """Merge the contacts of one account that are one person's."""

    id = "crm/dedupe"
    doc = (
        "each person has one contact, the one that the rule keeps, deals, mails and meetings have "
        "followed, and nobody else was merged or changed; where nobody is entered twice, it was "
        "said so with those who share a name as refs"
    )
    epoch = EPOCH
    steps_max = 100
    team = TEAM
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": dedupe.expert,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the company."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw who is entered twice, who only looks so, and who interferes."""
        drawing.between("account", 1, ACCOUNTS)
        drawing.between("owner", 1, REPS)
        drawing.pick("rule", tuple(KEEP))
        drawing.between("until", 70, 130)
        drawing.pick("duplicates", ("0", "1", "2", "3", "4"), (38, 16, 19, 15, 12))
        for k in range(1, DUPLICATES + 1):
            drawing.below(f"person_{k}", CONTACTS_EACH)
            drawing.pick(f"kind_{k}", KINDS)
            drawing.pick(f"age_{k}", ("older", "younger"))
            drawing.pick(f"status_{k}", ("active", "bounced"), (75, 25))
        drawing.pick("original", ("active", "bounced"), (65, 35))
        drawing.pick("likes", ("0", "1", "2"), (30, 40, 30))
        for k in range(1, LOOK_ALIKES + 1):
            drawing.below(f"like_person_{k}", CONTACTS_EACH)
            drawing.pick(f"like_{k}", LIKES)
        drawing.pick("champion", ("original", "duplicate"))
        drawing.below("note", 12)
        drawing.pick("import", ("nothing", "duplicate", "junior"), (50, 25, 25))
        drawing.below("import_person", CONTACTS_EACH)
        drawing.between("import_after", 5, 60)
        drawing.pick("colleague", ("nothing", "merges", "creates", "promotes", "bounces"))
        drawing.below("colleague_person", CONTACTS_EACH)
        drawing.between("colleague_after", 5, 60)
        drawing.pick("direction", ("right", "wrong"))

    def start(self, product: Crm, instance: Instance) -> int:
        """Put the duplicates into place, with what is known about them."""
        story: Any = instance
        contacts, deals = product.contacts.table, product.deals.table
        originals = originals_of(product, story)
        stamp: dict[str, Any] = {"updated_at": EPOCH - 2 * DAY}
        if story["original"] == "bounced":
            row = originals[int(story["person_1"])]
            contacts.start_with(contacts.row_type.evolve(row, {"status": "bounced"}))
        new = [entry for entry in entries(story, originals) if not entry.late]
        for k, entry in enumerate(new):
            row = contacts.row_type.cls(
                id=FIRST_NEW + k,
                account_id=entry.account_id,
                full_name=entry.full_name,
                email=entry.email,
                role=entry.role,
                status=entry.status,
                created_at=entry.created_at,
                **stamp,
            )
            contacts.start_with(row)
            self._correspondence(product, FIRST_NEW + k, k, story)
        twice = [FIRST_NEW + k for k in range(int(story["duplicates"]))]
        first = originals[0].id
        championed = story["champion"] == "duplicate"
        for k, key in enumerate(OWN_DEALS):
            deals.start_with(
                Deal(
                    id=key,
                    account_id=story["account"],
                    title=f"{product.accounts.table.rows[story['account']].title} seats {k + 1}",
                    stage="proposal",
                    amount=120_000_00 + k * 30_000_00,
                    owner_id=story["owner"],
                    close_on=EPOCH + 30 * DAY,
                    next_step="book a demo",
                    champion_id=twice[k] if k < len(twice) else first,
                    created_at=EPOCH - 40 * DAY,
                    **stamp,
                )
            )
        if championed and twice and story["person_1"] == 0:
            for deal in open_deals(product, story["account"]):
                if deal.champion_id == first:
                    deals.start_with(deals.row_type.evolve(deal, {"champion_id": twice[0]}))
        self._notes(product, story, new)
        return int(story["owner"])

    def _correspondence(self, product: Crm, key: int, k: int, story: Mapping[str, Any]) -> None:
        stamp: dict[str, Any] = {"created_at": EPOCH - 20 * DAY, "updated_at": EPOCH - 20 * DAY}
        product.emails.table.start_with(
            Email(id=k + 1, contact_id=key, template="follow_up", subject="Following up", **stamp)
        )
        if k % 2 == 0:
            product.meetings.table.start_with(
                Meeting(
                    id=k + 1,
                    deal_id=OWN_DEALS[0],
                    contact_id=key,
                    starts_at=EPOCH + (3 + k) * DAY,
                    minutes=30,
                    **stamp,
                )
            )

    def _notes(self, product: Crm, story: Mapping[str, Any], new: Sequence[Entry]) -> None:
        about = [d.id for d in product.deals.table if d.account_id == story["account"]]
        activities = product.activities.table
        names = [row.full_name for row in originals_of(product, story)]
        texts = [f"{e.renamed}{RENAMED}{e.full_name}." for e in new if e.renamed]
        texts.append(f"{names[1]} now has the desk of {names[2]}.")
        for k, text in enumerate(texts):
            activities.start_with(
                Activity(
                    id=activities.top + 1,
                    deal_id=about[(int(story["note"]) + 5 * k) % len(about)],
                    kind="note",
                    body=text,
                    author_id=1 + k,
                    at=EPOCH - (9 - k) * DAY,
                    created_at=EPOCH - (9 - k) * DAY,
                    updated_at=EPOCH - (9 - k) * DAY,
                )
            )

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Crm, instance: Instance) -> None:
        """Start the team, the machines, the editors, the import and the colleague."""
        story: Any = instance
        originals = originals_of(product, story)
        start_team(product, OWN_DEALS[0])
        start_machines(product, spare_accounts={story["account"]})
        new = range(FIRST_NEW, product.contacts.table.top + 1)
        start_editors(product, [row.id for row in originals] + list(new), EDITOR_THINK)
        for entry in entries(story, originals):
            if entry.late == "import":
                fields = {
                    "account_id": entry.account_id,
                    "full_name": entry.full_name,
                    "email": entry.email,
                    "role": entry.role,
                }
                arrive(product, "vendor", story["import_after"], fields, "Welcome")
        act = self._colleague(product, story)
        if act is not None:
            rep = int(story["owner"]) % REPS + 1
            later(product, "colleague", rep, story["colleague_after"], act)

    def _colleague(self, product: Crm, story: Mapping[str, Any]) -> Any:
        """Give what the colleague does once, or None."""
        what: str = story["colleague"]
        originals = originals_of(product, story)
        number = int(story["duplicates"])
        created = [e for e in entries(story, originals) if e.late == "colleague"]
        call: tuple[str, dict[str, Any]] | None = None
        if what == "creates" and created:
            (entry,) = created
            call = (
                "create_contact",
                {
                    "email": entry.email,
                    "full_name": entry.full_name,
                    "account_id": entry.account_id,
                },
            )
        elif number and what in ("promotes", "bounces"):
            # Whom it concerns has a duplicate, so that it decides who stays.
            person = originals[int(story["person_1"])].id
            one = person if story["direction"] == "right" else FIRST_NEW
            call = (
                ("update_deal", {"deal_id": OWN_DEALS[1], "fields": {"champion_id": one}})
                if what == "promotes"
                else ("update_contact", {"contact_id": one, "fields": {"status": "bounced"}})
            )
        elif what == "merges" and number > 1 and story["kind_1"] not in ("private", "orphan"):
            # One that is found by its domain stays, so that the others are found by its name.
            pair = originals[int(story["person_1"])].id, FIRST_NEW
            source, target = pair[::-1] if story["direction"] == "right" else pair
            call = "merge_contacts", {"source_id": source, "target_id": target}
        if call is None:
            return None
        tool, arguments = call

        def act(op: Operation) -> Generator[Any, Any, None]:
            yield from product.request(op.actor, tool, **arguments)

        return act

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        account = instance["account"]
        pairs = ", ".join(f"{short} = {long}" for short, long in PAIRS.items())
        return (
            f"You are user {instance['owner']}, a sales rep. People of account #{account} may be "
            "in the CRM more than once. Find them by search and merge their contacts, so that each "
            f"person has one contact, then call finish.\n"
            f"1. It is about the contacts of account {account}, whatever their address, and those "
            "without an account whose address is at the account's domain. Search by domain and by "
            "last name.\n"
            "2. Two of them are one person if their names agree and their roles are the same, or "
            "one has no role. Names agree if the last names are equal and the first names are "
            f"equal, or one is the other's initial, or they are one of these pairs: {pairs}. "
            '"Abel, Ada" is Ada Abel. A note on a deal of the account may tell that somebody'
            f'{RENAMED}otherwise ("A{RENAMED}B."): then A and B are names of one person.\n'
            "3. Never merge people of other accounts, people without an account and with an "
            f'address elsewhere, people of different roles, or a contact whose role is "{MAILBOX}".'
            "\n4. Of the contacts of one person that have an account keep "
            f"{KEEP[str(instance['rule'])]}, and merge the others into it. A merge is for good.\n"
            "5. An import and a colleague may add contacts with addresses at the account's domain "
            f"until {deadline(instance)}; they count as well. Searches may be 3 seconds old: "
            "as_of says up to when they are complete. Other people work on the same rows.\n"
            "6. Change nothing else; notes are welcome.\n"
            "Finish with the outcome done. If nobody was in there twice, merge nothing, and finish "
            "with the outcome impossible and, as refs (contacts:ID), each contact of the account "
            "that shares its full name with another contact, there or anywhere else."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        return {
            "account_id": instance["account"],
            "user_id": instance["owner"],
            "keep": instance["rule"],
            "until": deadline(instance),
        }

    def goal(self, product: Crm, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge who is left, what followed them, and what was said."""
        judge = Judge(product, instance, self.agent)
        return (
            judge.one_contact_each(),
            judge.kept_by_the_rule(),
            judge.everything_followed(),
            judge.told(ending),
            judge.nothing_else(),
        )


def deadline(instance: Mapping[str, Any]) -> str:
    """Give the instant after which nobody adds contacts."""
    return format_instant(EPOCH + instance["until"] * SECOND)


def open_deals(crm: Crm, account_id: int) -> list[Deal]:
    """Give the open deals of an account."""
    return [
        deal
        for deal in crm.deals.table
        if deal.account_id == account_id and deal.stage in OPEN_STAGES
    ]
