"""What the terminal needs of the world that it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simpy.events import Event

    from simharness.models.ide.repository.clone import Clone
    from simharness.models.ide.repository.worktree import Worktree
    from simharness.models.ide.runner import ProgramRun


class Host(Protocol):
    """Time, tree and clone, what runs Python, and what lies behind the network."""

    @property
    def tree(self) -> Worktree:
        """The working tree."""
        ...

    @property
    def clone(self) -> Clone:
        """The clone."""
        ...

    @property
    def author(self) -> str:
        """Who commits, as `Ada Min <ada@shop.example>`."""
        ...

    def server_branches(self) -> Generator[Event, object, Mapping[str, str]]:
        """Give the server's branches: revs by title."""
        ...

    def learn(self, rev: str) -> Generator[Event, object, None]:
        """Bring a commit of the server's, and all that it comes from, into the clone."""
        ...

    def send(self, title: str, rev: str, *, forced: bool) -> Generator[Event, object, str]:
        """Put a branch of the server on a commit; gives where it stood, "" for nowhere.

        Raises Refused `conflict` where that would lose commits.
        """
        ...

    @property
    def instant(self) -> int:
        """Now, in microseconds since 1970."""
        ...

    def sleep(self, ticks: int) -> Generator[Event, object, None]:
        """Let simulated time pass."""
        ...

    def run_python(
        self, arguments: Sequence[str], stdin: str, folder: str
    ) -> Generator[Event, object, ProgramRun]:
        """Run Python in a folder of the repository, `""` for its root."""
        ...

    def fetch_page(self, url: str, host: str) -> Generator[Event, object, str | None]:
        """Give what a web page says, or None for a host that can't be reached."""
        ...

    def reach(self, doing: str, what: str) -> None:
        """Note that a line reaches for what lies outside of the repository: read or write."""
        ...
