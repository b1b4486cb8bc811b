"""Scenarios as environments of TRL: a class for each, to be given as `environment_factory`.

TRL makes a tool of every public method of the class, so there are no others than those of the
scenario, `reset` and `get_reward`. A reward of None leaves a completion out of its group's mean and
deviation. TRL swallows whatever a tool raises, so what has to be heard is raised by `get_reward`.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Literal, cast

from simharness.adapters.episodes import ENDED, Episodes, text_of
from simharness.errors import HarnessError, UsageError
from simharness.product.policy import Call
from simharness.rollout.request import parse_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Hint = Any
BY_TYPE: dict[str, Hint] = {
    "integer": int,
    "string": str,
    "boolean": bool,
    "object": dict,
    "null": None,
}
"""Type hints, from which TRL makes schemas again."""
TOLD = ("pattern", "format", "minimum", "maximum")
"""What a type hint can't say of an argument."""


class Environment:
    """Base of the classes; it has no public methods but those that TRL asks for."""

    def __init__(self, scenario: str, settings: Mapping[str, Any]) -> None:
        self._episodes = Episodes(scenario, **settings)
        self._raised: HarnessError | None = None

    def reset(self, **row: Any) -> str:
        """Begin the episode of a row's `seed`; gives the prompt, which ends the last message.

        Raises UsageError for a row without one: a group has to play one seed.
        """
        if "seed" not in row:
            raise UsageError(
                f"a row for {self._episodes.plan.scenario} has no seed but {', '.join(row)}",
                "give a dataset with a column 'seed', such as of simharness.adapters.trl.rows",
            )
        self._raised = None
        return self._episodes.begin(row["seed"]).prompt

    def get_reward(self) -> float | None:
        """Give the score, or None for an episode that isn't valid: TRL leaves that out.

        Raises HarnessUnhealthy, and under `on_harness="raise"` what a tool had raised.
        """
        if self._raised is None and not self._episodes.ended:
            self._step(None)
        if self._raised is not None:
            raise self._raised
        return self._episodes.score

    def _step(self, call: Call | None) -> str:
        if self._episodes.begun and self._episodes.ended:
            return ENDED
        try:
            return text_of(self._episodes.step(call).observation)
        except HarnessError as error:
            self._raised = error
            raise


def environment(scenario: str, **settings: Any) -> Callable[[], Environment]:
    """Make the class of a scenario; `settings` are those of `Episodes`, such as `load`.

    Raises UsageError.
    """
    episodes = Episodes(scenario, **settings)

    def __init__(self: Environment) -> None:  # noqa: N807
        Environment.__init__(self, scenario, settings)

    slug = episodes.scenario.id.replace("/", "-").split("-")
    tools = {tool.name: method(tool.schema) for tool in episodes.product.tools.values()}
    name = "".join(map(str.capitalize, slug))
    made: Any = type(name, (Environment,), {"__init__": __init__, **tools})
    return cast("Callable[[], Environment]", made)


def rows(scenario: str, seeds: str) -> list[dict[str, Any]]:
    """Give the rows of a dataset: a seed each, as for `simharness run --seed`.

    `reset` puts the prompt into the last message. `environment` is for trainers that mix scenarios.
    """
    return [
        {"prompt": [{"role": "user", "content": ""}], "seed": seed, "environment": scenario}
        for seed in parse_seeds(seeds, None, (scenario,))
    ]


def masked(function: Callable[..., list[float | None]]) -> Callable[..., list[float | None]]:
    """Make a reward function of yours give None where the episode isn't valid.

    TRL adds up the rewards that aren't None, so that one which is paid for an episode that the
    harness spoiled would bring it back.
    """

    def valid_only(environments: list[Environment], **columns: Any) -> list[float | None]:
        rewards = function(environments=environments, **columns)
        scores = [one.get_reward() for one in environments]
        return [
            None if score is None else reward for reward, score in zip(rewards, scores, strict=True)
        ]

    valid_only.__name__ = function.__name__
    return valid_only


def method(schema: Mapping[str, Any]) -> Callable[..., str]:
    """Make the method of a tool, with the type hints and the docstring that TRL reads."""
    name: str = schema["name"]
    arguments: Mapping[str, Any] = schema["parameters"]["properties"]
    required = schema["parameters"]["required"]

    def call(self: Environment, **given: Any) -> str:
        return self._step(Call(name, given))  # pyright: ignore[reportPrivateUsage]

    hints = {argument: hint_of(one) for argument, one in arguments.items()}
    parameters = [
        Parameter(
            argument,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if argument in required else None,
            annotation=hint,
        )
        for argument, hint in hints.items()
    ]
    receiver = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    lines = [f"    {argument}: {described(argument, one)}" for argument, one in arguments.items()]
    call.__name__ = name
    call.__qualname__ = f"{Environment.__name__}.{name}"
    call.__doc__ = "\n".join([schema["description"], *(["", "Args:", *lines] if lines else [])])
    call.__annotations__ = hints
    call.__dict__["__signature__"] = Signature([receiver, *parameters])
    return call


def hint_of(schema: Mapping[str, Any]) -> Hint:
    """Give the type hint of an argument."""
    if "anyOf" in schema:
        first, *others = (hint_of(option) for option in schema["anyOf"])
        for other in others:
            first = first | other
        return first
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema["type"] == "array":
        return GenericAlias(list, hint_of(schema["items"]))
    return BY_TYPE[schema["type"]]


def described(argument: str, schema: Mapping[str, Any]) -> str:
    """Say what is known of an argument, beside its type: its name in words, and its bounds."""
    kind = schema["anyOf"][0] if "anyOf" in schema else schema
    bounds = [f"{name} {kind[name]}" for name in TOLD if name in kind]
    if "properties" in kind:
        bounds.append("fields: " + " ".join(kind["properties"]))
    return argument.replace("_", " ") + (f" ({', '.join(bounds)})" if bounds else "")
