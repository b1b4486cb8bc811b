"""Tools that share work: commit, push, hand in."""

from __future__ import annotations

from typing import Any

from simharness.api import (
    Answer,
    Operation,
    Page,
    Refused,
    Transaction,
    query,
    tool,
    write_tool,
)
from simharness.models.ide.ci import CiServer
from simharness.models.ide.repository.clone import HEADS, MAIN, REMOTES
from simharness.models.ide.repository.objects import SHORT, deltas
from simharness.models.ide.stores import AUTHOR, snapshot
from simharness.models.ide.tables import CiJob

MESSAGE_MAX = 2_000
JOBS_MAX = 20
"""CI jobs that are shown."""


class SharingTools(CiServer):
    """Commit the working tree, push it, hand it in."""

    @write_tool
    def commit(self, op: Operation, message: str) -> Answer[dict[str, Any]]:
        """Commit all changes of the working tree, new and deleted files too."""
        require_message(message)
        yield self.database(op)
        clone, tree = self.clone, self.tree
        if clone.clashes:
            paths = sorted(clone.clashes)
            raise Refused("conflict", f"conflicts in {', '.join(paths)} have to be settled first")
        files = tree.files
        merging = clone.action is not None and clone.action.kind == "merge"
        if files == clone.tree and not merging:
            raise Refused("conflict", "there is nothing to commit")
        changes = deltas(clone.tree, files)
        clone.index = files
        commit = clone.commit_index(message, author=AUTHOR, at=self.seconds())
        self.save(op)
        return {
            "rev": commit.rev,
            "branch": clone.branch,
            "message": commit.message,
            "files": [{"path": d.path, "change": d.letter} for d in changes],
        }

    @write_tool
    def push(self, op: Operation, branch: str | None = None) -> Answer[dict[str, Any]]:
        """Push a branch, by default the one that you are on. CI then tests it.

        Refused as a conflict where the server's branch has commits that yours hasn't: fetch them
        first.
        """
        title = self.clone.branch if branch is None else branch
        if title is None:
            raise Refused("invalid_arguments", "HEAD is detached: name a branch")
        rev = self.clone.refs.get(HEADS + title)
        if rev is None:
            raise Refused("not_found", f"no branch {title!a:.80}")
        yield from self.send(op, title, rev)
        return {"branch": title, "rev": rev}

    @tool
    def ci_status(
        self, op: Operation, job_id: int | None = None, rev: str | None = None
    ) -> Answer[Page[CiJob]]:
        """Read one CI job, or the newest twenty: of all, or of the commit rev alone."""
        if job_id is not None:
            if rev is not None:
                raise Refused("invalid_arguments", "give job_id or rev, not both")
            row = yield from self.ci_jobs.detail.read(op, job_id)
            if row is None:
                raise Refused("not_found", f"no CI job {job_id}")
            return Page("ci_jobs", (row,))
        if rev is not None:
            if len(rev) < SHORT:
                raise Refused("invalid_arguments", f"rev has fewer than {SHORT} digits")
            named = query(lambda row: row.rev.startswith(rev), rev=rev)
            rows = yield from self.ci_jobs.list.read(op, named)
            return Page("ci_jobs", rows[-JOBS_MAX:])
        after = max(self.ci_jobs.table.top - JOBS_MAX, 0)
        asked = query(lambda row: row.id > after, after=after)
        return Page("ci_jobs", (yield from self.ci_jobs.list.read(op, asked)))

    @write_tool
    def submit(self, op: Operation, message: str) -> Answer[dict[str, Any]]:
        """Hand in the working tree as it is, committed or not. It can be handed in again."""
        require_message(message)
        yield self.database(op)
        files = self.tree.files
        tx = Transaction(op)
        fields = {"message": message, "rev": self.clone.rev or "", "files": snapshot(files)}
        key = tx.insert(self.submissions.table, fields)
        tx.commit()
        return {"submission": key, "files": len(files)}

    # --- the server -------------------------------------------------------------------------------

    def send(self, op: Operation, title: str, rev: str, *, forced: bool = False) -> Answer[str]:
        """Put the server's branch on a commit of the clone; gives where it stood, "" for nowhere.

        Raises Refused `conflict` where it has commits that this one doesn't come from, unless
        `forced`, which main never is; and where it stands there already.
        """
        key = self.branches.table.taken_by("title", title)
        if key is None:
            yield self.database(op)
            tx = Transaction(op)
            tx.insert(self.branches.table, {"title": title, "rev": rev})
            return self._sent(tx, title, rev, "")
        edit = yield from self.branches.edit(op, key)
        try:
            there = edit.row.rev
            if there == rev:
                text = f"branch {title} of the server is at {rev[:SHORT]} already"
                raise Refused("conflict", text, rev=there)
            if not self.history.is_ancestor(there, rev) and (not forced or title == MAIN):
                text = f"branch {title} of the server has commits that yours hasn't"
                raise Refused("conflict", text, rev=there)
            tx = Transaction(op)
            edit.update(tx, {"rev": rev})
            return self._sent(tx, title, rev, there)
        finally:
            edit.close()

    def _sent(self, tx: Transaction, title: str, rev: str, there: str) -> str:
        self.add_job(tx, title, rev, there)
        tx.commit()
        self.clone.refs[REMOTES + title] = rev
        self.save(tx.op)
        return there


def require_message(message: str) -> None:
    """Refuse a message that is blank or too long."""
    if not message.strip():
        raise Refused("invalid_arguments", "message is blank")
    if len(message) > MESSAGE_MAX:
        raise Refused("invalid_arguments", f"message is longer than {MESSAGE_MAX} characters")
