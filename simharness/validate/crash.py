"""Crashes and time-outs in each phase of an episode: none of them may become a number."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast

from simharness.blame.attribution import judge
from simharness.episode.play import drive, played_by, raw_call, task_of
from simharness.errors import HarnessError
from simharness.kernel.operation import IN_HANDLER
from simharness.product.policy import Call
from simharness.units import HOUR, MINUTE, SECOND
from simharness.validate.check import Check, Result, decided

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simpy.events import Event

    from simharness.episode.episode import Episode
    from simharness.episode.step import Result as Told
    from simharness.episode.transcript import RawCall
    from simharness.product.product import Product
    from simharness.validate.subject import Subject

FINISH = Call("finish", {"message": "Done.", "outcome": "done"})


class Injected(RuntimeError):  # noqa: N818  (planted, no failure of ours)
    """What is raised on purpose."""


class Broken:
    """Stands in for a table and raises whenever anybody wants something of it."""

    def __init__(self) -> None:
        self.__dict__["touched"] = False

    def _raise(self, *args: object) -> NoReturn:
        self.__dict__["touched"] = True
        raise Injected("injected: the table can't be read")

    def __getattr__(self, name: str) -> NoReturn:
        self._raise()

    def __iter__(self) -> NoReturn:
        self._raise()

    def __len__(self) -> NoReturn:
        self._raise()

    def __contains__(self, key: object) -> NoReturn:
        self._raise()


@contextmanager
def broken_tables(product: Product) -> Generator[Callable[[], bool]]:
    """Let no table be read in here; gives what tells whether anybody has tried."""
    held = {name: store.table for name, store in product.stores.items()}
    fakes = {name: Broken() for name in held}
    for name, store in product.stores.items():
        store.table = cast("Any", fakes[name])
    try:
        yield lambda: any(fake.touched for fake in fakes.values())
    finally:
        for name, store in product.stores.items():
            store.table = held[name]


@contextmanager
def replaced(subject: Subject, method: str, by: Callable[..., Any]) -> Generator[None]:
    """Let a method of the scenario be another one in here; it gets the old one first."""
    own = getattr(subject.scenario, method)
    setattr(subject.scenario, method, partial(by, own))
    try:
        yield
    finally:
        delattr(subject.scenario, method)


def raising(own: object, *args: object) -> NoReturn:
    """Stand in for a method and crash."""
    raise Injected("injected")


# --- the phases -----------------------------------------------------------------------------------


def number_of(subject: Subject, episode: Episode, what: str) -> list[str]:
    """Say what is made of an episode that should have been given up."""
    if episode.aborted is None:
        return [f"{what} is not told, and the episode goes on"]
    verdict = judge(episode, None, subject.scenario.policies.get("expert"))
    out: list[str] = []
    if episode.reward is not None or verdict.score is not None:
        out.append(f"{what} is paid {episode.reward} and scored {verdict.score}")
    if verdict.valid:
        out.append(f"{what} counts as valid")
    return out


def in_reset(subject: Subject, seed: int) -> list[str]:
    """Crash while the start is drawn and put into place."""
    wrong: list[str] = []
    for method in ("draw", "start", "people"):
        with replaced(subject, method, raising):
            try:
                subject.begin(subject.plan(seed))
                wrong.append(f"a crash in {method} gives an episode all the same")
            except HarnessError:
                pass  # as it must
    touched = False

    def without_tables(own: Callable[..., int], product: Product, *args: object) -> int:
        nonlocal touched
        with broken_tables(product) as tried:
            try:
                return own(product, *args)
            finally:
                touched = tried()

    with replaced(subject, "start", without_tables):
        try:
            subject.begin(subject.plan(seed))
            if touched:
                wrong.append("start swallows a crash of what it reads")
        except HarnessError:
            pass  # as it must
    return wrong


def first_call(subject: Subject, episode: Episode) -> RawCall:
    """Give the first call of whoever plays; `wait` and the like can't break."""
    play = played_by(subject.player, task_of(episode))
    action = next(play, None)
    play.close()
    tools = episode.product.tools
    if isinstance(action, Call) and not tools[action.tool].local:
        return raw_call(action)
    plain = (t for t in tools.values() if not t.local)
    return raw_call(Call(next(t.name for t in plain if not any(p.required for p in t.parameters))))


def in_call(subject: Subject, seed: int) -> list[str]:
    """Let the handler of a call raise."""
    episode = subject.begin(subject.plan(seed))
    call = first_call(subject, episode)
    try:
        record = episode.call((call,), pins=({"crash": IN_HANDLER},))
    except HarnessError:
        return number_of(subject, episode, f"a crash in {call.tool}")
    return [f"a crash in {call.tool} is answered as {shown(record.results[0])}"]


def late_in_call(subject: Subject, seed: int) -> list[str]:
    """Let a call take longer than callers wait."""
    episode = subject.begin(subject.plan(seed))
    timeout: int = episode.product.settings.values["api.timeout"]
    if not timeout:
        return []  # `timeout_ceiling` says so
    call = first_call(subject, episode)
    (told,) = episode.call((call,), pins=({"api": timeout + SECOND},)).results
    if told.ok:
        return [f"{call.tool}, out of time, is answered as {shown(told)}"]
    return []


def shown(told: Told) -> str:
    """Show the beginning of an answer."""
    return f"{'success' if told.ok else 'refusal'} {told.value!r:.80}"


def never_ending(subject: Subject, seed: int) -> list[str]:
    """End an episode while a call of it never ends."""
    episode = subject.begin(subject.plan(seed))
    if not episode.product.settings.values["api.timeout"]:
        return []  # `timeout_ceiling` says so
    call = first_call(subject, episode)
    longer = subject.scenario.settle_max + HOUR
    with suppress(HarnessError):
        episode.call((call,), pins=({"api": longer},))
        episode.call((raw_call(FINISH),))
    return number_of(subject, episode, "a call that hasn't ended when the episode does")


def in_settle(subject: Subject, seed: int) -> list[str]:
    """Let a process raise while what is under way is waited for."""
    episode = subject.begin(subject.plan(seed))
    timeout: int = episode.product.settings.values["api.timeout"]
    if not timeout:
        return []  # `timeout_ceiling` says so
    call = first_call(subject, episode)

    def process() -> Generator[Event, Any, None]:
        yield episode.world.timer(SECOND)
        raise Injected("injected")

    # Answered as late, the call goes on until long after the process has raised.
    episode.call((call,), pins=({"api": timeout + MINUTE},))
    episode.world.spawn("injected", process())
    with suppress(HarnessError):
        episode.call((raw_call(FINISH),), at=episode.world.ticks)
    return number_of(subject, episode, "a crash after the end, before the grade,")


def in_grade(subject: Subject, seed: int) -> list[str]:
    """Crash while the goal is judged, at once and in what it reads."""
    wrong: list[str] = []
    touched = False

    def without_tables(own: Callable[..., Any], product: Product, *args: object) -> Any:
        nonlocal touched
        with broken_tables(product) as tried:
            try:
                return own(product, *args)
            finally:
                touched = touched or tried()

    for how, by in (("a crash of the goal", raising), ("a crash of what it reads", without_tables)):
        episode = subject.begin(subject.plan(seed))
        with replaced(subject, "goal", by), suppress(HarnessError):
            drive(episode, subject.player)
        if by is raising or touched:
            wrong += number_of(subject, episode, how)
    return wrong


PHASES: dict[str, Callable[[Subject, int], list[str]]] = {
    "reset": in_reset,
    "call": in_call,
    "call, out of time": late_in_call,
    "settle": in_settle,
    "settle, out of time": never_ending,
    "grade": in_grade,
}


def crash_never_a_number(subject: Subject) -> Result:
    """Inject a crash or a time-out in each phase; each must be told, unpaid and invalid."""
    seed = subject.seeds[0]
    wrong: list[str] = []
    for phase, inject in PHASES.items():
        wrong += [f"{phase}: {text}" for text in inject(subject, seed)]
    return decided({"phases": list(PHASES)}, wrong)


CHECKS = (
    Check(
        id="runtime.crash_never_a_number",
        doc="a crash or time-out in reset, call, settling or grade is an error, and no reward",
        run=crash_never_a_number,
        remedy="catch `sh.Refused` and nothing else; let every other exception end the episode",
    ),
)
