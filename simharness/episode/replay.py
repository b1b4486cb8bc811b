"""Replay: the recorded inputs in a new world, each produced frame held against the recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.divergence import Common, diverged
from simharness.episode.episode import Episode
from simharness.episode.info import sources
from simharness.episode.inputs import read_inputs
from simharness.episode.plan import read_plan
from simharness.errors import Divergence, HarnessError, UsageError, VersionError
from simharness.product.registry import load_scenario
from simharness.recording.format import CHAIN_START, FrameType, advance
from simharness.recording.reader import require_complete

if TYPE_CHECKING:
    from simharness.episode.plan import Plan
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
    """A sink that compares: takes each produced frame and raises Divergence at the first unequal one."""

    def __init__(self, record: EpisodeRecord, changed: list[str]) -> None:
        self._frames: list[Frame] = [f for f in record.frames if f.kind not in OUTSIDE]
        self._record = record
        self._changed = changed
        self.common = Common()
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
            raise diverged(self._record, self.compared, recorded, payload, self.common, self._changed)
        self.common.take(recorded)
        self.compared += 1
        self.chain = advance(self.chain, payload, kind)


def plan_of(record: EpisodeRecord) -> Plan:
    """Give the plan that a recording was made by. Raises DamagedRecording or VersionError."""
    decisions: list[object] = []
    for frame in record.of(FrameType.DECISION):
        decisions += cast("list[object]", frame.fields[0])
    return read_plan(record.header, decisions)


def check_versions(record: EpisodeRecord, plan: Plan) -> list[str]:
    """Raise VersionError when the product means something else by now; give the source files that have changed."""
    product, _ = load_scenario(plan.scenario)
    recorded = record.header.get("model")
    if recorded != product.semantics:
        made_by = record.info.get("simharness", "unknown")
        raise VersionError(
            f"the recording needs {product.name} semantics {recorded!r}, this build has {product.semantics}",
            f"pip install simharness=={made_by}",
        )
    then: Any = record.info.get("sources", {})
    now = sources(product)
    if not isinstance(then, dict):
        return []
    names = sorted({*cast("dict[str, str]", then), *now})
    return [name for name in names if cast("dict[str, str]", then).get(name) != now.get(name)]


def replay(record: EpisodeRecord, *, until: int | None = None) -> Replay:
    """Replay a recording in lock-step.

    Raises Divergence at the first unequal frame, TruncatedRecording or DamagedRecording for one that isn't whole (unless
    `until` names a step that is), VersionError for one that needs another build.
    """
    if until is None:
        require_complete(record)
    plan = plan_of(record)
    changed = check_versions(record, plan)
    inputs = read_inputs(record)
    if until is not None:
        if not 0 <= until <= len(inputs):
            raise UsageError(f"no step {until} in this recording", f"give 0 to {len(inputs)}")
        inputs = inputs[:until]
    comparison = Comparison(record, changed)
    episode = Episode(plan, sink=comparison)
    for given in inputs:
        if episode.ended:
            raise comparison_error(record, comparison, episode)
        try:
            episode.send(given)
        except HarnessError:
            if episode.aborted is None:
                raise
    if until is None:
        compare_footer(record, comparison, episode)
    return Replay(episode, comparison.digest, comparison.compared)


def compare_footer(record: EpisodeRecord, comparison: Comparison, episode: Episode) -> None:
    """Compare what closes the episode: counts and chain."""
    episode.close()
    left = [f for f in record.frames if f.kind not in OUTSIDE][comparison.compared :]
    if left:
        raise Divergence(
            f"the recording goes on with {left[0].kind.name} where the replay has ended", "look at its last step"
        )


def comparison_error(record: EpisodeRecord, comparison: Comparison, episode: Episode) -> Divergence:
    """Build the error for a recording that goes on after the episode has ended."""
    return Divergence(
        f"the recording goes on after step {len(episode.steps)}, where the episode ends (frame {comparison.compared})",
        f"recorded digest {record.digest}",
    )
