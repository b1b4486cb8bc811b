"""The tool server of a rollout: it plays the episode, and notes the calls for the reward."""

import json
from inspect import Parameter, Signature
from typing import Any

import verifiers.v1 as vf

from simharness.adapters.episodes import ENDED, Episodes, text_of
from simharness.adapters.trl import described, hint_of
from simharness.product.policy import Call


class Calls(vf.State):
    """What the agent has done so far."""

    calls: list[tuple[str, str]] = []  # noqa: RUF012  (pydantic copies it)
    """The tool and the JSON of its arguments."""


class ScenarioTools(vf.Toolset[vf.ToolsetConfig, Calls]):
    """The tools of a scenario under their own names."""

    TOOL_PREFIX = None

    async def setup_task(self, task: Any) -> None:
        """Begin the episode of a task."""
        # A server has one rollout, so the breaker is the evaluation's, see the reward.
        self.episodes = Episodes(task.scenario, load=task.load, breaker=False)
        self.start = self.episodes.begin(task.seed)

    def register(self, mcp: Any) -> None:
        """Offer the tools, by signatures made from their schemas."""
        for schema in self.start.tools:
            mcp.add_tool(
                self._with_state(self.function(schema)),
                name=schema["name"],
                description=schema["description"],
            )

    def function(self, schema: Any) -> Any:
        """Make the function of a tool."""
        name = schema["name"]

        def call(**given: Any) -> str:
            if self.episodes.ended:
                return ENDED
            self.state.calls.append((name, json.dumps(given)))
            return text_of(self.episodes.step(Call(name, given)).observation)

        required = schema["parameters"]["required"]
        arguments = schema["parameters"]["properties"]
        call.__name__ = name
        call.__signature__ = Signature(
            [
                Parameter(
                    argument,
                    Parameter.KEYWORD_ONLY,
                    default=Parameter.empty if argument in required else None,
                    annotation=hint_of(one),
                )
                for argument, one in arguments.items()
            ],
            return_annotation=str,
        )
        call.__doc__ = "\n".join(described(argument, one) for argument, one in arguments.items())
        return call


if __name__ == "__main__":
    ScenarioTools.run()
