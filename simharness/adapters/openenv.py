"""The sessions as an OpenEnv environment: one a connection, tools called by CallToolAction.

What OpenEnv has no field for stands in an observation's metadata: whether an end was a truncation,
whether the episode may be trained on, and why there is no reward. A reward is None where the
harness can't tell, and never 0.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from simharness import __version__
from simharness.adapters.http import add_handlers
from simharness.adapters.offer import SPLITS, tools_of
from simharness.adapters.status import routes_of
from simharness.adapters.text import sendable
from simharness.errors import NoEpisode, NoSession, UnknownName, UsageError
from simharness.product.policy import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastapi import FastAPI

    from simharness.adapters.gate import App, Message, Receive, Scope, Send
    from simharness.adapters.sessions import Sessions

# By name, because OpenEnv can't be where these files are checked: it pins what others don't take.
SERVER: Any = import_module("openenv.core.env_server.http_server")
BASE: Any = import_module("openenv.core.env_server.interfaces").Environment
TYPES: Any = import_module("openenv.core.env_server.types")
MCP: Any = import_module("openenv.core.env_server.mcp_types")

NAME = "simharness"
TASKS_MAX = 1000
"""Tasks of a split that are listed; the splits themselves are longer."""
DEPTH_MAX = 100
"""How deep the JSON of a message may be nested."""
REFUSED = {
    "unknown_tool": MCP.ToolErrorType.TOOL_NOT_FOUND,
    "invalid_arguments": MCP.ToolErrorType.INVALID_ARGS,
}
"""Errors of a call that OpenEnv has a name for; all others are the tool's own, and its result."""
FAILED = "the environment failed; this episode has no reward"


def app_for(sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> FastAPI:
    """Make the app that serves sessions by OpenEnv's protocol."""
    kind = type("SimharnessEnvironment", (Connection, BASE), {})
    tools = tools_of(sessions.offer)
    limits = sessions.limits
    app: FastAPI = SERVER.create_fastapi_app(
        partial(kind, sessions, tools),
        MCP.CallToolAction,
        MCP.CallToolObservation,
        env_name=NAME,
        reset_observation_cls=TYPES.Observation,
        concurrency_config=TYPES.ConcurrencyConfig(
            max_concurrent_envs=limits.sessions, session_timeout=limits.idle
        ),
    )
    add_handlers(app, tell)
    app.router.routes.extend(routes_of(sessions))
    app.add_middleware(Readable)
    return app


class Readable:
    """Answers messages over WebSockets that would end a session, and lets all others through.

    OpenEnv's server answers text that is no JSON; what is JSON and no object, binary, or deeper or
    longer than it can read raises in it.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection."""

        async def readable() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                problem = problem_of(message.get("text"))
                if not problem:
                    return message
                data = {"message": problem, "code": "INVALID_JSON"}
                told = json.dumps({"type": "error", "data": data})
                await send({"type": "websocket.send", "text": told})

        await self._app(scope, readable if scope["type"] == "websocket" else receive, send)


def problem_of(text: str | None) -> str:
    """Say why OpenEnv's server can't read a message, or nothing where it can."""
    if text is None:
        return "a message is text, and not binary"
    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError:
        return ""  # which it answers itself
    except RecursionError:
        return f"a message is nested at most {DEPTH_MAX} deep"
    except ValueError:
        return f"a number has at most {sys.get_int_max_str_digits()} digits"
    if not isinstance(found, dict):
        return "a message is a JSON object"
    return f"a message is nested at most {DEPTH_MAX} deep" if is_deep(found) else ""


def is_deep(value: Any) -> bool:
    """Tell whether a JSON value is nested too deeply for what reads it by calling itself."""
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        level = [part for one in level for part in parts_of(one)]
        if not level:
            return False
    return True


def parts_of(value: Any) -> list[Any]:
    """Give what a JSON value holds; what is neither an array nor an object holds nothing."""
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


class Connection:
    """One connection: a session that is opened when its first episode begins."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    """That connections share nothing, as OpenEnv asks."""

    def __init__(
        self, sessions: Sessions, tools: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> None:
        self.transform = self.rubric = None
        self._sessions = sessions
        self._schemas = tools
        self._handle = ""
        self._state = TYPES.State(episode_id=None, step_count=0)
        self._scenario = sessions.offer.scenarios[0]
        self._next = 0
        """Place in the train split of the next episode for which no seed is given."""

    def reset(
        self,
        seed: int | str | None = None,
        episode_id: str | None = None,
        *,
        scenario: str | None = None,
        split: str | None = None,
        index: int | None = None,
        load: float | str | None = None,
        faults: Sequence[str] | None = None,
        **unknown: Any,
    ) -> Any:
        """Begin an episode of a seed, or of a task by split and index.

        Without either it is the next seed of the train split, from its first on, which the
        metadata names. Raises UsageError for what isn't on offer and for what isn't known here.
        """
        if unknown:
            known = "seed, episode_id, scenario, split, index, load, faults"
            raise UsageError(f"reset has no {sorted(unknown)!r:.80}", f"give {known}")
        name = self._sessions.offer.scenarios[0] if scenario is None else scenario
        chosen = self._seed(seed, split, index)
        if not self._handle:
            self._handle = self._sessions.open().id
        begun = self._sessions.begin(self._handle, name, chosen, load, faults)
        self._scenario = name
        self._state = TYPES.State(episode_id=episode_id or begun["episode_id"], step_count=0)
        return TYPES.Observation(done=False, reward=None, metadata=sendable(begun))

    def step(self, action: Any, timeout_s: float | None = None, **unknown: Any) -> Any:
        """Call a tool, or list them. Raises NoEpisode before the first reset and after the end."""
        if isinstance(action, MCP.ListToolsAction):
            return MCP.ListToolsObservation(tools=self._tools(), done=False, reward=None)
        if not self._handle:
            raise NoEpisode("no episode has begun on this connection", "call reset first")
        told = self._sessions.step(self._handle, Call(action.tool_name, action.arguments))
        self._state.step_count = told["step"]
        return observation_of(action.tool_name, sendable(told))

    @property
    def state(self) -> Any:
        """Which episode it is, and how far."""
        return self._state

    def close(self) -> None:
        """Give the session back; an episode that goes on is recorded as left."""
        handle, self._handle = self._handle, ""
        if handle:
            with suppress(NoSession):  # it has expired
                self._sessions.close(handle, "the client closed the connection")

    def get_metadata(self) -> Any:
        """Tell what is served."""
        names = ", ".join(self._sessions.offer.scenarios)
        about = f"Mock products with other users in them. Scenarios: {names}"
        return TYPES.EnvironmentMetadata(name=NAME, description=about, version=__version__)

    # --- tasks: the seeds of each split of the first scenario -------------------------------------

    def list_splits(self) -> list[dict[str, str]]:
        """Name the splits."""
        kinds = {"train": "train", "eval": "test"}
        return [{"name": name, "type": kinds[name]} for name in SPLITS]

    def num_tasks(self, split: str) -> int:
        """Count the tasks of a split. Raises UnknownName."""
        return len(self._seeds(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Give a task. Raises IndexError, UnknownName."""
        seed = self._seeds(split)[index]
        scenario = self._sessions.offer.scenarios[0]
        return {"id": f"{scenario}:{seed}", "index": index, "scenario": scenario, "seed": seed}

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Give the tasks of a slice. Raises UsageError for one that is too long to be told."""
        places = range(*slice(start, stop).indices(self.num_tasks(split)))
        if len(places) > TASKS_MAX:
            raise UsageError(f"{len(places)} tasks at once", f"ask for at most {TASKS_MAX}")
        return [self.get_task(split, place) for place in places]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Give the first tasks of a split, which has more than can be listed."""
        return self.get_task_range(split, 0, TASKS_MAX)

    def _seeds(self, split: str) -> range:
        return self._sessions.offer.seeds_of(self._sessions.offer.scenarios[0], split)

    def _seed(self, seed: int | str | None, split: str | None, index: int | None) -> int | str:
        if seed is not None and (split is not None or index is not None):
            raise UsageError("reset has a seed, and a split or an index", "give one of both")
        if split is not None and split not in SPLITS:
            raise UnknownName.among("split", split, SPLITS)
        if (split is None) != (index is None):
            lacking = "split" if split is None else "index"
            raise UsageError(f"reset has no {lacking}", "give a split and an index, or a seed")
        if split is not None and index is not None:
            return f"{split}:{index}"
        if seed is not None:
            return seed
        self._next += 1
        return f"train:{self._next - 1}"

    def _tools(self) -> list[Any]:
        schemas = self._schemas[self._scenario]
        return [
            MCP.Tool(name=s["name"], description=s["description"], input_schema=s["parameters"])
            for s in schemas
        ]


def observation_of(tool: str, told: dict[str, Any]) -> Any:
    """Give the answer to a call as an observation."""
    result: dict[str, Any] = told["results"][0] if told["results"] else {}
    code = result.get("error", {}).get("code")
    error = None
    if told["error"] is not None:
        error = MCP.ToolError(error_type=MCP.ToolErrorType.EXECUTION_ERROR, message=FAILED)
    elif code in REFUSED:
        error = MCP.ToolError(error_type=REFUSED[code], message=result["error"]["message"])
    value = {"error": result["error"]} if "error" in result else result.get("value")
    more = ("episode_id", "step", "t", "truncated", "info", "error")
    return MCP.CallToolObservation(
        tool_name=sendable(tool),
        result=value,
        error=error,
        done=told["terminated"] or told["truncated"],
        reward=told["reward"],
        metadata={name: told[name] for name in more},
    )
