"""Recordings outlive changes: refused by name where they can't be replayed, patched where they can.

A small product is changed under its recordings, as a release changes it under its users'.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import simharness.episode.plan as plan_module
from simharness.cli import call
from simharness.env import audit, run
from simharness.episode.episode import Episode
from simharness.episode.plan import Plan
from simharness.episode.replay import plan_of, replay
from simharness.errors import (
    DamagedRecording,
    Divergence,
    OtherFormat,
    OtherKernel,
    OtherModel,
    OtherPatch,
    UsageError,
    VersionError,
)
from simharness.models.crm import Crm
from simharness.recording.format import FrameType, footer_payload
from simharness.recording.reader import EpisodeRecord, parse, read_file
from simharness.recording.writer import FrameLog
from simharness.values import pack
from tests.determinism.culprits import CLEAN

if TYPE_CHECKING:
    from pathlib import Path

DOUBLED = CLEAN.replace('"size": size()', '"size": 2 * size()')
PATCHED = CLEAN.replace(
    '"size": size()', '"size": 2 * size() if self.patched("doubled") else size()'
).replace('    name = "tiny"\n', '    name = "tiny"\n    patches = ("doubled",)\n')
TWICE = PATCHED.replace('("doubled",)', '("doubled", "tidied")').replace(
    '"label": label()', '"label": label().upper() if self.patched("tidied") else label()'
)


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path / "tiny.py")


class Product:
    """A product whose source is changed between two episodes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scenario = f"{path}:Tiny/scene"

    def becomes(self, source: str) -> None:
        """Install another version."""
        for name in [name for name in sys.modules if name.startswith("simharness_product_")]:
            del sys.modules[name]
        self.path.write_text(source, encoding="utf-8")

    def record(self, source: str) -> EpisodeRecord:
        """Record an episode of a version."""
        self.becomes(source)
        return record_of(run(self.scenario, seed=1, load=0).episode)


def record_of(episode: Episode) -> EpisodeRecord:
    assert isinstance(episode.sink, FrameLog)
    return parsed(episode.sink)


# --- patches -------------------------------------------------------------------------------------


def test_a_recording_made_before_a_patch_replays_identical_after_it(product: Product) -> None:
    before = product.record(CLEAN)
    assert "patches" not in before.header
    product.becomes(PATCHED)
    again = replay(before)
    assert again.digest == before.digest
    assert not again.episode.product.patched("doubled")


def test_without_the_old_branch_it_diverges(product: Product) -> None:
    before = product.record(CLEAN)
    product.becomes(DOUBLED)
    with pytest.raises(Divergence, match="delta: recorded"):
        replay(before)


def test_a_new_recording_runs_with_the_patch_and_lists_it(product: Product) -> None:
    before, after = product.record(CLEAN), product.record(PATCHED)
    assert after.header["patches"] == ["doubled"]
    assert before.digest != after.digest
    again = replay(after)
    assert again.digest == after.digest
    assert again.episode.product.patched("doubled")


def test_a_recording_between_two_patches_runs_with_the_first_alone(product: Product) -> None:
    between = product.record(PATCHED)
    product.becomes(TWICE)
    again = replay(between)
    assert again.digest == between.digest
    in_force = [again.episode.product.patched(name) for name in ("doubled", "tidied")]
    assert in_force == [True, False]
    assert product.record(TWICE).header["patches"] == ["doubled", "tidied"]


def test_re_runs_of_an_old_recording_keep_to_its_patches(product: Product, tmp_path: Path) -> None:
    product.becomes(CLEAN)
    outcome = run(product.scenario, seed=1, load=0)
    file = tmp_path / "old.simrec"
    outcome.episode.save(file)
    product.becomes(PATCHED)
    assert audit(file).score == outcome.verdict.score == 1_000_000
    (record,) = read_file(file)
    assert plan_of(record).patches == ()
    assert not Episode(replace(plan_of(record), seed=5)).product.patched("doubled")


def test_an_unknown_patch_is_a_version_error_that_names_it(product: Product) -> None:
    after = product.record(PATCHED)
    product.becomes(DOUBLED)
    with pytest.raises(OtherPatch, match="needs tiny patch 'doubled', which this build") as caught:
        replay(after)
    assert caught.value.code == "SH-VER-004"
    assert "version of tiny that recorded it" in caught.value.hint


def test_a_patch_that_isnt_declared_is_an_error_and_not_false(product: Product) -> None:
    product.becomes(PATCHED.replace('patched("doubled")', 'patched("dubbled")'))
    outcome = run(product.scenario, seed=1, load=0)
    assert outcome.verdict.score is None
    assert "asks for patch 'dubbled', which it doesn't declare" in str(outcome.episode.aborted)


@pytest.mark.parametrize("patches", ['("doubled")', '("doubled", "doubled")', "(1,)", '("",)'])
def test_patches_that_are_no_names_are_refused(product: Product, patches: str) -> None:
    product.becomes(PATCHED.replace('("doubled",)', patches))
    with pytest.raises(UsageError, match=r"patches of Tiny are .*; give a tuple|can't be imported"):
        run(product.scenario, seed=1, load=0)


@pytest.mark.parametrize("patches", ["doubled", [1], {"doubled": 1}])
def test_a_header_with_patches_of_another_shape_is_damaged(patches: object) -> None:
    with pytest.raises((DamagedRecording, OtherPatch)):
        plan_of(headed(patches=patches))


# --- messages ------------------------------------------------------------------------------------


def headed(info: dict[str, object] | None = None, /, **changes: object) -> EpisodeRecord:
    """Give a recording whose header says something else."""
    return parsed(episode_with(info, **changes))


def parsed(log: FrameLog) -> EpisodeRecord:
    (record,) = parse(log.to_bytes())
    return record


def episode_with(info: dict[str, object] | None = None, /, **changes: object) -> FrameLog:
    header = Plan(scenario="crm/negotiation", load=0).header(Crm, {"deal": 1})
    log = FrameLog()
    log.write(pack([FrameType.HEADER, {**header, **changes}]), FrameType.HEADER)
    if info is not None:
        log.write(pack([FrameType.INFO, info]), FrameType.INFO)
    log.write(footer_payload(0, 0, log.chain), FrameType.FOOTER)
    return log


CASES: dict[str, tuple[dict[str, object], type[VersionError], str, str]] = {
    "format": ({"format": 2}, OtherFormat, "SH-VER-001", "format 2, this build reads up to 1"),
    "kernel": (
        {"kernel": 7},
        OtherKernel,
        "SH-VER-002",
        f"kernel semantics 7, this build has {plan_module.KERNEL_SEMANTICS}",
    ),
    "model": (
        {"model": 99},
        OtherModel,
        "SH-VER-003",
        f"crm semantics 99, this build has {Crm.semantics}",
    ),
    "patch": (
        {"patches": ["x"]},
        OtherPatch,
        "SH-VER-004",
        "crm patch 'x', which this build doesn't know",
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("command", ["show", "show --truth", "audit", "replay", "whatif"])
def test_every_command_says_which_version_is_needed(
    command: str, case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, _, code, sentence = CASES[case]
    file = tmp_path / "other.simrec"
    episode_with({"simharness": "0.8.3"}, **changes).save(file)
    name, *options = command.split()
    more = ["--ablate", "cache:deals.detail"] if name == "whatif" else []
    assert call([name, str(file), *options, *more]) == 2
    told = capsys.readouterr()
    # A replay of many recordings goes on after one that it can't replay, and tells on stdout.
    assert f"recording needs {sentence}" in told.out + told.err
    assert "pip install simharness==0.8.*" in told.out + told.err
    assert code in told.out + told.err
    assert "diverged" not in told.out + told.err


@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_version_has_its_class_and_code(case: str) -> None:
    changes, kind, code, sentence = CASES[case]
    with pytest.raises(kind, match=sentence) as caught:
        plan_of(headed(**changes))
    assert (type(caught.value), caught.value.code) == (kind, code)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("info", "hint"),
    [
        ({"simharness": "0.8.3"}, "pip install simharness==0.8.*"),
        ({"simharness": "1.2.0"}, "pip install simharness==1.2.*"),
        ({"simharness": "0.1.0.dev0"}, "pip install simharness==0.1.0.dev0"),
        ({"simharness": 3}, "use the release that recorded it; it has no INFO frame to name that"),
        (None, "use the release that recorded it; it has no INFO frame to name that"),
    ],
)
def test_the_release_to_install_comes_from_info(info: dict[str, object] | None, hint: str) -> None:
    with pytest.raises(OtherModel) as caught:
        plan_of(headed(info, model=99))
    assert caught.value.hint == hint


@pytest.mark.parametrize("field", ["format", "kernel", "model"])
def test_a_header_without_a_version_is_damaged(field: str) -> None:
    with pytest.raises(DamagedRecording, match=f"header field '{field}' is None, expected int"):
        plan_of(headed(**{field: None}))


@pytest.mark.parametrize("number", [0, -1])
def test_a_format_that_never_was_is_damaged(number: int) -> None:
    with pytest.raises(DamagedRecording, match=f"header field 'format' is {number}, expected 1"):
        plan_of(headed(format=number))


@pytest.mark.parametrize("command", ["audit", "show --messages"])
def test_an_instance_that_fits_no_episode_is_damage_and_no_failure(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.simrec"
    episode_with(instance={"deal": 1}).save(file)
    name, *options = command.split()
    assert call([name, str(file), *options]) != 4
    told = capsys.readouterr()
    assert "header field 'instance' fits no episode of crm/negotiation" in told.out + told.err


def test_a_product_of_somebody_elses_is_not_looked_for_in_this_package(product: Product) -> None:
    record = product.record(CLEAN)
    product.becomes(CLEAN.replace('name = "tiny"', 'name = "tiny"\n    semantics = 2'))
    with pytest.raises(OtherModel, match="needs tiny semantics 1, this build has 2") as caught:
        replay(record)
    assert "pip" not in caught.value.hint
