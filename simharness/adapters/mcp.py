"""The sessions over MCP: the tools of one product, each with the handle of an episode.

MCP has no sessions that one could rely on: a client may send each call over another connection. So
an episode is told by its handle, which `start_episode` gives and every other tool takes. Works with
the Python SDK of 2.x, and of 1.x, which OpenEnv needs.
"""

from __future__ import annotations

import importlib
import logging
import sys
from contextlib import asynccontextmanager, redirect_stdout
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import Route

from simharness import __version__
from simharness.adapters.offer import tools_of
from simharness.adapters.status import routes_of
from simharness.adapters.text import sendable
from simharness.chat.messages import answer_text
from simharness.errors import NoSession, SimharnessError, UsageError
from simharness.product.policy import Call
from simharness.product.registry import load_scenario
from simharness.rollout.broken import cause_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from simharness.adapters.gate import App
    from simharness.adapters.sessions import Sessions

# By name, because the SDK can't be where these files are checked: others pin another one.
SDK: Any = importlib.import_module("mcp.server.lowlevel")
STDIO: Any = importlib.import_module("mcp.server.stdio")
HTTP: Any = importlib.import_module("mcp.server.streamable_http_manager")
SECURITY: Any = importlib.import_module("mcp.server.transport_security")
MODERN = find_spec("mcp_types") is not None
"""Whether the SDK is of 2.x."""
TYPES: Any = importlib.import_module("mcp_types" if MODERN else "mcp.types")
START, END, HANDLE = "start_episode", "end_episode", "episode"
INSTRUCTIONS = (
    f"Call {START} first: it gives the task, and the handle that every other tool takes as "
    f"{HANDLE!r}. The episode ends with the tool `finish`, or with {END}."
)
FAILED = "the environment failed; this episode has no reward"
SPARE_THREADS = 8


class Tools:
    """What an MCP server offers, whatever the SDK."""

    def __init__(self, sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> None:
        """Gather the tools.

        Raises UsageError for scenarios of more than one product, whose tools would clash.
        """
        names = sessions.offer.scenarios
        products = sorted({load_scenario(name)[0].name for name in names})
        if len(products) > 1:
            raise UsageError(
                f"an MCP server offers the tools of one product, not of {', '.join(products)}",
                "name scenarios of one of them",
            )
        self._sessions = sessions
        self._tell = tell
        self._limiter = anyio.CapacityLimiter(sessions.limits.sessions + SPARE_THREADS)
        self._schemas: dict[str, dict[str, Any]] = {START: start_schema(names), END: end_schema()}
        for tools in tools_of(sessions.offer).values():
            for tool in tools:
                schema = with_handle(tool)
                if self._schemas.setdefault(tool["name"], schema) != schema:
                    raise UsageError(
                        f"the scenarios on offer differ in the tool {tool['name']!r}",
                        "name one scenario",
                    )

    def listed(self) -> list[Any]:
        """Give the tools as the SDK has them."""
        return [TYPES.Tool.model_validate(schema) for schema in self._schemas.values()]

    async def call(self, name: str, arguments: Mapping[str, Any] | None) -> Any:
        """Carry out a call; whatever goes wrong is a result that says so."""
        work = partial(self._answer, name, dict(arguments or {}))
        told = await anyio.to_thread.run_sync(work, limiter=self._limiter)
        return TYPES.CallToolResult.model_validate(told)

    def _answer(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            if name == START:
                return self._start(arguments)
            handle = arguments.pop(HANDLE, None)
            if not isinstance(handle, str):
                raise NoSession(f"{name} was called without {HANDLE!r}", "")
            if name == END:
                require_none(END, arguments)
                return self._step(handle, None)
            return self._step(handle, Call(name, arguments))
        except NoSession as error:
            # Who calls knows of no sessions.
            return failed(error.code, f"{error.message}; call {START} for one")
        except SimharnessError as error:
            return failed(error.code, f"{error.message}; {error.hint}")
        except Exception as error:
            self._tell("failed", {"tool": name[:80], "why": cause_of(error)})
            return failed("SH-ERR-000", "the server failed; its log says more")

    def _start(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scenario, seed = arguments.pop("scenario", None), arguments.pop("seed", None)
        require_none(START, arguments)
        if not isinstance(scenario, str) or type(seed) not in (int, str):
            raise UsageError(f"{START} needs a scenario and a seed", "give both")
        handle, begun = self._sessions.start(scenario, seed)
        told = {HANDLE: handle, **{key: begun[key] for key in ("scenario", "seed", "t", "prompt")}}
        return result(f"{begun['prompt']}\n\n{HANDLE}: {handle}", told)

    def _step(self, handle: str, action: Call | None) -> dict[str, Any]:
        told = self._sessions.step(handle, action)
        one: dict[str, Any] = told["results"][0] if told["results"] else {}
        content: dict[str, Any] = {key: told[key] for key in ("episode_id", "step", "t")}
        content.update({key: one[key] for key in ("value", "error") if key in one})
        text = answer_text("value" in one, one.get("value", one.get("error"))) if one else ""
        if told["terminated"] or told["truncated"]:
            ended = {key: told[key] for key in ("reward", "terminated", "truncated", "error")}
            content["ended"] = {**ended, "valid": told["info"].get("valid")}
            text = "\n".join(
                filter(None, (text, FAILED if told["error"] else "The episode is over."))
            )
            self._sessions.close(handle, f"the episode has ended: {ending_of(told, action)}")
        return result(text, content, wrong="error" in one or told["error"] is not None)


def ending_of(told: dict[str, Any], action: Call | None) -> str:
    """Say how an episode has ended."""
    if told["error"] is not None:
        return "the environment failed"
    if told["truncated"]:
        return f"it was cut off after {told['step']} steps"
    return f"{END if action is None else action.tool} was called"


def result(text: str, content: dict[str, Any], *, wrong: bool = False) -> dict[str, Any]:
    """Give what the SDK makes a result of."""
    return {
        "content": [{"type": "text", "text": sendable(text)}],
        "structuredContent": sendable(content),
        "isError": wrong,
    }


def failed(code: str, message: str) -> dict[str, Any]:
    """Give the result of a call that wasn't carried out."""
    return result(message, {"error": {"code": code, "message": message}}, wrong=True)


def require_none(tool: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that a tool doesn't have. Raises UsageError."""
    if arguments:
        raise UsageError(f"{tool} has no argument {next(iter(arguments))!r:.80}", "leave it out")


def start_schema(scenarios: tuple[str, ...]) -> dict[str, Any]:
    """Give the tool that begins an episode."""
    seed = {
        "description": "A number, or train:N or eval:N for the N-th seed of that split.",
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}],
    }
    return {
        "name": START,
        "description": f"Begin an episode. Gives the task, and the handle of the {HANDLE}.",
        "inputSchema": closed({"scenario": {"enum": list(scenarios)}, "seed": seed}),
    }


def end_schema() -> dict[str, Any]:
    """Give the tool that leaves an episode."""
    return {
        "name": END,
        "description": "Leave off without a word; the episode is graded as it stands.",
        "inputSchema": closed({HANDLE: handle_schema()}),
    }


def with_handle(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Give a product's tool with the handle as its first argument."""
    own: dict[str, Any] = tool["parameters"]
    schema = {
        **own,
        "properties": {HANDLE: handle_schema(), **own.get("properties", {})},
        "required": [HANDLE, *own.get("required", [])],
    }
    return {"name": tool["name"], "description": tool["description"], "inputSchema": schema}


def handle_schema() -> dict[str, Any]:
    """Give the schema of a handle."""
    return {"type": "string", "description": f"What {START} gave."}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def server_for(sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> Any:
    """Make the MCP server. Raises UsageError for an offer that it can't serve."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    tools = Tools(sessions, tell)
    if MODERN:

        async def list_tools(context: Any, params: Any) -> Any:
            return TYPES.ListToolsResult(tools=tools.listed())

        async def call_tool(context: Any, params: Any) -> Any:
            return await tools.call(params.name, params.arguments)

        return SDK.Server(
            "simharness",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
    server = SDK.Server("simharness", version=__version__, instructions=INSTRUCTIONS)

    async def listed() -> list[Any]:
        return tools.listed()

    server.list_tools()(listed)
    # Arguments are checked where the call is carried out, and a bad one is on record there.
    server.call_tool(validate_input=False)(tools.call)
    return server


class Endpoint:
    """The path at which requests are taken."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        await self._manager.handle_request(scope, receive, send)


def app_for(sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> App:
    """Make the app that serves sessions by streamable HTTP, at /mcp."""
    manager = HTTP.StreamableHTTPSessionManager(
        app=server_for(sessions, tell),
        json_response=True,
        stateless=True,
        # The gate looks at hosts and origins.
        security_settings=SECURITY.TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncGenerator[None]:
        async with manager.run():
            yield

    routes = [Route("/mcp", Endpoint(manager)), *routes_of(sessions)]
    return cast("App", Starlette(routes=routes, lifespan=running))


def serve_stdio(sessions: Sessions, tell: Callable[[str, dict[str, Any]], None]) -> None:
    """Serve one client on standard input and output, until it closes them."""
    server = server_for(sessions, tell)

    async def run() -> None:
        async with STDIO.stdio_server() as (read, write):
            # What a product prints is no message of the protocol.
            with redirect_stdout(sys.stderr):
                await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
