"""Ablation by value: the same seed, calls and instants, with suspects telling the truth.

Waits, queue places and draws stay as they were, so a mechanism that served nobody a wrong value
changes nothing at all when it is ablated. Three arms, by who plays: the recorded calls verbatim
(open), the same policy asked again (closed), or the reference taking over from the first tainted
observation in both worlds (takeover).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.blame.verdict import Arm, Proof
from simharness.episode.episode import Episode
from simharness.episode.play import drive, play_on, task_of
from simharness.errors import HarnessError, UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simharness.episode.plan import Plan
    from simharness.episode.step import Input, Placebo
    from simharness.product.policy import Policy


def mechanisms(episode: Episode) -> list[str]:
    """Name what can be ablated in an episode: its product's mechanisms and its faults."""
    faults = [f"fault:{text.partition('@')[0]}" for text in episode.plan.faults]
    return [*episode.product.mechanisms(), *faults]


def require_mechanisms(episode: Episode, names: Iterable[str]) -> frozenset[str]:
    """Check the names of mechanisms. Raises UnknownName."""
    known = mechanisms(episode)
    out = frozenset(names)
    for name in sorted(out):
        if name not in known:
            raise UnknownName.among("mechanism", name, known)
    return out


def goal_score(episode: Episode) -> int | None:
    """Give the goal's score in millionths, whatever was paid; None where it was never judged."""
    if episode.aborted is not None or not episode.criteria:
        return None
    return 1_000_000 if episode.passed else 0


def replayed(plan: Plan, inputs: Sequence[Input], repair: frozenset[str] = frozenset()) -> Episode:
    """Send recorded inputs again at their recorded instants.

    Raises UsageError where they no longer fit.
    """
    episode = Episode(plan, repair=repair)
    for given in inputs:
        if episode.ended:
            break
        episode.send(given)
    return episode


def open_loop(
    plan: Plan, inputs: Sequence[Input], repair: frozenset[str], before: int | None
) -> Arm | None:
    """Re-run the calls verbatim; None where they no longer fit the repaired world."""
    try:
        episode = replayed(plan, inputs, repair)
    except (UsageError, HarnessError):
        return None
    return Arm(
        proof=Proof.OPEN,
        repaired=tuple(sorted(repair)),
        score=goal_score(episode),
        score_before=before,
        digest=episode.digest,
    )


def closed_loop(
    plan: Plan,
    policy: Policy,
    repair: frozenset[str],
    before: int | None,
    placebo: Placebo | None = None,
) -> tuple[Arm, Episode]:
    """Ask the same policy again in the repaired world, or in one with delays alone.

    Gives the arm and its episode.
    """
    episode = Episode(plan, repair=repair, placebo=placebo)
    try:
        drive(episode, policy)
    except HarnessError:
        if episode.aborted is None:
            raise
    arm = Arm(
        proof=Proof.CLOSED,
        repaired=tuple(sorted(repair)),
        score=goal_score(episode),
        score_before=before,
        digest=episode.digest,
    )
    return arm, episode


def takeover(
    plan: Plan, inputs: Sequence[Input], tainted: int, repair: frozenset[str], reference: Policy
) -> tuple[Arm, Episode] | None:
    """Let the reference play on from before step `tainted` in both worlds.

    Gives the arm and the actual world's episode, or None where the calls before that step no longer
    fit the repaired world.
    """
    try:
        actual = played_on(plan, inputs, tainted, frozenset(), reference)
        repaired = played_on(plan, inputs, tainted, repair, reference)
    except (UsageError, HarnessError):
        return None
    arm = Arm(
        proof=Proof.UNSOLVABLE,
        repaired=tuple(sorted(repair)),
        score=goal_score(repaired),
        score_before=goal_score(actual),
        digest=repaired.digest,
    )
    return arm, actual


def played_on(
    plan: Plan, inputs: Sequence[Input], tainted: int, repair: frozenset[str], reference: Policy
) -> Episode:
    """Re-run the steps before `tainted`, then let the reference play on with the rest."""
    episode = replayed(plan, [given for given in inputs if given.step < tainted], repair)
    if not episode.ended:
        try:
            play_on(episode, reference(task_of(episode)))
        except HarnessError:
            if episode.aborted is None:
                raise
    return episode
