"""Each check lets a sound scenario pass, and catches the one thing that it is about."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from simharness.env import Env
from simharness.episode.episode import Episode
from simharness.kernel.guard import guarded
from simharness.recording.recorder import Recorder
from simharness.validate import determinism
from simharness.validate.check import Severity, Status
from simharness.validate.interface import tools_named
from simharness.validate.report import CHECKS, chosen, validate
from simharness.validate.subject import Subject
from tests.validate import planted

if TYPE_CHECKING:
    from simharness.validate.report import Report

HERE = Path(__file__).parent
SEEDS = range(14, 19)
"""The parcel of the first is relabelled at load 8, and that of the second is recalled."""

GAMED = "statistical.gameability_gap"
WHOLE: dict[str, set[str]] = {
    "Undocumented": {"static.manifest"},
    "Harmless": {"static.manifest"},
    "SharedSeeds": {"static.task_distribution_pinning"},
    "NoTimeout": {"static.timeout_ceiling"},
    "HalfAStep": {"static.resource_declaration"},
    "NoSemantics": {"static.dependency_pinning"},
    "SeedDropped": {"runtime.seed_control", "runtime.variety"},
    "Counting": {"runtime.episode_determinism"},
    "Singleton": {"runtime.episode_isolation"},
    "Generous": {"runtime.reward_well_formed"},
    "Forgetful": {"runtime.observation_schema"},
    "Mislabelled": {"runtime.tool_declaration_accuracy", "runtime.contract_kept"},
    "Picky": {"runtime.tool_declaration_accuracy"},
    "Brittle": {"runtime.tool_declaration_accuracy"},
    "Nameless": {"runtime.observation_schema"},
    "Unfilled": {"runtime.task_declaration_accuracy"},
    "Misdirecting": {"runtime.task_declaration_accuracy"},
    "Forecasting": {"runtime.oracle_containment"},
    "Foretelling": {"runtime.oracle_containment"},
    "Filing": {"runtime.host_containment"},
    "Calling": {"runtime.network_policy"},
    "Swallowing": {"runtime.crash_never_a_number"},
    "Telling": {"semantic.no_solution_leakage"},
    "StaleLists": {"runtime.contract_kept"},
    "Lonely": {"runtime.contention_real"},
    "Uniform": {"runtime.variety"},
    "Vague": {"runtime.reward_attribution"},
    "Namesakes": {"runtime.rubric_introspectable"},
    "DoneAlready": {"semantic.goal_false_at_reset"},
    "Moody": {"semantic.verifier_determinism"},
    "Homesick": {"semantic.verifier_portability"},
    "FirstWish": {"semantic.best_attainable"},
    "Fragile": {"semantic.takeover"},
    "Polite": {"semantic.floor_gap", "semantic.mirror_pair", GAMED},
    "Gullible": {"semantic.canary_floor", GAMED},
    "Wordy": {"semantic.canary_floor"},
    "Parroted": {"semantic.mirror_pair", "semantic.canary_floor", GAMED},
    "Mirrorless": {"semantic.mirror_pair", "semantic.canary_floor"},
}
"""What fails of each, all checks made: what it is about, and what follows from that alone."""

ALONE: dict[str, tuple[str, ...]] = {
    "Punctual": ("runtime.no_wall_clock",),
    "Hoarding": ("runtime.resource_bounds",),
    "Tight": ("semantic.resource_envelope",),
    "Demanding": ("semantic.oracle_max", "statistical.reward_reachability"),
    "Openhanded": ("statistical.adversarial_floor", GAMED),
    "Forgiving": ("statistical.difficulty_separation", "statistical.headroom"),
}
"""What fails of those with which much else goes wrong, or which cost much."""


FRESH = ("runtime.episode_determinism", "semantic.verifier_portability")
"""What is skipped where no fresh processes are tried."""


def checked(
    name: str, *ids: str, seeds: range = SEEDS, file: str = "planted.py", processes: bool = False
) -> Report:
    subject = Subject(f"{HERE / file}:{name}/pickup", seeds, processes=processes)
    return validate(subject, chosen(ids))


def failing(report: Report) -> set[str]:
    assert not report.of(Status.ERROR), [one.result for one in report.of(Status.ERROR)]
    return {one.check.id for one in report.of(Status.FAIL)}


def test_a_sound_scenario_passes_and_what_cannot_be_told_is_named() -> None:
    report = checked("Depot", file="depot.py")
    assert report.ok
    assert failing(report) == set()
    assert len(report.made) == len(CHECKS)
    skips = {one.check.id: one.result.evidence[0] for one in report.of(Status.SKIP)}
    assert set(skips) == {
        *FRESH,
        "statistical.difficulty_separation",
        "statistical.headroom",
        "hub.cross_host_determinism",
    }
    assert "--thorough" in skips["statistical.headroom"]
    assert all("no fresh process was tried" in skips[name] for name in FRESH)


def test_fresh_processes_are_looked_at_before_they_are_told_of() -> None:
    report = checked("Depot", *FRESH, file="depot.py", processes=True)
    told = {one.check.id: one.result for one in report.made}
    assert {told[name].status for name in FRESH} == {Status.PASS}
    assert all(told[name].measured["in_fresh_processes"] > 0 for name in FRESH)


def test_a_share_of_few_seeds_fails_only_where_a_bound_refutes_it() -> None:
    reached = "statistical.reward_reachability"
    few = checked("Depot", reached, seeds=SEEDS[:2], file="depot.py").of(Status.SKIP)
    assert [one.check.id for one in few][-1] == reached
    assert "won 2 of 2" in few[-1].result.evidence[0]
    assert "too few seeds" in few[-1].result.evidence[0]
    assert failing(checked("Depot", reached, file="depot.py")) == set()
    assert failing(checked("Demanding", reached)) == {reached}


def test_what_a_prompt_has_called_is_meant_as_a_tool_and_what_it_names_besides_is_not() -> None:
    subject = Subject(f"{HERE / 'depot.py'}:Depot/pickup", SEEDS, processes=False)
    episode = subject.begin(subject.plan(SEEDS[0]))
    for prompt, named in {
        "Call hand_over, label_parcel and then close_depot.": "hand_over label_parcel close_depot",
        "Finally use the tool `print_label`.": "print_label",
        "It says list_shelves.": "list_shelves",
        "Use if_version and parcel_id; under_way, say all_of_it, is no tool.": "",
    }.items():
        assert sorted(tools_named(prompt, episode)) == sorted(named.split())


@pytest.mark.parametrize("name", ["Hashed", "Unordered"])
def test_what_differs_between_processes_alone_is_caught_by_fresh_ones_alone(name: str) -> None:
    assert failing(checked(name, *FRESH)) == set()
    report = checked(name, *FRESH, processes=True)
    assert failing(report) == {FRESH[0]}
    (one,) = report.of(Status.FAIL)
    assert "in a fresh process" in one.result.evidence[0]
    assert one.command.startswith("simharness selfcheck ")
    assert one.command.endswith(" --policy expert --policy random --policy spam")


@pytest.mark.parametrize("name", WHOLE)
def test_a_planted_defect_fails_its_check_and_no_other(name: str) -> None:
    report = checked(name)
    assert failing(report) == WHOLE[name]
    for one in report.of(Status.FAIL):
        assert one.result.evidence
        assert one.command.startswith(
            ("simharness validate ", "simharness run ", "simharness self")
        )


CODES = {
    # defect: the check, and what the taxonomy calls its failure
    "DoneAlready": ("semantic.goal_false_at_reset", "H512"),
    "Polite": ("semantic.floor_gap", "H512"),
    "Gullible": ("semantic.canary_floor", "H520"),
    "Parroted": ("semantic.canary_floor", "H520"),
    "Mirrorless": ("semantic.mirror_pair", "H520"),
    "Demanding": ("semantic.oracle_max", "H513"),
    "Moody": ("semantic.verifier_determinism", "H519"),
}


@pytest.mark.parametrize("name", CODES)
def test_what_is_wrong_with_a_task_has_a_code_once(name: str) -> None:
    check, code = CODES[name]
    wanted = {found for found, _ in CODES.values()}
    codes = {one.check.id: one.result.codes for one in checked(name, *wanted).made}
    assert codes[check] == (code,)


def test_a_sound_task_has_no_code() -> None:
    wanted = {check for check, _ in CODES.values()}
    made = checked("Depot", *wanted, file="depot.py").made
    assert {one.check.id for one in made} > wanted
    assert [one.result.codes for one in made if one.result.codes] == []


@pytest.mark.parametrize("name", ALONE)
def test_a_costly_defect_fails_its_check(name: str) -> None:
    file = "clockwork.py" if name == "Punctual" else "planted.py"
    # Skills are told apart by twenty episodes each.
    seeds = range(100) if name == "Forgiving" else SEEDS
    report = checked(name, *ALONE[name], seeds=seeds, file=file)
    planted.HOARD.clear()
    assert failing(report) == {*ALONE[name]}


def test_the_reference_that_stumbles_is_told_apart() -> None:
    told = checked("Depot", *ALONE["Forgiving"], seeds=range(100), file="depot.py")
    assert failing(told) == set()
    # Besides them stands what they rest on, which is skipped: no fresh process was asked for.
    assert len(told.of(Status.PASS)) == len(ALONE["Forgiving"])


def test_what_the_harness_itself_gets_wrong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def off_by_one(self: Env, *args: Any, **kwargs: Any) -> dict[str, Any]:
        told = own(self, *args, **kwargs)
        return {**told, "step": told["step"] + 1}

    own = Env._info  # pyright: ignore[reportPrivateUsage]
    with monkeypatch.context() as patch:
        patch.setattr(Env, "_info", off_by_one)
        told = checked("Depot", "runtime.state_contract", file="depot.py")
        assert failing(told) == {"runtime.state_contract"}

    def late(self: Recorder, step: int, at: int, kind: str, payload: Any) -> None:
        written(self, step, at + 1, kind, payload)

    written = Recorder.input
    ids = ("runtime.trajectory_record", "semantic.replayability")
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "input", late)
        assert failing(checked("Depot", *ids, file="depot.py")) == {*ids}


def test_noise_in_the_reward_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(f"{HERE / 'depot.py'}:Depot/pickup", SEEDS, processes=False)
    rewards = count()
    monkeypatch.setattr(Episode, "reward", property(lambda self: next(rewards)))
    (check,) = [check for check in CHECKS if check.id == "statistical.variance_bound"]
    assert check.run(subject).status is Status.FAIL


def test_every_check_that_can_be_made_has_a_defect_that_it_catches() -> None:
    caught = {name for ids in (*WHOLE.values(), *ALONE.values()) for name in ids}
    caught |= {"runtime.state_contract", "runtime.trajectory_record", "semantic.replayability"}
    caught |= {"statistical.variance_bound"}
    assert caught == {check.id for check in CHECKS} - {"hub.cross_host_determinism"}


def test_a_nondeterministic_scenario_skips_what_would_measure_chance() -> None:
    report = checked("Counting")
    rests = [one for one in report.made if one.check.needs]
    assert {one.result.status for one in rests} == {Status.SKIP}
    assert {one.result.evidence[0] for one in rests} == {
        "rests on runtime.episode_determinism, which doesn't hold"
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Clocked", "the product calls time.monotonic"),
        ("Mortal", "process 'courier' raised ValueError: the van is empty"),
        ("Meddling", "is put into the start state after the start"),
        ("Shapeless", "KeyError"),
        ("Broken", "ZeroDivisionError"),
    ],
)
def test_what_breaks_in_the_product_is_its_failure_and_told_once(name: str, text: str) -> None:
    with guarded("on"):
        report = checked(name, file="clockwork.py" if name == "Clocked" else "planted.py")
    assert report.of(Status.ERROR) == []
    assert not report.ok
    told = [one for one in report.of(Status.FAIL) if one.result.broken]
    assert [one.result.evidence for one in told if text not in one.result.evidence[0]] == []
    assert len(told) == 1
    first = told[0].check.id
    assert told[0].record()["remediation"] == "mend the product's code: no episode may break"
    rest = [one.result.evidence[0] for one in report.of(Status.SKIP)]
    assert f"needs episodes that don't break; {first} tells what does" in rest


def test_the_form_of_an_answer_is_told_though_the_reference_breaks_on_it() -> None:
    report = checked("Shapeless", "runtime.observation_schema")
    assert failing(report) == {"runtime.observation_schema"}
    (one,) = report.of(Status.FAIL)
    assert "(H413)" in one.result.evidence[0]


def test_what_breaks_an_episode_fails_whatever_was_checked() -> None:
    (one,) = checked("Mortal", "runtime.rubric_introspectable").made
    assert one.check.severity is Severity.WARN
    assert one.fails


def test_what_breaks_in_a_check_is_told_and_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(determinism, "start_of", broken)
    report = checked("Depot", "static", "runtime.seed_control", file="depot.py")
    broke = {one.check.id: one.result.evidence for one in report.of(Status.ERROR)}
    assert [*broke] == ["runtime.seed_control"]
    assert "ZeroDivisionError" in broke["runtime.seed_control"][0]
    assert not report.ok
