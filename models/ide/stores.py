"""The stores of the IDE, and how working tree and clone are kept in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MINUTE, SECOND, HarnessError, Product, Transaction, store
from simharness.models.ide.repository.clone import HEAD, HEADS, MAIN, TAGS, Clone
from simharness.models.ide.repository.graph import Graph
from simharness.models.ide.repository.objects import (
    Commit,
    Delta,
    File,
    changed_tree,
    deltas,
    make_commit,
)
from simharness.models.ide.repository.worktree import Worktree
from simharness.models.ide.runner import INSTANT, SandboxRunner
from simharness.models.ide.tables import (
    Branch,
    CiJob,
    CommitRow,
    FileRow,
    Ref,
    Request,
    Submission,
    Tag,
    TestResult,
    Ticket,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.api import Change, Operation
    from simharness.models.ide.grading.exam import Exam
    from simharness.models.ide.runner import Runner

LOCKS = ("lock", "lock_wait", "scope")
AUTHOR = "Agent <agent@ide.example>"
"""Who commits what the agent commits."""


class IdeStores(Product):
    """The tables of the IDE, and the agent's working tree and clone, which are kept in them.

    Files and commits are rows; tree and clone are the same again in a form to work on. `save`
    brings what has changed there into the tables, in one commit.
    """

    files = store(FileRow, views=("detail", "list", "search"), unique=("path",), write=LOCKS)
    commits = store(CommitRow, views=(), unique=("rev",))
    branches = store(Branch, views=("detail", "list"), unique=("title",), write=LOCKS)
    refs = store(Ref, views=(), unique=("title",))
    tags = store(Tag, views=(), unique=("title",))
    ci_jobs = store(CiJob, views=("detail", "list"), write=LOCKS)
    test_results = store(TestResult, views=())
    tickets = store(Ticket, views=("detail",), write=())
    requests = store(Request, views=())
    submissions = store(Submission, views=())

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.runner: Runner = SandboxRunner()
        """What runs code."""
        self.clock_ticks = False
        """Whether time passes between one run of code and another, for the code itself."""
        self.examined: Exam | None = None
        """What examines the work; None before there is a start."""
        self.pages: Mapping[str, str] = {}
        """What hosts answer that the terminal can reach."""
        self.ticket_id = 1
        """The ticket that the agent is to work on."""
        self.history_leak = "none"
        self.settings.bind("history.leak", self, "history_leak")
        self._tree: Worktree | None = None
        self._clone: Clone | None = None
        self._history: Graph | None = None
        self.files.table.listeners.append(self._on_file)

    @property
    def exam(self) -> Exam:
        """What examines the work. Raises HarnessError before there is a start."""
        if self.examined is None:
            raise HarnessError("there is no work to examine", "put a start into the tables first")
        return self.examined

    # --- the working tree -------------------------------------------------------------------------

    @property
    def tree(self) -> Worktree:
        """The agent's working tree."""
        if self._tree is None:
            self._tree = tree = Worktree()
            for row in self.files.table:
                tree.put(row.path, File(row.content, row.mode), row.updated_at)
        return self._tree

    def _on_file(self, change: Change) -> None:
        """Follow a commit of the table of files, unless the tree is where it comes from."""
        tree, old, new = self._tree, change.old, change.new
        if tree is None:
            return
        if old is not None and old.path in tree.entries and (new is None or new.path != old.path):
            tree.remove(old.path)
        if new is not None:
            tree.put(new.path, File(new.content, new.mode), new.updated_at)

    # --- commits and the clone --------------------------------------------------------------------

    @property
    def history(self) -> Graph:
        """All commits that there are, whoever has made them: the server's."""
        if self._history is None:
            self._history = graph = Graph()
            for row in self.commits.table:
                graph.add(commit_of(row, graph))
        return self._history

    @property
    def clone(self) -> Clone:
        """The agent's clone."""
        if self._clone is None:
            names = {row.title: row.rev for row in self.refs.table}
            if not names:
                names = {HEAD: HEADS + MAIN}
            head = names.pop(HEAD)
            names.update({TAGS + row.title: row.rev for row in self.tags.table})
            tips = [*names.values(), *([] if head.startswith("refs/") else [head])]
            history = self.history
            known = (history[rev] for rev in history.ancestors(tips))
            self._clone = Clone(known, names, head)
        return self._clone

    def seconds(self) -> int:
        """Give the time that a commit made now has."""
        return self.instant // SECOND

    def run_instant(self, step: int) -> int:
        """Give when time begins in a run of code, in microseconds since 1970.

        Where the clock ticks it is the minute's time, in steps of so many ticks; elsewhere always
        the same, so that equal files have equal results, which are worked out once an episode.
        """
        if not self.clock_ticks:
            return INSTANT
        return INSTANT - INSTANT % MINUTE + self.instant % MINUTE // step * step

    # --- keeping ----------------------------------------------------------------------------------

    def save(self, op: Operation) -> None:
        """Commit what tree and clone hold and the tables don't, all of it at once."""
        tx = Transaction(op)
        self._save_files(tx)
        clone = self.clone
        for rev, commit in clone.graph.commits.items():
            if rev not in self.history:
                self.keep_commit(tx, commit, clone.graph)
        heads = {HEAD: clone.head}
        tags: dict[str, str] = {}
        for name, rev in sorted(clone.refs.items()):
            if name.startswith(TAGS):
                tags[name.removeprefix(TAGS)] = rev
            else:
                heads[name] = rev
        self._save_names(tx, self.refs.table, heads)
        self._save_names(tx, self.tags.table, tags)
        if len(tx):
            tx.commit()

    def _save_files(self, tx: Transaction) -> None:
        table = self.files.table
        entries = self.tree.entries
        for row in list(table):
            found = entries.get(row.path)
            if found is None:
                tx.delete(table, row.id)
                continue
            changes: dict[str, object] = {}
            if found.text != row.content:
                changes["content"] = found.text
            if found.mode != row.mode:
                changes["mode"] = found.mode
            if changes:
                tx.update(table, row.id, changes)
        for path in sorted(entries):
            if table.taken_by("path", path) is None:
                file = entries[path]
                tx.insert(table, {"path": path, "content": file.text, "mode": file.mode})

    def _save_names(self, tx: Transaction, table: Any, names: Mapping[str, str]) -> None:
        for row in list(table):
            rev = names.get(row.title)
            if rev is None:
                tx.delete(table, row.id)
            elif rev != row.rev:
                tx.update(table, row.id, {"rev": rev})
        for title, rev in names.items():
            if table.taken_by("title", title) is None:
                tx.insert(table, {"title": title, "rev": rev})

    def keep_commit(self, tx: Transaction, commit: Commit, graph: Graph) -> None:
        """Put a new commit into a transaction; `graph` knows what it comes from."""
        tx.insert(self.commits.table, columns_of(commit, graph))
        tx.then(lambda _: self.history.add(commit))


def columns_of(commit: Commit, graph: Graph) -> dict[str, Any]:
    """Give the columns of a commit's row; its first parent is known."""
    parents = commit.parents
    before: Mapping[str, File] = graph[parents[0]].tree if parents else {}
    files = tuple(
        (d.path, "", "") if d.new is None else (d.path, d.new.mode, d.new.text)
        for d in deltas(before, commit.tree)
    )
    return {
        "rev": commit.rev,
        "parent": parents[0] if parents else "",
        "merged": parents[1] if len(parents) > 1 else "",
        "author": commit.author,
        "message": commit.message,
        "at": commit.at * SECOND,
        "files": files,
    }


def commit_of(row: CommitRow, graph: Graph) -> Commit:
    """Give the commit of a row; its parents are known.

    Raises HarnessError where the row's rev isn't the commit's name.
    """
    before: Mapping[str, File] = graph[row.parent].tree if row.parent else {}
    changes = [
        Delta(path, None, File(text, mode) if mode else None) for path, mode, text in row.files
    ]
    parents = [rev for rev in (row.parent, row.merged) if rev]
    commit = make_commit(
        changed_tree(before, changes),
        parents=parents,
        author=row.author,
        message=row.message,
        at=row.at // SECOND,
    )
    if commit.rev != row.rev:
        raise HarnessError(
            f"commits:{row.id} is called {row.rev}, and what it holds {commit.rev}",
            "make commits with models/ide/initial.py",
        )
    return commit


def snapshot(files: Mapping[str, File]) -> tuple[tuple[str, str, str], ...]:
    """Give files as a column holds them: path, mode and content."""
    return tuple((path, file.mode, file.text) for path, file in sorted(files.items()))
