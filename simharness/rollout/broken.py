"""Episodes that broke where no step could be told so: before the first, between two, or for good.

What there is of such an episode is recorded all the same: its plan, the frames up to where it
broke, the cause in its INFO frame, and a verdict against the harness. So is one that its agent left
before its end, with a verdict against neither side.
"""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, cast

from simharness.blame.verdict import Class, Proof, Verdict
from simharness.episode.info import BROKE, info_payload, with_notes
from simharness.errors import SimharnessError
from simharness.findings.finding import Effect, Finding, packable
from simharness.kernel.draws import Draws, Stream
from simharness.product.registry import load_scenario
from simharness.product.scenario import Drawing
from simharness.recording.format import FrameType, footer_payload
from simharness.values import pack

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.episode.plan import Plan
    from simharness.recording.reader import EpisodeRecord
    from simharness.recording.writer import ShardWriter

RAISED, HUNG, LOST = "H810", "H811", "H812"
"""Codes: something raised, the episode hit the limit of real time, its process was lost."""
LEFT = "X812"
"""Code of an episode that whoever played it left before its end."""
CODES = (RAISED, HUNG, LOST, LEFT)


def cause_of(error: BaseException) -> str:
    """Say in a sentence what was raised, and where."""
    if isinstance(error, SimharnessError):
        return error.message
    trace = extract_tb(error.__traceback__)
    at = (
        f" ({Path(trace[-1].filename).name}:{trace[-1].lineno}, in {trace[-1].name})"
        if trace
        else ""
    )
    return f"{type(error).__name__}: {error}{at}"


def broken_verdict(cause: str, code: str, step: int) -> Verdict:
    """Give the verdict on an episode that broke at a step (0: before the first)."""
    finding = Finding(
        code=code,
        step=step,
        t=0,
        keys=(),
        explanation=str(packable(cause)),
        effect=Effect.HINDERED,
    )
    return Verdict(
        kind=Class.EXTERNAL if code == LEFT else Class.HARNESS,
        primary=code,
        proof=Proof.NONE,
        valid=False,
        score=None,
        goal=None,
        findings=(finding,),
        sentence=str(packable(cause)),
    )


def is_broken(record: EpisodeRecord) -> bool:
    """Tell a recording that says of itself that its episode broke."""
    return bool(record.info.get(BROKE))


def verdict_of(record: EpisodeRecord) -> Verdict:
    """Give the verdict on a recorded episode that broke; no rows bear it out."""
    told: Mapping[str, Any] = record.verdict or {}
    code = told.get("primary")
    code = code if code in CODES else RAISED
    return broken_verdict(str(record.info[BROKE]), code, len(record.inputs))


def close_broken(
    writer: ShardWriter,
    plan: Plan,
    policy: str,
    about: Mapping[str, str | int],
    cause: str,
    code: str = RAISED,
    episode: Episode | None = None,
    left: EpisodeRecord | None = None,
) -> Verdict:
    """Record that an episode broke, behind the frames that its writer has of it.

    `episode` is what came of it in this process, `left` what another process has left in the file.
    """
    product, _ = load_scenario(plan.scenario)
    steps = episode.count if episode is not None else len(left.steps) if left is not None else 0
    rows = 0
    if left is not None:
        told = [frame.fields[0] for frame in left.of(FrameType.EVENTS)]
        told += [frame.fields[2] for frame in left.steps]
        rows = sum(map(len, cast("list[list[object]]", told)))
    if not writer.inside:
        header = plan.header(product, instance_of(plan))
        writer.write(pack([FrameType.HEADER, header]), FrameType.HEADER)
    info = info_payload(product, policy, {**about, BROKE: cause})
    if episode is not None and episode.notes:
        info = with_notes(info, episode.notes)
    writer.write(info, FrameType.INFO)
    verdict = broken_verdict(cause, code, steps)
    writer.write(pack([FrameType.VERDICT, verdict.record()]), FrameType.VERDICT)
    if episode is not None:
        episode.recorder.footer(steps, writer.chain)
    else:
        writer.write(footer_payload(steps, rows, writer.chain), FrameType.FOOTER)
    return verdict


def close_early(
    episode: Episode, policy: str, about: Mapping[str, str | int], cause: str, code: str
) -> Verdict:
    """Record that an episode in memory has come to no end of its own, behind its own frames."""
    product = type(episode.product)
    episode.recorder.info(info_payload(product, policy, {**about, BROKE: cause}))
    verdict = broken_verdict(cause, code, episode.count)
    episode.close(verdict.record())
    return verdict


def instance_of(plan: Plan) -> Mapping[str, object]:
    """Give what the seed draws; where the scenario can't draw, what is pinned."""
    try:
        _, scenario = load_scenario(plan.scenario)
        drawing = Drawing(Stream(Draws(plan.seed), "instance", 0), plan.pins)
        scenario.bound(plan.pins).draw(drawing)
        return drawing.finish()
    except Exception:  # the episode is broken already, and its cause is told
        return plan.pins
