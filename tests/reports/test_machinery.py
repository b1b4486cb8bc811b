"""Reports about the machinery around episodes, which no file of actions can tell.

Each test has the number of its report in its name; docs/reports.md lists them beside the files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import simharness as sh
from simharness import env
from simharness.errors import HarnessError
from simharness.kernel import guard, journal
from simharness.recording.reader import read_file
from simharness.rollout.request import Request
from simharness.rollout.run import run
from tests.determinism.culprits import CULPRITS
from tests.reports.graders import FATES
from tests.seeds import pin

if TYPE_CHECKING:
    from simharness.episode.plan import Plan
    from simharness.rollout.summary import Summary

ROOT = Path(__file__).resolve().parent.parent.parent
GRADERS = f"{Path(__file__).parent / 'graders.py'}:Graders"
NEGOTIATION = "crm/negotiation"
LOOK = sh.Call("list_deals", {"stage": "negotiation"})
DONE = sh.Call("finish", {"message": "x"})


def sound(plan: Plan) -> bool:
    """Tell whether an episode is of a shipped scenario, with nothing wrong in it."""
    return not plan.faults and not plan.config and "." not in plan.scenario


def fated(fate: str) -> env.Outcome:
    config = {"instance.fate": FATES.index(fate)}
    return env.run(f"{GRADERS}/fated", seed=1, config=config, load=0, policy="fate")


def test_b48_who_does_nothing_is_paid_in_no_task() -> None:
    """The sound pinned episodes of `null`, of which every shipped scenario has one."""
    pinned = [pin.read_pinned(path) for path in pin.pinned_files()]
    idle = [one for one in pinned if one.policy == "null" and sound(one.plan)]
    assert idle
    assert {one.expect.score for one in idle if one.expect is not None} == {"0.0"}


def test_b68_a_grader_that_breaks_gives_no_reward_and_not_0() -> None:
    broken, failed = fated("breaks"), fated("fails")
    assert (broken.verdict.score, broken.verdict.primary) == (None, "H810")
    assert (str(broken.verdict.kind), broken.verdict.valid) == ("harness", False)
    assert (failed.verdict.score, str(failed.verdict.kind)) == (0, "model")


@pytest.mark.parametrize(
    ("seconds", "resized", "ends", "score"),
    [
        (61, False, "truncated", 0.0),
        (61, True, "truncated", 1.0),
        (60, True, "truncated", 1.0),
        (59, True, "open", None),
    ],
)
def test_b69_time_that_is_up_is_no_ordinary_end(
    seconds: int, resized: bool, ends: str, score: float | None
) -> None:
    """At exactly the limit it is up; what was done by then is graded."""
    game = env.make(f"{GRADERS}/limited", seed=1, load=0)
    part = game.episode.instance["part"]
    if resized:
        game.step(sh.Call("resize", {"part_id": part, "size": 7}), think="0s")
    told = game.step(sh.Call("sleep", {"seconds": seconds}), think="0s")
    if ends == "open":
        assert not told.terminated
        assert not told.truncated
        return
    assert (told.terminated, told.truncated, told.reward) == (False, True, score)
    (end,) = (row for row in game.episode.world.rows if row[0] == journal.END)
    assert game.episode.world.names[end[2]] == "budget"


def test_b73_two_sessions_beside_each_other_share_nothing() -> None:
    alone = env.make(NEGOTIATION, seed=5, on_harness="mark")
    for call in (LOOK, DONE):
        alone.step(call)
    one, other = (env.make(NEGOTIATION, seed=5, on_harness="mark") for _ in range(2))
    one.step(LOOK)
    deal = one.step(sh.Call("list_deals", {})).observation.value["deals"][0]["id"]
    other.step(LOOK)
    one.step(sh.Call("add_note", {"deal_id": deal, "body": "mine"}))
    other.step(DONE)
    assert other.episode.digest == alone.episode.digest


def test_b74_a_reset_leaves_nothing_of_the_world_before() -> None:
    game = env.make(NEGOTIATION, seed=5, on_harness="mark")
    game.reset()
    before = game.episode.product.digests()
    deal = game.step(sh.Call("list_deals", {})).observation.value["deals"][0]["id"]
    game.step(sh.Call("add_note", {"deal_id": deal, "body": "left behind"}))
    game.reset(seed=6)
    assert game.episode.world.ticks == 0
    game.reset(seed=5)
    assert game.episode.product.digests() == before
    game.step(LOOK)
    fresh = env.make(NEGOTIATION, seed=5, on_harness="mark")
    fresh.step(LOOK)
    assert game.episode.digest == fresh.episode.digest


def test_b77_a_tool_that_asks_the_machines_clock_is_stopped(tmp_path: Path) -> None:
    """So a status can't follow the real time, and a recording replays whenever it is played."""
    source = tmp_path / "clocked.py"
    source.write_text(CULPRITS["time"], encoding="utf-8")
    game = env.make(f"{source}:Tiny/scene", seed=1, load=0)
    with guard.guarded(), pytest.raises(HarnessError, match=r"time"):
        game.step(sh.Call("mark", {"thing_id": 1}))
    assert game.episode.reward is None
    assert game.verdict is not None
    assert game.verdict.score is None


def test_b78_a_seed_means_the_same_in_every_process(tmp_path: Path) -> None:
    """Reports that book in one instant, under other hash seeds, zones and locales."""
    file = ROOT / "seeds" / "reports" / "B16-two-requests-one-slot.toml"
    settings = (
        {"PYTHONHASHSEED": "0", "TZ": "UTC", "LANG": "C"},
        {"PYTHONHASHSEED": "12345", "TZ": "Asia/Tokyo", "LANG": "C.UTF-8"},
    )
    out = [tmp_path / f"{number}.simrec" for number in range(len(settings))]
    command = [sys.executable, "-m", "simharness", "report", "record", str(file), "-o"]
    started = [
        subprocess.Popen([*command, str(path)], env={**os.environ, **setting}, cwd=ROOT)
        for path, setting in zip(out, settings, strict=True)
    ]
    assert [process.wait(60) for process in started] == [0, 0]
    digests = {record.digest for path in out for record in read_file(path)}
    assert len(digests) == 1
    assert (
        env.run(NEGOTIATION, seed=1).episode.digest != env.run(NEGOTIATION, seed=2).episode.digest
    )


def test_b85_episodes_that_broke_are_counted_beside_the_mean(tmp_path: Path) -> None:
    """The mean is over those that have a score; how many there were in all is told with it."""
    request = Request(
        scenarios=(f"{GRADERS}/fated",), seeds=range(8), policies=("fate",), loads=("0",)
    )

    def unheard(done: int, total: int, so_far: Summary) -> None:
        assert so_far.episodes == done <= total

    summary = run(request, tmp_path / "run", unheard, breaker=False).summary
    record = summary.record("run")
    plans = map(request.plan, request.entries())
    fates = Counter(FATES[int(env.new_episode(plan, "x").instance["fate"])] for plan in plans)
    passed, broke = fates["passes"], fates["breaks"]
    assert 0 < broke < 8
    assert passed
    assert record["episodes"] == 8
    assert record["score"]["mean"] == pytest.approx(passed / (8 - broke), abs=1e-6)
    assert record["verdicts"]["harness"] == record["quarantined"] == broke
    assert (summary.failures, summary.episodes) == (broke, 8)
