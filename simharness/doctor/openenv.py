"""OpenEnv servers: a WebSocket a session, as the framework's own client opens them.

Only `/ws` keeps an episode: `POST /reset` and `/step` make an environment for each request.
"""

from __future__ import annotations

import json
import random
import urllib.error
import urllib.request
from contextlib import suppress
from typing import Any, cast

from simharness.doctor.canonical import canonical
from simharness.doctor.schema import drawn, least
from simharness.doctor.session import Lost, Refused, Turn, Unusable, mapping_of, refusal

try:
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ImportError as missing:
    raise Unusable(f"websockets can't be imported: {missing}", extra="doctor") from None

TOOL_CALL = {"tool_name", "arguments"}
"""Fields of the action by which a server offers tools."""


class OpenEnvSource:
    """Connects to a server."""

    def __init__(self, job: dict[str, Any]) -> None:
        base = str(job["name"])
        for scheme, plain in (("ws://", "http://"), ("wss://", "https://")):
            if base.startswith(scheme):
                base = plain + base.removeprefix(scheme)
        self._url = "ws" + base.removeprefix("http") + "/ws"
        self._seconds = float(job["seconds"])
        self._reset: dict[str, Any] = job["reset"]
        self._ignored = frozenset(job["ignored"])
        self._given: list[Any] = job["actions"]
        self.facts: dict[str, Any] = {"full": None}
        self._schema: dict[str, Any] = {}
        self._tools: list[dict[str, Any]] = []
        if not self._given:
            self._schema = action_schema(base, self._seconds)
            if set(self._schema.get("properties", {})) >= TOOL_CALL:
                self._tools = self._listed()
                self.facts["told"] = {"tools": len(self._tools)}

    def open(self) -> OpenEnvSession:
        """Open a session."""
        return OpenEnvSession(self._connected(), self._reset, self._ignored)

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw actions."""
        chance = random.Random(seed)  # noqa: S311
        if self._given:
            return [chance.choice(self._given) for _ in range(count)]
        if not self._tools:
            return [drawn(self._schema, chance) for _ in range(count)]
        return [
            call_of(tool, drawn(tool_schema(tool), chance))
            for tool in (chance.choice(self._tools) for _ in range(count))
        ]

    def null(self) -> Any:
        """Give the first of the actions given, or the least one."""
        if self._given:
            return self._given[0]
        if self._tools:
            return call_of(self._tools[0], least(tool_schema(self._tools[0])))
        return least(self._schema)

    def garbage(self) -> list[tuple[str, Any]]:
        """Give what no server takes for an action."""
        return [
            ("an action with a field that isn't there", {"no such field": 1}),
            ("a text for an action", "no action"),
        ]

    def close(self) -> None:
        """Nothing is held."""

    def _connected(self) -> ClientConnection:
        try:
            return connect(
                self._url, open_timeout=self._seconds, close_timeout=1, max_size=None, proxy=None
            )
        except (OSError, WebSocketException) as error:
            raise Unusable(f"no session at {self._url}: {said(error)}", HINT) from None

    def _listed(self) -> list[dict[str, Any]]:
        session = self.open()
        try:
            told = session.ask("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        except (Refused, Lost):
            return []  # it has none to list, so its schema has to do
        finally:
            session.close()
        tools: list[dict[str, Any]] = mapping_of(told.get("result")).get("tools", [])
        return tools


class OpenEnvSession:
    """One connection, which has one environment."""

    def __init__(
        self, link: ClientConnection, reset: dict[str, Any], ignored: frozenset[str]
    ) -> None:
        self._link = link
        self._reset = reset
        self._ignored = ignored

    def ask(self, kind: str, data: Any) -> dict[str, Any]:
        """Send a message and give the data of the answer. Raises Refused, Lost."""
        try:
            self._link.send(json.dumps({"type": kind, "data": data}))
            text = self._link.recv()
        except (OSError, WebSocketException) as error:
            raise Lost(f"the connection is gone: {said(error)}") from None
        try:
            answer = json.loads(text)
            told = answer["data"]
            failed = answer["type"] == "error"
        except (ValueError, KeyError, TypeError):
            raise Refused(f"{text!r:.200} is no message of OpenEnv") from None
        if failed:
            raise Refused(f"{told.get('code', 'error')}: {told.get('message', told)}")
        return cast("dict[str, Any]", told)

    def reset(self, seed: int | None) -> Turn:
        """Begin an episode."""
        given = {} if seed is None else {"seed": seed}
        return self._turn(self.ask("reset", {**self._reset, **given}))

    def step(self, action: Any) -> Turn:
        """Act."""
        return self._turn(self.ask("step", action))

    def close(self) -> None:
        """Let go of the connection."""
        # It may be gone already.
        with suppress(OSError, WebSocketException):
            self._link.send(json.dumps({"type": "close"}))
        self._link.close()

    def _turn(self, told: dict[str, Any]) -> Turn:
        metadata = mapping_of(told.get("metadata"))
        flaws = [f"an answer has no {key!r}" for key in ("observation", "done") if key not in told]
        if not isinstance(told.get("done", False), bool):
            flaws.append(f"done is {told['done']!r:.40}, and no bool")
        return Turn(
            observation=canonical(told.get("observation"), self._ignored),
            info=canonical(metadata, self._ignored),
            reward=told.get("reward"),
            terminated=told.get("done") is True,
            truncated=metadata.get("truncated") is True,
            flaws=tuple(flaws),
            refused=refusal(told.get("observation")) or refusal(metadata),
        )


HINT = "start the server, and give the URL that its own client is given"


def action_schema(base: str, seconds: float) -> dict[str, Any]:
    """Ask a server for the schema of its actions. Raises Unusable."""
    url = f"{base}/schema"
    # No proxy: a server on this machine must not be looked for elsewhere.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=seconds) as answer:
            told = json.load(answer)
    except urllib.error.HTTPError as error:
        raise Unusable(f"{url} answers {error.code}", HINT) from None
    except (OSError, ValueError) as error:
        raise Unusable(f"no answer from {url}: {said(error)}", HINT) from None
    schema = mapping_of(mapping_of(told).get("action"))
    if not schema:
        raise Unusable(f"{url} names no schema of actions", "give actions with --action JSON")
    return schema


def tool_schema(tool: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of a tool's arguments, under either of its names."""
    return mapping_of(tool.get("inputSchema") or tool.get("input_schema"))


def call_of(tool: dict[str, Any], arguments: Any) -> dict[str, Any]:
    """Make the action that calls a tool."""
    return {"type": "call_tool", "tool_name": tool["name"], "arguments": mapping_of(arguments)}


def said(error: BaseException) -> str:
    """Say in few words what a connection failed of."""
    return " ".join(str(error).split())[:200] or type(error).__name__
