"""How tests play a scenario: with parts of its instance pinned, as they write it themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simharness import env
from simharness.blame.case import story_of_episode
from simharness.findings.detect import harness_findings
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from simharness.episode.episode import Episode
    from simharness.product.policy import Action, Observation, Policy, Task

    Play = Generator[Action, Observation, None]

DONE = Call("finish", {"message": "x", "outcome": "done"})


def play(
    scenario: str,
    policy: Policy | str,
    seed: int,
    pins: Mapping[str, object] | None = None,
    load: float | str = 0,
    knobs: Mapping[str, object] | None = None,
) -> Episode:
    """Play one episode with parts of its instance pinned; by default with nobody else there."""
    config = {f"instance.{name}": value for name, value in (pins or {}).items()} | {**(knobs or {})}
    return env.run(scenario, seed=seed, load=load, policy=policy, config=config).episode


def acting(*acts: Call, last: Policy | None = None) -> Policy:
    """Do some things whatever comes back, then go on as another policy."""

    def policy(task: Task) -> Play:
        for act in acts:
            _ = yield act
        if last is not None:
            yield from last(task)

    return policy


def buying(
    *slots: int, places: int = 1, pay: bool = True, more: Iterable[Call] = (), end: Call = DONE
) -> Policy:
    """Hold, book and pay slots of the marketplace, do something else, and finish."""

    def policy(task: Task) -> Play:
        for slot_id in slots:
            told = yield Call("hold_slot", {"slot_id": slot_id, "quantity": places})
            told = yield Call("confirm_booking", {"hold_id": told.value["id"]})
            made: dict[str, Any] = told.value
            if pay:
                money = {"amount": made["price"], "currency": made["currency"]}
                yield Call("pay", {"booking_id": made["id"], **money})
                yield Call("wait", {"seconds": 70})
        for act in more:
            _ = yield act
        yield end

    return policy


def broken(expert: Policy, code: str, tool: str, *, done: bool) -> Policy:
    """Play a reference, whose first call of a tool is answered with an error, done or not."""

    def policy(task: Task) -> Play:
        reference = expert(task)
        action = next(reference)
        failed = False
        while True:
            fails = not failed and isinstance(action, Call) and action.tool == tool
            failed |= fails
            told = yield action if done or not fails else Call("wait", {"seconds": 1})
            if fails:
                error = {"code": code, "message": "", "retryable": True}
                told = replace(told, results=({"id": "x", "tool": tool, "error": error},))
            try:
                action = reference.send(told)
            except StopIteration:
                assert failed
                return

    return policy


def impossible(*refs: str) -> Call:
    """Say that what is asked for can't be had."""
    return Call("finish", {"message": "x", "outcome": "impossible", "refs": list(refs)})


def answers(episode: Episode, tool: str) -> list[Any]:
    """Give what a tool's calls were answered with, refusals as well."""
    return [r.value for step in episode.steps for r in step.results if r.tool == tool]


def failing(episode: Episode) -> set[str]:
    """Name the criteria that don't hold."""
    return {c.name for c in episode.criteria if not c.holds}


def roads(scenario: str, seeds: Iterable[int], load: int) -> Counter[tuple[tuple[str, bool], ...]]:
    """Have the reference get there on some seeds, and no harness be found at fault.

    Gives its ways, as calls with their success.
    """
    shapes: Counter[tuple[tuple[str, bool], ...]] = Counter()
    for seed in seeds:
        episode = play(scenario, "expert", seed, load=load)
        assert episode.reward == 1_000_000, (seed, failing(episode))
        found = harness_findings(story_of_episode(episode))
        assert not [f for f in found if f.code.startswith("H")], seed
        shapes[tuple((r.tool, r.ok) for s in episode.steps for r in s.results)] += 1
    return shapes
