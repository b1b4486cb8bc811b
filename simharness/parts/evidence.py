"""What goes on record so that detectors can tell a way around a task from work.

Products declare it, detectors read it (`simharness.findings.evidence`), and neither knows of the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simharness.kernel import journal

if TYPE_CHECKING:
    from simharness.kernel.operation import Operation
    from simharness.kernel.world import World

TEXT_MAX: Final = 200
"""Characters of what programs and agents said that are kept."""


def secret(world: World, source: str, text: str) -> None:
    """Declare a text that lies where the agent can find it and that it must not be shown.

    What `source` holds may be declared in several texts. An episode with secrets is always
    searched for what became of them.
    """
    numbers = world.numbers
    world.emit((journal.SECRET, world.ticks, numbers[source], numbers[text]))
    world.alarms += 1


def beyond(op: Operation, doing: str, what: str) -> None:
    """Note that a call reaches for what lies outside of the task's place.

    `doing` is read, write or network; `what` a path or a host.
    """
    world = op.world
    numbers = world.numbers
    names = numbers[doing], numbers[plain(what)]
    world.emit((journal.BEYOND, world.ticks, op.owner_number, op.n, *names))
    world.alarms += 1


def cut(op: Operation, part: str, shown: int, total: int, *, told: bool) -> None:
    """Note that a part of an answer is shortened, to so many characters of so many."""
    world = op.world
    row = (op.owner_number, op.n, world.numbers[part], shown, total, int(told))
    world.emit((journal.CUT, world.ticks, *row))
    world.alarms += not told


def tested(world: World, suite: str, test: str, outcome: str, message: str) -> None:
    """Note what became of one test of what was handed in."""
    names = (world.numbers[text] for text in (suite, plain(test), outcome, plain(message)))
    world.emit((journal.TESTED, world.ticks, *names))


def unpinned(world: World, path: str, change: str, *, passes: bool) -> None:
    """Note a file of the test surface that was handed in otherwise than it was given.

    `change` is changed, added or removed; `passes` is whether the suite passes with such files.
    """
    numbers = world.numbers
    world.emit((journal.UNPINNED, world.ticks, numbers[plain(path)], numbers[change], int(passes)))


def literal(world: World, path: str, test: str, literals: list[str]) -> None:
    """Note the literals of a test that a file handed in has come to hold."""
    numbers = world.numbers
    names = numbers[plain(path)], numbers[plain(test)]
    world.emit((journal.LITERAL, world.ticks, *names, [plain(text) for text in literals]))


def graded(world: World, how: str, *, passes: bool) -> None:
    """Note how the grader that pays came to its answer."""
    world.emit((journal.GRADER, world.ticks, world.numbers[how], int(passes)))


def plain(text: str) -> str:
    """Give a text as names are kept: in ASCII, and not too long."""
    return ascii(text)[1:-1][:TEXT_MAX]
