"""The MCP server, by the SDK's own client: of 2.x, and of 1.x where OpenEnv has it installed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.adapters.gate import Bounds
from simharness.adapters.sessions import Limits
from simharness.errors import UsageError
from simharness.rollout.lines import read_lines
from tests.adapters.family import framework
from tests.adapters.players import CRM, DESK, expert_calls, play, serve
from tests.adapters.served import Client, served, wait_for
from tests.effort import times

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

    from simharness.adapters.sessions import Sessions

framework("mcp")
adapter: Any = import_module("simharness.adapters.mcp")
MODERN = version("mcp").startswith("2.")

# The SDK of 1.x leaves its streams to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def mcp(
    folder: Path,
    *scenarios: str,
    limits: Limits | None = None,
    told: list[Any] | None = None,
    patience: float = 60,
) -> Generator[tuple[str, Sessions]]:
    heard: list[Any] = [] if told is None else told
    sessions = serve(folder, *(scenarios or (CRM,)), limits=limits)

    def tell(event: str, fields: Any) -> None:
        heard.append((event, fields))

    app = adapter.app_for(sessions, tell)
    with served(sessions, app, Bounds(rate=0, slow=1), patience=patience) as url:
        yield f"{url}/mcp", sessions


@asynccontextmanager
async def connected(target: Any) -> AsyncGenerator[Any]:
    """Connect the client of the SDK that is installed, to a URL or to a command."""
    if MODERN:
        async with framework("mcp").Client(target) as client:
            yield client
        return
    sdk = framework("mcp")
    if isinstance(target, str):
        streams = framework("mcp.client.streamable_http").streamablehttp_client(target)
    else:
        streams = framework("mcp.client.stdio").stdio_client(target)
    async with streams as (read, write, *_), sdk.ClientSession(read, write) as client:
        await client.initialize()
        yield client


async def call(client: Any, tool: str, **arguments: Any) -> tuple[bool, Any, str]:
    """Call a tool; gives whether it went wrong, its structured content, its text."""
    result = await client.call_tool(tool, arguments)
    told = result.model_dump(by_alias=True)
    return told["isError"], told["structuredContent"], told["content"][0]["text"]


async def play_by_mcp(target: Any, scenario: str, seed: int) -> list[str]:
    """Play the expert's calls, one after the other."""
    async with connected(target) as client:
        wrong, begun, _ = await call(client, "start_episode", scenario=scenario, seed=seed)
        assert not wrong
        out = [begun["prompt"]]
        for calls in expert_calls(scenario, seed):
            for one in calls:
                _, told, text = await call(client, one.tool, episode=begun["episode"], **one.args)
                out += [json.dumps(told), text]
    return out


def test_the_tools_are_those_of_the_scenario_with_a_handle(tmp_path: Path) -> None:
    async def look(url: str) -> list[dict[str, Any]]:
        async with connected(url) as client:
            return [t.model_dump(by_alias=True) for t in (await client.list_tools()).tools]

    with mcp(tmp_path / "run") as (url, _):
        tools = {tool["name"]: tool for tool in anyio.run(look, url)}
    assert {"start_episode", "end_episode", "get_deal", "finish"} <= tools.keys()
    schema = tools["get_deal"]["inputSchema"]
    assert schema["required"] == ["episode", "deal_id"]
    assert schema["additionalProperties"] is False
    assert tools["start_episode"]["inputSchema"]["properties"]["scenario"] == {"enum": [CRM]}


def test_interleaved_clients_get_what_each_gets_alone(tmp_path: Path) -> None:
    seeds = [1, 2, 1]
    with mcp(tmp_path / "alone") as (url, _):
        expected = [anyio.run(play_by_mcp, url, CRM, seed) for seed in seeds]

    async def all_at_once(url: str) -> list[list[str]]:
        told: dict[int, list[str]] = {}

        async def one(place: int) -> None:
            told[place] = await play_by_mcp(url, CRM, seeds[place])

        async with anyio.create_task_group() as group:
            for place in range(len(seeds)):
                group.start_soon(one, place)
        return [told[place] for place in range(len(seeds))]

    with mcp(tmp_path / "run") as (url, sessions):
        assert anyio.run(all_at_once, url) == expected
        assert len(sessions) == 0
    ended = json.loads(expected[0][-2])["ended"]
    assert (ended["reward"], ended["valid"], ended["error"]) == (1.0, True, None)
    assert [line["class"] for line in read_lines(tmp_path / "run")] == ["ok"] * len(seeds)


def test_it_plays_as_the_session_does(tmp_path: Path) -> None:
    """Where each step is one call, which is what MCP can say."""
    assert all(len(calls) == 1 for calls in expert_calls(CRM, 1))
    sessions = serve(tmp_path / "alone")
    play(sessions, CRM, 1)
    sessions.stop()
    with mcp(tmp_path / "run") as (url, _):
        anyio.run(play_by_mcp, url, CRM, 1)
    digests = [line["digest"] for n in ("alone", "run") for line in read_lines(tmp_path / n)]
    assert digests[0] == digests[1]


def test_what_goes_wrong_is_said_and_costs_nothing(tmp_path: Path) -> None:
    async def try_all(url: str) -> None:
        async with connected(url) as client:
            start = {"scenario": CRM, "seed": 1}
            for tool, arguments, said in (
                ("get_deal", {"deal_id": 1}, "without 'episode'"),
                ("get_deal", {"deal_id": 1, "episode": "x"}, "no session of this name"),
                ("get_deal", {"deal_id": 1, "episode": 7}, "without 'episode'"),
                ("start_episode", {"scenario": CRM}, "needs a scenario and a seed"),
                ("start_episode", {**start, "load": 4}, "no argument 'load'"),
                ("start_episode", {"scenario": DESK, "seed": 1}, "no scenario on offer"),
                ("start_episode", {"scenario": CRM, "seed": -1}, "-1"),
                ("start_episode", {"scenario": CRM, "seed": True}, "needs a scenario and a seed"),
                ("no_such_tool", {}, "without 'episode'"),
            ):
                wrong, told, text = await call(client, tool, **arguments)
                assert (wrong, said in text) == (True, True), (tool, text)
                assert list(told) == ["error"]
            _, begun, _ = await call(client, "start_episode", **start)
            mine = {"episode": begun["episode"]}
            for tool, arguments, code in (
                ("get_deal", {"deal_id": 1, "zzz": 1}, "invalid_arguments"),
                ("get_deal", {}, "invalid_arguments"),
                ("no_such_tool", {}, "unknown_tool"),
            ):
                wrong, told, _ = await call(client, tool, **mine, **arguments)
                assert (wrong, told["error"]["code"]) == (True, code)
            wrong, told, _ = await call(client, "end_episode", **mine)
            assert (wrong, told["ended"]["reward"]) == (False, 0.0)
            for tool, arguments in (("get_deal", {"deal_id": 1}), ("end_episode", {})):
                wrong, _, text = await call(client, tool, **mine, **arguments)
                assert wrong
                assert "the episode has ended: end_episode was called; call start_episode" in text
            _, begun, _ = await call(client, "start_episode", **start)
            mine = {"episode": begun["episode"]}
            assert (await call(client, "finish", message="x", **mine))[1]["ended"]
            _, _, text = await call(client, "end_episode", **mine)
            assert "the episode has ended: finish was called; call start_episode" in text

    with mcp(tmp_path / "run", limits=Limits(sessions=1)) as (url, sessions):
        anyio.run(try_all, url)
        assert len(sessions) == 0


def test_a_connection_that_is_cut_in_a_call_costs_only_the_answer(tmp_path: Path) -> None:
    async def start(url: str) -> str:
        async with connected(url) as client:
            _, begun, _ = await call(client, "start_episode", scenario=CRM, seed=1)
            return str(begun["episode"])

    async def go_on(url: str, handle: str) -> int:
        async with connected(url) as client:
            _, told, _ = await call(client, "list_deals", episode=handle)
            return int(told["step"])

    with mcp(tmp_path / "run") as (url, sessions):
        handle = anyio.run(start, url)
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "list_deals", "arguments": {"episode": handle}},
            }
        ).encode()
        address = urlsplit(url)
        cut = socket.create_connection((address.hostname, address.port))
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        cut.sendall(head.encode() + body)
        wait_for(lambda: sessions.look(handle)["step"] == 1)
        cut.close()
        assert anyio.run(go_on, url, handle) == 2


def test_half_open_connections_are_closed_and_cost_nobody_anything(tmp_path: Path) -> None:
    with mcp(tmp_path / "run", patience=0.3) as (url, sessions):
        address = urlsplit(url)
        where = (address.hostname, address.port)
        silent = [socket.create_connection(where, timeout=10) for _ in range(20)]
        slow = socket.create_connection(where, timeout=10)
        head = f"POST /mcp HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 99\r\n\r\n"
        slow.sendall(head.encode() + b"{")
        client = Client(url)
        status, told = client.ask("GET", "/healthz")
        assert (status, told["status"]) == (200, "ok")
        assert "simharness_sessions 0.0\n" in client.ask("GET", "/metrics")[1]
        client.close()
        assert all(one.recv(1) == b"" for one in silent)
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        for one in (*silent, slow):
            one.close()
        assert len(sessions) == 0


def test_products_whose_tools_would_clash_are_refused(tmp_path: Path) -> None:
    sessions = serve(tmp_path / "run", CRM, DESK)
    with pytest.raises(UsageError, match="the tools of one product, not of crm, helpdesk"):
        adapter.app_for(sessions, print)
    sessions.stop()


def command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "simharness", "serve", "mcp", CRM, "-o", str(folder)]


def test_a_process_serves_standard_input_and_keeps_what_was_played(tmp_path: Path) -> None:
    words = command(tmp_path / "run")
    kind = framework("mcp").StdioServerParameters if not MODERN else None
    kind = kind or framework("mcp.client.stdio").StdioServerParameters
    with mcp(tmp_path / "http") as (url, _):
        expected = anyio.run(play_by_mcp, url, CRM, 1)
    target = kind(command=words[0], args=words[1:], env=dict(os.environ))
    assert anyio.run(play_by_mcp, target, CRM, 1) == expected
    wait_for(lambda: (tmp_path / "run" / "catalog.sqlite").exists())
    (line,) = read_lines(tmp_path / "run")
    assert (line["class"], line["score"]) == ("ok", 1.0)


def test_a_signal_ends_a_process_that_waits_for_input(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path / "run"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: (tmp_path / "run" / "run.json").exists(), 90)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b""), err
    assert (tmp_path / "run" / "catalog.sqlite").exists()
    assert b"Traceback" not in err


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from(["2.0", "tools/call", "tools/list", "start_episode", "get_deal", CRM]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "episode", "seed", "scenario", "_meta"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers(0, 9), "method": st.just("tools/call")},
    optional={"params": st.fixed_dictionaries({"name": JSON, "arguments": JSON}) | JSON},
)


def test_no_message_breaks_anything_or_reaches_another_episode(tmp_path: Path) -> None:
    failures: list[Any] = []
    with mcp(tmp_path / "run", told=failures) as (url, sessions):
        watched = sessions.open().id
        sessions.begin(watched, CRM, 1)
        before = sessions.look(watched)
        client = Client(url, Accept="application/json, text/event-stream")

        @settings(max_examples=times(60))
        @given(MESSAGE | JSON)
        def send(message: Any) -> None:
            status, told = client.ask("POST", "/mcp", message)
            assert status < 500, told
            assert "Traceback" not in json.dumps(told)

        send()
        assert sessions.look(watched) == before
        client.close()
    assert failures == []
