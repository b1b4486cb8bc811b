"""Replay: the recorded inputs in a new world, each produced frame held against the recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.divergence import CLASSES, Common, diverged
from simharness.episode.episode import Episode
from simharness.episode.info import sources
from simharness.episode.inputs import read_inputs, read_outside
from simharness.episode.plan import read_plan
from simharness.episode.versions import require_build
from simharness.errors import (
    DamagedRecording,
    Divergence,
    HarnessError,
    UsageError,
)
from simharness.product.registry import load_scenario
from simharness.recording.format import CHAIN_START, FrameType, advance
from simharness.recording.reader import require_complete

if TYPE_CHECKING:
    from simharness.episode.plan import Plan
    from simharness.product.scenario import Scenario
    from simharness.recording.reader import EpisodeRecord, Frame

OUTSIDE = (FrameType.INFO, FrameType.VERDICT)


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay that came out identical."""

    episode: Episode
    digest: str
    frames: int
    """Frames compared."""


class Comparison:
    """A sink that compares the frames produced and raises Divergence at the first unequal one."""

    def __init__(self, record: EpisodeRecord, changed: list[str]) -> None:
        self._frames: list[Frame] = [f for f in record.frames if f.kind not in OUTSIDE]
        self._record = record
        self._changed = changed
        self.compared = 0
        self.chain: bytes = CHAIN_START

    @property
    def digest(self) -> str:
        """The chain in hex."""
        return self.chain.hex()

    def write(self, payload: bytes, kind: FrameType) -> None:
        """Compare the next frame."""
        if kind in OUTSIDE:
            return
        recorded = self._frames[self.compared] if self.compared < len(self._frames) else None
        if recorded is None or recorded.payload != payload:
            common = Common(self._frames[: self.compared])
            raise diverged(self._record, self.compared, recorded, payload, common, self._changed)
        self.compared += 1
        self.chain = advance(self.chain, payload, kind)


def plan_of(record: EpisodeRecord) -> Plan:
    """Give the plan that a recording was made by.

    Raises DamagedRecording, or VersionError for one that needs another build.
    """
    require_build(record)
    decisions: list[object] = []
    for frame in record.of(FrameType.DECISION):
        decisions += cast("list[object]", frame.fields[0])
    return read_plan(record.header, decisions)


def start_of(scenario: Scenario[Any], plan: Plan) -> tuple[str, dict[str, Any]]:
    """Give prompt and brief of a recorded episode. Raises DamagedRecording."""
    instance = dict(plan.pins)
    try:
        return scenario.prompt(instance), scenario.brief(instance)
    except Exception as error:
        # They were told at its start, so it is the instance that isn't what it was.
        raise DamagedRecording(
            f"header field 'instance' fits no episode of {plan.scenario} "
            f"({type(error).__name__}: {error})"
        ) from error


def changed_sources(record: EpisodeRecord, plan: Plan) -> list[str]:
    """Give the product's source files that have changed since."""
    product, _ = load_scenario(plan.scenario)
    told = record.info.get("sources", {})
    if not isinstance(told, dict) or not told:
        return []  # a recording without an INFO frame doesn't tell
    then, now = cast("dict[str, object]", told), sources(product)
    return [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]


def replay(record: EpisodeRecord, *, until: int | None = None, reverify: bool = False) -> Replay:
    """Replay a recording in lock-step.

    What came from outside, such as from a sandbox, is taken from the recording; with `reverify` it
    is asked for again, and compared.

    Raises Divergence at the first unequal frame, TruncatedRecording or DamagedRecording for a
    recording that isn't whole (unless `until` names a step that is), VersionError for one that
    needs another build.
    """
    if until is None:
        require_complete(record)
    plan = plan_of(record)
    changed = changed_sources(record, plan)
    inputs = read_inputs(record)
    outside = read_outside(record).get(0, [])
    if reverify:
        inputs = [given._replace(outside=()) for given in inputs]
        outside = []
    if until is not None:
        if not 0 <= until <= len(inputs):
            raise UsageError(f"no step {until} in this recording", f"give 0 to {len(inputs)}")
        inputs = inputs[:until]
    comparison = Comparison(record, changed)
    try:
        episode = Episode(plan, sink=comparison, outside=outside)
    except UsageError as error:
        raise DamagedRecording(
            f"the header fits no episode of this build: {error.message}", error.hint
        ) from error
    for given in inputs:
        if episode.ended:
            raise goes_on(record, comparison, episode)
        try:
            episode.send(given)
        except UsageError as error:
            raise DamagedRecording(f"an INPUT fits no step: {error.message}", error.hint) from error
        except HarnessError:
            if episode.aborted is None:
                raise
    if until is None:
        compare_footer(record, comparison, episode)
    return Replay(episode, comparison.digest, comparison.compared)


def compare_footer(record: EpisodeRecord, comparison: Comparison, episode: Episode) -> None:
    """Compare what closes the episode: counts and chain."""
    episode.close()
    if comparison.compared < sum(f.kind not in OUTSIDE for f in record.frames):
        raise goes_on(record, comparison, episode)


def goes_on(record: EpisodeRecord, comparison: Comparison, episode: Episode) -> Divergence:
    """Build the error for a recording that goes on after the episode has ended."""
    step = episode.count
    return Divergence(
        f"replay diverged at frame {comparison.compared}, step {step}: {CLASSES['CODE']} CODE\n"
        "the recording goes on where the episode has ended",
        f"simharness show {record.path or 'FILE'} --step {step}",
        CLASSES["CODE"],
        "CODE",
        comparison.compared,
        step,
    )
