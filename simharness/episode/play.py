"""Drives an episode with a policy: actions in, observations out, until it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.step import TEXT, UNHEARD
from simharness.episode.transcript import RawCall
from simharness.errors import UsageError
from simharness.kernel.calendar import format_instant
from simharness.kernel.draws import Draws, Stream
from simharness.product.policy import Action, Call, Observation, Policy, Task, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.episode.episode import Episode
    from simharness.episode.step import StepRecord


def task_of(episode: Episode, policy_seed: int = 0) -> Task:
    """Give a policy what it may know; `policy_seed` sets its draws apart from other policies'."""
    return Task(
        prompt=episode.prompt,
        tools=tuple(tool.schema for tool in episode.product.tools.values()),
        brief=episode.scenario.brief(episode.instance),
        draws=policy_draws(episode.plan.seed, policy_seed),
        notes=episode.notes,
    )


def policy_draws(seed: int, policy_seed: int) -> Callable[[int], Stream]:
    """Give the draws of a policy's own, by step."""
    draws = Draws(seed)
    owner = f"policy/{policy_seed}"
    return lambda step: Stream(draws, owner, step)


def seeded(policy: Policy, seed: int, policy_seed: int) -> Policy:
    """Give a policy that draws as another member of the group that plays this seed."""
    if policy_seed == 0:
        return policy

    def play(task: Task) -> Generator[Action, Observation, None]:
        return policy(replace(task, draws=policy_draws(seed, policy_seed)))

    return play


def raw_call(call: Call) -> RawCall:
    """Give a call as a model would send it: its arguments as JSON text.

    Raises UsageError for a tool or an id that is no text, and for arguments that are no JSON.
    """
    for name, value in (("tool", call.tool), ("id", call.id or "")):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"the {name} of a Call is {value!r:.60}", "give a text")
    return RawCall(id=call.id or "", tool=call.tool, arguments=arguments_text(call.args))


def arguments_text(args: Mapping[str, Any] | str) -> str:
    """Write arguments as the JSON text that recordings hold; text is taken as it is."""
    if isinstance(args, str):
        return args
    try:
        return json.dumps(args, separators=(",", ":"), ensure_ascii=True, allow_nan=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the arguments are no JSON: {error}", "give a dict of JSON values"
        ) from None


def perform(
    episode: Episode,
    action: Action,
    at: int | None = None,
    pins: Sequence[Mapping[str, int] | None] = (),
) -> StepRecord:
    """Do one action. Raises UsageError for something that isn't one."""
    if action is None:
        return episode.stop(at)
    if isinstance(action, str):
        return episode.say(action, at)
    if isinstance(action, Call):
        return episode.call((raw_call(action),), at, pins)
    if isinstance(action, Turn):
        return take(episode, action, at, pins)
    if not isinstance(action, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"action {action!r:.80} is no action", "give a Call, a list of Calls, text, or None"
        )
    calls: list[RawCall] = []
    for item in action:
        # Callers may be untyped.
        if not isinstance(item, Call):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(
                f"action {item!r:.80} is no Call", "give a Call, a list of Calls, text, or None"
            )
        calls.append(raw_call(item))
    return episode.call(tuple(calls), at, pins)


def take(
    episode: Episode,
    turn: Turn,
    at: int | None = None,
    pins: Sequence[Mapping[str, int] | None] = (),
) -> StepRecord:
    """Take a whole turn; `at` overrules its own think time. Raises UsageError for a broken one."""
    if at is None and turn.think is not None:
        at = episode.world.ticks + turn.think
    if not turn.calls:
        return episode.say(turn.text, at)
    return episode.call([raw_call(call) for call in turn.calls], at, pins, turn.text)


def observe(episode: Episode, record: StepRecord) -> Observation:
    """Give what the agent is told of a step."""
    return Observation(
        t=format_instant(episode.world.epoch + record.t),
        episode_id=episode.id,
        results=tuple(result.json() for result in record.results),
        text=UNHEARD if record.input.kind == TEXT else "",
    )


def drive(episode: Episode, policy: Policy, policy_seed: int = 0) -> None:
    """Let a policy play until the episode ends.

    Raises HarnessError when the harness fails, UsageError for a policy that is none,
    ProviderFailed where a model's provider fails.
    """
    play_on(episode, played_by(policy, task_of(episode, policy_seed)))


def played_by(policy: Policy, task: Task) -> Generator[Action, Observation, None]:
    """Begin a play. Raises UsageError for what is no generator function of a Task."""
    # Callers may be untyped.
    given = cast("Any", policy)
    play: Any = given(task) if callable(given) else given
    if not callable(given) or not isinstance(play, Generator):
        name = getattr(given, "__name__", type(given).__name__)
        raise UsageError(
            f"policy {name!r} {'gives' if callable(given) else 'is'} {play!r:.80}; "
            "a policy is a generator function of a Task",
            "define one that yields actions and is sent observations: "
            "def policy(task): told = yield Call(...)",
        )
    return cast("Generator[Action, Observation, None]", play)


def play_on(episode: Episode, play: Generator[Action, Observation, None]) -> None:
    """Let a play that has begun, or is about to, go on until the episode ends."""
    try:
        action: Action = next(play)
        while True:
            record = perform(episode, action)
            if episode.ended:
                break
            action = play.send(observe(episode, record))
    except StopIteration:
        episode.stop()
    finally:
        play.close()
