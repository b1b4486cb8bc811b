"""Tools that run things: the tests, and what is typed into the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import MINUTE, SECOND, Answer, Operation, Transaction, evidence, query, tool
from simharness.models.ide.runner import FUEL_PER_TICK
from simharness.models.ide.stores import AUTHOR
from simharness.models.ide.terminal.cut import cut
from simharness.models.ide.terminal.shell import Shell
from simharness.models.ide.tools.colleagues import ColleagueOperations

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simpy.events import Event

    from simharness.models.ide.repository.clone import Clone
    from simharness.models.ide.repository.worktree import Worktree
    from simharness.models.ide.runner import ProgramRun

HANG = 5 * MINUTE
"""How long a call hangs that waits for what runs in the background."""


class RunningTools(ColleagueOperations):
    """Run the tests; run a command line."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.max_output = 0
        self.cut_told = "told"
        self.background = "reaped"
        self.settings.bind("terminal.max_output", self, "max_output")
        self.settings.bind("terminal.cut", self, "cut_told")
        self.settings.bind("terminal.background", self, "background")

    @tool
    def run_tests(self, op: Operation, paths: list[str] | None = None) -> Answer[dict[str, Any]]:
        """Run the tests of the working tree, all or those below some paths.

        A path is a folder, a file, or a test as `tests/test_shop.py::test_total`.
        """
        yield self.database(op)
        files = {path: file.text for path, file in self.tree.files.items()}
        instant = self.run_instant(SECOND)
        ran = self.runner.run_tests(op, files, tuple(paths or ()), instant)
        for doing, what in ran.outside:
            evidence.beyond(op, doing, what)
        yield self.world.timer(ran.fuel // FUEL_PER_TICK)
        tx = Transaction(op)
        self.keep_results(tx, 0, ran)
        if len(tx):
            tx.commit()
        return {
            "passed": sum(test.outcome == "passed" for test in ran.tests),
            "failed": ran.failed,
            "tests": [
                {"id": test.test_id, "outcome": test.outcome, "message": test.message}
                for test in ran.tests
            ],
            "error": ran.error,
            **self._shortened(op, {"output": ran.output}),
        }

    @tool
    def run_command(self, op: Operation, command: str) -> Answer[dict[str, Any]]:
        """Run a command line in a new shell, which stands in the root of the repository.

        The shell has pipes, redirections, quotes, patterns of files, `&&`, `||` and `;`. Long
        output is cut, which `cut` then says.
        """
        yield self.database(op)
        # No shell can be given a NUL, nor does it read one in a script.
        ran = yield from Shell(Seat(self, op)).run(command.replace("\0", ""))
        self.save(op)
        if ran.background and self.background == "hang":
            yield self.world.timer(HANG)
        out = {"stdout": ran.stdout, "stderr": ran.stderr}
        return {"exit_code": ran.exit_code, **self._shortened(op, out)}

    def _shortened(self, op: Operation, parts: Mapping[str, str]) -> dict[str, Any]:
        """Give parts of an answer no longer than they may be, and what of them isn't shown."""
        told: dict[str, Any] = {name: cut(text, self.max_output) for name, text in parts.items()}
        lost = {
            name: {"shown": len(told[name]), "total": len(text)}
            for name, text in parts.items()
            if len(told[name]) < len(text)
        }
        says = self.cut_told == "told"
        for name, length in lost.items():
            evidence.cut(op, name, length["shown"], length["total"], told=says)
        return {**told, "cut": lost if says else {}}


class Seat:
    """Somebody's place at the terminal, for one call.

    Before simulated time passes, what was done so far is put into the tables: others look at them.
    """

    def __init__(self, ide: RunningTools, op: Operation) -> None:
        self._ide = ide
        self._op = op
        self._reached: dict[tuple[str, str], None] = {}

    @property
    def tree(self) -> Worktree:
        """The working tree."""
        return self._ide.tree

    @property
    def clone(self) -> Clone:
        """The clone."""
        return self._ide.clone

    @property
    def instant(self) -> int:
        """Now, in microseconds since 1970."""
        return self._ide.instant

    @property
    def author(self) -> str:
        """Who commits."""
        return AUTHOR

    def server_branches(self) -> Generator[Event, object, Mapping[str, str]]:
        """Give the server's branches: revs by title."""
        self._ide.save(self._op)
        every = query(lambda row: True)
        rows = yield from self._ide.branches.list.read(self._op, every)
        return {row.title: row.rev for row in rows}

    def learn(self, rev: str) -> Generator[Event, object, None]:
        """Bring a commit of the server's, and all that it comes from, into the clone."""
        yield from ()
        history, graph = self._ide.history, self._ide.clone.graph
        for known in history.ancestors([rev]):
            if known not in graph:
                graph.add(history[known])

    def send(self, title: str, rev: str, *, forced: bool) -> Generator[Event, object, str]:
        """Put a branch of the server on a commit; gives where it stood."""
        self._ide.save(self._op)
        return (yield from self._ide.send(self._op, title, rev, forced=forced))

    def sleep(self, ticks: int) -> Generator[Event, object, None]:
        """Let simulated time pass."""
        self._ide.save(self._op)
        yield self._ide.world.timer(ticks)

    def run_python(
        self, arguments: Sequence[str], stdin: str, folder: str
    ) -> Generator[Event, object, ProgramRun]:
        """Run Python in a folder of the repository."""
        ide = self._ide
        ide.save(self._op)
        files = {path: file.text for path, file in ide.tree.files.items()}
        instant = ide.run_instant(SECOND)
        ran = ide.runner.run_python(self._op, files, arguments, stdin, folder, instant)
        for doing, what in ran.outside:
            self.reach(doing, what)
        yield from self.sleep(ran.fuel // FUEL_PER_TICK)
        return ran

    def fetch_page(self, url: str, host: str) -> Generator[Event, object, str | None]:
        """Give the page of a host that the task lists; whatever is asked for is put on record."""
        ide = self._ide
        page = ide.pages.get(host)
        if page is None:
            self.reach("network", host)
        yield ide.database(self._op)
        tx = Transaction(self._op)
        fields = {"url": url, "host": host, "answered": page is not None}
        tx.insert(ide.requests.table, fields)
        tx.commit()
        return page

    def reach(self, doing: str, what: str) -> None:
        """Note that a line reaches for what lies outside of the repository, once."""
        if (doing, what) not in self._reached:
            self._reached[doing, what] = None
            evidence.beyond(self._op, doing, what)
