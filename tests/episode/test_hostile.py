"""Whatever an agent sends, its episode ends with a number, and nobody else is blamed for it."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from simharness import env
from simharness.blame.attribution import judge_record
from simharness.blame.verdict import Class
from simharness.episode.replay import replay
from simharness.product.policy import Call
from simharness.recording.reader import read_file

if TYPE_CHECKING:
    from pathlib import Path

    from simharness.product.policy import Action

FINISH = Call("finish", {"message": "done"})
HUGE_KEY = json.dumps({"deal_id": 1, "\x7f" * 1_048_500: 1}, ensure_ascii=False)
SECONDS = 20
"""Wall time that no attack may take; the slowest takes about a tenth of it."""

ATTACKS: dict[str, list[Action]] = {
    "negative ids": [
        Call("get_deal", {"deal_id": -1000}),
        Call("get_deal", {"deal_id": -1}),
        Call("get_contact", {"contact_id": -1}),
        Call("get_approval", {"approval_id": -5}),
    ],
    "ints beyond 64 bits": [
        Call("get_deal", {"deal_id": 2**64}),
        Call("update_deal", {"deal_id": 7, "fields": {"champion_id": 2**80}, "if_version": 2**65}),
        Call("get_deal", {"contact_id": 2**70}),
    ],
    "ints that Python won't read": [Call("get_deal", '{"deal_id":' + "9" * 4400 + "}")],
    "seventy calls at once": [[Call("get_deal", {"deal_id": 1})] * 70],
    "a long key": [Call("get_deal", {"deal_id": 1, "x" * 200_000: 1})],
    "a long reference": [Call("finish", {"message": "done", "refs": ["x" * 20_000]})],
    "a long text": ["not done " * 40_000],
    "many addresses": ["a" * 20_000 + "@" * 20_000],
    "our name in escapes": [
        Call("get_deal", '{"deal_id":1,"\\u0073imharness":1}'),
        Call("get_deal", '{"deal_id":1,"x\\u002epy":1}'),
    ],
    "half a surrogate pair": [Call("say", '{"text":"\\ud800"}')],
    "an oversized turn": [[Call("get_deal", HUGE_KEY)] * 17],
    "sixty-four deep nestings": [[Call("get_deal", "[" * 1_000_000)] * 64],
    "a date that is none": [
        Call("update_deal", {"deal_id": 7, "fields": {"close_on": "2026-13-45"}}),
    ],
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_ends_with_a_number_and_no_blame_for_the_harness(
    name: str, tmp_path: Path
) -> None:
    started = time.perf_counter()
    attacked = env.make("crm/negotiation", seed=7)
    attacked.reset()
    for action in ATTACKS[name]:
        attacked.step(action)
    last = attacked.step(FINISH)
    assert last.reward == 0.0
    assert last.terminated
    assert attacked.verdict is not None
    assert attacked.verdict.kind is Class.MODEL
    assert attacked.verdict.valid
    path = tmp_path / "a.simrec"
    attacked.save(path)
    (record,) = read_file(path)
    assert record.complete
    assert replay(record).digest == attacked.episode.digest
    judged = judge_record(record)
    assert (judged.kind, judged.codes) == (Class.MODEL, attacked.verdict.codes)
    assert time.perf_counter() - started < SECONDS


def test_a_turn_that_waits_on_purpose_is_no_excuse_for_running_out() -> None:
    waiter = env.make("crm/negotiation", seed=7)
    waiter.reset()
    waiter.step([Call("wait", {"seconds": 7200}), Call("get_deal", {"deal_id": 1})])
    assert waiter.verdict is not None
    assert waiter.verdict.primary == "M513"


def test_calls_beyond_the_sixty_fourth_are_refused_and_the_others_served() -> None:
    sender = env.make("crm/negotiation", seed=7, config={"api.rate_limit": "none"})
    sender.reset()
    step = sender.step([Call("get_deal", {"deal_id": 1})] * 65)
    *served, refused = step.observation.results
    assert len(served) == 64
    assert all("value" in result for result in served)
    assert refused["error"]["code"] == "too_many_calls"
