"""Policies that fit every scenario.

They do nothing, refuse, call at random, read everything, or repeat a file.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simharness.chat.options import OPENAI, is_chat
from simharness.chat.policy import chat
from simharness.chat.provider import check_ready, provider_of
from simharness.episode.play import seeded
from simharness.episode.transcript import Conversation, read_transcript
from simharness.errors import UnknownName, UsageError
from simharness.product.policy import Action, Call, Observation, Policy, Task, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.kernel.draws import Stream
    from simharness.product.scenario import Scenario
    from simharness.recording.reader import EpisodeRecord

Play = Generator[Action, Observation, None]

TRANSCRIPT = "transcript:"
MEMBER = "member"
"""What an INFO frame calls the episode's place in the group of its instance, from 0."""
RANDOM_CALLS = 24
"""Most calls that the random policy makes."""
READS = ("get_", "list_", "search_", "read_", "open_")
"""How the names of tools that only read begin."""


def null(task: Task) -> Play:
    """Say that it is done, having done nothing."""
    yield Call("finish", {"message": "Done.", "outcome": "done"})


def refuse(task: Task) -> Play:
    """Refuse the task."""
    yield Call("finish", {"message": "I can't help with that.", "outcome": "refused"})


def random(task: Task) -> Play:
    """Make schema-valid calls drawn at random, then stop."""
    for step in range(RANDOM_CALLS):
        draw = task.draws(step)
        tool = draw.pick(task.tools, "tool")
        sampler = Sampler(draw, task.brief)
        yield Call(tool["name"], sampler.object(tool["parameters"]))


def spam(task: Task) -> Play:
    """Read everything that can be read, then say that it is done."""
    readers = [tool for tool in task.tools if tool["name"].startswith(READS)]
    for number in range(1, 5):
        for tool in readers:
            properties: Mapping[str, Any] = tool["parameters"]["properties"]
            args: dict[str, Any] = {}
            for name in properties:
                if name in task.brief and number == 1:
                    args[name] = task.brief[name]
                elif name in tool["parameters"]["required"]:
                    args[name] = number if properties[name].get("type") == "integer" else "e"
                elif name == "text":
                    args[name] = "e"
            yield Call(tool["name"], args)
    yield Call("finish", {"message": "I have looked at everything; it is done.", "outcome": "done"})


class Sampler:
    """Draws JSON values that fit a schema."""

    WORDS = ("a", "example", "call back", "2026-03-05T14:00:00Z", "yes")

    def __init__(self, draw: Stream, brief: Mapping[str, Any]) -> None:
        self._draw = draw
        self._ids = [v for v in brief.values() if type(v) is int]
        self._k = 0

    def _next(self) -> int:
        self._k += 1
        return self._k

    def _half(self) -> bool:
        return self._draw.chance(500_000, "sample", self._next())

    def object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Draw an object: what is required, and each other property half of the time."""
        out: dict[str, Any] = {}
        for name, inner in schema["properties"].items():
            if name in schema.get("required", ()) or self._half():
                out[name] = self.value(inner)
        if not out and schema.get("minProperties"):
            name = self._draw.pick(sorted(schema["properties"]), "sample", self._next())
            out[name] = self.value(schema["properties"][name])
        return out

    def value(self, schema: Mapping[str, Any]) -> Any:
        """Draw a value."""
        draw = self._draw
        if "anyOf" in schema:
            return self.value(schema["anyOf"][0])
        if "enum" in schema:
            return draw.pick(schema["enum"], "sample", self._next())
        match schema.get("type"):
            case "integer":
                low = schema.get("minimum", 1)
                high = min(schema.get("maximum", 90), low + 89)
                if self._ids and "minimum" not in schema and self._half():
                    return draw.pick(self._ids, "sample", self._next())
                return draw.between(low, high, "sample", self._next())
            case "boolean":
                return self._half()
            case "array":
                items = draw.below(3, "sample", self._next())
                return [self.value(schema["items"]) for _ in range(items)]
            case "object":
                return self.object(schema)
            case _:
                if schema.get("format") == "date-time":
                    return "2026-03-05T14:00:00Z"
                return draw.pick(self.WORDS, "sample", self._next())


def transcript(conversation: Conversation) -> Policy:
    """Make the policy that sends again what the assistant of a conversation sent."""

    def play(task: Task) -> Play:
        for turn in conversation.turns:
            if turn.calls:
                yield Turn(
                    [Call(call.tool, call.arguments, call.id) for call in turn.calls], turn.text
                )
            elif turn.text:
                yield turn.text

    return play


GENERIC: Mapping[str, Policy] = {"null": null, "refuse": refuse, "random": random, "spam": spam}


def policy_names(scenario: Scenario[Any]) -> list[str]:
    """Name the scripted policies of a scenario."""
    return sorted({*GENERIC, *scenario.policies})


def scripted(name: str, scenario: Scenario[Any]) -> Policy | None:
    """Give a scripted policy by name, or None for what can't be asked again (a transcript)."""
    return scenario.policies.get(name) or GENERIC.get(name)


def recorded_policy(record: EpisodeRecord, scenario: Scenario[Any]) -> Policy | None:
    """Give the scripted policy that played a recording, or None for what can't be asked again."""
    policy = scripted(str(record.info.get("policy", "")), scenario)
    seed, member = record.header.get("seed"), record.info.get(MEMBER, 0)
    if policy is None or type(seed) is not int or type(member) is not int:
        return policy
    return seeded(policy, seed, member)


class PolicySource:
    """Gives the policy of each episode of a run; `base_url` is where a model is asked.

    Raises UnknownName or UsageError for one that can't be played.
    """

    def __init__(
        self, name: str, scenario: Scenario[Any], episodes: int, base_url: str = ""
    ) -> None:
        self.name = name
        self.is_endless = not name.startswith(TRANSCRIPT)
        """Whether it can play any number of seeds."""
        self.askable = self.is_endless and not is_chat(name)
        """Whether it can be asked again, at no cost and with the same answers, what it would do."""
        self._base_url = base_url
        self._conversations: tuple[Conversation, ...] = ()
        self._policy: Policy | None = None
        if is_chat(name):
            check_ready(name, base_url)
            return
        if not self.is_endless:
            path = Path(name[len(TRANSCRIPT) :])
            self._conversations = read_transcript(path)
            if len(self._conversations) < episodes:
                raise UsageError(
                    f"transcript {str(path)!r} holds {len(self._conversations)} conversations, "
                    f"the run has {episodes} episodes",
                    f"give a seed range of {len(self._conversations)}",
                )
            return
        self._policy = scripted(name, scenario)
        if self._policy is None:
            raise UnknownName.among(
                f"policy of {scenario.id}",
                name,
                [*policy_names(scenario), TRANSCRIPT + "FILE", OPENAI + "MODEL"],
            )

    def policy(self, index: int) -> Policy:
        """Give the policy of the run's `index`-th episode (from 0)."""
        if self._policy is not None:
            return self._policy
        if is_chat(self.name):
            return chat(provider_of(self.name, self._base_url))
        return transcript(self._conversations[index])
