"""What clients play: the calls of a scenario's expert, and what a session answers to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import simharness as sh
from simharness.adapters.offer import Offer
from simharness.adapters.sessions import Limits, Sessions
from simharness.rollout.intake import Intake

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CRM = "crm/negotiation"
DESK = "helpdesk/double-charge"


@dataclass(frozen=True)
class Sent:
    """A call, as clients send it."""

    tool: str
    args: Mapping[str, Any]


@lru_cache(maxsize=64)
def expert_calls(scenario: str, seed: int) -> tuple[tuple[Sent, ...], ...]:
    """Give the calls of each of the expert's steps."""
    episode = sh.run(scenario, seed=seed).episode
    return tuple(
        tuple(Sent(call.tool, json.loads(call.arguments)) for call in step.input.calls)
        for step in episode.steps
    )


def serve(folder: Path, *scenarios: str, limits: Limits | None = None, **more: Any) -> Sessions:
    """Serve some scenarios."""
    offer = Offer(scenarios=scenarios or (CRM, DESK), **more)
    intake = Intake(folder, "client", {"served": offer.record()})
    return Sessions(offer, intake, limits)


def play(sessions: Sessions, scenario: str, seed: int) -> list[str]:
    """Play the expert's calls in a session of one's own; gives the answers, as JSON."""
    session = sessions.open()
    out = [json.dumps(sessions.begin(session.id, scenario, seed))]
    for calls in expert_calls(scenario, seed):
        answer = sessions.step(session.id, [sh.Call(c.tool, c.args) for c in calls])
        out.append(json.dumps(answer))
    sessions.close(session.id)
    return out
