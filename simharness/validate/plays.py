"""Policies that try a scenario out: blindly, from the middle, by claims alone, by stumbling."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from simharness.episode.policies import READS, Sampler
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from simharness.kernel.draws import Stream
    from simharness.product.policy import Action, Observation, Policy, Task

PREFIX_MAX = 8
"""Most calls before the reference takes over."""
WAIT_MAX = 10
"""Seconds of the longest wait among them."""
CLAIMS = "claim:"
"""How policies are called that claim an outcome and do nothing else."""
ECHO = f"{CLAIMS}echo"
"""How the policy is called that says the prompt back."""
NOTES = ("add_note",)
"""Tools that write what hinders nobody."""


def replayed(calls: Sequence[tuple[str, str]], brief: Mapping[str, Any]) -> Policy:
    """Make the policy that sends the calls of another episode, whatever it is told.

    Values of that episode's `brief` are replaced by those of the same name of its own; versions
    that a write rested on are left out, since others' are never right.
    """

    def play(task: Task) -> Generator[Action, Observation, None]:
        for tool, arguments in calls:
            args = cast("dict[str, Any]", json.loads(arguments))
            args.pop("if_version", None)
            yield Call(tool, adapted(args, brief, task.brief))

    return play


def adapted(value: Any, old: Mapping[str, Any], new: Mapping[str, Any], name: str = "") -> Any:
    """Put the values of another brief into a JSON value: by their name, else by being equal."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {key: adapted(item, old, new, key) for key, item in fields}
    if value in ([], "", None):
        return value
    names = [name] if name in old else []
    names += [key for key in old if type(old[key]) is type(value)]
    for key in names:
        if key in new and old[key] == value:
            return new[key]
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        return [adapted(item, old, new, name) for item in items]
    if isinstance(value, str):
        table, colon, key = value.partition(":")
        if colon and key.isascii() and key.isdigit():
            return f"{table}:{adapted(int(key), old, new)}"
    return value


def taking_over(expert: Policy) -> Policy:
    """Make the policy that first makes up to 8 calls that can be taken back, then goes on well."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        tools = [tool for tool in task.tools if harmless(tool["name"])]
        draw = task.draws(0)
        for step in range(1, 1 + draw.between(1, PREFIX_MAX, "calls")):
            yield harmless_call(task.draws(step), tools, task.brief)
        yield from expert(task)

    return play


def harmless(tool: str) -> bool:
    """Tell the tools whose calls leave nothing to be taken back."""
    return tool.startswith(READS) or tool.endswith("_changes") or tool in ("wait", *NOTES)


def harmless_call(
    draw: Stream, tools: Sequence[Mapping[str, Any]], brief: Mapping[str, Any]
) -> Call:
    """Draw a call; what the brief names is what it is about, whenever it is a note."""
    tool = draw.pick(tools, "tool")
    name: str = tool["name"]
    if name == "wait":
        return Call(name, {"seconds": draw.between(1, WAIT_MAX, "seconds")})
    args = Sampler(draw, brief).object(tool["parameters"])
    if name in NOTES or draw.chance(500_000, "brief"):
        args.update({key: brief[key] for key in args if key in brief})
        if name in NOTES and not all(key in brief for key in args if key.endswith("_id")):
            return Call("wait", {"seconds": 1})
    return Call(name, args)


def claiming(outcome: str) -> Policy:
    """Make the policy that reads nothing, claims an outcome, and names the rows of its task."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        said = {"message": "All of it is done and checked.", "outcome": outcome}
        refs = [ref for key, value in task.brief.items() for ref in named(key, value)]
        told = yield Call("finish", {**said, "refs": refs})
        if told.error:
            # What the brief names is no row, or of a table that is called otherwise.
            yield Call("finish", said)

    return play


def echoing(task: Task) -> Generator[Action, Observation, None]:
    """Read nothing, and say the prompt back, once in words and once as if it were done."""
    yield Call("say", {"text": task.prompt})
    yield Call("finish", {"message": task.prompt, "outcome": "done"})


def saying(said: dict[str, Any]) -> Policy:
    """Make the policy that ends with these words, having done nothing."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        yield Call("finish", said)

    return play


def named(key: str, value: Any) -> Sequence[str]:
    """Guess how refs name what a fact of the brief is about; nothing for what is no row."""
    if not key.endswith("_id"):
        return ()
    return (value,) if isinstance(value, str) else (f"{key.removesuffix('_id')}s:{value}",)


def stumbling(expert: Policy, share: int) -> Policy:
    """Make the reference that makes a call at random before this share (millionths) of its own."""

    def play(task: Task) -> Generator[Action, Observation, None]:
        tools = [tool for tool in task.tools if tool["name"] not in ("finish", "wait")]
        steps = expert(task)
        step = 0
        try:
            action = next(steps)
            while True:
                step += 1
                draw = task.draws(step)
                if draw.chance(share, "stumble"):
                    tool = draw.pick(tools, "tool")
                    args = Sampler(draw, task.brief).object(tool["parameters"])
                    yield Call(tool["name"], args)
                action = steps.send((yield action))
        except StopIteration:
            return

    return play
