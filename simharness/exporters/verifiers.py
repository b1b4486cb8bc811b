"""The traces.jsonl of verifiers v1: an episode a line, with one trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from simharness import __version__
from simharness.exporters.chat import named
from simharness.exporters.loss import TRUTH, Loss
from simharness.exporters.text import json_line

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from simharness.exporters.trajectory import Trajectory

TRACE_VERSION = 1
REWARD = "reward"


def exporter(file: BinaryIO, out: Path, include: Collection[str], loss: Loss) -> Verifiers:
    """Make the exporter."""
    return Verifiers(file, loss, with_truth=TRUTH in include)


class Verifiers:
    """Trajectories as verifiers' episodes."""

    def __init__(self, file: BinaryIO, loss: Loss, *, with_truth: bool) -> None:
        self._file = file
        self._loss = loss
        self._with_truth = with_truth

    def add(self, trajectory: Trajectory) -> None:
        """Write one line."""
        self._file.write(json_line(self.episode(trajectory), self._loss))

    def close(self) -> None:
        """There is nothing behind the last line."""

    def abandon(self) -> None:
        """There is nothing to let go of."""

    def episode(self, trajectory: Trajectory) -> dict[str, Any]:
        """Give one episode."""
        errors = errors_of(trajectory)
        task = {
            "type": trajectory.plan.scenario,
            "data": {"id": trajectory.name, "prompt": trajectory.prompt["content"]},
            "key": trajectory.name,
        }
        info = trajectory.labels()
        if self._with_truth:
            info["truth"] = trajectory.truth(self._loss)
            info["steps"] = trajectory.truth_in_steps()
        tools = [{"type": "function", **tool} for tool in trajectory.tools]
        start, end = trajectory.seconds(0), trajectory.seconds(trajectory.duration)
        trace: dict[str, Any] = {
            "version": TRACE_VERSION,
            "id": trajectory.record.digest,
            "verifiers": {"version": f"simharness-{__version__}"},
            "task": task,
            "agent": {"config": {}, "name": trajectory.policy, "trainable": True},
            "tools": tools,
            "nodes": nodes_of(trajectory, tools),
            "rewards": {REWARD: reward_of(trajectory)},
            "info": {"simharness": info},
            "is_completed": bool(trajectory.ending),
            "ok": not errors,
            "stop_condition": "env_error" if errors else trajectory.ending or None,
            "errors": errors,
            "timing": {"start": start, "agent": {"start": start, "end": end}},
        }
        return {
            "id": trajectory.record.digest,
            "env": {"id": trajectory.plan.scenario},
            "task": task,
            "ok": not errors,
            "errors": errors,
            "traces": [trace],
        }


def reward_of(trajectory: Trajectory) -> dict[str, Any] | None:
    """Give the reward; None, which there means that nothing was scored, for what can't be trusted.

    Of a quarantined episode the number that was paid still stands in `info`.
    """
    if trajectory.reward is None or trajectory.item.quarantined:
        return None
    return {"score": trajectory.reward, "weight": 1.0}


def errors_of(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Give the harness's failure, in the words for it."""
    if not trajectory.aborted:
        return []
    return [{"type": "EnvError", "message": "the harness failed in this episode"}]


def nodes_of(trajectory: Trajectory, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the messages as a chain of nodes, each at its simulated time."""
    nodes: list[dict[str, Any]] = [
        {
            "parent": None,
            "tools": tools,
            "message": dict(trajectory.prompt),
            "sampled": False,
            "timestamp": trajectory.seconds(0),
        }
    ]
    for turn in trajectory.turns:
        for message in named(turn.messages):
            sampled = message["role"] == "assistant"
            at = turn.given.at if sampled or turn.told is None else turn.told.t
            nodes.append(
                {
                    "parent": len(nodes) - 1,
                    "message": flat(message),
                    "sampled": sampled,
                    "timestamp": trajectory.seconds(at),
                }
            )
    return nodes


def flat(message: dict[str, Any]) -> dict[str, Any]:
    """Give a message with its calls as verifiers has them: without `function` around them."""
    if "tool_calls" not in message:
        return message
    calls = [
        {"id": call["id"], "type": "function", **call["function"]} for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
