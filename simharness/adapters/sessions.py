"""Sessions: the one place that owns the episodes which clients of a server play.

A session is a handle and an `Env`; what the protocols of `http`, `openenv` and `mcp` do is to
translate. The calls of a session are serial, sessions know nothing of each other. Whatever becomes
of an episode is recorded: played to its end, left by its client, cut, overdue or broken. What the
harness gets wrong has no reward, and never 0.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from simharness.adapters.health import Health
from simharness.blame.attribution import judge
from simharness.env import Env, Step
from simharness.errors import (
    AtCapacity,
    CallOverdue,
    HarnessError,
    HarnessUnhealthy,
    NoEpisode,
    NoSession,
    OutOfStep,
    UsageError,
)
from simharness.kernel.calendar import format_instant
from simharness.recording.writer import FrameLog
from simharness.rollout.broken import HUNG, LEFT, RAISED, cause_of, close_early

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simharness.adapters.offer import Offer
    from simharness.blame.verdict import Verdict
    from simharness.episode.plan import Plan
    from simharness.product.policy import Action
    from simharness.rollout.intake import About, Intake

CLIENT = "client"
"""Who plays, as recordings tell it."""
REMEMBERED = 4096
"""Sessions that are over and of which it is still known how they ended."""
LOOKS = 4
"""How often within the time-out idle sessions are looked for."""
Answer = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server allows; all times are seconds of real time."""

    sessions: int = 64
    """Sessions at a time."""
    idle: float = 600.0
    """After which a session that nobody uses is over."""
    call: float = 60.0
    """For one call; one that takes longer means that the harness is stuck."""


@dataclass(slots=True)
class Counts:
    """What has happened so far."""

    opened: int = 0
    begun: int = 0
    steps: int = 0
    step_seconds: float = 0.0
    ended: int = 0
    """Episodes that came to their end, or were cut."""
    left: int = 0
    """Episodes that their clients left."""
    harness: int = 0
    """Episodes that the harness failed."""
    expired: int = 0
    """Sessions that were idle for too long."""
    refused: int = 0
    """Requests for which there was no room."""
    errors: dict[int, int] = field(default_factory=dict[int, int])
    """Requests that were answered with an error, by its status."""


class Session:
    """A handle and its episode."""

    __slots__ = (
        "about", "begun", "env", "id", "last", "lock", "number", "over", "plan", "scenario",
        "settling", "used",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        self.id = secrets.token_urlsafe(16)
        """Its handle: who knows it may use the session."""
        self.number = number
        """Its place among all of this server, which logs may show."""
        self.lock = threading.Lock()
        """Held during a call: those of a session are serial."""
        self.settling = threading.Lock()
        """Held while it is decided who records the episode."""
        self.plan: Plan | None = None
        """Of the episode under way; None before the first, and once it is recorded."""
        self.about: About = {}
        self.scenario = ""
        """Of the last episode, whether it goes on or not."""
        self.env: Env | None = None
        self.begun: Answer = {}
        """What was told of the last episode when it began, for a client that lost it."""
        self.last: Answer = {}
        """The last answer, for a client that lost it."""
        self.over = ""
        """Why it may not be used any more."""
        self.used = time.monotonic()

    @property
    def settled(self) -> bool:
        """Whether no episode waits to be recorded."""
        return self.plan is None


class Sessions:
    """All sessions of one server."""

    def __init__(
        self,
        offer: Offer,
        intake: Intake,
        limits: Limits | None = None,
        *,
        breaker: bool = True,
        tell: Callable[[str, Mapping[str, Any]], None] = lambda event, fields: None,
    ) -> None:
        """Begin to serve.

        `tell` hears of each event by its name and fields; it may be called from any thread. With
        `breaker` no further episode begins once the harness has turned out to be broken.
        """
        self.offer = offer
        self.intake = intake
        self.limits = limits or Limits()
        self.counts = Counts()
        self.health = Health() if breaker else None
        self._tell = tell
        self._lock = threading.Lock()
        self._open: dict[str, Session] = {}
        self._over: OrderedDict[str, str] = OrderedDict()
        self._opened = 0
        self._stopping = threading.Event()
        self._reaper = threading.Thread(target=self._reap, name="reaper", daemon=True)
        self._reaper.start()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def trouble(self) -> str:
        """Why no episode may begin, or an empty text."""
        if self.intake.failure is not None:
            return self.intake.failure.message
        try:
            if self.health is not None:
                self.health.check()
        except HarnessUnhealthy as error:
            return error.message
        return "the server is shutting down" if self._stopping.is_set() else ""

    # --- what clients ask for ---------------------------------------------------------------------

    def open(self) -> Session:
        """Open a session without an episode.

        Raises AtCapacity, HarnessUnhealthy once the breaker has stopped, and RecordingError once
        nothing can be recorded.
        """
        self._require_able()
        with self._lock:
            full = len(self._open) >= self.limits.sessions
        if full:
            self.expire()
        with self._lock:
            if len(self._open) >= self.limits.sessions:
                self.counts.refused += 1
                raise AtCapacity(
                    f"all {self.limits.sessions} sessions are in use", "close one, or come again"
                )
            session = Session(self._opened)
            self._opened += 1
            self.counts.opened += 1
            self._open[session.id] = session
        self._tell("opened", {"session": session.number})
        return session

    def start(
        self,
        scenario: str,
        seed: int | str,
        load: int | float | str | None = None,
        faults: Sequence[str] | None = None,
    ) -> tuple[str, Answer]:
        """Open a session and begin an episode in it; gives the session's handle, and what is told.

        Raises what `open` and `begin` raise, and then leaves no session behind.
        """
        # What isn't on offer is refused before it takes a place.
        self.offer.plan(scenario, seed, load, faults)
        handle = self.open().id
        try:
            return handle, self.begin(handle, scenario, seed, load, faults)
        except BaseException:
            self.close(handle)
            raise

    def begin(
        self,
        handle: str,
        scenario: str,
        seed: int | str,
        load: int | float | str | None = None,
        faults: Sequence[str] | None = None,
    ) -> Answer:
        """Begin an episode in a session; one that goes on in it is left.

        Raises UsageError for what isn't on offer, HarnessError for an episode that can't begin.
        """
        self._require_able()
        session = self._session(handle)
        plan = self.offer.plan(scenario, seed, load, faults)

        def work() -> Answer:
            self._leave(session, "the client began another episode")
            return self._begin(session, plan)

        return self._run(session, work)

    def step(self, handle: str, action: Action, *, number: int | None = None) -> Answer:
        """Do one action in the episode of a session.

        `number` is that of the step as the client counts, from 1; without it nothing notices that
        an answer was lost. A failure of the harness is an answer without a reward, with `error`.
        Raises NoEpisode, OutOfStep, and UsageError for what is no action.
        """
        session = self._session(handle)

        def work() -> Answer:
            env = self._env(session)
            if number is not None and number != env.episode.count + 1:
                raise OutOfStep(
                    f"step {number} of {env.episode.id}, which has had {env.episode.count}",
                    "ask for the state of the session: it has the last answer",
                )
            return self._step(session, env, action)

        return self._run(session, work)

    def look(self, handle: str) -> Answer:
        """Tell of a session: its episode as it began, how far it is, and the last answer."""
        session = self._session(handle)
        env = session.env
        return {
            "scenario": session.scenario,
            "episode_id": session.begun.get("episode_id"),
            "seed": session.begun.get("seed"),
            "step": session.last.get("step", 0) if env is None else env.episode.count,
            "going_on": env is not None,
            "begun": session.begun or None,
            "last": session.last or None,
        }

    def close(self, handle: str, why: str = "the client closed the session") -> None:
        """End a session; an episode that goes on is recorded as left. Raises NoSession."""
        session = self._session(handle)
        if self._remove(session, why):
            with session.lock:
                self._leave(session, why)

    def refuse(self, status: int, reason: str) -> None:
        """Count and tell a request that a server answered with an error."""
        with self._lock:
            self.counts.errors[status] = self.counts.errors.get(status, 0) + 1
        self._tell("refused", {"status": status, "reason": reason})

    # --- the life of sessions ---------------------------------------------------------------------

    def expire(self) -> int:
        """End the sessions that were idle for too long; gives how many."""
        now = time.monotonic()
        with self._lock:
            found = [s for s in self._open.values() if now - s.used > self.limits.idle]
        count = 0
        for session in found:
            # One with a call under way isn't idle, however long it takes.
            if not session.lock.acquire(blocking=False):
                continue
            try:
                why = f"it expired: nobody used it for {self.limits.idle:g} s"
                if now - session.used > self.limits.idle and self._remove(session, why):
                    self._leave(session, f"the client left: {why}")
                    self.counts.expired += 1
                    count += 1
            finally:
                session.lock.release()
        return count

    def stop(self, why: str = "the server stopped") -> None:
        """End all sessions and seal the run. Calls under way are waited for, as long as they may.

        Raises RecordingError. Only the first call does anything.
        """
        with self._lock:
            if self._stopping.is_set():
                return
            self._stopping.set()
            found = list(self._open.values())
        until = time.monotonic() + self.limits.call
        for session in found:
            if not self._remove(session, why):
                continue
            if session.lock.acquire(timeout=max(0.0, until - time.monotonic())):
                try:
                    self._leave(session, why)
                finally:
                    session.lock.release()
            else:
                self._overdue(session)
        self.intake.close(why)
        self._tell("stopped", {"why": why, **asdict(self.counts)})

    def _reap(self) -> None:
        while not self._stopping.wait(max(0.05, self.limits.idle / LOOKS)):
            self.expire()

    def _require_able(self) -> None:
        if self.health is not None:
            self.health.check()
        if self.intake.failure is not None:
            raise self.intake.failure
        if self._stopping.is_set():
            raise AtCapacity("the server is shutting down", "ask another one")

    def _session(self, handle: str) -> Session:
        with self._lock:
            session = self._open.get(handle)
            if session is not None:
                session.used = time.monotonic()
                return session
            why = self._over.get(handle)
        if why is None:
            raise NoSession("there is no session of this name", "open one")
        raise over(why)

    def _env(self, session: Session) -> Env:
        if session.env is not None:
            return session.env
        if session.scenario:
            raise NoEpisode("the episode has ended", "begin another one")
        raise NoEpisode("no episode has begun in this session", "begin one first")

    def _remove(self, session: Session, why: str) -> bool:
        """Take a session out; gives whether it was still there."""
        with self._lock:
            if self._open.pop(session.id, None) is None:
                return False
            session.over = why
            self._over[session.id] = why
            while len(self._over) > REMEMBERED:
                self._over.popitem(last=False)
        self._tell("closed", {"session": session.number, "why": why})
        return True

    # --- calls ------------------------------------------------------------------------------------

    def _run(self, session: Session, work: Callable[[], T]) -> T:
        """Do the work of one call in a thread of its own, and wait for it.

        A thread can't be ended from outside, so one that is stuck is left behind with its session.
        """
        if not session.lock.acquire(timeout=self.limits.call):
            self.counts.refused += 1
            raise AtCapacity("another call of this session takes long", "send one after the other")
        outcome: list[T] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(work())
            except BaseException as error:  # told to whoever waits
                failure.append(error)
            finally:
                session.used = time.monotonic()
                session.lock.release()

        if session.over:
            session.lock.release()
            raise over(session.over)
        thread = threading.Thread(target=run, name=f"session-{session.number}", daemon=True)
        thread.start()
        thread.join(self.limits.call)
        if thread.is_alive():
            self._remove(session, "a call took too long")
            raise self._overdue(session)
        if failure:
            raise failure[0].with_traceback(None)
        return outcome[0]

    def _overdue(self, session: Session) -> CallOverdue:
        """Record an episode with a call that doesn't end, as far as it came."""
        cause = f"a call took longer than {self.limits.call:g} s of real time"
        with session.settling:
            plan, env, about = session.plan, session.env, session.about
            session.plan = session.env = None
        if plan is not None:
            log = env.episode.sink if env is not None else None
            self._broken(plan, about, cause, HUNG, log if isinstance(log, FrameLog) else None)
        return CallOverdue(cause, "this episode has no reward; look at its recording")

    def _begin(self, session: Session, plan: Plan) -> Answer:
        session.about = about = self.intake.about(plan)
        session.plan, session.env, session.begun, session.last = plan, None, {}, {}
        session.scenario = plan.scenario
        try:
            env = Env(plan, on_harness="cut", policy=CLIENT, about=about)
            reset = env.reset()
        except UsageError:
            session.plan = None
            session.scenario = ""
            raise
        except BaseException as error:
            if self._settles(session):
                self._broken(plan, about, cause_of(error), RAISED)
            raise harness_error(error) from error
        with session.settling:
            if session.settled:
                raise CallOverdue("this episode is over", "begin another one")
            session.env = env
        self.counts.begun += 1
        self._told("begun", session, plan, 0)
        session.begun = {
            "episode_id": reset.episode_id,
            "scenario": plan.scenario,
            "seed": plan.seed,
            "t": reset.t,
            "prompt": reset.prompt,
            "tools": [dict(tool) for tool in reset.tools],
        }
        return dict(session.begun)

    def _step(self, session: Session, env: Env, action: Action) -> Answer:
        began = time.perf_counter_ns()
        step: Step | None = None
        error: BaseException | None = None
        try:
            step = env.step(action)
        except UsageError:
            raise
        except BaseException as caught:
            error = caught
        seconds = (time.perf_counter_ns() - began) / 1e9
        plan, about = env.plan, session.about
        verdict = env.verdict
        if verdict is not None or error is not None:
            if not self._settles(session):
                raise CallOverdue("this episode is over", "begin another one")
            if verdict is None:
                verdict = close_early(
                    env.episode, CLIENT, about, cause_of(error or HarnessError("")), RAISED
                )
            self._record(env, about, verdict)
        answer = answer_of(env, step, error)
        session.last = answer
        with self._lock:
            self.counts.steps += 1
            self.counts.step_seconds += seconds
        self._told("step", session, plan, env.episode.count, ms=round(seconds * 1000, 1))
        if verdict is not None:
            self.counts.ended += 1
            self._told("ended", session, plan, env.episode.count, verdict=verdict.headline)
        return answer

    def _settles(self, session: Session) -> bool:
        """Decide who records the episode under way: only the first who asks."""
        with session.settling:
            mine = not session.settled
            session.plan = session.env = None
        return mine

    def _leave(self, session: Session, why: str) -> None:
        """Record the episode under way, if there is one, as left; its lock is held."""
        env, about = session.env, session.about
        if env is None or not self._settles(session):
            return
        env.episode.give_up(LEFT, why)
        verdict = judge(env.episode)
        env.episode.close(verdict.record())
        self.counts.left += 1
        self._told("left", session, env.plan, env.episode.count, why=why)
        self._record(env, about, verdict)

    def _record(self, env: Env, about: About, verdict: Verdict) -> None:
        episode = env.episode
        assert isinstance(episode.sink, FrameLog)
        self.intake.take(env.plan, about, episode.sink, verdict, episode.count)
        self._judged(env.plan, verdict, episode.command)

    def _broken(
        self, plan: Plan, about: About, cause: str, code: str, log: FrameLog | None = None
    ) -> None:
        line, verdict = self.intake.take_broken(plan, about, cause, code, log)
        key = f"{plan.scenario}:{plan.seed}"
        self._tell("broken", {"episode_id": key, "seed": plan.seed, "code": code, "why": cause})
        command = f"simharness show {self.intake.folder} --episode {line['key']!r}"
        self._judged(plan, verdict, command)

    def _judged(self, plan: Plan, verdict: Verdict, command: str) -> None:
        """Tell the breaker; what it has to say concerns the next episode."""
        if verdict.kind == "harness":
            self.counts.harness += 1
        if self.health is None or verdict.kind == "external":
            return
        try:
            self.health.add(plan, verdict, command)
        except HarnessUnhealthy as error:
            self._tell("unhealthy", {"why": error.message})

    def _told(self, event: str, session: Session, plan: Plan, step: int, **more: Any) -> None:
        about = {"session": session.number, "episode_id": f"{plan.scenario}:{plan.seed}"}
        self._tell(event, {**about, "seed": plan.seed, "step": step, **more})


def over(why: str) -> NoSession:
    """Give the error of a call of a session that is over."""
    return NoSession(f"the session is over: {why}", "open another one")


def answer_of(env: Env, step: Step | None, error: BaseException | None) -> Answer:
    """Tell of a step; of one in which the harness failed there is an error and no reward."""
    episode, verdict = env.episode, env.verdict
    answer: Answer = {
        "episode_id": episode.id,
        "step": episode.count,
        "t": format_instant(episode.world.instant) if step is None else step.observation.t,
        "results": [] if step is None else [dict(one) for one in step.observation.results],
        "reward": None if step is None else step.reward,
        "terminated": step is None or step.terminated,
        "truncated": step is not None and step.truncated,
        "info": {"step": episode.count, "digest": episode.digest} if step is None else step.info,
        "error": None,
    }
    if step is None:
        told = None if verdict is None else verdict.told()
        answer["info"].update(valid=False, verdict=told)
    if answer["reward"] is None:
        code = RAISED if verdict is None else verdict.primary
        message = "" if verdict is None else verdict.sentence
        if error is not None:
            message = harness_error(error).message
        answer["error"] = {"code": code, "message": message}
    return answer


def harness_error(error: BaseException) -> HarnessError:
    """Give what an episode raised as a failure of the harness."""
    if isinstance(error, HarnessError):
        return error
    return HarnessError(cause_of(error), "look at the recording of this episode")


__all__ = ["Answer", "Counts", "Limits", "Session", "Sessions"]
