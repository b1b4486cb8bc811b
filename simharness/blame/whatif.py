"""What if one mechanism had told the truth? The episode again, in every arm it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.blame.ablation import (
    closed_loop,
    goal_score,
    open_loop,
    replayed,
    require_mechanisms,
    takeover,
)
from simharness.episode.inputs import read_inputs
from simharness.episode.policies import recorded_policy
from simharness.episode.replay import plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.blame.verdict import Arm
    from simharness.episode.episode import Episode
    from simharness.recording.reader import EpisodeRecord


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The recorded outcome and that of each re-run."""

    mechanisms: tuple[str, ...]
    reward: int | None
    """The recorded reward in millionths."""
    before: int | None
    """The goal's score as recorded."""
    policy: str
    arms: tuple[Arm, ...]

    def paid(self, arm: Arm) -> int | None:
        """Give what is paid in a re-run whose reward tells the truth, in millionths: the goal.

        None where the reward isn't repaired.
        """
        return arm.score if "reward" in arm.repaired else None


def whatif(record: EpisodeRecord, mechanisms: Sequence[str]) -> WhatIf:
    """Run an episode again with mechanisms telling the truth.

    Raises UnknownName for a mechanism that the product doesn't have.
    """
    plan = plan_of(record)
    inputs = read_inputs(record)
    actual = replayed(plan, inputs)
    repair = require_mechanisms(actual, mechanisms)
    before = goal_score(actual)
    name = str(record.info.get("policy", ""))
    scenario = actual.scenario
    arms: list[Arm] = []
    policy = recorded_policy(record, scenario)
    if policy is not None:
        arms.append(closed_loop(plan, policy, repair, before)[0])
    arm = open_loop(plan, inputs, repair, before)
    if arm is not None:
        arms.append(arm)
    reference = scenario.policies.get("expert")
    tainted = tainted_steps(actual, repair)
    if policy is None and reference is not None and tainted:
        taken = takeover(plan, inputs, tainted[0], repair, reference)
        if taken is not None:
            arms.append(taken[0])
    return WhatIf(tuple(sorted(repair)), actual.reward, before, name, tuple(arms))


def tainted_steps(episode: Episode, repair: frozenset[str]) -> list[int]:
    """List the steps whose reads a repaired mechanism served wrong, in order."""
    return [
        step.input.step
        for breach in episode.breaches
        if f"cache:{breach.view}" in repair
        for step in episode.steps
        if step.rows[0] <= breach.row < step.rows[1]
    ]
