"""Runs a request in this process, episode by episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simharness.env import finish, new_episode
from simharness.episode.policies import PolicySource
from simharness.product.product import find_fault, resolve_settings
from simharness.product.registry import load_scenario
from simharness.rollout.store import RunStore, Summary

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.rollout.request import Request

Progress = Callable[[int, int, Summary], None]
"""Told the episodes done, all episodes, and the counts so far."""


def check(request: Request) -> dict[str, PolicySource]:
    """Raise UsageError for a request that can't be run, before anything is written; give its policies by scenario."""
    sources: dict[str, PolicySource] = {}
    for name in request.scenarios:
        product, scenario = load_scenario(name)
        for fault in request.faults:
            find_fault(product, fault)
        plan = next(iter(request.plans()))
        resolve_settings(product, request.profile or scenario.profile, plan.config)
        sources[name] = PolicySource(request.policy, scenario, len(request.seeds))
    return sources


def run(request: Request, folder: Path, progress: Progress) -> Summary:
    """Run all episodes and write the run directory. What was recorded stays, whatever stops it."""
    sources = check(request)
    total = len(request)
    with RunStore(folder, request) as store:
        for done, plan in enumerate(request.plans()):
            source = sources[plan.scenario]
            episode = new_episode(plan, source.name, store.writer())
            policy = source.policy(plan.seed - request.seeds.start)
            outcome = finish(episode, policy, askable=source.askable)
            store.add(outcome.episode, outcome.verdict)
            progress(done + 1, total, store.summary)
    return store.summary
