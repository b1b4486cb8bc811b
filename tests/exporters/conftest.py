from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import simharness as sh
from simharness.api import Call
from simharness.cli.demo import play
from simharness.episode.messages import chat_messages
from simharness.exporters.text import SURROGATE
from simharness.product.registry import load_product
from simharness.recording.reader import read_file

if TYPE_CHECKING:
    from collections.abc import Generator

    from simharness.api import Action, Observation, Task

WORKSHOP = f"{Path(__file__).parents[1] / 'episode' / 'workshop.py'}:Workshop/shift"
SWITCH = "SIMHARNESS_READERS"
"""`required` fails where a reader's library is missing, else its tests are skipped."""

SAID = (
    "\u202eright to left\u202c, \U0001f600, \udcff alone, \ud83d\ude00 apart, \u2028 and \x00\x1b"
)
"""What no tool should choke on; two lone surrogates in a row are no character."""
HUGE = 10**400 + 7


def reader(name: str) -> Any:
    """Import a foreign library, whose own warnings are nothing of ours."""
    top = name.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        missing = f"{top} is missing: pip install -e '.[dev,readers]'"
        assert os.environ.get(SWITCH) != "required", missing
        pytest.skip(missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def hostile(task: Task) -> Generator[Action, Observation, None]:
    """Send what models send on a bad day, and worse."""
    yield SAID
    yield Call("list_deals", '{"stage": "negotia')
    yield Call("get_deal", f'{{"deal_id": {HUGE}}}')
    yield Call("get_deal", '{"deal_id":  1.0}', id='a"\u202e\x00\ud800')
    yield Call("no\udc80such\x00tool", "[1, 2]")
    yield [Call("get_deal", {"deal_id": 1}, id="same"), Call("get_deal", "null", id="same")]
    yield Call("finish", {"message": SAID.replace("\udcff", "").replace("\ud83d\ude00", "")})


def exploding(task: Task) -> Generator[Action, Observation, None]:
    yield Call("look", {"part_id": 1})
    yield Call("explode", {"after": 1})


def leaving(task: Task) -> Generator[Action, Observation, None]:
    yield None


@dataclass(frozen=True, slots=True)
class Recordings:
    """A file each; `all` is a folder with copies of them all."""

    all: Path
    sound: Path
    quarantined: Path
    """A stale read decided it; the re-run proves that."""
    hostile: Path
    aborted: Path
    left: Path
    """The agent went away without a word."""


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    folder = tmp_path_factory.mktemp("exported")
    showcase = next(s for s in load_product("crm").showcases if s.number == 42)
    play(showcase, showcase.faults, folder / "quarantined.simrec")
    for name, scenario, policy in (
        ("sound", "crm/negotiation", "expert"),
        ("hostile", "crm/negotiation", hostile),
        ("aborted", WORKSHOP, exploding),
        ("left", "crm/negotiation", leaving),
    ):
        played = sh.run(scenario, seed=5, policy=policy)
        played.episode.save(folder / f"{name}.simrec")
    files = {path.stem: path for path in folder.glob("*.simrec")}
    return Recordings(all=folder, **files)


def told(path: Path) -> list[dict[str, Any]]:
    """The chat of the one episode of a file, as `show --messages` has it, in sound UTF-8."""
    (record,) = read_file(path)
    messages: list[dict[str, Any]] = sounded(chat_messages(record))
    return messages


def sounded(value: Any) -> Any:
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {sounded(name): sounded(item) for name, item in fields.items()}
    if isinstance(value, list):
        return [sounded(item) for item in cast("list[object]", value)]
    return value
