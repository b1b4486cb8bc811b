"""Where new tickets go: what they are about, and what the rules of the house make of that.

The rules are texts with numbers and names that the seed draws. Code writes and reads them here, so
that whoever knows only the texts knows the rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from simharness.api import Drawing

SUBJECTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "access": (
        ("I can't sign in", "The page takes my name and turns me away."),
        ("Help with my login", "My password is refused since this morning."),
        ("Locked out", "I forgot my password, and no mail comes."),
    ),
    "delivery": (
        ("Where is my parcel", "It was to be here last week."),
        ("Nothing has come", "The delivery was announced and nobody rang."),
        ("A parcel for somebody else", "It has my name and another street."),
    ),
    "invoice": (
        ("My invoice, please", "I need it for my records."),
        ("A document is missing", "There was no invoice in the mail."),
        ("For my tax return", "Please send the receipt of last month again."),
    ),
    "defect": (
        ("It is broken", "It was so when I took it out of its box."),
        ("A fault", "The left side is defective, the right side is fine."),
        ("Does this get repaired", "One leg is broken."),
    ),
    "change": (
        ("Please change my address", "I have moved."),
        ("I have moved", "This is my new address: 5 Mill Lane."),
        ("A new name", "I have married, so please correct my details."),
    ),
    "advertising": (
        ("A special offer for you", "We sell lists of customers."),
        ("Grow your business", "We have a special offer for shops like yours."),
        ("Partnership", "Shall we talk about a partnership of our brands?"),
    ),
}
"""What customers write, subject and text, by what it is about."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "access": ("sign in", "password"),
    "delivery": ("parcel", "delivery"),
    "invoice": ("invoice", "receipt"),
    "defect": ("broken", "defective"),
    "change": ("address", "details"),
    "advertising": ("special offer", "partnership"),
}
"""Words that tell what a ticket is about, as the rules name them; each text has those of one."""
MATTERS = tuple(WORDS)

PRIORITIES = ("low", "high", "urgent")
STATUSES = ("open", "pending", "on_hold")
SPECIALISTS = (2, 3, 4, 5, 6, 7, 8)
TAGS: Mapping[str, tuple[str, ...]] = {
    "access": ("login", "account"),
    "delivery": ("shipping", "carrier"),
    "invoice": ("paper", "invoice"),
    "defect": ("repair", "warranty"),
    "change": ("master-data", "profile"),
    "advertising": ("spam", "ads"),
}
LIVE = ("unclosed", "unsolved")
EXCEPTIONS = ("none", "currency", "twice", "away")
CURRENCIES = ("EUR", "JPY", "KWD")
ARRIVES_AS = "normal"
"""Priority of every ticket that nobody has looked at."""
DONE: Mapping[str, tuple[str, ...]] = {"unclosed": ("closed",), "unsolved": ("solved", "closed")}
"""Statuses in which an earlier ticket doesn't go on, by what the rules call live."""


class Place(NamedTuple):
    """Where a new ticket goes."""

    priority: str
    status: str
    tag: str
    agent: int
    """0 for nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What the rules say."""

    places: Mapping[str, tuple[tuple[str, ...], Place]]
    """By what a ticket is about: the words that tell it, and where such tickets go."""
    live: str
    """Whether an earlier ticket that is solved still goes on."""
    exception: str
    currency: str = ""
    """Customers who pay in it are urgent."""
    deputy: int = 0
    """Who gets what is for an agent who isn't active."""

    def matter(self, subject: str, body: str) -> str:
        """Say what a ticket is about; empty where no words tell."""
        text = f"{subject} {body}".lower()
        for matter, (words, _) in self.places.items():
            if any(word in text for word in words):
                return matter
        return ""

    def goes_on(self, status: str) -> bool:
        """Tell whether an earlier ticket of this status is live."""
        return status not in DONE[self.live]

    def place(self, matter: str, *, currency: str, written: int, active: bool) -> Place:
        """Give where a ticket goes that is no duplicate.

        Args:
            matter: What it is about.
            currency: Its customer's.
            written: How many messages of the customer its thread has.
            active: Whether the agent whom the rule names is.
        """
        place = self.places[matter][1]
        if not place.agent:
            return place
        if self.exception == "currency" and currency == self.currency:
            return place._replace(priority="urgent")
        if self.exception == "twice" and written > 1:
            return place._replace(priority="urgent")
        if self.exception == "away" and not active:
            return place._replace(agent=self.deputy)
        return place


# --- drawing --------------------------------------------------------------------------------------


def draw_routing(drawing: Drawing) -> None:
    """Draw what the rules say, and where they stand."""
    for matter in MATTERS:
        if matter == "advertising":
            drawing.pick(f"{matter}_tag", TAGS[matter])
            continue
        drawing.pick(f"{matter}_priority", PRIORITIES)
        drawing.pick(f"{matter}_status", STATUSES, (60, 20, 20))
        drawing.pick(f"{matter}_tag", TAGS[matter])
        drawing.below(f"{matter}_agent", len(SPECIALISTS))
    drawing.pick("live", LIVE)
    drawing.pick("exception", EXCEPTIONS)
    drawing.pick("currency", CURRENCIES)
    drawing.below("deputy", len(SPECIALISTS))
    drawing.below("away", len(MATTERS) - 1)
    drawing.below("rules_from", len(MATTERS) + 1)


def routing_of(story: Mapping[str, Any]) -> Routing:
    """Give what was drawn."""
    places: dict[str, tuple[tuple[str, ...], Place]] = {}
    for matter in MATTERS:
        tag = story[f"{matter}_tag"]
        place = Place("low", "closed", tag, 0)
        if matter != "advertising":
            agent = specialist(story, matter)
            place = Place(story[f"{matter}_priority"], story[f"{matter}_status"], tag, agent)
        places[matter] = WORDS[matter], place
    exception = story["exception"]
    return Routing(
        places=places,
        live=story["live"],
        exception=exception,
        currency=story["currency"] if exception == "currency" else "",
        deputy=deputy_of(story) if exception == "away" else 0,
    )


def specialist(story: Mapping[str, Any], matter: str) -> int:
    """Give the agent whom the rule of a matter names."""
    k: int = story[f"{matter}_agent"]
    return SPECIALISTS[k]


def away_of(story: Mapping[str, Any]) -> int:
    """Give the agent who isn't active; 0 for none.

    It is one of those whom the rules name, and not the one who works on the queue.
    """
    if story["exception"] != "away":
        return 0
    first: int = story["away"]
    turned = [*MATTERS[first:-1], *MATTERS[:first]]
    named = [specialist(story, matter) for matter in turned]
    return next((agent for agent in named if agent != int(story["agent"])), 0)


def deputy_of(story: Mapping[str, Any]) -> int:
    """Give who gets the tickets of one who isn't active."""
    k: int = story["deputy"]
    if SPECIALISTS[k] == away_of(story):
        k = (k + 1) % len(SPECIALISTS)
    return SPECIALISTS[k]


# --- the texts ------------------------------------------------------------------------------------

HEAD = "Triage: "
DUPLICATES = f"{HEAD}duplicates"
EXCEPTION = f"{HEAD}exceptions"
RULE = re.compile(
    r'the words "([^"]+)" or "([^"]+)": priority (\w+), status (\w+), tag ([\w-]+), '
    r"(?:agent (\d+)|nobody)"
)


def texts(routing: Routing) -> list[tuple[str, str]]:
    """Write the rules, each with a title and a text."""
    out: list[tuple[str, str]] = []
    for matter, (words, place) in routing.places.items():
        said = " or ".join(f'"{word}"' for word in words)
        who = f"agent {place.agent}" if place.agent else "nobody"
        out.append(
            (
                f"{HEAD}{matter}",
                f"A new ticket with the words {said}: priority {place.priority}, status "
                f"{place.status}, tag {place.tag}, {who}.",
            )
        )
    ended = "closed" if routing.live == "unclosed" else "solved or closed"
    out.append(
        (
            DUPLICATES,
            "A new ticket is a duplicate when its customer has an earlier one about the same "
            f"matter that isn't {ended}. Merge it into the earliest such ticket; a duplicate gets "
            "nothing else.",
        )
    )
    if (told := exception_text(routing)) is not None:
        out.append((EXCEPTION, told))
    return out


def exception_text(routing: Routing) -> str | None:
    """Write the exception; None where there is none."""
    if routing.exception == "currency":
        return f"What is for an agent is urgent where its customer pays in {routing.currency}."
    if routing.exception == "twice":
        return (
            "What is for an agent is urgent where its customer has written into the ticket more "
            "than once."
        )
    if routing.exception == "away":
        return f"What is for an agent who is not active goes to agent {routing.deputy} instead."
    return None


def read_routing(rows: Iterable[Mapping[str, Any]]) -> Routing:
    """Read the rules as those do who know only the texts: rows with title and body."""
    places: dict[str, tuple[tuple[str, ...], Place]] = {}
    live, exception, currency, deputy = "unclosed", "none", "", 0
    for row in rows:
        title, body = row["title"], row["body"]
        found = RULE.search(body)
        if found is not None and title.startswith(HEAD):
            agent = int(found[6] or 0)
            place = Place(found[3], found[4], found[5], agent)
            places[title.removeprefix(HEAD)] = (found[1], found[2]), place
        elif title == DUPLICATES:
            live = "unsolved" if "solved or closed" in body else "unclosed"
        elif title == EXCEPTION and (pays := re.search(r"pays in (\w+)", body)):
            exception, currency = "currency", pays[1]
        elif title == EXCEPTION and (to := re.search(r"goes to agent (\d+)", body)):
            exception, deputy = "away", int(to[1])
        elif title == EXCEPTION:
            exception = "twice"
    return Routing(places=places, live=live, exception=exception, currency=currency, deputy=deputy)
