"""The HTTP server, by clients on the loopback interface."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simharness.adapters.gate import Bounds, require_token
from simharness.adapters.http import app_for
from simharness.adapters.sessions import Limits
from simharness.adapters.web import listen
from simharness.errors import UsageError
from simharness.rollout.lines import read_lines
from tests.adapters.players import CRM, DESK, expert_calls, play, serve
from tests.adapters.served import Client, served, wait_for
from tests.effort import times
from tests.pages import ROOT, block_after

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from simharness.adapters.sessions import Sessions

HAZARD = f"{Path(__file__).parent.parent / 'rollout' / 'hazard.py'}:Hazard"


@contextmanager
def http(
    folder: Path,
    *scenarios: str,
    limits: Limits | None = None,
    bounds: Bounds | None = None,
    patience: float = 60,
    told: list[tuple[str, Any]] | None = None,
    **more: Any,
) -> Generator[tuple[str, Sessions]]:
    sessions = serve(folder, *scenarios, limits=limits, **more)
    heard: list[tuple[str, Any]] = [] if told is None else told
    app = app_for(sessions, lambda event, fields: heard.append((event, fields)))
    with served(sessions, app, bounds, patience=patience) as url:
        yield url, sessions


def play_by_http(url: str, scenario: str, seed: int) -> list[str]:
    """Do what `play` does, over one connection."""
    client = Client(url)
    status, begun = client.ask("POST", "/v1/sessions", {"scenario": scenario, "seed": seed})
    assert status == 201
    path = f"/v1/sessions/{begun.pop('session_id')}"
    out = [json.dumps(begun)]
    for number, calls in enumerate(expert_calls(scenario, seed), 1):
        body = {"calls": [{"tool": c.tool, "args": c.args} for c in calls], "step": number}
        status, told = client.ask("POST", f"{path}/step", body)
        assert status == 200
        out.append(json.dumps(told))
    assert client.ask("DELETE", path)[0] == 204
    client.close()
    return out


def test_interleaved_clients_get_what_each_gets_alone(tmp_path: Path) -> None:
    plays = [(CRM, 1), (DESK, 2), (CRM, 1), (CRM, 3)]
    sessions = serve(tmp_path / "alone")
    alone = [play(sessions, *one) for one in plays]
    sessions.stop()
    with http(tmp_path / "run") as (url, _), ThreadPoolExecutor(len(plays)) as pool:
        told = list(pool.map(partial(play_by_http, url), *zip(*plays, strict=True)))
    assert told == alone
    assert len(list(read_lines(tmp_path / "run"))) == len(plays)


def test_every_refusal_is_an_error_in_words(tmp_path: Path) -> None:
    with http(tmp_path / "run", limits=Limits(sessions=1)) as (url, _):
        client = Client(url)
        good = {"scenario": CRM, "seed": 1}
        _, begun = client.ask("POST", "/v1/sessions", good)
        path = f"/v1/sessions/{begun['session_id']}"
        refusals: list[tuple[int, str, str, Any]] = [
            (503, "POST", "/v1/sessions", good),
            (422, "POST", "/v1/sessions", {"scenario": "crm/approval", "seed": 1}),
            (422, "POST", "/v1/sessions", {"scenario": HAZARD + "/sound", "seed": 1}),
            (422, "POST", "/v1/sessions", {"scenario": CRM}),
            (422, "POST", "/v1/sessions", {"scenario": CRM, "seed": -1}),
            (422, "POST", "/v1/sessions", {"scenario": CRM, "seed": True}),
            (422, "POST", "/v1/sessions", {"scenario": CRM, "seed": "dev:1"}),
            (422, "POST", "/v1/sessions", {**good, "load": float("nan")}),
            (422, "POST", "/v1/sessions", {**good, "load": 1000}),
            (422, "POST", "/v1/sessions", {**good, "faults": ["crm.nothing"]}),
            (422, "POST", "/v1/sessions", {**good, "policy": "expert"}),
            (422, "POST", f"{path}/step", {}),
            (422, "POST", f"{path}/step", {"calls": []}),
            (422, "POST", f"{path}/step", {"text": "a", "leave": True}),
            (422, "POST", f"{path}/step", {"calls": [{"tool": 1}]}),
            (400, "POST", f"{path}/step", b"{"),
            (400, "POST", f"{path}/step", b'{"text": ' + b"9" * 5000 + b"}"),
            (400, "POST", f"{path}/step", b"[" * 100_000),
            (422, "POST", f"{path}/step", []),
            (409, "POST", f"{path}/step", {"text": "hello", "step": 2}),
            (404, "POST", "/v1/sessions/nobody/step", {"leave": True}),
            (404, "GET", "/v1/sessions/nobody", None),
            (404, "DELETE", "/v1/sessions/nobody", None),
            (404, "GET", "/v1", None),
            (405, "PUT", "/v1/sessions", good),
        ]
        for status, method, where, body in refusals:
            found, told = client.ask(method, where, body)
            assert (found, list(told)) == (status, ["error"]), (where, body, told)
            assert list(told["error"]) == ["code", "message", "hint"]
            assert told["error"]["message"], (where, body)
        assert client.ask("POST", f"{path}/step", {"leave": True, "step": 1})[1]["terminated"]
        status, told = client.ask("POST", f"{path}/step", {"leave": True})
        assert (status, told["error"]["code"]) == (409, "SH-SES-003")
        client.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "the body is no JSON, at character 1: Expecting property name"),
        (b'{"seed": 1' + b"0" * 5000 + b"}", "a number has more than 4300 digits"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"seed": "\xff"}', "it is not UTF-8, at byte 10"),
    ],
)
def test_a_body_that_is_no_json_is_told_what_is_wrong(
    tmp_path: Path, body: bytes, said: str
) -> None:
    with http(tmp_path / "run") as (url, _), closing(Client(url)) as client:
        status, told = client.ask("POST", "/v1/sessions", body)
    assert (status, said in told["error"]["message"]) == (400, True), told


def test_what_a_model_sends_is_its_own_error_whatever_it_is(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _):
        client = Client(url)
        _, begun = client.ask("POST", "/v1/sessions", {"scenario": CRM, "seed": 1})
        path = f"/v1/sessions/{begun['session_id']}/step"
        for call in (
            {"tool": "no_such_tool"},
            {"tool": "get_deal", "args": "not json"},
            {"tool": "get_deal", "args": {"deal_id": "\ud800"}},
            {"tool": "\ud800", "args": {"\ud800": [float("nan")]}, "id": "\udfff"},
            {"tool": "get_deal", "args": {"deal_id": 1, "name": 2}},
            {"tool": "get_deal", "args": {"deal_id": 10**30}},
        ):
            status, told = client.ask("POST", path, {"calls": [call]})
            assert status == 200
            assert (told["reward"], told["error"]) == (0.0, None)
            assert list(told["results"][0]) == ["id", "tool", "error"]
        client.close()


def test_a_failure_of_the_harness_is_no_number(tmp_path: Path) -> None:
    scenario = HAZARD + "/goal"
    with http(tmp_path / "run", scenario) as (url, _):
        client = Client(url)
        rewards: set[float | None] = set()
        for seed in range(8):
            _, begun = client.ask("POST", "/v1/sessions", {"scenario": scenario, "seed": seed})
            path = f"/v1/sessions/{begun['session_id']}/step"
            finish = {"calls": [{"tool": "finish", "args": {"message": "lit"}}]}
            status, told = client.ask("POST", path, finish)
            assert status == 200
            rewards.add(told["reward"])
            assert (told["reward"] is None) == (told["error"] is not None)
            if told["error"]:
                assert told["error"]["code"] == "H810"
                assert "Traceback" not in json.dumps(told)
        assert rewards == {0.0, None}
        client.close()


def test_only_who_has_the_token_may_ask(tmp_path: Path) -> None:
    token = "0123456789abcdef"
    with http(tmp_path / "run", bounds=Bounds(token=token)) as (url, _):
        client = Client(url)
        assert client.ask("GET", "/healthz")[0] == 200
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": token}):
            client.close()
            status, told = client.ask("GET", "/v1/scenarios", **headers)
            assert (status, told["error"]["code"]) == (401, "401")
        client.close()
        assert client.ask("GET", "/v1/scenarios", Authorization=f"Bearer {token}")[0] == 200
        client.close()


def test_other_machines_need_a_token() -> None:
    with pytest.raises(UsageError, match="there is no token"):
        require_token("0.0.0.0", "")
    with pytest.raises(UsageError, match="can be guessed"):
        require_token("0.0.0.0", "secret")
    require_token("0.0.0.0", "0123456789abcdef")
    require_token("127.0.0.1", "")


def test_pages_of_other_sites_may_not_ask(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _):
        client = Client(url)
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": "["}):
            client.close()
            assert client.ask("GET", "/healthz", **headers)[0] == 403
        client.close()
        assert client.ask("GET", "/healthz", Host="localhost", Origin=url)[0] == 200
        client.close()


def test_a_request_may_be_so_large_and_no_larger(tmp_path: Path) -> None:
    with http(tmp_path / "run", bounds=Bounds(body=1000, rate=0)) as (url, _):
        client = Client(url)
        body = json.dumps({"scenario": "x" * 2000, "seed": 1}).encode()
        assert client.ask("POST", "/v1/sessions", body)[0] == 413
        client.close()
        client.connection.request("POST", "/v1/sessions", iter([body]), encode_chunked=True)
        assert client.connection.getresponse().status == 413
        client.close()


def test_a_refusal_reaches_who_sends_all_before_reading(tmp_path: Path) -> None:
    with http(tmp_path / "run", bounds=Bounds(rate=0, token="0123456789abcdef")) as (url, _):
        head = {"Authorization": "Bearer 0123456789abcdef"}
        for headers, status in ((head, 413), ({}, 401)):
            for _ in range(3):
                request = Request(f"{url}/v1/sessions", b"x" * 6_000_000, headers)
                with pytest.raises(HTTPError) as caught:
                    urlopen(request, timeout=30)
                with caught.value as refused:
                    assert refused.code == status
                    assert json.load(refused)["error"]["message"]


def test_a_refused_body_without_an_end_is_not_read_for_ever(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _):
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port), timeout=10) as slow:
            head = f"POST / HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 99999999\r\n\r\n"
            slow.sendall(head.encode())
            # The answer comes at once, and the end soon.
            assert slow.recv(1000).startswith(b"HTTP/1.1 413 ")
            while slow.recv(1000):
                pass


def test_a_caller_may_ask_so_often_and_no_oftener(tmp_path: Path) -> None:
    with http(tmp_path / "run", bounds=Bounds(rate=5)) as (url, _):
        client = Client(url)
        statuses: list[int] = []
        for _ in range(30):
            statuses.append(client.ask("GET", "/healthz")[0])
            client.close()
        assert statuses[:10] == [200] * 10
        assert 429 in statuses
        time.sleep(0.5)
        assert client.ask("GET", "/healthz")[0] == 200
        client.close()


def test_half_open_connections_are_closed_and_cost_nobody_anything(tmp_path: Path) -> None:
    bounds = Bounds(rate=0, slow=0.3)
    with http(tmp_path / "run", bounds=bounds, patience=0.3) as (url, sessions):
        address = urlsplit(url)
        silent = [
            socket.create_connection((address.hostname, address.port), timeout=10)
            for _ in range(50)
        ]
        slow = socket.create_connection((address.hostname, address.port), timeout=10)
        head = f"POST /v1/sessions HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 99\r\n\r\n"
        slow.sendall(head.encode() + b"{")
        client = Client(url)
        assert client.ask("GET", "/healthz")[0] == 200
        client.close()
        assert all(one.recv(1) == b"" for one in silent)
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        for one in (*silent, slow):
            one.close()
        assert len(sessions) == 0


def test_a_client_that_is_killed_in_a_call_loses_nothing(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _):
        client = Client(url)
        _, begun = client.ask("POST", "/v1/sessions", {"scenario": CRM, "seed": 1})
        path = f"/v1/sessions/{begun['session_id']}"
        body = json.dumps({"calls": [{"tool": "list_deals"}], "step": 1}).encode()
        client.connection.request(
            "POST", f"{path}/step", body, {"Content-Type": "application/json"}
        )
        assert client.connection.sock is not None
        # No goodbye: the peer is reset.
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        client.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.close()
        other = Client(url)
        wait_for(lambda: other.ask("GET", path)[1]["step"] == 1)
        state = other.ask("GET", path)[1]
        assert (state["going_on"], state["last"]["step"]) == (True, 1)
        assert other.ask("POST", f"{path}/step", {"text": "again", "step": 1})[0] == 409
        assert other.ask("POST", f"{path}/step", {"text": "on", "step": 2})[0] == 200
        other.close()


def test_connections_send_at_once_and_notice_peers_that_are_gone() -> None:
    with listen("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            # Nagle's algorithm costs 40 ms an answer.
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_health_and_counts_are_told(tmp_path: Path) -> None:
    with http(tmp_path / "run", limits=Limits(sessions=3)) as (url, sessions):
        client = Client(url)
        _, begun = client.ask("POST", "/v1/sessions", {"scenario": CRM, "seed": 1})
        client.ask("POST", f"/v1/sessions/{begun['session_id']}/step", {"leave": True})
        assert client.ask("GET", "/healthz") == (
            200,
            {"status": "ok", "reason": "", "sessions": 1, "sessions_max": 3},
        )
        status, text = client.ask("GET", "/metrics")
        samples = dict(re.findall(r"^(\w+) ([\d.e-]+)$", text, re.MULTILINE))
        assert status == 200
        assert float(samples["simharness_sessions"]) == 1
        assert float(samples["simharness_episodes_ended_total"]) == 1
        assert float(samples["simharness_step_seconds_count"]) == 1
        sessions.stop()
        status, told = client.ask("GET", "/healthz")
        assert (status, told["status"]) == (503, "failing")
        client.close()


def test_requests_that_are_refused_are_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, Any]] = []

    def hear(event: str, fields: Mapping[str, Any]) -> None:
        told.append((event, dict(fields)))

    token = "0123456789abcdef"
    with http(tmp_path / "run", bounds=Bounds(rate=0, token=token, body=2000)) as (url, sessions):
        monkeypatch.setattr(sessions, "_tell", hear)
        stranger, client = Client(url), Client(url, Authorization=f"Bearer {token}")
        stranger.ask("GET", "/metrics")
        client.ask("POST", "/v1/sessions", {"scenario": "crm/nothing", "seed": 1})
        client.ask("POST", "/v1/sessions", b"x" * 3000)
        client.close()
        client.ask("GET", "/v1/sessions/some-handle")
        client.ask("GET", "/healthz")
        counts = client.ask("GET", "/metrics")[1]
        for one in (stranger, client):
            one.close()
        refused = [fields for event, fields in told if event == "refused"]
    assert [one["status"] for one in refused] == [401, 422, 413, 404]
    assert refused[0]["reason"] == "send the token: Authorization: Bearer TOKEN"
    assert "no scenario on offer named 'crm/nothing'" in refused[1]["reason"]
    assert "some-handle" not in str(refused)
    for status in (401, 404, 413, 422):
        assert f'simharness_requests_errors_total{{status="{status}"}} 1.0\n' in counts


def test_the_page_of_the_document_loads_nothing(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _), closing(Client(url)) as client:
        status, page = client.ask("GET", "/docs")
        document = client.ask("GET", "/openapi.json")[1]
    assert status == 200
    assert "src=" not in page
    assert re.findall(r"https?://", page) == []
    for path in document["paths"]:
        assert f" {path}</code>" in page
    for name in document["components"]["schemas"]:
        assert f"id='{name}'" in page


def test_an_address_that_cannot_be_bound_is_said() -> None:
    bound = listen("127.0.0.1", 0)
    with bound, pytest.raises(UsageError, match="can't serve on 127"):
        listen("127.0.0.1", bound.getsockname()[1])
    with pytest.raises(UsageError, match="is no address"):
        listen("no.such.host.invalid", 0)


def test_sessions_that_are_dropped_leave_no_place_taken(tmp_path: Path) -> None:
    limits = Limits(sessions=4, idle=0.2)
    scenario = HAZARD + "/sound"
    with http(tmp_path / "run", scenario, limits=limits) as (url, sessions):
        client = Client(url)
        opened = 0
        until = time.monotonic() + 20
        while opened < 24 and time.monotonic() < until:
            status, told = client.ask("POST", "/v1/sessions", {"scenario": scenario, "seed": 1})
            if status == 201:
                opened += 1
            else:
                assert (status, told["error"]["code"]) == (503, "SH-SES-005")
                time.sleep(0.02)
        client.close()
        wait_for(lambda: sessions.counts.expired == 24)
        assert (opened, len(sessions)) == (24, 0)
    assert [line["primary"] for line in read_lines(tmp_path / "run")] == ["X812"] * 24


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
    | st.sampled_from([CRM, "train:1", "list_deals", "get_deal", "finish"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tool", "args", "id", "deal_id", "message", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
BODY = st.dictionaries(
    st.sampled_from(["scenario", "seed", "load", "faults", "calls", "text", "leave", "step"]),
    JSON,
    max_size=4,
)


def test_no_body_breaks_anything_or_reaches_another_session(tmp_path: Path) -> None:
    failures: list[tuple[str, Any]] = []
    with http(tmp_path / "run", told=failures) as (url, _):
        client, other = Client(url), Client(url)
        good = {"scenario": CRM, "seed": 1}
        _, begun = client.ask("POST", "/v1/sessions", good)
        path = f"/v1/sessions/{begun['session_id']}"
        _, watched = other.ask("POST", "/v1/sessions", good)
        before = other.ask("GET", f"/v1/sessions/{watched['session_id']}")

        @settings(max_examples=times(50))
        @given(BODY | JSON, st.sampled_from(["/v1/sessions", f"{path}/step", f"{path}/reset"]))
        def send(body: Any, where: str) -> None:
            status, told = client.ask("POST", where, body)
            assert status in (200, 201, 400, 409, 422, 503), told
            assert "Traceback" not in json.dumps(told)
            if status == 201:
                client.ask("DELETE", f"/v1/sessions/{told['session_id']}")
            elif status == 409:
                assert client.ask("POST", f"{path}/reset", good)[0] == 200

        send()
        assert other.ask("GET", f"/v1/sessions/{watched['session_id']}") == before
        client.close()
        other.close()
    assert failures == []


def test_one_session_is_asked_by_many_at_once(tmp_path: Path) -> None:
    with http(tmp_path / "run") as (url, _):
        client = Client(url)
        _, begun = client.ask("POST", "/v1/sessions", {"scenario": CRM, "seed": 1})
        path = f"/v1/sessions/{begun['session_id']}/step"
        statuses: list[int] = []

        def step() -> None:
            mine = Client(url)
            statuses.append(mine.ask("POST", path, {"calls": [{"tool": "list_deals"}]})[0])
            mine.close()

        threads = [threading.Thread(target=step) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 8
        assert client.ask("GET", path.removesuffix("/step"))[1]["step"] == 8
        client.close()


def test_the_example_of_the_page_prints_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = block_after(ROOT / "docs" / "serve.md", "http example")
    said = [line.rpartition("  # ")[2] for line in code.splitlines() if line.startswith("print(")]
    with http(tmp_path / "run") as (url, _):
        capsys.readouterr()
        exec(compile(code.replace("http://127.0.0.1:8765", url), "serve.md", "exec"), {})
        assert capsys.readouterr().out.splitlines() == said
