"""What those do who work on the same server: push, fetch, rebase branches, merge them into main."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import (
    Answer,
    Edit,
    Operation,
    Page,
    Refused,
    Transaction,
    operation,
    query,
)
from simharness.models.ide.repository.clone import MAIN, GitError, check_name
from simharness.models.ide.repository.grafting import grafted
from simharness.models.ide.repository.graph import Graph
from simharness.models.ide.repository.objects import Delta, File, changed_tree, make_commit
from simharness.models.ide.tables import Branch
from simharness.models.ide.tools.sharing import SharingTools, require_message

if TYPE_CHECKING:
    from simharness.models.ide.repository.objects import Commit

FILES_MAX = 50
"""Most files that a colleague's push may change."""


class ColleagueOperations(SharingTools):
    """The operations of colleagues, and of the server's own bots."""

    waits = (*SharingTools.waits, "merge")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.merge_latency = (0, 0)
        self.settings.bind("merge.latency", self, "merge_latency")

    @operation("repo.fetch")
    def repo_fetch(self, op: Operation) -> Answer[Page[Branch]]:
        """Look where the server's branches stand."""
        rows = yield from self.branches.list.read(op, query(lambda row: True))
        return Page("branches", rows)

    @operation("repo.push")
    def repo_push(
        self,
        op: Operation,
        branch: str,
        files: dict[str, Any],
        message: str,
        author: str = "Kit Marsh <kit@ide.example>",
        on: str | None = None,
    ) -> Answer[dict[str, Any]]:
        """Push a colleague's commit on top of a branch; null for a file takes it away.

        A branch that there isn't begins at main. Refused as a conflict where the branch doesn't
        stand `on` the rev that the change was made for.
        """
        yield self.database(op)
        require_message(message)
        try:
            check_name(branch, "branch")
        except GitError as error:
            raise Refused("invalid_arguments", error.text) from None
        key = self.branches.table.taken_by("title", branch)
        if key is None:
            rev = self.main_rev
            require_stands(branch, rev, on)
            made, tx = self._grown(op, rev, files, message, author)
            tx.insert(self.branches.table, {"title": branch, "rev": made.rev})
            self.add_job(tx, branch, made.rev, rev)
            tx.commit()
            return {"branch": branch, "rev": made.rev}
        edit = yield from self.branches.edit(op, key)
        try:
            require_stands(branch, edit.row.rev, on)
            made, tx = self._grown(op, edit.row.rev, files, message, author)
            edit.update(tx, {"rev": made.rev})
            self.add_job(tx, branch, made.rev, edit.row.rev)
            tx.commit()
        finally:
            edit.close()
        return {"branch": branch, "rev": made.rev}

    @operation("repo.rebase")
    def repo_rebase(self, op: Operation, branch: str) -> Answer[dict[str, Any]]:
        """Put a branch of the server on top of main, as a bot does that keeps branches up to date.

        Refused as a conflict where that clashes, and where it stands on top of main already.
        """
        edit = yield from self.branches.edit(op, self._branch_id(branch))
        try:
            main, there = self.main_rev, edit.row.rev
            if self.history.is_ancestor(main, there):
                raise Refused("conflict", f"{branch} is up to date", rev=there)
            made = self._grafted(there, main)
            rev = made[-1].rev if made else main
            tx = self._kept(op, made)
            edit.update(tx, {"rev": rev})
            if made:
                self.add_job(tx, branch, rev, there)
            tx.commit()
        finally:
            edit.close()
        return {"branch": branch, "rev": rev}

    @operation("repo.merge")
    def repo_merge(self, op: Operation, branch: str) -> Answer[dict[str, Any]]:
        """Put the commits of a branch on top of main, and main and the branch on the last of them.

        Nobody else can push to main meanwhile. Refused as a conflict where that clashes, and where
        main has them all.
        """
        edit = yield from self.branches.edit(op, self._branch_id(MAIN))
        try:
            yield op.latency(self.merge_latency, "merge")
            rev = yield from self._merge(op, edit, branch)
        finally:
            edit.close()
        return {"branch": MAIN, "rev": rev}

    # --- what they share --------------------------------------------------------------------------

    def _merge(self, op: Operation, main: Edit[Branch], branch: str) -> Answer[str]:
        """Merge a branch into main, whose row is held; gives where both stand then."""
        own = yield from self.branches.edit(op, self._branch_id(branch))
        try:
            before = main.row.rev
            if self.history.is_ancestor(own.row.rev, before):
                raise Refused("conflict", f"main has all of {branch}", rev=before)
            made = self._grafted(own.row.rev, before)
            rev = made[-1].rev if made else before
            tx = self._kept(op, made)
            if made:
                main.update(tx, {"rev": rev})
                self.add_job(tx, MAIN, rev, before)
            own.update(tx, {"rev": rev})
            tx.commit()
        finally:
            own.close()
        return rev

    @property
    def main_rev(self) -> str:
        """Where the server's main stands; empty for nowhere."""
        key = self.branches.table.taken_by("title", MAIN)
        return "" if key is None else self.branches.table.rows[key].rev

    def _branch_id(self, title: str) -> int:
        key = self.branches.table.taken_by("title", title)
        if key is None:
            raise Refused("not_found", f"no branch {title!a:.80} of the server")
        return key

    def _grafted(self, rev: str, onto: str) -> list[Commit]:
        made = grafted(self.history, rev, onto, self.seconds())
        if made is None:
            raise Refused("conflict", "changes of main and of the branch clash", rev=onto)
        return made

    def _kept(self, op: Operation, made: list[Commit]) -> Transaction:
        """Begin a transaction with new commits, each of which comes from the one before."""
        tx = Transaction(op)
        graph = self.history
        for commit in made:
            if commit.rev not in self.history:
                self.keep_commit(tx, commit, graph)
            graph = Graph([commit])
        return tx

    def _grown(
        self, op: Operation, rev: str, files: dict[str, Any], message: str, author: str
    ) -> tuple[Commit, Transaction]:
        """Make a colleague's commit on top of another one, and begin a transaction with it."""
        tree = dict(self.history[rev].tree) if rev else {}
        after = changed_tree(tree, given_changes(tree, files))
        if after == tree:
            raise Refused("invalid_arguments", "these files change nothing")
        made = make_commit(
            after,
            parents=[rev] if rev else [],
            author=author,
            message=message,
            at=self.seconds(),
        )
        return made, self._kept(op, [made])


def require_stands(branch: str, rev: str, on: str | None) -> None:
    """Refuse a change that was made for another commit than a branch stands on."""
    if on is not None and on != rev:
        raise Refused("conflict", f"{branch} has moved", rev=rev)


def given_changes(tree: dict[str, File], files: dict[str, Any]) -> list[Delta]:
    """Read the changes of a colleague's push. Raises Refused `invalid_arguments`."""
    if not 0 < len(files) <= FILES_MAX:
        raise Refused("invalid_arguments", f"files are 1 to {FILES_MAX}, not {len(files)}")
    out: list[Delta] = []
    for path, text in sorted(files.items()):
        old = tree.get(path)
        if text is not None and not isinstance(text, str):
            raise Refused("invalid_arguments", f"the content of {path!a:.80} is no text")
        if text is None and old is None:
            raise Refused("invalid_arguments", f"no file {path!a:.80} to take away")
        new = None if text is None else File(text) if old is None else old._replace(text=text)
        out.append(Delta(path, old, new))
    return out
