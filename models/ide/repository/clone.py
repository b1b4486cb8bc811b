"""A clone: the commits that it knows, its names for them, the index, and what is under way in it.

The working tree is beside it: a `Worktree`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from simharness.models.ide.repository.graph import Graph
from simharness.models.ide.repository.objects import Commit, File, make_commit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simharness.models.ide.repository.merging import Clash

HEADS = "refs/heads/"
REMOTES = "refs/remotes/origin/"
TAGS = "refs/tags/"
HEAD = "HEAD"
MAIN = "main"
STEP = re.compile(r"([~^])([0-9]{0,6})")
STASH = re.compile(r"stash@\{([0-9]{1,6})\}")
BAD_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|\.lock(/|$)|(^|/)[.]|[./]$|^[-/]|^@$")


class GitError(Exception):
    """What a command of git's says when it can't do as it was told."""

    def __init__(self, text: str, code: int = 128) -> None:
        super().__init__(text, code)
        self.text = text
        """All that it prints, without the last newline."""
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A merge, cherry-pick or rebase that waits for somebody to settle its conflicts."""

    kind: Literal["merge", "cherry-pick", "rebase"]
    rev: str
    """The commit that is merged or picked."""
    message: str
    author: str = ""
    """Of the commit that is picked; empty for one's own."""
    todo: tuple[str, ...] = ()
    """Commits to be picked after it."""
    done: tuple[str, ...] = ()
    """Commits of a rebase that are done with, this one included."""
    back: str = ""
    """HEAD as it was before, as `Clone.head` has it."""
    back_rev: str = ""
    """The commit that it stood on."""
    onto: str = ""
    """The commit that a rebase puts the others on."""


class Clone:
    """Somebody's clone of the repository."""

    __slots__ = ("action", "clashes", "detached", "graph", "head", "index", "refs", "stashes")

    def __init__(self, commits: Iterable[Commit], refs: dict[str, str], head: str) -> None:
        self.graph = Graph(commits)
        self.refs = refs
        """Revs by full name, as `refs/heads/main`."""
        self.head = head
        """The full name of the branch that one is on, or a rev."""
        here = self.commit
        self.index: dict[str, File] = {} if here is None else dict(here.tree)
        """What the next commit holds, by path."""
        self.clashes: dict[str, Clash] = {}
        """Paths whose conflict hasn't been settled."""
        self.action: Action | None = None
        self.detached: tuple[str, str] = ("", "")
        """What HEAD was put on when it left its branch: the name that was given, and the rev."""
        self.stashes: list[str] = []
        """Revs of what was put aside, the newest first."""

    # --- where one is -----------------------------------------------------------------------------

    @property
    def branch(self) -> str | None:
        """The branch that one is on; None for a detached HEAD."""
        return self.head.removeprefix(HEADS) if self.head.startswith(HEADS) else None

    @property
    def rev(self) -> str | None:
        """The rev that HEAD stands on; None before the first commit."""
        return self.refs.get(self.head) if self.head.startswith("refs/") else self.head

    @property
    def commit(self) -> Commit | None:
        """The commit that HEAD stands on."""
        rev = self.rev
        return None if rev is None else self.graph[rev]

    @property
    def tree(self) -> dict[str, File]:
        """The files of the commit that HEAD stands on."""
        here = self.commit
        return {} if here is None else dict(here.tree)

    def move(self, rev: str) -> None:
        """Let the branch that one is on, or a detached HEAD, stand on another commit."""
        if self.head.startswith("refs/"):
            self.refs[self.head] = rev
        else:
            self.head = rev

    # --- names ------------------------------------------------------------------------------------

    def resolve(self, text: str) -> str | None:
        """Give the rev that a name means, as `HEAD~2`, `v1^`, `origin/main` or `1a2b3c4`."""
        base = re.split(r"[~^]", text, maxsplit=1)[0]
        rest = text[len(base) :]
        rev = self._named(base)
        place = 0
        while rev is not None and place < len(rest):
            step = STEP.match(rest, place)
            if step is None:
                return None
            place = step.end()
            count = int(step[2] or "1")
            if step[1] == "~":
                for _ in range(count):
                    parents = self.graph.parents(rev) if rev is not None else []
                    rev = parents[0] if parents else None
            elif count:
                parents = self.graph.parents(rev)
                rev = parents[count - 1] if count <= len(parents) else None
        return rev

    def _named(self, name: str) -> str | None:
        if name in (HEAD, "@"):
            return self.rev
        if name == "ORIG_HEAD" or name == "":
            return None
        stash = STASH.fullmatch("stash@{0}" if name == "stash" else name)
        if stash is not None:
            number = int(stash[1])
            return self.stashes[number] if number < len(self.stashes) else None
        for head in ("", "refs/", TAGS, HEADS, "refs/remotes/"):
            rev = self.refs.get(head + name)
            if rev is not None:
                return rev
        found = self.graph.abbreviated(name)
        return found[0] if len(found) == 1 else None

    def names_of(self, rev: str) -> list[str]:
        """Give what `git log` writes behind a rev: HEAD, tags, branches."""
        out: list[str] = []
        if self.rev == rev:
            out.append(f"HEAD -> {self.branch}" if self.branch is not None else HEAD)
        here = [name for name, at in sorted(self.refs.items()) if at == rev]
        out += [f"tag: {name[len(TAGS) :]}" for name in here if name.startswith(TAGS)]
        remotes = [name for name in here if name.startswith("refs/remotes/")]
        heads = [name for name in here if name.startswith(HEADS) and name != self.head]
        out += [name.removeprefix("refs/remotes/") for name in remotes]
        out += [name.removeprefix(HEADS) for name in heads]
        if rev in self.stashes[:1]:
            out.append("refs/stash")
        return out

    # --- commits ----------------------------------------------------------------------------------

    def record(
        self,
        message: str,
        *,
        author: str,
        at: int,
        files: dict[str, File] | None = None,
        parents: Iterable[str] | None = None,
    ) -> Commit:
        """Make a commit, of the index on HEAD unless given otherwise; HEAD stays where it is."""
        above = ([] if self.rev is None else [self.rev]) if parents is None else parents
        tree = self.index if files is None else files
        commit = make_commit(tree, parents=above, author=author, message=message, at=at)
        self.graph.add(commit)
        return commit

    def commit_index(self, message: str, *, author: str, at: int) -> Commit:
        """Commit the index, end a merge or cherry-pick that is under way, and move HEAD there."""
        action = self.action
        above = [] if self.rev is None else [self.rev]
        if action is not None and action.kind == "merge":
            above.append(action.rev)
        commit = self.record(message, author=author, at=at, parents=above)
        self.move(commit.rev)
        if action is not None and action.kind != "rebase":
            self.action = None
        return commit

    def reachable(self) -> dict[str, None]:
        """Give all commits that some name leads to."""
        tips = [*self.refs.values(), *self.stashes, *([] if self.rev is None else [self.rev])]
        return self.graph.ancestors(tips)


def check_name(name: str, kind: str) -> None:
    """Raise GitError for what no branch or tag can be called."""
    if not name or BAD_NAME.search(name) is not None:
        raise GitError(f"fatal: '{name}' is not a valid {kind} name{'.' * (kind == 'tag')}")
