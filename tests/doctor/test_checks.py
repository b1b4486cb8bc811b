"""What goes wrong in an environment is caught by the check that is meant for it, and no other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.doctor.check import Answer
from simharness.doctor.examination import QUICK, Examination, Size
from simharness.doctor.report import CHECKS, chosen, examine
from simharness.doctor.target import Kind, Target
from tests.doctor.openenv_server import serving

if TYPE_CHECKING:
    from simharness.doctor.report import Report

HERE = Path(__file__).parent
CLINIC = HERE / "clinic.py"
DESK = HERE / "desk_server.py"
SMALL = {
    **QUICK,
    "steps": 8,
    "seeds": 2,
    "episodes": 3,
    "places": 8,
    "before": 6,
    "sessions": 9,
    "pings": 200,
}


def examined(
    name: str,
    *checks: str,
    kind: Kind = Kind.FACTORY,
    full: float | None = 1.0,
    bounds: tuple[float, float] | None = None,
    seconds: float = 60.0,
    budget: float = 250.0,
    episodes: int = 3,
    **words: Any,
) -> Report:
    if kind is Kind.FACTORY and ":" not in name:
        name = f"{CLINIC}:{name}"
    exam = Examination(
        target=Target(kind=kind, name=name, seconds=seconds, **words),
        size=Size(**{**SMALL, "episodes": episodes}),
        full=full,
        bounds=bounds,
        seconds=budget,
    )
    return examine(exam, lambda check: f"again {check}", chosen(checks))


def failed(report: Report) -> dict[str, str]:
    """Give the first evidence of each check that failed."""
    return {one.check.id: one.result.evidence[0] for one in report.of(Answer.FAIL)}


def test_a_sound_environment_passes_everything_in_silence() -> None:
    report = examined("Walk")
    assert [(one.check.id, str(one.result.answer)) for one in report.made] == [
        (check.id, "pass") for check in CHECKS
    ]
    assert not any(one.result.evidence for one in report.made)


@pytest.mark.parametrize(
    ("name", "check", "evidence"),
    [
        ("StaleCache", "runtime.episode_isolation", "seed 1 after seed 0 parts from seed 1 alone"),
        ("SharedGlobal", "runtime.session_isolation", "beside two other sessions parts"),
        ("CrashIsZero", "runtime.crash_never_a_number", "a crash at clinic.py:"),
        ("TimeOutIsZero", "runtime.crash_never_a_number", "a time-out at clinic.py:"),
        ("GradedSafely", "runtime.crash_never_a_number", "was paid 0.0 and not 1.0"),
        ("GradedLate", "runtime.crash_never_a_number", "was paid 0.0 and not 1.0"),
        ("Emptied", "runtime.crash_never_a_number", "reset was as ever, but step 1 was paid 1.0"),
        ("Dropped", "runtime.seed_control", "played by two processes that are alike"),
        ("OnlyOnce", "runtime.seed_control", "reset(seed=0), made twice"),
        ("Hashed", "runtime.episode_determinism", "another PYTHONHASHSEED"),
        ("Worn", "runtime.reset_clean", "seed 0 after 6 episodes parts"),
        ("PaysAll", "semantic.floor_gap", "the null agent is paid 30 on the mean, of 1"),
        ("PaysMore", "runtime.reward_well_formed", "to 1.5, and its reward_range is 0 to 1"),
        ("NoNumber", "runtime.reward_well_formed", "a reward is "),
        ("Coerces", "runtime.errors_told", "is answered like an action, with reward 0"),
        ("Leaks", "runtime.resource_bounds", "sessions left"),
        ("LeaksSteps", "runtime.resource_bounds", "160 pings left 3."),
        ("LeaksResets", "runtime.resource_bounds", "160 pings left "),
        ("Slows", "runtime.latency", "it slows down"),
        ("Noisy", "runtime.quiet", "prints to stdout"),
        ("Raises", "runtime.starts", "step 1: ZeroDivisionError: a bug (clinic.py:"),
        ("Dies", "runtime.starts", "its process ended with exit code 7: step 3 of 'one'"),
    ],
)
def test_what_is_wrong_is_caught_by_its_check_and_by_no_other(
    name: str, check: str, evidence: str
) -> None:
    report = examined(name, check)
    assert list(failed(report)) == [check]
    assert evidence in failed(report)[check]
    assert report.answer is Answer.FAIL


@pytest.mark.parametrize("name", ["Fills", "Holds"])
def test_what_is_filled_once_or_held_by_an_episode_that_goes_on_is_no_leak(name: str) -> None:
    assert examined(name, "runtime.resource_bounds").answer is Answer.PASS


def test_how_much_may_leak_unseen_is_told() -> None:
    *_, bounds = examined("Walk", "runtime.resource_bounds").made
    told = bounds.record()["unproved"]
    assert told.startswith("that a leak of less than 12,500 bytes a ping, ")
    assert told.endswith(" bytes a reset, 500,000 bytes a session doesn't add up")


CRASHES = "runtime.crash_never_a_number"


@pytest.mark.parametrize("name", ["Graded", "GradedAloud", "Retries"])
def test_a_crash_that_comes_out_or_is_told_or_mended_passes(name: str) -> None:
    *_, crashes = examined(name, CRASHES).made
    assert (str(crashes.result.answer), crashes.result.evidence) == ("pass", ())
    assert crashes.result.measured["files"] == ["doctor/clinic.py"]


def test_what_is_logged_of_crashes_that_were_raised_on_purpose_is_no_noise() -> None:
    report = examined("Logs", CRASHES, "runtime.quiet")
    assert failed(report) == {}
    assert report.answer is Answer.PASS


def test_a_crash_that_came_to_nothing_where_all_is_paid_alike_is_unknown() -> None:
    *_, crashes = examined("GradedNever", CRASHES).made
    assert str(crashes.result.answer) == "unknown"
    assert "a crash at clinic.py:" in crashes.result.evidence[0]
    assert "came to nothing in steps that are all paid alike" in crashes.result.evidence[0]


def test_wrappers_around_an_environment_of_somebody_else_are_looked_at() -> None:
    name = f"{HERE / 'shapes.py'}:"
    *_, crashes = examined(f"{name}swallows", CRASHES, kind=Kind.FACTORY).made
    assert str(crashes.result.answer) == "fail"
    assert all("at shapes.py:" in one for one in crashes.result.evidence)
    *_, crashes = examined(f"{name}sound", CRASHES, kind=Kind.FACTORY).made
    assert (str(crashes.result.answer), crashes.result.evidence) == ("pass", ())
    files = crashes.result.measured["files"]
    assert {"doctor/shapes.py", "toy_text/frozen_lake.py"} <= {*files}


def test_what_hangs_is_told_with_its_place_and_asked_no_more() -> None:
    report = examined("Hangs", "runtime.starts", "runtime.pings", seconds=2.0)
    found = failed(report)
    assert list(found) == ["runtime.starts"]
    assert "it gave no answer in 2 s: step 3 of 'one'" in found["runtime.starts"]
    assert "clinic.py" in found["runtime.starts"]
    (pings,) = report.of(Answer.UNKNOWN)
    assert pings.result.evidence == ("rests on runtime.starts, which doesn't hold",)


def test_what_cannot_be_told_is_unknown_and_not_a_pass() -> None:
    constant = examined("Constant", "runtime.seed_control")
    (one,) = constant.of(Answer.UNKNOWN)
    assert one.check.id == "runtime.seed_control"
    assert "2 seeds give one episode" in one.result.evidence[0]
    assert constant.answer is Answer.UNKNOWN
    paid = examined("PaysAll", "semantic.floor_gap", full=None)
    assert "give --full R" in paid.of(Answer.UNKNOWN)[0].result.evidence[0]


@pytest.mark.parametrize(
    ("full", "answer"),
    [(-10.0, "fail"), (-1.0, "fail"), (0.0, "pass"), (-0.5, "pass"), (None, "unknown")],
)
def test_a_full_reward_of_no_more_than_0_is_one_to_be_held_against(
    full: float | None, answer: str
) -> None:
    *_, floor = examined("Fined", "semantic.floor_gap", full=full).made
    assert str(floor.result.answer) == answer


def test_one_episode_that_reaches_a_full_reward_below_0_leaves_it_unknown() -> None:
    # Some end where there is no fine, for 0; on the mean they are fined more than 0.1.
    *_, floor = examined("FinedUnlessThere", "semantic.floor_gap", full=-0.1).made
    assert str(floor.result.answer) == "unknown"
    assert "one of their episodes is paid 0, of -0.1" in floor.result.evidence[0]


def test_time_that_is_used_up_leaves_the_rest_unknown() -> None:
    report = examined("Slows", "runtime.pings", budget=3.0)
    (one,) = report.of(Answer.UNKNOWN)
    assert one.check.id == "runtime.pings"
    assert "time" in one.result.evidence[0]


def test_rewards_out_of_the_range_that_was_given_fail() -> None:
    report = examined("PaysAll", "runtime.reward_well_formed", bounds=(0.0, 0.5))
    assert failed(report) == {
        "runtime.reward_well_formed": "rewards are from 1 to 1, asked for 0 to 0.5"
    }


def test_what_to_do_about_rewards_out_of_range_is_of_its_own() -> None:
    for name, remedy in (("PaysMore", "pay within the range"), ("NoNumber", "raise, or say that")):
        *_, rewards = examined(name, "runtime.reward_well_formed").made
        assert rewards.record()["remediation"].startswith(remedy)
    assert not failed(examined("PaysMore", "runtime.reward_well_formed", bounds=(0.0, 2.0)))
    assert not failed(examined("PaysMoreUnsaid", "runtime.reward_well_formed"))


@pytest.mark.parametrize(("full", "answer"), [(1.0, "unknown"), (1.5, "pass")])
def test_an_episode_that_is_paid_more_than_full_reward_leaves_it_unknown(
    full: float, answer: str
) -> None:
    *_, floor = examined("PaysMore", "semantic.floor_gap", full=full, episodes=12).made
    assert str(floor.result.answer) == answer
    if answer == "unknown":
        assert "paid 1.5, more than the 1 that --full gives" in floor.result.evidence[0]


def test_keys_that_only_name_a_session_can_be_left_out() -> None:
    assert list(failed(examined("Named", "runtime.seed_control"))) == ["runtime.seed_control"]
    assert not failed(examined("Named", "runtime.seed_control", ignored=("episode_id",)))


# Servers


def desk(*words: object) -> str:
    return " ".join(map(str, (sys.executable, DESK, *words)))


FORM = ("runtime.session_isolation", "runtime.errors_told", "runtime.quiet")


def test_a_sound_mcp_server_passes() -> None:
    report = examined(desk(), *FORM, "runtime.resource_bounds", kind=Kind.MCP)
    assert failed(report) == {}
    assert report.answer is Answer.PASS


@pytest.mark.parametrize(
    ("words", "check", "evidence"),
    [
        (("garbage",), "runtime.quiet", "such as 'loading rows ...'"),
        (("dies",), "runtime.starts", "lost: the server ended with exit code 9"),
    ],
)
def test_what_is_wrong_with_an_mcp_server_is_told(
    words: tuple[str, ...], check: str, evidence: str
) -> None:
    found = failed(examined(desk(*words), check, kind=Kind.MCP))
    assert list(found) == [check]
    assert evidence in found[check]


@pytest.mark.parametrize("name", ["game", "episode", "sessionId"])
def test_what_the_beginning_answers_is_sent_with_every_call_whatever_its_name(name: str) -> None:
    report = examined(desk("handle", name), "runtime.errors_told", kind=Kind.MCP)
    assert report.answer is Answer.PASS
    assert report.made[0].result.measured == {
        "steps": 8, "tools": 2, "begins": "start", "handed": [name],
    }  # fmt: skip


def test_a_seed_that_is_ignored_is_seen_behind_a_handle() -> None:
    # The chance of a process goes on, so a second reset to a seed gives another start.
    report = examined(desk("handle", "game", "dropped"), "runtime.seed_control", kind=Kind.MCP)
    assert list(failed(report)) == ["runtime.seed_control"]


def test_steps_that_are_all_refused_are_no_pass_of_anything() -> None:
    name = desk("handle", "game", "unsaid")
    report = examined(name, "runtime.seed_control", "runtime.pings", kind=Kind.MCP)
    starts, *rest = report.made
    assert starts.result.answer is Answer.UNKNOWN
    assert "16 of 16 steps are refused" in starts.result.evidence[0]
    assert "no such episode" in starts.result.evidence[0]
    assert {one.result.evidence for one in rest} == {
        ("rests on runtime.starts, which isn't known to hold",)
    }


def test_what_an_answer_says_of_the_end_under_ended_is_read() -> None:
    checks = ("runtime.reward_well_formed", "semantic.floor_gap")
    _, rewards, floor = examined(desk("ended"), *checks, kind=Kind.MCP).made
    assert (rewards.result.measured["low"], rewards.result.measured["high"]) == (0.25, 0.25)
    assert (floor.result.measured["cut"], str(floor.result.answer)) == (0, "pass")


def test_mcp_sessions_that_share_a_file_are_told(tmp_path: Path) -> None:
    name = desk("shared", tmp_path / "count")
    found = failed(examined(name, "runtime.session_isolation", kind=Kind.MCP))
    assert list(found) == ["runtime.session_isolation"]


def test_an_mcp_server_without_seeds_begins_with_its_process() -> None:
    report = examined(desk("unseeded"), "runtime.reset_clean", kind=Kind.MCP)
    assert failed(report) == {}
    assert [one.check.id for one in report.of(Answer.UNKNOWN)] == ["runtime.seed_control"]


def test_a_sound_openenv_server_passes() -> None:
    with serving() as url:
        report = examined(url, *FORM, "runtime.pings", "semantic.floor_gap", kind=Kind.OPENENV)
    assert failed(report) == {}
    assert [one.check.id for one in report.of(Answer.SKIP)] == ["runtime.episode_determinism"]


def test_openenv_sessions_that_share_an_environment_are_told() -> None:
    with serving(shared=True) as url:
        found = failed(examined(url, "runtime.session_isolation", kind=Kind.OPENENV))
    assert list(found) == ["runtime.session_isolation"]
