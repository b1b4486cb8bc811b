"""The commits that somebody knows, and who comes from whom."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from simharness.models.ide.repository.objects import SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simharness.models.ide.repository.objects import Commit


class Graph:
    """Commits by rev. Where history was cut off, a commit's parents aren't known."""

    __slots__ = ("commits",)

    def __init__(self, commits: Iterable[Commit] = ()) -> None:
        self.commits: dict[str, Commit] = {commit.rev: commit for commit in commits}

    def __contains__(self, rev: object) -> bool:
        return rev in self.commits

    def __getitem__(self, rev: str) -> Commit:
        return self.commits[rev]

    def add(self, commit: Commit) -> None:
        """Learn of a commit."""
        self.commits[commit.rev] = commit

    def parents(self, rev: str) -> list[str]:
        """Give the parents that are known, the branch's own first."""
        return [parent for parent in self.commits[rev].parents if parent in self.commits]

    def ancestors(self, revs: Iterable[str]) -> dict[str, None]:
        """Give commits and all that they come from; a dict, for the sake of its order."""
        found: dict[str, None] = {}
        waiting = list(revs)
        while waiting:
            rev = waiting.pop()
            if rev not in found:
                found[rev] = None
                waiting += self.parents(rev)
        return found

    def is_ancestor(self, old: str, new: str) -> bool:
        """Tell whether one commit is another one or an ancestor of it."""
        met: dict[str, None] = {}
        waiting = [new]
        while waiting:
            rev = waiting.pop()
            if rev == old:
                return True
            if rev not in met:
                met[rev] = None
                waiting += self.parents(rev)
        return False

    def log(self, tips: Iterable[str], without: Iterable[str] = ()) -> Iterator[Commit]:
        """Give commits from the newest to the oldest, as `git log` does.

        Of those that may come next, the one with the latest time comes first; at one time, the one
        that was met first.
        """
        hidden = self.ancestors(without)
        met: dict[str, None] = {}
        heap: list[tuple[int, int, str]] = []

        def meet(rev: str) -> None:
            if rev not in met and rev not in hidden:
                heappush(heap, (-self.commits[rev].at, len(met), rev))
                met[rev] = None

        for tip in tips:
            meet(tip)
        while heap:
            commit = self.commits[heappop(heap)[2]]
            yield commit
            for parent in self.parents(commit.rev):
                meet(parent)

    def merge_base(self, one: str, other: str) -> str | None:
        """Give the best common ancestor: none of the other common ones comes from it.

        The latest of several; None for histories that share nothing.
        """
        theirs = self.ancestors([other])
        common = [rev for rev in self.ancestors([one]) if rev in theirs]
        worse = self.ancestors([parent for rev in common for parent in self.parents(rev)])
        best = [rev for rev in common if rev not in worse]
        return min(best, key=lambda rev: (-self.commits[rev].at, rev), default=None)

    def abbreviated(self, text: str) -> list[str]:
        """Give the revs that begin with a text of at least four digits."""
        text = text.lower()
        if not 4 <= len(text) <= 40 or any(c not in "0123456789abcdef" for c in text):
            return []
        return sorted(rev for rev in self.commits if rev.startswith(text))

    def short(self, rev: str) -> str:
        """Give as many digits of a rev as tell it from all others, at least seven."""
        length = SHORT
        while length < 40 and len(self.abbreviated(rev[:length])) > 1:
            length += 1
        return rev[:length]
