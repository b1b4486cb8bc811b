"""Runs a request in this process, episode by episode."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from simharness.env import finish, new_episode
from simharness.episode.episode import Episode
from simharness.episode.policies import PolicySource, scripted
from simharness.errors import (
    HarnessError,
    RecordingError,
    SimharnessError,
    UnknownName,
    UsageError,
)
from simharness.kernel.draws import Draws, Stream
from simharness.product.registry import load_scenario
from simharness.product.scenario import Drawing
from simharness.rollout.collector import seldom_collected
from simharness.rollout.store import RunStore, Summary

if TYPE_CHECKING:
    from simharness.rollout.request import Request

Progress = Callable[[int, int, Summary], None]
"""Told the episodes done, all episodes, and the counts so far."""


def check(request: Request) -> dict[str, PolicySource]:
    """Check a request before anything is written, and give its policies by scenario.

    Raises UsageError for what can't be run, also for a seed that the pinned values don't suit, and
    HarnessError where the product breaks.
    """
    sources: dict[str, PolicySource] = {}
    for name in request.scenarios:
        if name in sources:
            raise UsageError(f"scenario {name!r} is named twice", "name it once")
        _, scenario = load_scenario(name)
        try:
            sources[name] = PolicySource(request.policy, scenario, len(request.seeds))
        except UnknownName as error:
            every = request.scenarios
            have = [each for each in every if scripted(request.policy, load_scenario(each)[1])]
            if not have:
                raise
            hint = f"of these, {', '.join(have)} {'has' if len(have) == 1 else 'have'} it"
            raise UnknownName(
                error.message, f"{hint}; run the others with another policy"
            ) from None
        first = request.plan(name, request.seeds.start)
        with told(request, name, first.seed):
            Episode(first)
        # One pinned value may change what another one may be, from seed to seed.
        for seed in request.seeds if first.pins else ():
            with told(request, name, seed):
                drawing = Drawing(Stream(Draws(seed), "instance", 0), first.pins)
                scenario.draw(drawing)
                drawing.finish()
    return sources


def run(request: Request, folder: Path, progress: Progress) -> Summary:
    """Run all episodes and write the run directory. What was recorded stays, whatever stops it."""
    sources = check(request)
    total = len(request)
    with seldom_collected(), RunStore(folder, request) as store:
        for done, plan in enumerate(request.plans()):
            source = sources[plan.scenario]
            with told(request, plan.scenario, plan.seed):
                episode = new_episode(plan, source.name, store.writer())
                policy = source.policy(plan.seed - request.seeds.start)
                outcome = finish(episode, policy, askable=source.askable)
            store.add(outcome.episode, outcome.verdict)
            progress(done + 1, total, store.summary)
    return store.summary


@contextmanager
def told(request: Request, scenario: str, seed: int) -> Generator[None]:
    """Let what stops an episode say which one it was, and which command asks for it again."""
    try:
        yield
    except RecordingError:
        raise
    except UsageError as error:
        raise type(error)(f"{error.message} (seed {seed})", error.hint) from error
    except SimharnessError as error:
        raise type(error)(
            f"{scenario}, seed {seed}: {error.message}", request.command(scenario, seed)
        ) from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise HarnessError(
            f"{scenario}, seed {seed}: {type(error).__name__}: {error} "
            f"({Path(last.filename).name}:{last.lineno}, in {last.name})",
            request.command(scenario, seed),
        ) from error
