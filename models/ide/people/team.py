"""Colleagues who look around, read, write notes, and push them to branches of their own."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from simharness.api import Actor, Population, Stream, scaled
from simharness.models.ide.people.names import colleague
from simharness.models.ide.repository.objects import FOLDER

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.models.ide.product import Ide

    Steps = Generator[Any, Any, Any]

HABITS = (
    ("look at the jobs", 260),
    ("read a job", 170),
    ("fetch", 230),
    ("read a file", 140),
    ("look at the files", 60),
    ("search", 30),
    ("read the ticket", 40),
    ("push", 70),
)
"""What a colleague does in a cycle, with its weight out of 1,000."""
_ENDS = tuple(accumulate(weight for _, weight in HABITS))
PATTERNS = ("TODO", "^def ", "import")
TOPICS = (
    "the release", "how prices are rounded", "what support asked for", "the new office",
    "names of regions", "what we learnt on Monday", "the road map", "who is on call",
)  # fmt: skip
NOTES_MAX = 12
"""Lines after which somebody begins a new page of notes."""


def start_team(ide: Ide) -> None:
    """Start the colleagues.

    They look at everything, and write only notes: what CI tests is left as it was.
    """
    size: int = ide.settings.values["users.team"]
    team = Population(ide.world, think_mean=0)
    ide.settings.bind("users.think", team, "think_mean")
    team.grow(scaled(size, ide.load) if size else 0, lambda k: k, Work(ide).make)


class Work:
    """What colleagues do."""

    def __init__(self, ide: Ide) -> None:
        self.ide = ide

    def make(self, actor: Actor, draw: Stream) -> Steps:
        """Do one thing."""
        ide = self.ide
        match HABITS[draw.cumulative(_ENDS, "choice")][0]:
            case "read a job":
                told = yield from ide.request(actor, "ci_status")
                if told.rows:
                    job_id = draw.pick(told.rows[-5:], "row").id
                    yield from ide.request(actor, "ci_status", job_id=job_id)
            case "fetch":
                yield from ide.perform(actor, "repo.fetch", {})
            case "read a file":
                paths = [row.path for row in ide.files.table if row.mode != FOLDER]
                if paths:  # the agent may have removed them all
                    yield from ide.request(actor, "open_file", path=draw.pick(paths, "row"))
            case "look at the files":
                yield from ide.request(actor, "list_files")
            case "search":
                pattern = draw.pick(PATTERNS, "word")
                yield from ide.request(actor, "search_text", pattern=pattern)
            case "read the ticket":
                yield from ide.request(actor, "read_ticket")
            case "push":
                yield from push_note(ide, actor, draw)
            case _:
                yield from ide.request(actor, "ci_status")


def push_note(ide: Ide, actor: Actor, draw: Stream) -> Steps:
    """Let a colleague write a note and push it to a branch of their own."""
    who = colleague(actor.identity)
    topic = draw.pick(TOPICS, "word")
    old = note_on(ide, who.branch, who.notes)
    lines = old.count("\n")
    page = "# Notes\n" if not lines or lines > NOTES_MAX else old
    yield from ide.perform(
        actor,
        "repo.push",
        {
            "branch": who.branch,
            "files": {who.notes: f"{page}- {lines}: {topic}\n"},
            "message": f"Take notes on {topic}",
            "author": who.author,
        },
    )


def note_on(ide: Ide, branch: str, path: str) -> str:
    """Give a file of a server's branch, or of main where there is none; empty where it isn't."""
    table = ide.branches.table
    key = table.taken_by("title", branch)
    rev = ide.main_rev if key is None else table.rows[key].rev
    found = ide.history[rev].tree.get(path)
    return "" if found is None else found.text
