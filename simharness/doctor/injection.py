"""Exceptions that are raised inside of a target's own code, as a bug or a time-out there would.

Every line of the target's files that an episode runs is a place. An episode is played again for
each, and at that line an exception is raised. It must come out, or the answer must say that
something went wrong or have no number for a reward. An answer that is other than it would have been
and is paid like any is what teaches an agent the wrong thing; what else an info has is no part of
that.

A line is tried in more steps than one. Who makes a 0 of a crash gives the answer that would have
come anyway where that is 0, so one step has to be paid something else; where there is none, nobody
can tell.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from simharness.doctor.places import Place, named, owns, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from types import FrameType

    from simharness.doctor.session import Source, Turn

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

    code: tuple[str, ...]
    """Folders and files whose lines count."""
    visit: Callable[[Place], None]

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        """Be told of a new frame."""
        return self._line if owns(self.code, frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            self.visit((frame.f_code.co_filename, frame.f_lineno))
        return self._line


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
    source: Source, seed: int, actions: Sequence[Any]
) -> Generator[list[Callable[[], Turn]], None, None]:
    """Open a session and give its reset and steps, to be made in order; then it is closed."""
    session = source.open()
    try:
        yield [partial(session.reset, seed), *(partial(session.step, one) for one in actions)]
    finally:
        # An exception may have left it in a state that can't be closed.
        with suppress(Exception):
            session.close()


@dataclass(frozen=True, slots=True)
class Played:
    """An episode that nothing was raised in."""

    seed: int
    actions: Sequence[Any]
    turns: list[Turn]
    reached: dict[Place, list[int]]
    """The steps that run each place; step 0 is the reset."""

    def numbers(self) -> list[float | None]:
        """Give what each turn is paid, the reset too."""
        return [turn.number() for turn in self.turns]


@dataclass(slots=True)
class Tally:
    """What came of the exceptions."""

    raised: int = 0
    told: int = 0
    unpaid: int = 0
    """Answers without a number for a reward."""
    absorbed: int = 0
    """Answers that are as they would have been, to the end of the episode."""
    missed: int = 0
    """Places that weren't reached again."""
    paid: list[str] = field(default_factory=list[str])
    blind: list[str] = field(default_factory=list[str])
    """Exceptions that came to nothing where all is paid alike."""
    files: set[str] = field(default_factory=set[str])

    def record(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "files": sorted(self.files),
            "raised": self.raised,
            "told": self.told,
            "unpaid": self.unpaid,
            "absorbed": self.absorbed,
            "missed": self.missed,
            "paid": self.paid,
            "blind": self.blind,
        }


@dataclass(slots=True, kw_only=True)
class Injector:
    """Plays episodes of a target, and raises in them."""

    source: Source
    before: Callable[[str], None]
    """Is told of what is asked of the target next."""
    until: float
    """When to end, by `time.monotonic`."""
    tally: Tally = field(default_factory=Tally)

    @property
    def code(self) -> tuple[str, ...]:
        """Where the target's own lines stand."""
        return tuple(self.source.facts["code"])

    def survey(self, seed: int, actions: Sequence[Any]) -> Played:
        """Play an episode, and note the steps that run each place."""
        played = Played(seed, actions, [], {})
        with episode_of(self.source, seed, actions) as acts:
            for number, act in enumerate(acts):
                self.before(f"step {number}")
                played.turns.append(traced(Tracer(self.code, noted(played.reached, number)), act))
                if played.turns[-1].ended:
                    break
        return played

    def paid_otherwise(self, base: Played, seeds: range, steps: int) -> Played | None:
        """Look for the shortest episode with a step that is paid unlike all of one."""
        known = {*base.numbers()}
        found: tuple[int, Sequence[Any]] | None = None
        for seed, actions in self._candidates(seeds, steps):
            if time.monotonic() > self.until or (found and len(found[1]) <= len(base.actions)):
                break
            length = self._until_paid(seed, actions[: len(found[1]) - 1] if found else actions,
                                      known)  # fmt: skip
            if length:
                found = seed, actions[:length]
        return self.survey(*found) if found else None

    def _candidates(self, seeds: range, steps: int) -> Iterator[tuple[int, Sequence[Any]]]:
        yield seeds[0], [self.source.null()] * steps
        for seed in seeds:
            yield seed, self.source.draw(seed, steps)

    def _until_paid(self, seed: int, actions: Sequence[Any], known: set[float | None]) -> int:
        """Give the number of the first step that is paid otherwise, 0 if there is none."""
        try:
            with episode_of(self.source, seed, actions) as acts:
                for number, act in enumerate(acts):
                    self.before(f"step {number} of seed {seed}")
                    turn = act()
                    if number and turn.number() not in known:
                        return number
                    if turn.ended:
                        break
        except Exception:
            # What it raises of itself other checks tell; here it only is no episode to use.
            return 0
        return 0

    def attempt(self, episodes: Sequence[Played], place: Place) -> None:
        """Raise at one place, in some of the steps that run it, and count what came of it."""
        where = f"{os.path.basename(place[0])}:{place[1]}"
        for name, fault in FAULTS.items():
            label = f"{name} at {where}"
            seen: dict[bool, set[float | None]] = {}
            for played, step in points(episodes, place):
                became, wrong = self._raise(played, step, place, fault, label)
                if wrong:
                    self.tally.paid.append(f"{label} {wrong}")
                    break
                setattr(self.tally, became, getattr(self.tally, became) + 1)
                if became == "absorbed":
                    # What a reset has made is looked at by all steps that follow.
                    paid = played.numbers()
                    seen.setdefault(step > 0, set()).update([paid[step]] if step else paid)
            else:
                if any(len(numbers - {None}) < 2 for numbers in seen.values()):
                    self.tally.blind.append(label)

    def _raise(
        self, played: Played, step: int, place: Place, fault: type[Exception], label: str
    ) -> tuple[str, str]:
        """Raise in one step; gives what it counts as, and what is wrong, if anything is."""
        fired: list[Place] = []

        def visit(found: Place) -> None:
            if found == place and not fired:
                fired.append(found)
                raise fault(MESSAGE)

        turn: Turn | None = None
        number = 0
        try:
            with episode_of(self.source, played.seed, played.actions) as acts:
                for number, act in enumerate(acts[: len(played.turns)]):
                    self.before(f"{label}, step {number}")
                    turn = traced(Tracer(self.code, visit), act) if number == step else act()
                    if number < step:
                        continue
                    sound = played.turns[number]
                    if not fired:
                        return "missed", ""
                    self.tally.files.add(named(place[0]))
                    if says_so(turn, sound):
                        return "told", ""
                    if not alike(turn, sound):
                        break
        except Exception:
            # That is what it should do, at once or when it is found.
            if not fired:
                return "missed", ""
            self.tally.files.add(named(place[0]))
            return "raised", ""
        assert turn is not None
        sound = played.turns[number]
        if alike(turn, sound):
            return "absorbed", ""
        if number and turn.number() is None:
            return "unpaid", ""
        return "paid", became_of(step, number, turn, sound)


def alike(turn: Turn, sound: Turn) -> bool:
    """Tell whether an answer is the sound one, but for its info."""

    def parts(one: Turn) -> tuple[object, ...]:
        # By its text, because a NaN isn't equal to itself.
        return one.observation, repr(one.reward), one.terminated, one.truncated

    return parts(turn) == parts(sound)


def became_of(step: int, number: int, turn: Turn, sound: Turn) -> str:
    """Say what a crash in a step was made into, in that step or a later one."""
    paid = f"was paid {turn.reward!r}"
    if turn.number() != sound.number():
        paid += f" and not {sound.reward!r}"
    how = f"step {number} {paid}" if number else "reset gave a start"
    if number > step:
        how = f"{f'step {step}' if step else 'reset'} was as ever, but {how}, and was another"
    ended = " and the episode ended" if turn.ended else ""
    return f"came back as if all were well: {how}{ended}"


def points(episodes: Sequence[Played], place: Place) -> list[tuple[Played, int]]:
    """Choose the steps to raise at a place in.

    These are the reset, the first step, and one that is paid otherwise than that; if there is none,
    the last.
    """
    reached = [(one, step) for one in episodes for step in one.reached.get(place, ())]
    resets = [point for point in reached if point[1] == 0]
    steps = [point for point in reached if point[1]]
    # The last episode is the one in which most can be told.
    resets = resets[-1:]
    if not steps:
        return resets
    first, last = steps[0], steps[-1]
    paid = first[0].turns[first[1]].number()
    other = (p for p in steps if p[0].turns[p[1]].number() not in (None, paid))
    second = next(other, last)
    return [*resets, first, *([second] if second is not first else [])]


def noted(reached: dict[Place, list[int]], number: int) -> Callable[[Place], None]:
    """Note that a step runs a place."""

    def visit(place: Place) -> None:
        steps = reached.setdefault(place, [])
        if number not in steps[-1:]:
            steps.append(number)

    return visit


def inject(
    source: Source,
    seed: int,
    actions: list[Any],
    *,
    most: int,
    episodes: int,
    steps: int,
    seconds: float,
    before: Callable[[str], None],
) -> dict[str, Any]:
    """Raise at up to `most` places, and tell what came of it.

    Where all steps are paid alike, up to `episodes` are looked at for one that isn't, which are of
    up to `steps` steps.
    """
    if not source.facts.get("code"):
        return {"places": 0, "tried": 0, "wanted": 0, **Tally().record()}
    injector = Injector(source=source, before=before, until=time.monotonic() + seconds / 3)
    played = [injector.survey(seed, actions)]
    if len({*played[0].numbers()} - {None}) < 2:
        other = injector.paid_otherwise(played[0], range(seed, seed + episodes), steps)
        played += [other] if other else []
    injector.until += seconds * 2 / 3
    places = sorted({place for one in played for place in one.reached})
    chosen = spread(places, most)
    tried = 0
    for place in chosen:
        if time.monotonic() > injector.until:
            break
        injector.attempt(played, place)
        tried += 1
    return {"places": len(places), "tried": tried, "wanted": len(chosen),
            **injector.tally.record()}  # fmt: skip
