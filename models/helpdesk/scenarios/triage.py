"""helpdesk/triage: a queue of new tickets, with duplicates whose originals don't stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from simharness.api import SECOND, Criterion, Drawing, Ending, Instance, Scenario, format_instant
from simharness.models.helpdesk.base import CUSTOMERS as CUSTOMERS_OF_BASE
from simharness.models.helpdesk.base import EPOCH, base_rows
from simharness.models.helpdesk.habits import TEAM
from simharness.models.helpdesk.people.customers import (
    mail_later,
    start_customers,
    write_later,
)
from simharness.models.helpdesk.people.desks import act_later, raise_later, start_lookers
from simharness.models.helpdesk.people.machines import start_machines
from simharness.models.helpdesk.people.team import start_team
from simharness.models.helpdesk.policies import coping, triage
from simharness.models.helpdesk.routing import (
    ARRIVES_AS,
    SPECIALISTS,
    SUBJECTS,
    away_of,
    draw_routing,
    routing_of,
    texts,
)
from simharness.models.helpdesk.scenarios.queue import (
    CUSTOMERS,
    Happening,
    Rows,
    draw_queue,
    entries_of,
    happenings_of,
    put_queue,
    unused,
)
from simharness.models.helpdesk.scenarios.stage import CURRENCIES, CURRENCY_WEIGHTS, Stage
from simharness.models.helpdesk.scenarios.triage_goal import Judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Policy, Row
    from simharness.models.helpdesk.product import Helpdesk

UNTIL = (50, 110)
"""Seconds from the start for which tickets come into the queue."""


class Triage(Scenario["Helpdesk"]):
    """Put each new ticket of some customers where the rules of the house put it."""

    id = "helpdesk/triage"
    doc = (
        "each ticket of the queue that no colleague took is where the rules of the house put it by "
        "the facts of its last minute, or is merged into the live original if it is a duplicate; "
        "no message is lost, nobody's edit is undone, and nothing else was changed"
    )
    epoch = EPOCH
    steps_max = 120
    team = TEAM
    policies: ClassVar[Mapping[str, Policy]] = {
        "expert": triage.expert,
        "lazy": triage.lazy,
        **coping.COPING,
    }

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the helpdesk."""
        return base_rows()

    def draw(self, drawing: Drawing) -> None:
        """Draw the rules, the tickets, and what others do meanwhile."""
        drawing.between("shift", 0, 900)
        drawing.pick("agent", tuple(map(str, SPECIALISTS)))
        draw_routing(drawing)
        for k in range(CUSTOMERS):
            drawing.between(f"name_{k}", 0, 600)
            drawing.pick(f"currency_{k}", CURRENCIES, CURRENCY_WEIGHTS)
        draw_queue(drawing, drawing.between("until", *UNTIL))

    # --- the start --------------------------------------------------------------------------------

    def start(self, product: Helpdesk, instance: Instance) -> int:
        """Put the rules, the customers and their tickets into place."""
        story: Any = instance
        stage = Stage(product, story["shift"])
        rules = texts(routing_of(story))
        first = story["rules_from"]
        for title, body in rules[first:] + rules[:first]:
            stage.policy(title, body)
        away = away_of(story)
        if away:
            agents = product.agents.table
            agents.start_with(agents.row_type.evolve(agents.rows[away], {"active": False}))
        customers = [
            stage.customer(story[f"currency_{k}"], story[f"name_{k}"])
            for k in range(story["customers"])
        ]
        entries = entries_of(story)
        merged = {h.entry for h in happenings_of(story, entries) if h.what == "merges"}
        put_queue(stage, customers, entries, merged)
        stage.close()
        return int(story["agent"])

    # --- who else is there ------------------------------------------------------------------------

    def people(self, product: Helpdesk, instance: Instance) -> None:
        """Start the team, those who look into these very tickets, and what happens to them."""
        story: Any = instance
        cast = Cast(product, story)
        start_team(product, away=cast.agent)
        start_customers(product)
        start_machines(product)
        tickets = [row.id for rows in cast.rows for row in rows if row is not None]
        start_lookers(product, tickets)
        for n, happening in enumerate(cast.happenings):
            cast.let_happen(f"event/{n}", happening)

    # --- the task ---------------------------------------------------------------------------------

    def prompt(self, instance: Instance) -> str:
        """Tell the agent its task."""
        brief = self.brief(instance)
        *some, last = brief["customers"]
        named = f"{', '.join(map(str, some))} and {last}"
        return (
            f"You are agent {brief['agent_id']} and sort what comes in. Your queue is every ticket "
            f"of the customers {named} that is new, and those that come until {brief['until']}. "
            'The rules of the house say where each goes; search_policy finds them by "triage".\n'
            "1. A duplicate is merged into the original as the rules say, by what is so when you "
            "merge: colleagues close, solve and merge tickets too.\n"
            "2. Whatever is no duplicate gets its priority, its one tag and its agent "
            "(update_ticket), and then its status (set_status). New tickets come with priority "
            f"{ARRIVES_AS}, without tags and without an agent: what a colleague has set since then "
            "stays, further tags are added to those that are there, and a ticket that a colleague "
            "has claimed or merged is theirs.\n"
            "3. Wait until the time is up and search once more, then call finish.\n"
            "Pass if_version and undo nobody's edit. Write no messages, and change nothing else."
        )

    def brief(self, instance: Instance) -> dict[str, Any]:
        """Give the facts of the prompt."""
        story: Any = instance
        first = CUSTOMERS_OF_BASE + 1 + story["shift"]
        return {
            "agent_id": int(story["agent"]),
            "customers": list(range(first, first + story["customers"])),
            "until": format_instant(EPOCH + story["until"] * SECOND),
        }

    def goal(self, product: Helpdesk, instance: Instance, ending: Ending) -> tuple[Criterion, ...]:
        """Judge where the tickets are, and what the agent wrote on the way."""
        story: Any = instance
        judge = Judge(
            product,
            routing_of(story),
            self.agent,
            self.brief(instance)["customers"],
            story["until"] * SECOND,
        )
        return (
            judge.placed(),
            judge.merged(),
            judge.no_message_lost(),
            judge.told(ending),
            judge.nobodys_edit_undone(),
            judge.nothing_else(),
        )


class Cast:
    """The tickets of an instance, and who does what to them."""

    def __init__(self, desk: Helpdesk, story: Mapping[str, Any]) -> None:
        self.desk = desk
        self.agent = int(story["agent"])
        self.entries = entries_of(story)
        self.happenings = happenings_of(story, self.entries)
        self.away = away_of(story)
        self.rows = self._rows()

    def _rows(self) -> list[Rows]:
        """Find the rows of the entries, which were put into place in their order."""
        merged = {h.entry for h in self.happenings if h.what == "merges"}
        later = [t for t in self.desk.tickets.table if t.customer_id > CUSTOMERS_OF_BASE]
        out: list[Rows] = []
        for k, entry in enumerate(self.entries):
            successor = original = None
            if entry.state == "merged" or k in merged:
                successor = later.pop(0)
            if entry.state:
                original = later.pop(0)
            out.append(Rows(later.pop(0), original, successor))
        return out

    def colleague(self, k: int) -> int:
        """Give the k-th agent who is neither the agent nor away."""
        there = [a for a in SPECIALISTS if a not in (self.agent, self.away)]
        return there[k % len(there)]

    def let_happen(self, who: str, happening: Happening) -> None:
        """Let somebody do something when it is time."""
        desk, rows = self.desk, self.rows[happening.entry]
        entry = self.entries[happening.entry]
        seconds = happening.seconds
        colleague = self.colleague(happening.entry + seconds)
        match happening.what:
            case "claims":
                act_later(desk, who, colleague, seconds, "claim_ticket", ticket_id=rows.ticket.id)
            case "raises":
                raise_later(desk, who, colleague, seconds, rows.ticket.id)
            case "merges" if rows.original is not None and rows.successor is not None:
                act_later(desk, who, colleague, seconds, "merge_tickets",
                          source_id=rows.original.id, target_id=rows.successor.id)  # fmt: skip
            case "closes" | "solves" if rows.original is not None:
                status = "closed" if happening.what == "closes" else "solved"
                act_later(desk, who, colleague, seconds, "set_status",
                          ticket_id=rows.original.id, status=status)  # fmt: skip
            case "writes":
                ticket = rows.original if rows.original is not None and seconds % 2 else rows.ticket
                # Whoever writes into a closed ticket opens another one, which tells its matter too.
                body = f"{ticket.subject}. {ticket.body} Is anybody there?"
                write_later(desk, who, seconds * 1000, ticket.id, body)
            case "mails":
                self._mail(who, happening, entry.customer)
            case _:
                raise AssertionError(f"{happening} can't happen")

    def _mail(self, who: str, happening: Happening, customer: int) -> None:
        """Let a customer write a mail about a matter that there is, or about another one."""
        entry = self.entries[happening.entry]
        matter, phrase = entry.matter, (entry.phrase + 2) % 3
        if happening.mail == "other":
            used = {(e.customer, e.matter) for e in self.entries}
            if len([1 for c, _ in used if c == customer]) < len(SUBJECTS):
                matter = unused(used, customer, happening.seconds % len(SUBJECTS))
        subject, body = SUBJECTS[matter][phrase]
        customer_id = self.rows[happening.entry].ticket.customer_id
        mail_later(self.desk, who, happening.seconds * 1000, customer_id, subject, body)
