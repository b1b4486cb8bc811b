"""MCP servers that a command starts: a process a session, and tools for actions.

The protocol has no episodes. A tool that takes a `seed` begins one, and is told what `--reset`
gives besides; a server without one begins with its process. What the beginning answers under the
name of an argument, such as an episode's id, is sent with every call that takes it (`handles`). A
reward is what an answer has under `reward`; `done`, `terminated` and `truncated` end an episode.
All of them may stand in a map of their own, `ended`.

The messages are written and read here, a line each, because what a server prints between them is
what an audit wants to see.
"""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
from dataclasses import replace
from typing import Any

from simharness import __version__
from simharness.doctor.canonical import canonical
from simharness.doctor.schema import drawn, fits, is_open, least
from simharness.doctor.session import Lost, Refused, Turn, Unusable, mapping_of, refusal

PROTOCOL = "2025-06-18"
PAGES_MAX = 50
SEED = "seed"
END_SECONDS = 2.0
NAMED = re.compile(r"(^|[_-])(id|uuid|handle|token|session|episode)$|[a-z]I[dD]$")
"""How arguments are named that can't be anything but handles."""
HANDLE = re.compile(r"[\w-]{16,}", re.ASCII)
"""A text that nobody should guess, by which a server knows an episode."""


class Server:
    """One process that speaks JSON-RPC on its stdin and stdout."""

    def __init__(self, command: list[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise Unusable(f"{command[0]!r} can't be started: {error.strerror}",
                           "give 'mcp:COMMAND ARGUMENTS'") from None  # fmt: skip
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        self._rest = b""
        self._sent = 0
        self.stray = ""
        """The first line that was no message."""
        client = {"name": "simharness doctor", "version": __version__}
        self.ask("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Make a request. Raises Refused, Lost."""
        self._sent += 1
        number = self._sent
        request = {"id": number, "method": method, "params": params}
        self._send(request)
        while True:
            message = self._message()
            if message.items() >= request.items():
                # To answer it would be to hear that answer next, and to take it for the command's.
                raise Refused("it sends back what it is sent")
            if "method" in message:
                if "id" in message:
                    error = {"code": -32601, "message": "this client offers nothing"}
                    self._send({"id": message["id"], "error": error})
            elif message.get("id") == number:
                if "error" in message:
                    raise Refused(str(message["error"].get("message", message["error"])))
                return mapping_of(message.get("result"))

    def close(self) -> None:
        """End it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii") + b"\n"
        try:
            self._process.stdin.write(data)
        except (OSError, ValueError):
            raise self._lost() from None

    def _message(self) -> dict[str, Any]:
        while True:
            while b"\n" not in self._rest:
                data = self._lines.read(1 << 16)
                if not data:
                    raise self._lost()
                self._rest += data
            line, _, self._rest = self._rest.partition(b"\n")
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if found := mapping_of(message):
                return found
            if line.strip() and not self.stray:
                self.stray = line.decode("utf-8", "replace")[:200]

    def _lost(self) -> Lost:
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return Lost("the server has closed its stdout")
        return Lost(f"the server ended with exit code {code}")


class McpSource:
    """Starts servers."""

    def __init__(self, job: dict[str, Any]) -> None:
        try:
            self._command = shlex.split(job["name"])
        except ValueError as error:
            raise Unusable(f"the command is not readable: {error}", "close its quotes") from None
        self._reset: dict[str, Any] = job["reset"]
        self._ignored = frozenset(job["ignored"])
        self.given: list[Any] = job["actions"]
        try:
            server = Server(self._command)
            self.tools = tools_of(server)
        except (Refused, Lost) as error:
            raise Unusable(
                f"it doesn't speak MCP: {error.args[0]}", "run the command and see what it says"
            ) from None
        # To start one may take seconds, so the first session gets it.
        self._idle: Server | None = server
        self.begin = next((t for t in self.tools.values() if takes(t, SEED)), None)
        self.facts: dict[str, Any] = {
            "full": None,
            "stray": server.stray,
            "told": {"tools": len(self.tools), "begins": self.begin["name"] if self.begin else ""},
        }
        if not self._acting():
            raise Unusable("it has no tool to act with", "give a server that has tools")
        if self.begin:
            required = self.begin["inputSchema"].get("required", ())
            if lacking := [k for k in required if k != SEED and k not in self._reset]:
                raise Unusable(
                    f"the tool {self.begin['name']!r}, which begins an episode, needs "
                    + ", ".join(lacking),
                    "give them with --reset '{\"NAME\": VALUE}'",
                )

    def open(self) -> McpSession:
        """Start a server."""
        server, self._idle = self._idle or Server(self._command), None
        return McpSession(self, server, self._command, self._reset, self._ignored)

    def draw(self, seed: int, count: int) -> list[Any]:
        """Draw calls."""
        chance = random.Random(seed)  # noqa: S311
        if self.given:
            return [chance.choice(self.given) for _ in range(count)]
        tools = self._acting()
        return [
            {"tool": tool["name"], "arguments": drawn(tool["inputSchema"], chance)}
            for tool in (chance.choice(tools) for _ in range(count))
        ]

    def null(self) -> Any:
        """Give the least call of the first tool."""
        if self.given:
            return self.given[0]
        tool = self._acting()[0]
        return {"tool": tool["name"], "arguments": least(tool["inputSchema"])}

    def garbage(self) -> list[tuple[str, Any]]:
        """Give calls that no tool takes."""
        out: list[tuple[str, Any]] = [
            ("a call of a tool that isn't there", {"tool": "no_such_tool", "arguments": {}})
        ]
        # Best of one that lacks something also where the handle of the episode is filled in.
        needy = [tool for tool in self._acting() if tool["inputSchema"].get("required")]
        if needy:
            tool = max(needy, key=lambda one: len(one["inputSchema"]["required"]))
            call: Any = {"tool": tool["name"], "arguments": {}, "lacking": True}
            out.append((f"a call of {tool['name']!r} without its arguments", call))
        return out

    def handles(self, told: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Give for each tool what a beginning has answered that is sent with its calls.

        That is a text or a whole number under the name of an argument of its type. What a schema
        lists or bounds is the agent's to choose, and so is a number, unless it is named like a
        handle or several tools take it.
        """
        out: dict[str, dict[str, Any]] = {}
        for key, value in told.items():
            takers = [tool for tool in self._acting() if takes(tool, key)]
            for tool in takers:
                schema = tool["inputSchema"]
                told_so = NAMED.search(key) is not None
                likely = isinstance(value, str) or len(takers) > 1
                if fits(schema, key, value) and (told_so or (likely and is_open(schema, key))):
                    out.setdefault(tool["name"], {})[key] = value
        if out:
            handed = sorted({key for names in out.values() for key in names})
            self.facts["told"]["handed"] = handed
        return out

    def close(self) -> None:
        """End the server that no session has got."""
        if self._idle is not None:
            self._idle.close()

    def _acting(self) -> list[dict[str, Any]]:
        return [tool for tool in self.tools.values() if tool is not self.begin]


class McpSession:
    """One server, and the episode in it."""

    def __init__(
        self,
        source: McpSource,
        server: Server,
        command: list[str],
        reset: dict[str, Any],
        ignored: frozenset[str],
    ) -> None:
        self._source = source
        self._command = command
        self._reset = reset
        self._ignored = ignored
        self._server = server
        self._fresh = True
        self._handles: dict[str, dict[str, Any]] = {}

    def reset(self, seed: int | None) -> Turn:
        """Begin an episode, in a new process where no tool does."""
        begin = self._source.begin
        self._handles = {}
        if begin is None:
            if not self._fresh:
                self._server.close()
                self._server = Server(self._command)
            self._fresh = False
            return Turn(observation="")
        turn, told = self._call(begin["name"], {**self._reset, SEED: seed})
        self._handles = self._source.handles(told)
        return self._without_handles(turn)

    def step(self, action: Any) -> Turn:
        """Call a tool."""
        name, given = str(action["tool"]), dict(action.get("arguments", {}))
        handles = self._handles.get(name, {})
        if action.get("lacking"):
            required = self._source.tools[name]["inputSchema"]["required"]
            # Where that is all that it needs, it has to lack that.
            given = handles if {*required} - {*handles} else {}
            return self._without_handles(self._call(name, given)[0])
        # What somebody has given stands; what was drawn can't know of the episode.
        arguments = {**handles, **given} if self._source.given else {**given, **handles}
        return self._without_handles(self._call(name, arguments)[0])

    def _without_handles(self, turn: Turn) -> Turn:
        """Put the names of handles in their place: who can't be guessed is another each time."""
        for handles in self._handles.values():
            for name, value in handles.items():
                if isinstance(value, str) and HANDLE.fullmatch(value):
                    told = turn.observation.replace(value, f"<{name}>")
                    turn = replace(
                        turn, observation=told, info=turn.info.replace(value, f"<{name}>")
                    )
        return turn

    def close(self) -> None:
        """End the server."""
        self._source.facts["stray"] = self._source.facts["stray"] or self._server.stray
        self._server.close()

    def _call(self, name: str, arguments: dict[str, Any]) -> tuple[Turn, dict[str, Any]]:
        try:
            result = self._server.ask("tools/call", name=name, arguments=arguments)
        except Refused as error:
            return Turn(observation=f"error: {error.args[0]}", refused=True), {}
        told = read(result)
        parts = result.get("content", ())
        content = canonical([part_of(part) for part in parts], self._ignored)
        mark = "error: " if result.get("isError") else ""
        outcome = {**told, **mapping_of(told.get("ended"))}
        turn = Turn(
            observation=mark + content,
            info=canonical(result.get("structuredContent"), self._ignored),
            reward=outcome.get("reward"),
            terminated=outcome.get("done") is True or outcome.get("terminated") is True,
            truncated=outcome.get("truncated") is True,
            refused=bool(mark) or refusal(told) or any(refusal(part_of(p)) for p in parts),
        )
        return turn, told


def takes(tool: dict[str, Any], name: str) -> bool:
    """Tell whether a tool has an argument."""
    return name in tool["inputSchema"].get("properties", {})


def part_of(part: dict[str, Any]) -> Any:
    """Give what a part of an answer says: its text, or all of it."""
    return part.get("text", part)


def read(result: dict[str, Any]) -> dict[str, Any]:
    """Read an answer as a map: its structured content, a text that is JSON, or an empty one."""
    found = mapping_of(result.get("structuredContent"))
    if found:
        # So the SDK wraps what is no map.
        return mapping_of(found.get("result")) or found
    for part in result.get("content", ()):
        try:
            value = json.loads(part.get("text", ""))
        except ValueError:
            continue
        if isinstance(value, dict):
            return mapping_of(value)  # pyright: ignore[reportUnknownArgumentType]
    return {}


def tools_of(server: Server) -> dict[str, dict[str, Any]]:
    """List the tools of a server by name."""
    out: dict[str, dict[str, Any]] = {}
    cursor: dict[str, Any] = {}
    for _ in range(PAGES_MAX):
        page = server.ask("tools/list", **cursor)
        out |= {tool["name"]: tool for tool in page.get("tools", ())}
        if not page.get("nextCursor"):
            break
        cursor = {"cursor": page["nextCursor"]}
    return out
