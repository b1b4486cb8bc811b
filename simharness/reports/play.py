"""Plays one case: what the agent sends when, until nothing is under way any more.

When the agent's calls are sent can depend on answers, and which of them overlap shows only as they
are played. So a case is tried until its turns are known, and then played once more by them alone:
as its recording can be replayed, from its inputs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.attribution import judge_case
from simharness.blame.case import case_of, model_findings
from simharness.env import new_episode
from simharness.episode.plan import Plan
from simharness.episode.play import arguments_text
from simharness.episode.step import LATER
from simharness.episode.transcript import RawCall
from simharness.errors import HarnessError, UsageError
from simharness.product.reference import Unresolved, references, resolved
from simharness.product.script import AGENT, SLUG, TEXT, Answer, Script, Scripted, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.blame.verdict import Verdict
    from simharness.episode.episode import Episode
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story
    from simharness.product.script import Act
    from simharness.reports.report import Case

ATTEMPTS = 3
"""Attempts per action of the agent after which its turns are taken never to settle."""
IDLE_EVENTS = 100_000
"""Instants that may pass at the end while somebody is still waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One case that was played, and what came of it."""

    case: Case
    episode: Episode
    verdict: Verdict
    findings: tuple[Finding, ...]
    story: Story
    answers: Mapping[str, Answer]
    """By label."""
    skipped: Mapping[str, str]
    """Actions that were left out, with the reason."""
    actions: Mapping[tuple[str, int], str]
    """Labels by operation, as owner and number."""

    @property
    def reward(self) -> float | None:
        """What was paid; None where the harness can't tell."""
        return None if self.verdict.score is None else self.verdict.score / 1_000_000


def play_case(case: Case) -> Played:
    """Play a case and judge it. Raises UsageError for one whose turns never settle."""
    attempt, episode = settled(case)
    of_episode = case_of(episode)
    verdict = judge_case(of_episode)
    if episode.aborted is not None:
        verdict = replace(verdict, sentence=episode.aborted.message)
    episode.close(verdict.record())
    findings = list(verdict.findings)
    if not any(str(f.effect) != "none" and f.code.startswith("H") for f in findings):
        # Nothing of the harness decided, so all that the model did stands.
        findings += [f for f in model_findings(of_episode) if f not in findings]
    scripted = cast("Scripted", episode.scenario)
    actions = {
        (episode.agent.name, step << 16 | i): case.acts[place].label
        for step, turn in enumerate(scripted.turns, 1)
        for i, place in enumerate(turn.acts)
    }
    return Played(
        case=case,
        episode=episode,
        verdict=verdict,
        findings=tuple(findings),
        story=of_episode.story,
        answers=scripted.answers,
        skipped=scripted.skipped | attempt.skipped,
        actions=scripted.begun | actions,
    )


def script_of(case: Case) -> Script:
    """Write a case as a script whose turns aren't known yet."""
    ids = {name: spec.row_type.by_name["id"] for name, spec in case.product.specs().items()}
    return Script(
        title=case.title,
        epoch=case.epoch,
        rows=case.rows,
        identities=case.identities,
        acts=case.acts,
        names=[
            ids[name].shown(row["id"])
            for name, listed in case.rows.items()
            for row in listed
            if ids[name].prefix is not None
        ],
        material=case.material,
        goal=case.goal,
        keep=case.keep,
        task=case.task,
        instance=case.instance,
        pay=case.pay,
    )


def begin(case: Case, script: Script) -> Episode:
    """Begin the episode of a script."""
    plan = Plan(
        scenario=f"{case.product_name}/{SLUG}",
        seed=case.seed,
        load=case.load,
        faults=tuple(case.faults),
        profile="bare",
        config=case.config,
        pins={TEXT: script.text()},
    )
    return new_episode(plan, "report")


def settled(case: Case) -> tuple[Attempt, Episode]:
    """Try a case until it comes out the same when it is played by its turns alone.

    Gives the last attempt, and the episode that was played so.
    """
    script = script_of(case)
    overlaps: dict[int, Overlap] = {}
    ends: int | None = None
    agents = [act for act in case.acts if act.actor == AGENT]
    for _ in range(ATTEMPTS * (len(agents) + 1)):
        attempt = Attempt(case, script, overlaps, ends)
        attempt.play()
        if attempt.breaks is not None:
            ends = attempt.breaks
            continue
        if attempt.overlapping:
            overlaps |= attempt.overlapping
            continue
        found = replace(
            script,
            turns=tuple(attempt.scripted.turns),
            dropped=tuple(attempt.dropped),
        )
        episode = begin(case, found)
        try:
            for given in attempt.episode.inputs:
                episode.send(given)
        except HarnessError:
            if episode.aborted is None:
                raise
        except UsageError:
            script = found  # it ended before all was sent
            continue
        if cast("Scripted", episode.scenario).answers == attempt.scripted.answers:
            return attempt, episode
        script = found
    raise UsageError(
        f"the turns of {case.title!r} never settle", "let the agent wait for fewer answers"
    )


@dataclass(frozen=True, slots=True)
class Overlap:
    """A call that is sent while the turn of another is under way."""

    leader: int
    """The first act of that turn, by its place."""
    later: int
    """Ticks after it."""
    args: Any
    """Its arguments, as they are known by then."""


class Attempt:
    """One attempt at a case."""

    def __init__(
        self,
        case: Case,
        script: Script,
        overlaps: Mapping[int, Overlap],
        ends: int | None = None,
    ) -> None:
        self.case = case
        self.script = script
        self.episode = begin(case, script)
        self.scripted = cast("Scripted", self.episode.scenario)
        self.scripted.turns.clear()
        self.known = script.turns
        self.overlaps = overlaps
        self.overlapping: dict[int, Overlap] = {}
        """Calls that turned out to overlap with the turn before, by their place."""
        self.dropped: list[int] = []
        self.skipped: dict[str, str] = {}
        # Who waits for a turn of the agent's has to know of it before it comes.
        self.scripted.turns += script.turns
        self._sent: list[Turn] = []
        self._by_label = {act.label: act for act in script.acts}
        self.breaks: int | None = None
        """The tick by which the world broke while nothing of the agent's was under way."""
        self.ends = ends
        """The tick at which it is known to break."""
        places = [p for p, act in enumerate(script.acts) if act.actor == AGENT]
        self._left = {place for place in places if place not in overlaps}
        """What the agent has still to send."""
        self._ready: list[tuple[int, int]] = []
        """When and what, as far as it is known: a heap."""
        self._after: dict[str, list[int]] = defaultdict(list)
        """What waits for an answer, by the label of what is to be answered."""
        for place in sorted(self._left):
            act = script.acts[place]
            if act.after:
                self._after[act.after].append(place)
            else:
                heappush(self._ready, (act.at, place))
        self._others = [label for label in self._after if self._by_label[label].actor != AGENT]
        self._heard = 0
        """Answers that were taken in."""
        self._unanswered = list(script.acts)

    def play(self) -> None:
        """Send what the agent sends, and wait for the end."""
        try:
            while not self.episode.ended and (found := self._next()) is not None:
                at, place = found
                if not self._send(place, at):
                    return
            for place in sorted(self._left):
                self._drop(place, self._why(self.script.acts[place]))
            if not self.episode.ended:
                self._end()
        except HarnessError:
            if self.episode.aborted is None and self.breaks is None:
                raise
        self.scripted.turns[:] = self._sent
        self.dropped.sort()

    # --- what comes next --------------------------------------------------------------------------

    def _next(self) -> tuple[int, int] | None:
        """Give when the agent does something next, and what; None where nothing is left to come."""
        for _ in range(IDLE_EVENTS):
            self._hear()
            upcoming = self.episode.world.next_ticks()
            first = self._ready[0][0] if self._ready else None
            if upcoming is None or not self._awaits() or (first is not None and upcoming >= first):
                break
            self._advance(upcoming)
        if not self._ready:
            return None
        at, place = heappop(self._ready)
        self._left.remove(place)
        return at, place

    def _hear(self) -> None:
        """Learn when those are to be sent that waited for an answer which has come."""
        answers = self.scripted.answers
        for label in islice(reversed(answers), len(answers) - self._heard):
            for place in self._after.pop(label, ()):
                heappush(self._ready, (answers[label].t + self.script.acts[place].at, place))
        self._heard = len(answers)

    def _awaits(self) -> bool:
        """Tell whether others are yet to answer what an act of the agent's waits for."""
        while self._others:
            label = self._others[-1]
            if label in self._after and label not in self.scripted.skipped:
                return True
            self._others.pop()
        return False

    def _advance(self, tick: int) -> None:
        """Let others go on up to a tick. Raises HarnessError where the world breaks by then.

        A world that breaks between the agent's steps leaves no step on record. So the tick is kept,
        and in the next attempt the agent goes away in the step in which it breaks.
        """
        if self.ends is not None and tick >= self.ends:
            self.episode.stop(tick)
        try:
            self.episode.world.advance_to(tick)
        except HarnessError:
            self.breaks = tick
            raise

    def _why(self, act: Act) -> str:
        if self.scripted.skipped.get(act.after) or act.after in self.skipped:
            return f"{act.after} was skipped"
        return "the agent has finished" if self.episode.ended else f"{act.after} was never answered"

    # --- sending ----------------------------------------------------------------------------------

    def _send(self, place: int, at: int) -> bool:
        """Send the turn of an act; False when it overlaps with the turn before."""
        acts, episode = self.script.acts, self.episode
        args = self._resolved(place)
        if args is None:
            return True
        if episode.world.ticks > at and self._sent:
            self.overlapping = self._overlapping(place, at, args)
            return False
        turn: list[tuple[int, int, Any]] = [(place, 0, args)]
        turn += [
            (other, overlap.later, overlap.args)
            for other, overlap in sorted(self.overlaps.items())
            if overlap.leader == place
        ]
        turn.sort(key=lambda entry: (entry[1], entry[0]))
        step = Turn(at=at, acts=tuple(entry[0] for entry in turn))
        self._sent.append(step)
        number = len(self._sent)
        self.scripted.turns[number - 1 :] = [step, *self.known[number:]]
        calls = [RawCall(id="", tool=acts[p].call, arguments=text_of(a)) for p, _, a in turn]
        pins = [{**acts[p].pins, **({LATER: later} if later else {})} for p, later, _ in turn]
        episode.call(calls, max(at, episode.world.ticks), [pin or None for pin in pins])
        return True

    def _overlapping(self, place: int, at: int, args: Any) -> dict[int, Overlap]:
        """Give a call that overlaps with the turn before, and those after it that are sure to."""
        last, acts = self._sent[-1], self.script.acts
        leader = last.acts[0]
        found = {place: Overlap(leader, at - last.at, args)}
        for then, other in self._ready:
            act = acts[other]
            sure = not act.after and not any(True for _ in references(act.args))
            if then < self.episode.world.ticks and sure:
                plain = resolved(act.args if act.args is not None else {}, {})
                found[other] = Overlap(leader, then - last.at, plain)
        return found

    def _resolved(self, place: int) -> Any:
        """Give an act's arguments; None, and drop it, where they refer to nothing."""
        act = self.script.acts[place]
        try:
            return resolved(act.args if act.args is not None else {}, self.scripted.answers)
        except Unresolved as error:
            self._drop(place, str(error))
            return None

    def _drop(self, place: int, reason: str) -> None:
        self.dropped.append(place)
        self.skipped[self.script.acts[place].label] = reason

    # --- the end ----------------------------------------------------------------------------------

    def _end(self) -> None:
        """Wait for what is under way, or until the time that the case names, and go away."""
        episode, world = self.episode, self.episode.world
        if self.case.until is not None:
            episode.stop(max(self.case.until, world.ticks))
            return
        for _ in range(IDLE_EVENTS):
            upcoming = world.next_ticks()
            if not self._under_way() or upcoming is None:
                break
            self._advance(upcoming)
        episode.stop(world.ticks)

    def _under_way(self) -> bool:
        """Tell whether an action has still to be answered, or has effects that go on."""
        if self.episode.world.reactions:
            return True
        answers, left = self.scripted.answers, self._unanswered
        while left and (left[-1].label in answers or self._lost(left[-1])):
            left.pop()
        return bool(left)

    def _lost(self, act: Act) -> bool:
        """Tell whether an act was left out, or waits for one that was."""
        while act.label not in self.skipped and act.label not in self.scripted.skipped:
            if not act.after or act.after in self.scripted.answers:
                return False
            act = self._by_label[act.after]
        return True


def text_of(args: Any) -> str:
    """Write arguments as a model sends them; a text is sent as it stands."""
    return args if isinstance(args, str) else arguments_text(args)
