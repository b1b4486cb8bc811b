"""What an episode starts from: files, history, tests and a ticket, put into the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from simharness.api import SECOND, UsageError, evidence
from simharness.models.ide.grading.exam import Exam, Hidden
from simharness.models.ide.repository.clone import HEAD, HEADS, MAIN, REMOTES
from simharness.models.ide.repository.objects import Delta, File, changed_tree, make_commit
from simharness.models.ide.stores import columns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.models.ide.repository.objects import Commit
    from simharness.models.ide.stores import IdeStores
    from simharness.models.ide.tickets import Probe

FOUNDER = "Ada Min <ada@ide.example>"
"""Who made the commits of the start that name nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One commit of the history that an episode starts with."""

    message: str
    files: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """What it changes, by path; None for a file that it removes."""
    author: str = FOUNDER
    at: int | None = None
    """Instant in microseconds; by default an hour after the commit before, the last an hour ago."""
    branch: str = MAIN
    """The branch that it goes on; a new one begins at the commit before."""
    tags: tuple[str, ...] = ()
    leak: Literal["none", "future", "past"] = "none"
    """future: it was made after the task's base, and must not be in the clone; past: it holds what
    the task asks for, and history has to end before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What an episode starts from.

    Files and tests are committed on top of the history, where it doesn't end with just these.
    """

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    history: Sequence[Entry] = ()
    tests: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that the agent sees and that are pinned when it is graded."""
    hidden_tests: Mapping[str, str] = field(default_factory=dict[str, str])
    probes: Sequence[Probe] = ()
    """Hidden tests that are calls; then `hidden_tests` count for nothing."""
    solution: Mapping[str, str] = field(default_factory=dict[str, str])
    """The files that answer these rightly."""
    pages: Mapping[str, str] = field(default_factory=dict[str, str])
    """What hosts answer that can be reached from the terminal."""
    title: str = ""
    body: str = ""
    """Of the ticket."""


HOUR_SECONDS = 3_600
UPSTREAM = "refs/remotes/upstream/"
"""Where a clone that leaks has what was made after the base."""


class Growth:
    """The history of a start as it grows, entry by entry."""

    def __init__(self, product: IdeStores, commits: int) -> None:
        self._product = product
        self._now = product.world.instant // SECOND
        self._left = commits
        """Commits to come; each is made an hour after the one before it."""
        self._last = ""
        """The branch that grew last."""
        self.tips: dict[str, str] = {}
        """Revs by branch."""
        self.trees: dict[str, dict[str, File]] = {}
        """Files by branch: those of its tip, and of what came after it and is no commit."""

    def grow(self, entry: Entry, *, told: bool = True) -> None:
        """Let a branch grow by a commit, or where it isn't told of by its changes alone."""
        branch = entry.branch
        if branch not in self.trees:
            self.trees[branch] = dict(self.trees.get(self._last, {}))
            if self._last in self.tips:
                self.tips[branch] = self.tips[self._last]
        self._last = branch
        at = self._now - HOUR_SECONDS * self._left if entry.at is None else entry.at // SECOND
        self._left -= 1
        self.trees[branch] = changed(self.trees[branch], entry)
        if told:
            parents = [self.tips[branch]] if branch in self.tips else []
            author, message = entry.author, entry.message
            tree = self.trees[branch]
            commit = make_commit(tree, parents=parents, author=author, message=message, at=at)
            self.tips[branch] = commit.rev
            self._keep(commit)
            for title in entry.tags:
                add_row(self._product.tags.table, {"title": title, "rev": commit.rev})

    def _keep(self, commit: Commit) -> None:
        history = self._product.history
        if commit.rev in history:
            raise UsageError(
                f"two commits of the history are one: {commit.message!a:.60}",
                "give them other messages, times or files",
            )
        stamp = commit.at * SECOND
        columns = columns_of(commit, history)
        add_row(self._product.commits.table, columns, stamp)
        history.add(commit)


def put(product: IdeStores, start: Start) -> None:
    """Put a start into a product's tables; before anything has been committed.

    What must not be in the agent's clone gets there only if the knob `history.leak` says so, which
    a fault may set after the scenario's `start`: call this in its `people`. Raises UsageError for a
    history that can't be.
    """
    leak = product.history_leak
    past = [entry for entry in start.history if entry.leak != "future"]
    future = [entry for entry in start.history if entry.leak == "future"]
    given = {**start.files, **start.tests}
    growth = Growth(product, len(past) + bool(given))
    for entry in past:
        growth.grow(entry, told=entry.leak == "none" or leak == "past")
    tree = growth.trees.get(MAIN, {})
    files = {
        path: text for path, text in given.items() if path not in tree or tree[path].text != text
    }
    untold = bool(past) and past[-1].leak == "past" and leak != "past"
    if files or untold:
        growth.grow(Entry(message="Prepare the task" if past else "Begin", files=files))
    for title, rev in sorted(growth.tips.items()):
        add_row(product.branches.table, {"title": title, "rev": rev})
        add_row(product.refs.table, {"title": HEADS + title, "rev": rev})
        add_row(product.refs.table, {"title": REMOTES + title, "rev": rev})
    add_row(product.refs.table, {"title": HEAD, "rev": HEADS + MAIN})
    for path, file in growth.trees.get(MAIN, {}).items():
        add_row(product.files.table, {"path": path, "content": file.text, "mode": file.mode})
    add_row(product.tickets.table, {"title": start.title, "body": start.body})
    product.pages = dict(start.pages)
    base = {path: file.text for path, file in growth.trees.get(MAIN, {}).items()}
    hidden = Hidden(
        probes=tuple(start.probes), solution=dict(start.solution), files=dict(start.hidden_tests)
    )
    product.examined = Exam(product, base, tuple(start.tests), hidden)
    if leak == "future":
        known = dict(growth.tips)
        for entry in future:
            growth.grow(entry)
        for title, rev in sorted(growth.tips.items()):
            if known.get(title) != rev:
                add_row(product.refs.table, {"title": UPSTREAM + title, "rev": rev})
    for entry in start.history:
        if leak != "none" and entry.leak == leak:
            declare(product, entry, base)


SECRET_MIN = 8
"""Characters of a line that is worth keeping from somebody."""


def declare(product: IdeStores, entry: Entry, base: Mapping[str, str]) -> None:
    """Declare what an entry that leaks holds beyond the base: each line of its own."""
    known = {line.strip() for text in base.values() for line in text.split("\n")}
    lines = (line.strip() for text in entry.files.values() for line in (text or "").split("\n"))
    for line in dict.fromkeys(lines):
        if len(line) >= SECRET_MIN and line not in known:
            evidence.secret(product.world, f"{entry.leak} commit {entry.message!a:.60}", line)


def changed(tree: Mapping[str, File], entry: Entry) -> dict[str, File]:
    """Give a tree after an entry. Raises UsageError for the end of a file that isn't there."""
    out: list[Delta] = []
    for path, text in entry.files.items():
        old = tree.get(path)
        if text is None and old is None:
            raise UsageError(f"commit {entry.message!a:.60} removes {path!r}, which isn't there")
        new = None if text is None else File(text) if old is None else old._replace(text=text)
        out.append(Delta(path, old, new))
    return changed_tree(tree, out)


def add_row(table: Any, columns: Mapping[str, object], stamp: int | None = None) -> None:
    """Put a row into a table's start state."""
    at = table.world.instant if stamp is None else stamp
    system = {"id": table.top + 1, "created_at": at, "updated_at": at}
    table.start_with(table.row_type.build({**columns, **system}, table.name))
