"""The OpenEnv server, by OpenEnv's own clients and validator."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.adapters.gate import Bounds
from simharness.adapters.sessions import Limits
from simharness.rollout.lines import read_lines
from tests.adapters.family import framework
from tests.adapters.players import CRM, DESK, expert_calls, play, serve
from tests.adapters.served import Client, served, wait_for
from tests.effort import times
from tests.pages import ROOT, block_after

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.adapters.sessions import Sessions

framework("openenv")
adapter: Any = import_module("simharness.adapters.openenv")
core: Any = framework("openenv.core")
websockets: Any = framework("websockets.sync.client")

HAZARD = f"{Path(__file__).parent.parent / 'rollout' / 'hazard.py'}:Hazard"
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def openenv(
    folder: Path,
    *scenarios: str,
    limits: Limits | None = None,
    bounds: Bounds | None = None,
    patience: float = 60,
) -> Generator[tuple[str, Sessions]]:
    sessions = serve(folder, *(scenarios or (CRM, DESK)), limits=limits)
    failures: list[Any] = []

    def tell(event: str, fields: Any) -> None:
        failures.append((event, fields))

    app = adapter.app_for(sessions, tell)
    with served(sessions, app, bounds, websockets=True, patience=patience) as url:
        yield url, sessions
    assert failures == []


def action(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "call_tool", "tool_name": tool, "arguments": arguments}


async def play_by_openenv(url: str, scenario: str, seed: int) -> list[str]:
    """Play the expert's calls."""
    async with core.GenericEnvClient(base_url=url) as env:
        told = await env.reset(seed=seed, scenario=scenario)
        out = [json.dumps(told.observation, sort_keys=True)]
        for calls in expert_calls(scenario, seed):
            (one,) = calls
            told = await env.step(action(one.tool, **one.args))
            out.append(json.dumps([told.observation, told.reward, told.done], sort_keys=True))
        return out


def talk(url: str, *messages: Any) -> list[Any]:
    """Send messages over a connection of one's own; gives the answers."""
    with websockets.connect(url.replace("http", "ws") + "/ws") as connection:
        out: list[Any] = []
        for message in messages:
            connection.send(message if isinstance(message, str) else json.dumps(message))
            out.append(json.loads(connection.recv(timeout=30)))
        return out


def reset(**data: Any) -> dict[str, Any]:
    return {"type": "reset", "data": data}


def step(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "step", "data": action(tool, **arguments)}


def test_interleaved_clients_get_what_each_gets_alone(tmp_path: Path) -> None:
    plays = [(CRM, 1), (CRM, 2), (CRM, 1)]

    async def all_at_once(url: str) -> list[list[str]]:
        return await asyncio.gather(*(play_by_openenv(url, *one) for one in plays))

    with openenv(tmp_path / "alone") as (url, _):
        expected = [asyncio.run(play_by_openenv(url, *one)) for one in plays]
    with openenv(tmp_path / "run") as (url, sessions):
        assert asyncio.run(all_at_once(url)) == expected
        wait_for(lambda: len(sessions) == 0)
    assert json.loads(expected[0][-1])[1:] == [1.0, True]
    lines = list(read_lines(tmp_path / "run"))
    assert [line["class"] for line in lines] == ["ok"] * 3
    sessions = serve(tmp_path / "direct")
    play(sessions, CRM, 2)
    sessions.stop()
    (direct,) = read_lines(tmp_path / "direct")
    assert direct["digest"] in {line["digest"] for line in lines}


def test_tools_are_listed_and_called_by_the_client_for_tools(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, _):
        client = framework("openenv.core.mcp_client").MCPToolClient(base_url=url).sync()
        with client:
            begun = client.reset(seed=3, scenario=DESK)
            assert begun.observation.metadata["episode_id"] == f"{DESK}:3"
            names = {tool.name for tool in client.list_tools()}
            assert {"list_tickets", "finish"} <= names
            assert "tickets" in client.call_tool("list_tickets")["result"]
            told = client.call_tool("no_such_tool")
            assert told["error"]["error_type"] == "tool_not_found"


def test_what_a_client_gets_wrong_is_an_error_and_its_connection_lives(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, _):
        told = talk(
            url,
            step("get_deal", deal_id=1),
            reset(seed=1, policy="expert"),
            reset(seed=1, split="train", index=1),
            reset(split="train"),
            reset(split="x", index=1),
            reset(seed=1, scenario="crm/approval"),
            reset(seed=1, load=100),
            "{",
            {"type": "dance"},
            {"type": "step", "data": {"type": "call_tool"}},
            reset(seed=1),
            step("get_deal", deal_id=1, zzz=1),
            step("no_such_tool"),
            step("get_deal", deal_id="\ud800"),
            step("finish", message="no", outcome="done"),
            step("get_deal", deal_id=1),
            reset(split="train", index=1),
        )
        codes = [one["data"].get("code") for one in told]
        assert codes[:10] == [
            *["EXECUTION_ERROR"] * 7,
            "INVALID_JSON",
            "UNKNOWN_TYPE",
            "VALIDATION_ERROR",
        ]
        assert "no episode has begun" in told[0]["data"]["message"]
        assert "reset has no ['policy']" in told[1]["data"]["message"]
        for place, said in (
            (2, "reset has a seed, and a split"),
            (3, "reset has no index"),
            (4, "no split named 'x'"),
        ):
            assert said in told[place]["data"]["message"]
        assert [one["type"] for one in told[10:15]] == ["observation"] * 5
        errors = [one["data"]["observation"]["error"] for one in told[11:14]]
        kinds = [one["error_type"] for one in errors]
        assert kinds == ["invalid_args", "tool_not_found", "invalid_args"]
        assert (told[14]["data"]["reward"], told[14]["data"]["done"]) == (0.0, True)
        assert (codes[15], "has ended" in told[15]["data"]["message"]) == ("EXECUTION_ERROR", True)
        assert told[16]["data"]["observation"]["metadata"]["seed"] == 1
    assert [line["class"] for line in read_lines(tmp_path / "run")] == ["model", "external"]


@pytest.mark.parametrize(
    "message",
    [
        *(
            "[]",
            "null",
            "1",
            '"reset"',
            "[" * 100_000,
            b"\x00\xff",
            json.dumps(reset(seed=1)).encode(),
        ),
        '{"type": "reset", "data": {"seed": 1' + "0" * 5000 + "}}",
        '{"type": "reset", "data": ' + '{"a":' * 500 + "1" + "}" * 501,
        '{"type": "step", "data": {"type": "call_tool", "tool_name": "get_deal", "arguments": '
        + '{"a":' * 5000
        + "1"
        + "}" * 5002,
    ],
)
def test_a_message_that_cannot_be_read_ends_no_session(tmp_path: Path, message: Any) -> None:
    with (
        openenv(tmp_path / "run") as (url, _),
        websockets.connect(url.replace("http", "ws") + "/ws") as connection,
    ):

        def ask(sent: Any) -> Any:
            connection.send(sent)
            return json.loads(connection.recv(timeout=30))

        assert ask(json.dumps(reset(seed=1)))["type"] == "observation"
        assert ask(message)["data"]["code"] == "INVALID_JSON"
        told = ask(json.dumps(step("list_deals")))
        assert told["data"]["observation"]["metadata"]["step"] == 1


def test_without_a_seed_it_is_the_next_of_the_train_split(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, _):
        told = talk(url, reset(), reset(), reset(seed=9))
    seeds = [one["data"]["observation"]["metadata"]["seed"] for one in told]
    assert seeds == [0, 1, 9]


def test_a_failure_of_the_harness_has_no_reward(tmp_path: Path) -> None:
    scenario = HAZARD + "/goal"
    rewards: set[float | None] = set()
    with openenv(tmp_path / "run", scenario) as (url, _):
        for seed in range(8):
            _, end = talk(url, reset(seed=seed), step("finish", message="lit"))
            data = end["data"]
            rewards.add(data["reward"])
            assert data["done"]
            failed = data["observation"]["error"] is not None
            assert failed == (data["reward"] is None)
    assert rewards == {0.0, None}


def test_there_is_room_for_so_many_connections(tmp_path: Path) -> None:
    with openenv(tmp_path / "run", limits=Limits(sessions=2)) as (url, sessions):
        address = url.replace("http", "ws") + "/ws"
        with websockets.connect(address) as one, websockets.connect(address) as two:
            for connection in (one, two):
                connection.send(json.dumps(reset(seed=1)))
                assert json.loads(connection.recv(timeout=30))["type"] == "observation"
            with websockets.connect(address) as third:
                told = json.loads(third.recv(timeout=30))
                assert told["data"]["code"] == "CAPACITY_REACHED"
        wait_for(lambda: len(sessions) == 0)
        assert talk(url, reset(seed=1))[0]["type"] == "observation"


def test_a_connection_that_is_cut_gives_its_place_back(tmp_path: Path) -> None:
    with openenv(tmp_path / "run", limits=Limits(sessions=1)) as (url, sessions):
        connection = websockets.connect(url.replace("http", "ws") + "/ws")
        connection.send(json.dumps(reset(seed=1)))
        connection.recv(timeout=30)
        connection.send(json.dumps(step("list_deals")))
        # No goodbye: the peer is reset.
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.socket.close()
        wait_for(lambda: len(sessions) == 0)
        wait_for(lambda: sessions.counts.left == 1)
        assert talk(url, reset(seed=1))[0]["type"] == "observation"
    assert [line["class"] for line in read_lines(tmp_path / "run")] == ["external"] * 2


def test_a_message_may_be_so_large_and_no_larger(tmp_path: Path) -> None:
    most = 3_000_000
    with openenv(tmp_path / "run", bounds=Bounds(body=most, rate=0)) as (url, sessions):
        told = talk(url, reset(seed=1), step("finish", message="x" * (most - 200)))
        assert told[1]["type"] == "observation"
        with websockets.connect(url.replace("http", "ws") + "/ws") as connection:
            connection.send(json.dumps(step("finish", message="x" * most)))
            with pytest.raises(framework("websockets.exceptions").ConnectionClosed) as caught:
                connection.recv(timeout=30)
        assert caught.value.rcvd.code == 1009
        wait_for(lambda: len(sessions) == 0)


@pytest.mark.parametrize("sent", [b"", b"\x81\xfe\x7f\xff"])
def test_a_connection_whose_client_is_gone_without_a_word_gives_its_place_back(
    tmp_path: Path, sent: bytes
) -> None:
    limits = Limits(sessions=1)
    with openenv(tmp_path / "run", limits=limits, patience=1.5) as (url, sessions):
        address = urlsplit(url)
        silent = socket.create_connection((address.hostname, address.port), timeout=30)
        head = (
            f"GET /ws HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n"
        )
        silent.sendall(head.encode())
        assert silent.recv(100).startswith(b"HTTP/1.1 101 ")
        data = json.dumps(reset(seed=1)).encode()
        # A short message that is masked with zeros, as it is.
        silent.sendall(bytes((0x81, 0x80 | len(data), 0, 0, 0, 0)) + data)
        wait_for(lambda: len(sessions) == 1)
        silent.sendall(sent)
        wait_for(lambda: len(sessions) == 0)
        assert talk(url, reset(seed=1))[0]["type"] == "observation"
        silent.close()
    assert [line["class"] for line in read_lines(tmp_path / "run")] == ["external"] * 2


def test_an_idle_connection_loses_its_episode_and_is_told_so(tmp_path: Path) -> None:
    with openenv(tmp_path / "run", limits=Limits(idle=0.3)) as (url, sessions):
        with websockets.connect(url.replace("http", "ws") + "/ws") as connection:
            connection.send(json.dumps(reset(seed=1)))
            connection.recv(timeout=30)
            wait_for(lambda: sessions.counts.expired == 1)
            connection.send(json.dumps(step("list_deals")))
            told = json.loads(connection.recv(timeout=30))
        assert "it expired" in told["data"]["message"]


def test_tasks_are_the_seeds_of_each_split(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, _):
        client = Client(url)
        assert client.ask("GET", "/simharness/splits") == (
            200,
            [{"name": "train", "type": "train"}, {"name": "eval", "type": "test"}],
        )
        ask = {"split": "eval"}
        assert client.ask("POST", "/simharness/num_tasks", ask)[1] == {"num_tasks": 2**31}
        task = client.ask("POST", "/simharness/task", {**ask, "index": 5})[1]["task"]
        assert task == {"id": f"{CRM}:{2**31 + 5}", "index": 5, "scenario": CRM, "seed": 2**31 + 5}
        assert len(client.ask("POST", "/simharness/tasks", ask)[1]["tasks"]) == 1000
        assert client.ask("POST", "/simharness/task_range", ask)[0] == 422
        assert client.ask("POST", "/simharness/num_tasks", {"split": "dev"})[0] == 422
        # Each such request has an environment of its own, so there is nothing to step in.
        status, told = client.ask("POST", "/step", {"action": action("list_deals")})
        assert (status, told["error"]["code"]) == (409, "SH-SES-003")
        client.close()


def test_health_and_counts_are_told(tmp_path: Path) -> None:
    with openenv(tmp_path / "run", limits=Limits(sessions=3)) as (url, sessions):
        talk(url, reset(seed=1))
        client = Client(url)
        status, told = client.ask("GET", "/healthz")
        assert (status, told["status"], told["sessions_max"]) == (200, "ok", 3)
        assert "simharness_episodes_begun_total 1.0\n" in client.ask("GET", "/metrics")[1]
        sessions.stop()
        assert client.ask("GET", "/healthz")[0] == 503
        client.close()


def test_the_validator_of_openenv_passes_it(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, _):
        words = [str(Path(sys.executable).with_name("openenv")), "validate", "--url", url, "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"], report


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from(["reset", "step", "state", "mcp", "call_tool", "list_tools", "get_deal"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "data", "tool_name", "arguments", "seed", "scenario"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"type": st.sampled_from(["reset", "step", "state", "mcp", "close", "x"])},
    optional={"data": JSON},
)


def test_no_message_breaks_anything_or_reaches_another_session(tmp_path: Path) -> None:
    with openenv(tmp_path / "run") as (url, sessions):
        watched = sessions.open().id
        sessions.begin(watched, CRM, 1)
        before = sessions.look(watched)
        address = url.replace("http", "ws") + "/ws"

        @settings(max_examples=times(40))
        @given(st.lists(MESSAGE, max_size=2), MESSAGE | JSON)
        def send(first: list[Any], last: Any) -> None:
            with websockets.connect(address) as connection:
                for message in (*first, last):
                    connection.send(json.dumps(message))
                    try:
                        told = connection.recv(timeout=30)
                    except framework("websockets.exceptions").ConnectionClosed:
                        return  # asked to close
                    assert "Traceback" not in told

        send()
        wait_for(lambda: len(sessions) == 1)
        assert sessions.look(watched) == before


def test_the_example_of_the_page_prints_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block_after(ROOT / "docs" / "serve.md", "openenv example")
    said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    with openenv(tmp_path / "run") as (url, _):
        capsys.readouterr()
        exec(compile(code.replace("http://127.0.0.1:8765", url), "serve.md", "exec"), {})
        assert capsys.readouterr().out.splitlines() == said
    assert len(said) == 2
