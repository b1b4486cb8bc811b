"""Which lines are a target's own, and at which of them exceptions are raised."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym

from simharness.doctor.local import declared_range
from simharness.doctor.places import evenly, guarded_lines, layers, own_code, owns, spread
from tests.doctor import shapes
from tests.doctor.clinic import Walk, refuses

HERE = f"{Path(__file__).parent}{os.sep}"
TOY = f"{Path(gym.__file__).parent}/envs/toy_text/"


def test_the_code_of_a_wrapper_counts_and_that_of_gymnasium_only_where_it_is_the_environment() -> (
    None
):
    made = shapes.sound()
    assert own_code(made) == sorted((TOY, HERE))
    assert own_code(made.unwrapped) == [TOY]
    assert own_code(gym.make("FrozenLake-v1"), gym.make) == [TOY]
    assert own_code(gym.make("FrozenLake-v1"), shapes.sound) == sorted((TOY, HERE))


def test_what_holds_an_environment_under_any_name_is_a_wrapper() -> None:
    held = Walk()
    around = SimpleNamespace(inner=held, also=held, kind=Walk)
    assert layers(around) == [around, held]
    assert own_code(around) == [HERE]
    assert own_code(SimpleNamespace(), refuses) == [HERE]
    assert own_code(SimpleNamespace(), partial(refuses)) == []


def test_neither_the_doctor_nor_packages_below_a_folder_are_its_own(tmp_path: Path) -> None:
    root = f"{HERE.removesuffix('tests/doctor/')}"
    assert owns((root,), __file__)
    assert not owns((f"{Path.cwd()}{os.sep}",), "<string>")
    assert not owns((root,), f"{root}simharness/doctor/local.py")
    assert not owns((root,), f"{root}.venv/lib/site-packages/x.py")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert owns((f"{(tmp_path / 'real').resolve()}{os.sep}",), str(tmp_path / "link" / "x.py"))


def test_lines_under_a_handler_are_tried_first(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    lines = ["x = 1"] * 20 + ["try:", "    x = 2", "except ValueError:", "    x = 3"]
    path.write_text("\n".join([*lines, "with x:", "    x = 4"]), encoding="utf-8")
    assert guarded_lines(str(path)) == {22, 26}
    assert guarded_lines(str(tmp_path / "nowhere.py")) == frozenset()
    places = [(str(path), line) for line in (*range(1, 21), 22, 24, 26)]
    assert [line for _, line in spread(places, 6)] == [1, 6, 11, 16, 22, 26]
    assert spread(places, 99) == places
    assert evenly(places, 0) == []


def test_a_declared_range_is_that_of_what_pays() -> None:
    assert declared_range(gym.make("FrozenLake-v1")) == (0.0, 1.0)
    inner = gym.make("CartPole-v1")
    assert declared_range(inner) is None
    inner.unwrapped.reward_range = (0, 1)  # type: ignore[attr-defined]
    assert declared_range(inner) == (0.0, 1.0)
    assert declared_range(gym.wrappers.TransformReward(inner, lambda reward: reward)) is None
    for found in ((float("-inf"), 1.0), (1.0, 0.0), "ab", 3):
        inner.unwrapped.reward_range = found  # type: ignore[attr-defined]
        assert declared_range(inner) is None
