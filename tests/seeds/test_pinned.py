from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simharness.episode.policies import TRANSCRIPT, policy_names
from simharness.episode.replay import replay
from simharness.errors import UsageError
from simharness.product.registry import load_product, load_scenario, product_names
from simharness.recording.reader import read_file
from tests.seeds import pin

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.seeds

FILES = pin.pinned_files()
SOUND = """\
id = "pinned"
title = "nothing is done"
scenario = "crm/negotiation"
seed = 1
load = "0"
faults = []
policy = "null"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "pinned.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_pinned_episode_comes_to_what_was_pinned(path: Path, tmp_path: Path) -> None:
    pinned = pin.read_pinned(path)
    if missing := load_scenario(pinned.plan.scenario)[0].missing():
        pytest.skip(f"needs {missing}")
    outcome = pin.play(pinned)
    changed = pin.changes(pinned.expect, pin.came_to(outcome))
    assert changed == [], f"{pinned.title}; if this was meant: {pin.COMMAND}"
    file = tmp_path / "pinned.simrec"
    outcome.episode.save(file)
    (record,) = read_file(file)
    assert replay(record).digest == outcome.episode.digest


def test_every_policy_has_a_pinned_episode() -> None:
    """Each in some scenario of its product; the reference and the idle one in every scenario."""
    pinned = [pin.read_pinned(path) for path in FILES]
    for name in product_names():
        scenarios = load_product(name).scenarios
        there = {(p.plan.scenario, p.policy) for p in pinned}
        for scenario in scenarios:
            assert {(scenario.id, "expert"), (scenario.id, "null")} <= there
        own = {policy for scenario, policy in there if scenario.partition("/")[0] == name}
        assert {policy for scenario in scenarios for policy in policy_names(scenario)} <= own
    assert any(p.policy.startswith(TRANSCRIPT) for p in pinned)


def test_every_fault_has_a_pinned_episode_in_which_it_shows() -> None:
    """And two of the reference that end differently, where it costs the reference the goal."""
    shows: set[str] = set()
    scores: dict[str, set[str]] = {}
    for pinned in map(pin.read_pinned, FILES):
        product, _ = load_scenario(pinned.plan.scenario)
        for fault in pinned.plan.faults:
            assert fault in {f.id for f in product.faults}
            if pinned.expect is not None and pinned.plan.load == 8000:
                if not pinned.expect.valid:
                    shows.add(fault)
                if pinned.policy == "expert":
                    scores.setdefault(fault, set()).add(pinned.expect.score)
    assert shows == {fault.id for name in product_names() for fault in load_product(name).faults}
    assert all(found == {"0.0", "1.0"} for found in scores.values() if "0.0" in found)
    assert len(scores) >= 2


def test_pinned_showcases_are_the_ones_that_the_demo_shows() -> None:
    for name in product_names():
        for showcase in load_product(name).showcases:
            for form, faults in (("faulty", showcase.faults), ("sound", ())):
                pinned = pin.read_pinned(pin.FOLDER / f"{name}-{showcase.number}-{form}.toml")
                plan = pinned.plan
                config = {**plan.config, **{f"instance.{k}": v for k, v in plan.pins.items()}}
                assert (plan.scenario, plan.seed) == (showcase.scenario, showcase.number)
                assert plan.load == int(showcase.load) * 1000
                assert (plan.faults, pinned.policy) == (faults, showcase.policy)
                assert config == showcase.config


ACCEPTED = {
    "crm-42-faulty": ("harness", "H112", "hindered", "closed"),
    "crm-42-sound": ("ok", "", "none", "none"),
    "crm-42-as-of-ignored": ("model", "M610", "hindered", "none"),
    "crm-42-fair-race": ("ambiguous", "A110", "none", "none"),
    "crm-42-repetition": ("model", "M310", "hindered", "none"),
    "weak-given-null": ("harness", "H512", "helped", "open"),
    "weak-others-waiting": ("harness", "H517", "helped", "none"),
    "marketplace-87-faulty": ("harness", "H221", "hindered", "closed"),
    "marketplace-87-sound": ("ok", "", "none", "none"),
    "helpdesk-203-faulty": ("harness", "H511", "helped", "open"),
    "helpdesk-203-expert": ("ok", "", "none", "none"),
}


def test_whose_fault_each_kind_of_episode_is_and_how_that_is_proved_is_pinned() -> None:
    for name, told in ACCEPTED.items():
        expect = pin.read_pinned(pin.FOLDER / f"{name}.toml").expect
        assert expect is not None
        assert (expect.kind, expect.primary, expect.effect, expect.proof) == told


def test_a_shuffled_schedule_is_pinned() -> None:
    pinned = pin.read_pinned(pin.FOLDER / "crm-shuffled.toml")
    assert pinned.plan.schedule == {"policy": "random", "seed": 7}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id = ", r"pinned\.toml: not TOML: "),
        (SOUND + 'title = "again"\n', r"pinned\.toml: not TOML: "),
        (SOUND + "sead = 1\n", r"pinned\.toml: no key named 'sead'; did you mean 'seed'"),
        (SOUND + "[expect]\nsum = 1\n", r"pinned\.toml, \[expect\]: no key named 'sum'; known: "),
        (SOUND + "[expect]\nsteps = 1\n", r"pinned\.toml, \[expect\]: digest is missing"),
        (SOUND.replace('load = "0"\n', ""), r"pinned\.toml: load is missing; expected id, "),
        (SOUND.replace("seed = 1", 'seed = "1"'), r"pinned\.toml: seed is '1', expected int"),
        (SOUND.replace("seed = 1", "seed = true"), r"pinned\.toml: seed is True, expected int"),
        (SOUND.replace('"pinned"', '"other"'), r"pinned\.toml: id is 'other', expected 'pinned'"),
        (SOUND.replace('"0"', '"much"'), r"pinned\.toml: load 'much' is not a number"),
        (SOUND.replace('"null"', '"nil"'), r"pinned\.toml: no policy .* named 'nil'; .*'null'"),
        (SOUND.replace("faults = []", 'faults = ["x"]'), r"pinned\.toml: no fault named 'x'"),
        (SOUND.replace("crm/neg", "crm/Neg"), r"pinned\.toml: no scenario .*'negotiation'"),
        (SOUND + "[config]\ndeal = 1\n", r"pinned\.toml: no knob named 'deal'"),
        (SOUND + "[config]\ninstance.deal = 0\n", r"pinned\.toml: instance\.deal = 0 is out of"),
        (
            SOUND + 'schedule = "x"\n',
            r"pinned\.toml: scheduling policy 'x' is not known; give fifo",
        ),
    ],
)
def test_a_bad_file_is_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match="^" + message):
        pin.play(pin.read_pinned(path))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pinned.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"^pinned\.toml: not TOML: 'utf-8'"):
        pin.read_pinned(path)


def test_a_folder_without_pinned_episodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pinned episodes"):
        pin.pinned_files(tmp_path)


def test_pinning_writes_the_expectation_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, SOUND + "\n[config]\ninstance.deal = 42\n")
    assert pin.main([str(path), "--check"]) == 1
    assert path.read_text(encoding="utf-8").count("[expect]") == 0
    assert pin.main([str(path)]) == 0
    pinned = path.read_text(encoding="utf-8")
    assert pinned.startswith(SOUND + "\n[config]\ninstance.deal = 42\n\n[expect]\ndigest = ")
    assert pin.main([str(path), "--check"]) == 0
    stale = pinned.replace("steps = 1\n", "steps = 2\n")
    assert stale != pinned
    write(tmp_path, stale)
    capsys.readouterr()
    assert pin.main([str(path)]) == 0
    assert "steps: 2 -> 1" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == pinned


def test_other_seeds_are_tried_without_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, SOUND)
    assert pin.main([str(path), "--try", "2"]) == 0
    told = (
        "pinned\n  seed 0: score 0.0, model M511, valid\n  seed 1: score 0.0, model M511, valid\n"
    )
    assert capsys.readouterr().out == told
    assert path.read_text(encoding="utf-8") == SOUND


def test_pinning_a_bad_file_says_so_and_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pin.main([str(tmp_path / "pinned.toml")]) == 2
    assert capsys.readouterr().err.startswith("pinned.toml: can't be read: ")
