"""Plays one case: what the agent sends when, until nothing is under way any more.

When the agent's calls are sent can depend on answers, and which of them overlap shows only as they
are played. So a case is tried until its turns are known, and then played once more by them alone:
as its recording can be replayed, from its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.attribution import judge_case
from simharness.blame.case import case_of, model_findings
from simharness.env import new_episode
from simharness.episode.plan import Plan
from simharness.episode.play import arguments_text
from simharness.episode.step import LATER
from simharness.episode.transcript import RawCall
from simharness.errors import HarnessError, UsageError
from simharness.product.reference import Unresolved, resolved
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
    actions = {(a.owner, a.n): label for label, a in scripted.answers.items()}
    return Played(
        case=case,
        episode=episode,
        verdict=verdict,
        findings=tuple(findings),
        story=of_episode.story,
        answers=scripted.answers,
        skipped=scripted.skipped | attempt.skipped,
        actions=actions,
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
    agents = [act for act in case.acts if act.actor == AGENT]
    for _ in range(ATTEMPTS * (len(agents) + 1)):
        attempt = Attempt(case, script, overlaps)
        attempt.play()
        if attempt.overlapping is not None:
            place, overlap = attempt.overlapping
            overlaps[place] = overlap
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

    def __init__(self, case: Case, script: Script, overlaps: Mapping[int, Overlap]) -> None:
        self.case = case
        self.script = script
        self.episode = begin(case, script)
        self.scripted = cast("Scripted", self.episode.scenario)
        self.scripted.turns.clear()
        self.known = script.turns
        self.overlaps = overlaps
        self.overlapping: tuple[int, Overlap] | None = None
        """A call that turned out to overlap with the turn before."""
        self.dropped: list[int] = []
        self.skipped: dict[str, str] = {}
        # Who waits for a turn of the agent's has to know of it before it comes.
        self.scripted.turns += script.turns
        self._sent: list[Turn] = []
        self._by_label = {act.label: act for act in script.acts}
        self._unanswered = list(script.acts)

    def play(self) -> None:
        """Send what the agent sends, and wait for the end."""
        acts = self.script.acts
        left = [
            place
            for place, act in enumerate(acts)
            if act.actor == AGENT and place not in self.overlaps
        ]
        try:
            while left and not self.episode.ended:
                place, at = self._next(left)
                if place is None:
                    break
                left.remove(place)
                if not self._send(place, at):
                    return
            for place in left:
                self._drop(place, self._why(acts[place]))
            if not self.episode.ended:
                self._end()
        except HarnessError:
            if self.episode.aborted is None:
                raise
        self.scripted.turns[:] = self._sent
        self.dropped.sort()

    # --- what comes next --------------------------------------------------------------------------

    def _next(self, left: list[int]) -> tuple[int | None, int]:
        """Give what the agent does next, and when; None where it waits for what never comes."""
        acts, world = self.script.acts, self.episode.world
        for _ in range(IDLE_EVENTS):
            known = [(at, place) for place in left if (at := self._at(acts[place])) is not None]
            waiting = [p for p in left if self._at(acts[p]) is None and self._may_come(acts[p])]
            first = min(known, default=None)
            upcoming = world.next_ticks()
            if not waiting or upcoming is None or (first is not None and upcoming >= first[0]):
                return (first[1], first[0]) if first is not None else (None, 0)
            world.advance_to(upcoming)
        return None, 0

    def _at(self, act: Act) -> int | None:
        """Give the tick at which an act of the agent's is to be sent, once that is known."""
        if not act.after:
            return act.at
        answer = self.scripted.answers.get(act.after)
        return None if answer is None else answer.t + act.at

    def _may_come(self, act: Act) -> bool:
        """Tell whether others are yet to answer what an act waits for."""
        source = self._by_label[act.after]
        return source.actor != AGENT and source.label not in self.scripted.skipped

    def _why(self, act: Act) -> str:
        if self.scripted.skipped.get(act.after) or act.after in self.skipped:
            return f"{act.after} was skipped"
        return "the agent has finished" if self.episode.ended else f"{act.after} was never answered"

    # --- sending ----------------------------------------------------------------------------------

    def _send(self, place: int, at: int) -> bool:
        """Send the turn of an act; False when it overlaps with the turn before."""
        acts, episode = self.script.acts, self.episode
        act = acts[place]
        args = self._resolved(place)
        if args is None:
            return True
        if episode.world.ticks > at and self._sent:
            last = self._sent[-1]
            leader = last.acts[0]
            self.overlapping = place, Overlap(leader, at - last.at, args)
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
        del act
        return True

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
            world.advance_to(upcoming)
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
