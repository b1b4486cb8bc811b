"""Exceptions that are raised inside of a target's own code, as a bug or a time-out there would.

Every line of the target's files that an episode runs is a place. An episode is played again for
each, and at that line an exception is raised. It must come out, or the answer must say that
something went wrong or have no number for a reward. An answer that is other than it would have been
and is paid like any is what teaches an agent the wrong thing.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType, FrameType

    from simharness.doctor.session import Source, Turn

Place = tuple[str, int]
"""A file and a line."""

MESSAGE = "raised on purpose by simharness doctor"
SAID = re.compile(
    r"err(or|:|\b)|exception|crash|fail|invalid|illegal|unknown|abort|refus|not allowed|malformed"
    r"|time.?out|timed out|traceback|on purpose by simharness",
    re.IGNORECASE,
)
"""Words by which an answer says that something went wrong."""


class Bug(RuntimeError):  # noqa: N818  (what it stands for)
    """What a bug of the target would raise."""


FAULTS: dict[str, type[Exception]] = {"a crash": Bug, "a time-out": TimeoutError}


@dataclass(slots=True)
class Tracer:
    """Sees the lines of some files as they run, and raises at one."""

    code: str
    """Folder or file whose lines count."""
    visit: Callable[[Place], None]

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        """Be told of a new frame."""
        return self._line if owns(self.code, frame.f_code) else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.visit((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def owns(code: str, found: CodeType) -> bool:
    """Tell whether code stands in the target's own files."""
    name = found.co_filename
    if not code.endswith(os.sep):
        return name == code
    return name.startswith(code) and "site-packages" not in name[len(code) :]


def says_so(turn: Turn, sound: Turn) -> bool:
    """Tell whether an answer says that something went wrong, in words that a sound one lacks."""
    texts = ((turn.observation, sound.observation), (turn.info, sound.info))
    return any({m[0].lower() for m in SAID.finditer(a)} - {m[0].lower() for m in SAID.finditer(b)}
               for a, b in texts)  # fmt: skip


def traced(tracer: Tracer, act: Callable[[], Turn]) -> Turn:
    """Act while the lines are seen."""
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        return act()
    finally:
        sys.settrace(before)


@contextmanager
def episode_of(
    source: Source, seed: int, actions: list[Any]
) -> Generator[list[Callable[[], Turn]], None, None]:
    """Open a session and give its reset and steps, to be made in order; then it is closed."""
    session = source.open()
    try:
        yield [partial(session.reset, seed), *(partial(session.step, one) for one in actions)]
    finally:
        # An exception may have left it in a state that can't be closed.
        with suppress(Exception):
            session.close()


def survey(
    source: Source, seed: int, actions: list[Any], before: Callable[[str], None]
) -> tuple[list[Turn], dict[Place, int]]:
    """Play an episode, and note the first step that runs each place; step 0 is the reset."""
    turns: list[Turn] = []
    reached: dict[Place, int] = {}
    code = str(source.facts["code"])
    with episode_of(source, seed, actions) as acts:
        for number, act in enumerate(acts):
            before(f"step {number}")
            turns.append(traced(Tracer(code, noted(reached, number)), act))
            if turns[-1].ended:
                break
    return turns, reached


def noted(reached: dict[Place, int], number: int) -> Callable[[Place], None]:
    """Note of each place the first step that runs it."""

    def visit(place: Place) -> None:
        reached.setdefault(place, number)

    return visit


@dataclass(slots=True)
class Tally:
    """What came of the exceptions."""

    raised: int = 0
    told: int = 0
    unpaid: int = 0
    """Answers without a number for a reward."""
    absorbed: int = 0
    """Answers that are as they would have been."""
    missed: int = 0
    """Places that weren't reached again."""
    paid: list[str] | None = None

    def record(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "raised": self.raised,
            "told": self.told,
            "unpaid": self.unpaid,
            "absorbed": self.absorbed,
            "missed": self.missed,
            "paid": self.paid or [],
        }


def inject(
    source: Source, seed: int, actions: list[Any], most: int, before: Callable[[str], None]
) -> dict[str, Any]:
    """Raise at up to `most` places, spread evenly over all, and tell what came of it."""
    if not source.facts.get("code"):
        return {"places": 0, **Tally().record()}
    turns, reached = survey(source, seed, actions, before)
    places = sorted(reached)
    chosen = places[:: -(-len(places) // most)] if places else []
    tally = Tally(paid=[])
    for place in chosen:
        for name, fault in FAULTS.items():
            before(f"{name} at {place[0]}:{place[1]}")
            try_one(source, seed, actions[: reached[place]], turns, place, name, fault, tally)
    return {"places": len(places), "tried": len(chosen), **tally.record()}


def try_one(
    source: Source,
    seed: int,
    actions: list[Any],
    turns: list[Turn],
    place: Place,
    name: str,
    fault: type[Exception],
    tally: Tally,
) -> None:
    """Raise at one place, in the step that reaches it first, and count what came of it."""
    fired: list[Place] = []

    def visit(found: Place) -> None:
        if found == place and not fired:
            fired.append(found)
            raise fault(MESSAGE)

    try:
        with episode_of(source, seed, actions) as (*first, last):
            for act in first:
                act()
            turn = traced(Tracer(str(source.facts["code"]), visit), last)
    except Exception:
        tally.raised += 1
        return
    sound = turns[len(actions)]
    if not fired:
        tally.missed += 1
    elif turn == sound:
        tally.absorbed += 1
    elif says_so(turn, sound):
        tally.told += 1
    elif actions and turn.number() is None:
        tally.unpaid += 1
    elif tally.paid is not None:
        where = f"{os.path.basename(place[0])}:{place[1]}"
        became = (
            f"step {len(actions)} was paid {turn.reward!r}" if actions else "reset gave a start"
        )
        tally.paid.append(f"{name} at {where} came back as if all were well: {became}"
                          + (" and the episode ended" if turn.ended else ""))  # fmt: skip
