"""A model plays by the chat API of a server that does as a test says."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

import simharness as sh
from simharness.blame.quarantine import reason_for
from simharness.chat import provider as providers
from simharness.chat.usage import USAGE
from simharness.episode.messages import chat_messages
from simharness.episode.step import UNHEARD
from simharness.errors import ProviderRefused, UsageError
from simharness.recording.reader import read_file
from simharness.units import MS, SECOND
from tests.chat.conftest import KEY
from tests.chat.provider import Reply, Scripted, calls, cut, drip, hang, raw, says, serving, status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from simharness.env import Outcome

CRM = "crm/negotiation"
SEED = 7
FINISH = ("f", "finish", '{"message":"Done.","outcome":"done"}')


def played(
    *replies: Reply | None,
    options: str = "",
    by: Callable[[int], Reply | None] | None = None,
    **settings: Any,
) -> tuple[Outcome, Scripted]:
    """Let a scripted model play, which answers so first and then as the reference would."""
    scripted = Scripted(CRM, [SEED], by or replies)
    with serving(scripted):
        name = f"openai:scripted{options and ','}{options}"
        outcome = sh.run(CRM, seed=SEED, policy=name, base_url=scripted.url, **settings)
    return outcome, scripted


def usage_of(outcome: Outcome) -> dict[str, int]:
    usage: dict[str, int] = outcome.episode.notes[USAGE]
    return usage


@pytest.mark.parametrize("options", ["", "stream=yes"])
def test_a_model_that_plays_as_the_reference_leaves_its_recording(
    tmp_path: Path, options: str
) -> None:
    outcome, scripted = played(options=options)
    assert outcome.episode.digest == sh.run(CRM, seed=SEED).episode.digest
    assert (outcome.verdict.score, outcome.verdict.valid) == (1_000_000, True)
    usage = usage_of(outcome)
    assert usage["requests"] == len(scripted.bodies) == len(outcome.episode.steps)
    assert usage["prompt_tokens"] > usage["completion_tokens"] > 0
    outcome.episode.save(tmp_path / "x.simrec")
    # The server is gone.
    assert sh.replay(tmp_path / "x.simrec").digest == outcome.episode.digest
    assert sh.audit(tmp_path / "x.simrec").headline == outcome.verdict.headline == "ok"
    record = read_file(tmp_path / "x.simrec")[0]
    assert record.info[USAGE] == usage


def test_what_the_model_was_sent_is_what_the_recording_tells(tmp_path: Path) -> None:
    outcome, scripted = played(
        calls(("", "list_deals", "{}"), ("b", "get_deal", '{"deal_id":1}'), text="Let me look."),
        says("I have looked."),
        calls(("c", "get_deal", '{"deal_id": 2}')),
        calls(FINISH, text="That is all."),
    )
    outcome.episode.save(tmp_path / "x.simrec")
    (record,) = read_file(tmp_path / "x.simrec")
    messages = chat_messages(record)
    assert messages[:-2] == scripted.bodies[-1]["messages"]
    assert messages[-2]["content"] == "That is all."
    assert {"role": "user", "content": UNHEARD} in messages
    first, second = messages[1]["tool_calls"]
    assert (first["id"], second["id"]) == ("call_1_0", "b")
    assert outcome.episode.count == 4
    assert sh.replay(tmp_path / "x.simrec").digest == outcome.episode.digest
    chat = tmp_path / "chat.jsonl"
    chat.write_text("".join(json.dumps(m) + "\n" for m in messages), encoding="utf-8")
    again = sh.run(CRM, seed=SEED, policy=f"transcript:{chat}")
    assert again.episode.digest == outcome.episode.digest


def test_the_model_is_given_the_tools_of_the_scenario() -> None:
    outcome, scripted = played(calls(FINISH), options="temperature=0,max_tokens=100")
    body = scripted.bodies[0]
    tools = outcome.episode.product.tools.values()
    assert [t["function"] for t in body["tools"]] == [tool.schema for tool in tools]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("scripted", 0, 100)
    assert scripted.headers[0]["authorization"] == f"Bearer {KEY}"


def test_broken_calls_are_the_models_and_servers_get_a_history_that_they_take() -> None:
    outcome, scripted = played(
        calls(("a", "get_deal", '{"deal_id": 4'), ("b", "no tool!", "\ud800"), ("c", "", "[]")),
        calls(FINISH),
    )
    told = scripted.bodies[1]["messages"]
    errors = [json.loads(m["content"])["error"]["code"] for m in told if m["role"] == "tool"]
    assert errors == ["invalid_arguments", "unknown_tool", "unknown_tool"]
    sent = [call["function"] for call in told[1]["tool_calls"]]
    assert [one["name"] for one in sent] == ["get_deal", "no_tool_", "unnamed"]
    assert [one["arguments"] for one in sent] == ["{}"] * 3
    recorded = outcome.episode.inputs[0].calls
    assert recorded[0].arguments == '{"deal_id": 4'
    assert recorded[1].arguments == "\ud800"
    assert str(outcome.verdict.kind) == "model"
    assert "M210" in outcome.verdict.codes


def test_a_model_that_only_talks_is_told_once_that_nobody_reads_it() -> None:
    outcome, scripted = played(says("What shall I do?"), says("Well \ud800."))
    assert [given.kind for given in outcome.episode.inputs] == ["text", "text", "stop"]
    assert scripted.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": "What shall I do?"},
        {"role": "user", "content": UNHEARD},
    ]
    assert str(outcome.verdict.kind) == "model"


def test_a_model_that_answers_nothing_has_gone_away() -> None:
    outcome, scripted = played(says(" "))
    assert [given.kind for given in outcome.episode.inputs] == ["stop"]
    assert len(scripted.bodies) == 1


# --- think time -----------------------------------------------------------------------------------


def thinks(options: str) -> list[int]:
    outcome, _ = played(calls(("a", "list_deals", "{}")), calls(FINISH), options=options)
    starts = [0, *(step.t for step in outcome.episode.steps)]
    return [
        given.at - before for given, before in zip(outcome.episode.inputs, starts, strict=False)
    ]


def test_think_times_are_drawn_fixed_or_made_of_the_answer() -> None:
    drawn = sh.make(CRM, seed=SEED).episode
    assert thinks("") == [drawn.think_ticks(1), drawn.think_ticks(2)]
    assert thinks("think=fixed:3s") == [3 * SECOND] * 2
    length = len("list_deals{}"), len(FINISH[1] + FINISH[2])
    assert thinks("think=by_length") == [SECOND + 15 * MS * n for n in length]
    assert all(0 < ticks < 60 * SECOND for ticks in thinks("think=wall"))


# --- failures of the provider ---------------------------------------------------------------------

NO_CHOICES = json.dumps({"choices": []}).encode()
OUTGROWN = status(
    400,
    "This model's maximum context length is 8192 tokens, your messages have 9000.",
    "context_length_exceeded",
)


@pytest.mark.parametrize("stream", ["no", "yes"])
@pytest.mark.parametrize(
    ("reply", "code", "told", "requests"),
    [
        (status(429, "Slow down."), "X810", "status 429: Slow down.", 3),
        (status(429, "Pay first.", "insufficient_quota"), "X810", "Pay first.", 1),
        (status(500, "Oh no."), "X810", "status 500: Oh no.", 3),
        (status(503), "X810", "status 503", 3),
        (status(401, f"Wrong key {KEY}."), "X810", "status 401: Wrong key [key].", 1),
        (status(404, "No such model."), "X810", "status 404: No such model.", 1),
        (OUTGROWN, "X811", "maximum context length is 8192", 1),
        (cut, "X810", "", 3),
        (raw(NO_CHOICES), "X810", "no choices", 3),
        (raw(b"<html>busy</html>"), "X810", "neither JSON nor a stream", 3),
        (raw(b'data: {"error": {"message": "gone mad"}}\n\n'), "X810", "gone mad", 3),
        (status(429, retry_after="3600"), "X810", "asks to wait for 3600 s", 1),
    ],
    ids=range(12),
)
def test_a_provider_that_fails_ends_the_episode_from_outside(
    tmp_path: Path, reply: Reply, code: str, told: str, requests: int, stream: str
) -> None:
    outcome, scripted = played(
        by=lambda number: None if number < 3 else reply, options=f"retries=2,stream={stream}"
    )
    verdict = outcome.verdict
    assert (str(verdict.kind), verdict.primary) == ("external", code)
    assert (verdict.score, verdict.goal, verdict.valid) == (None, None, False)
    assert verdict.sentence.startswith("model 'scripted' at http://127.0.0.1:")
    assert told in verdict.sentence
    assert KEY not in verdict.sentence
    assert reason_for(verdict).startswith(code)
    assert outcome.episode.reward is None
    assert outcome.episode.count == 3
    assert len(scripted.bodies) == 3 + requests
    assert usage_of(outcome)["retries"] == requests - 1
    outcome.episode.save(tmp_path / "x.simrec")
    assert sh.replay(tmp_path / "x.simrec").digest == outcome.episode.digest
    assert sh.audit(tmp_path / "x.simrec") == verdict
    assert KEY.encode() not in (tmp_path / "x.simrec").read_bytes()


@pytest.mark.parametrize("reply", [hang, drip], ids=["hang", "drip"])
def test_an_answer_that_never_ends_is_given_up(reply: Reply) -> None:
    began = time.monotonic()
    outcome, _ = played(calls(("a", "list_deals", "{}")), reply, options="timeout=1s,retries=0")
    assert outcome.verdict.primary == "X810"
    assert "no answer in 1 s" in outcome.verdict.sentence
    assert time.monotonic() - began < 30


def test_an_answer_of_any_length_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "ANSWER_BYTES_MAX", 100_000)
    outcome, _ = played(says("x" * 100_000), options="retries=2")
    assert (outcome.verdict.primary, usage_of(outcome)["requests"]) == ("X810", 1)
    assert "longer than 100000 bytes" in outcome.verdict.sentence


def test_an_episode_may_ask_for_so_long_and_no_longer() -> None:
    wait = status(429, retry_after="1")
    outcome, _ = played(wait, wait, wait, options="limit=2s")
    assert outcome.verdict.primary == "X810"
    assert "has no time left to ask again" in outcome.verdict.sentence


@pytest.mark.parametrize(
    "reply",
    [status(429), status(500), cut, raw(NO_CHOICES), raw(b"{")],
    ids=range(5),
)
def test_what_passes_is_asked_again_and_leaves_no_trace(reply: Reply) -> None:
    outcome, _ = played(reply, reply)
    assert outcome.episode.digest == sh.run(CRM, seed=SEED).episode.digest
    assert usage_of(outcome)["retries"] == 2


def test_the_wait_that_a_provider_asks_for_is_kept() -> None:
    began = time.monotonic()
    played(status(429, retry_after="0.7"), status(429, retry_after_ms="300"), calls(FINISH))
    assert time.monotonic() - began > 1.0
    began = time.monotonic()
    # Dates know whole seconds, so this one lies 1 to 2 seconds ahead.
    date = formatdate(time.time() + 2, usegmt=True)
    played(status(503, retry_after=date), calls(FINISH))
    assert time.monotonic() - began > 0.9


# --- refusals at the start ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        status(400, "tools are not supported"),
        status(401, f"Bearer {KEY}"),
        status(404, "no model"),
        status(403),
        status(429, "Pay first.", "insufficient_quota"),
    ],
    ids=range(5),
)
def test_a_provider_that_takes_nothing_from_the_start_is_said_at_once(reply: Reply) -> None:
    with pytest.raises(ProviderRefused) as error:
        played(reply)
    assert "model 'scripted' at http://127.0.0.1:" in str(error.value)
    assert KEY not in str(error.value)


def test_a_server_that_is_not_there_is_said_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ProviderRefused, match="can't be reached"):
            sh.run(CRM, policy="openai:m", base_url=url)


def test_what_is_missing_is_said_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "two words")
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds characters") as error:
        sh.run(CRM, policy="openai:m")
    assert "two words" not in str(error.value)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="set OPENAI_API_KEY, or give --base-url"):
        sh.run(CRM, policy="openai:m")
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(
        UsageError, match=r"needs the package openai, which .*; run: pip install .*\[openai\]"
    ):
        sh.run(CRM, policy="openai:m", base_url="http://127.0.0.1:1/v1")


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    _, scripted = played(calls(FINISH))
    assert scripted.headers[0]["authorization"] == "Bearer none"


def test_scripts_need_no_package_of_a_provider(tmp_path: Path) -> None:
    code = "import sys; from simharness.env import run; run('crm/negotiation', policy='null'); "
    code += "assert 'openai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
