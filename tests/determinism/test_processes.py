"""One episode, one digest: in every process, whatever its hash seed, locale, collector or Python.

A re-run in the same process can't tell: it shares the hash seed and the addresses. So every
comparison here is between fresh processes, and hash seeds are varied, never pinned. Bugs of the
kinds that these comparisons are for are planted in a small product, to prove that they are seen.

Variables that raise what is tried:
  SIMHARNESS_SEEDS=20            seeds of each kind of episode
  SIMHARNESS_PYTHONS=a:b         further interpreters, as paths
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import simharness
from simharness.env import replay, run
from simharness.recording.reader import read_file

SEEDS = range(int(os.environ.get("SIMHARNESS_SEEDS", "1")))

SCRIPT = Path(__file__).with_name("digests.py")
ROOT = Path(simharness.__file__).parents[1]
FAULT = "crm.invalidation-lost"

EpisodeSpec = tuple[str, int, str, int, str]
"""Scenario, seed, policy, load, fault."""

EPISODES: list[EpisodeSpec] = [
    ("crm/negotiation", seed, policy, load, fault)
    for seed in SEEDS
    for policy in ("expert", "random")
    for load in (1, 4)
    for fault in ("", FAULT)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a process is started with."""

    flags: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict[str, str])
    prologue: str = ""
    """Code that runs before everything else."""
    python: str = sys.executable


def command(setting: Setting, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Give the command line and the environment of a process."""
    given = [setting.python, *setting.flags]
    if setting.prologue:
        start = f"{setting.prologue}; import runpy, sys; sys.argv[0] = {str(SCRIPT)!r}; "
        given += ["-c", f"{start}runpy.run_path(sys.argv[0], run_name='__main__')"]
    else:
        given.append(str(SCRIPT))
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONHASHSEED", "PYTHONPATH")}
    paths = [str(ROOT)]
    if setting.python == sys.executable and "PYTHONPATH" in os.environ:
        paths.append(os.environ["PYTHONPATH"])
    variables = {**inherited, "PYTHONPATH": os.pathsep.join(paths), **setting.variables}
    return [*given, *arguments], variables


def digests(setting: Setting, *arguments: str) -> list[str]:
    """Run `digests.py` in a fresh process."""
    line, variables = command(setting, *arguments)
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def at_once(jobs: list[tuple[Setting, list[EpisodeSpec]]]) -> list[list[str]]:
    """Play in several fresh processes, two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(play, [job[0] for job in jobs], [job[1] for job in jobs]))


def play(setting: Setting, episodes: list[EpisodeSpec]) -> list[str]:
    return digests(setting, "play", json.dumps(episodes))


def hash_seed(value: str) -> Setting:
    return Setting(variables={"PYTHONHASHSEED": value})


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """Give the digests of the episodes as this process plays them."""
    out: list[str] = []
    for scenario, seed, policy, load, fault in EPISODES:
        faults = (fault,) if fault else ()
        outcome = run(scenario, seed=seed, policy=policy, load=load, faults=faults)
        out.append(outcome.episode.digest)
    assert len(set(out)) > len(out) // 2, "the episodes are different ones"
    return out


# --- settings of one Python ----------------------------------------------------------------------

SETTINGS: dict[str, Setting] = {
    "hash seed 0": hash_seed("0"),
    "hash seed 1": hash_seed("1"),
    "hash seed 4242": hash_seed("4242"),
    "random hash seed": hash_seed("random"),
    "another time zone": Setting(variables={"TZ": "Pacific/Auckland"}),
    "locale C": Setting(variables={"LC_ALL": "C"}),
    "locale C.UTF-8": Setting(variables={"LC_ALL": "C.UTF-8"}),
    "no UTF-8 mode": Setting(
        variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
    "optimised": Setting(flags=("-O",)),
    "no collector": Setting(prologue="import gc; gc.disable()"),
    "eager collector": Setting(prologue="import gc; gc.set_threshold(1)"),
    "msgpack in Python": Setting(variables={"MSGPACK_PUREPYTHON": "1"}),
    "warnings are errors": Setting(flags=("-X", "dev", "-W", "error")),
    "short ints only": Setting(flags=("-X", "int_max_str_digits=640")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_digests_are_those_of_any_other_process(name: str, expected: list[str]) -> None:
    assert play(SETTINGS[name], EPISODES) == expected


def test_settings_take_effect() -> None:
    """Without this, a setting that is spelt wrong would make its test pass for ever."""
    shown = {
        "hash seed 4242": ("import sys; print(hash('x') % 10007)", ""),
        "another time zone": ("import time; print(time.tzname[0])", "NZST"),
        "optimised": ("print(__debug__)", "False"),
        "no collector": ("import gc; print(gc.isenabled())", "False"),
        "eager collector": ("import gc; print(gc.get_threshold()[0])", "1"),
        "msgpack in Python": (
            "import msgpack; print(msgpack.Packer.__module__)",
            "msgpack.fallback",
        ),
        "no UTF-8 mode": ("import sys; print(sys.flags.utf8_mode)", "0"),
    }
    for name, (code, wanted) in shown.items():
        setting = SETTINGS[name]
        line, variables = command(setting)
        prologue = f"{setting.prologue}; " if setting.prologue else ""
        told = {
            subprocess.run(
                [setting.python, *setting.flags, "-c", prologue + code],
                env={**variables, **more},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for more in ({}, {"PYTHONHASHSEED": "1"})
        }
        assert line[0] == setting.python
        assert len(told) == 2 if name == "hash seed 4242" else told == {wanted}, name


def test_recording_of_one_process_replays_in_all_others(
    tmp_path: Path, expected: list[str]
) -> None:
    assert digests(hash_seed("7"), "save", str(tmp_path), json.dumps(EPISODES)) == expected
    files = [str(tmp_path / f"{number}.simrec") for number in range(len(EPISODES))]
    assert [replay(file).digest for file in files] == expected
    for name in ("hash seed 1", "optimised", "msgpack in Python"):
        assert digests(SETTINGS[name], "replay", *files) == expected


# --- other Pythons -------------------------------------------------------------------------------


def interpreters() -> dict[str, str]:
    """Find the other Pythons of this machine by name; what they can isn't asked yet."""
    found: dict[str, str] = {}
    given = os.environ.get("SIMHARNESS_PYTHONS", "").split(os.pathsep)
    for number, path in enumerate(filter(None, given), 1):
        found[f"given {number}"] = path
    for minor in range(11, 16):
        if command_path := shutil.which(f"python3.{minor}"):
            found[f"python3.{minor}"] = command_path
    if pyenv := shutil.which("pyenv"):
        told = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=False)
        folder = Path(told.stdout.strip() or os.devnull) / "versions"
        for minor in range(11, 16):
            for file in sorted(folder.glob(f"3.{minor}.*/bin/python")):
                found[f"pyenv {file.parts[-3]}"] = str(file)
    unique: dict[str, str] = {}
    for name, path in found.items():
        # Two names for one file, such as two shims or a link in /bin, need only one test.
        if path not in unique.values() and path != sys.executable:
            unique[name] = path
    return unique


PYTHONS = interpreters()
PROBE = """
import sys
if sys.version_info < (3, 11): sys.exit("Python %d.%d is too old" % sys.version_info[:2])
import click, msgpack, numpy, simpy
print("%d.%d.%d" % sys.version_info[:3], numpy.__version__, msgpack.version)
"""


def require_usable(python: str) -> Setting:
    """Give the setting of another interpreter; skips the test where it can't run the package."""
    setting = Setting(python=python)
    _, variables = command(setting)
    try:
        done = subprocess.run(
            [python, "-c", PROBE], env=variables, capture_output=True, text=True, check=False
        )
    except OSError as error:
        pytest.skip(f"{python} can't be started: {error.strerror}")
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        pytest.skip(f"{python}: {lines[-1] if 'Error' in lines[-1] else lines[0]}")
    return setting


@pytest.mark.parametrize("name", PYTHONS)
def test_other_python_gives_the_same_digests_and_recordings(
    name: str, expected: list[str], tmp_path: Path
) -> None:
    other = require_usable(PYTHONS[name])
    own = tmp_path / "own"
    own.mkdir()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    assert digests(other, "save", str(theirs), json.dumps(EPISODES)) == expected
    assert digests(hash_seed("3"), "save", str(own), json.dumps(EPISODES)) == expected
    names = [f"{number}.simrec" for number in range(len(EPISODES))]
    assert digests(other, "replay", *[str(own / file) for file in names]) == expected
    assert [replay(theirs / file).digest for file in names] == expected


# --- order ---------------------------------------------------------------------------------------


def test_episodes_share_nothing_whatever_their_order(expected: list[str]) -> None:
    by_spec = dict(zip(EPISODES, expected, strict=True))
    first, second = EPISODES[1], EPISODES[-1]
    orders = [[first, second], [second, first], [first], [second, second], EPISODES[::-1]]
    for order, outcome in zip(
        orders, at_once([(hash_seed("random"), order) for order in orders]), strict=True
    ):
        assert outcome == [by_spec[episode] for episode in order]


# --- planted bugs --------------------------------------------------------------------------------

PRODUCT = '''
"""A product with one tool, which writes what `label` and `size` say."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

from simharness.api import Answer, Call, Criterion, Operation, Product, Row, Scenario, store, tool

COUNTER = itertools.count()


def label() -> str:
    return LABEL


def size() -> int:
    return SIZE


def by_address() -> str:
    """Order new texts by address: they lie where a set's texts lay, freed in the set's order."""
    spare = {f"spare text {i:02}" for i in range(40)}
    del spare
    texts = [f"other text {i:02}" for i in range(40)]
    return ",".join(text[-2:] for text in sorted(texts, key=id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Row):
    label: str = ""
    size: int = 0


def expert(task: Any) -> Any:
    yield Call("mark", {"thing_id": task.brief["thing_id"]})
    yield Call("finish", {"message": "marked"})


class Scene(Scenario["Tiny"]):
    id = "tiny/scene"
    profile = "bare"
    policies = {"expert": expert}

    def base_rows(self):
        return {"things": [Thing(id=i) for i in range(1, 4)]}

    def draw(self, drawing):
        drawing.between("thing", 1, 3)

    def start(self, product, instance):
        return 0

    def prompt(self, instance):
        return "Mark it."

    def brief(self, instance):
        return {"thing_id": instance["thing"]}

    def goal(self, product, instance, ending):
        return (Criterion("marked", bool(product.things.true(instance["thing"]).label), "seen"),)


class Tiny(Product):
    name = "tiny"
    scenarios = (Scene(),)
    things = store(Thing)

    @tool
    def mark(self, op: Operation, thing_id: int) -> Answer[Thing]:
        """Mark a thing."""
        changes = {"label": label(), "size": size()}
        return (yield from self.things.update(op, thing_id, changes))
'''


def planted(folder: Path, *, label: str = "'marked'", size: str = "1") -> list[EpisodeSpec]:
    """Write a product with a bug and give two of its episodes."""
    path = folder / "tiny.py"
    path.write_text(PRODUCT.replace("LABEL", label).replace("SIZE", size), encoding="utf-8")
    scenario = f"{path}:Tiny/scene"
    return [(scenario, seed, "expert", 0, "") for seed in (1, 2)]


def across_processes(episodes: list[EpisodeSpec]) -> set[tuple[str, ...]]:
    """Give the digests that fresh processes come to; sound episodes give one outcome."""
    jobs = [(hash_seed(value), episodes) for value in ("0", "1", "4242")]
    return {tuple(outcome) for outcome in at_once(jobs)}


def across_orders(episodes: list[EpisodeSpec]) -> set[tuple[str, ...]]:
    """Give the digests that two orders come to, each put back into the first order."""
    orders = [episodes, episodes[::-1], *([episode] for episode in episodes)]
    forward, backward, *alone = at_once([(hash_seed("random"), order) for order in orders])
    return {tuple(forward), tuple(backward[::-1]), tuple(digest for (digest,) in alone)}


def test_product_without_a_bug_is_the_same_everywhere(tmp_path: Path) -> None:
    episodes = planted(tmp_path)
    assert len(across_processes(episodes)) == 1
    assert across_orders(episodes) == across_processes(episodes)
    assert run(episodes[0][0], seed=1, load=0).verdict.score == 1_000_000


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param({"label": "','.join({'ada', 'ben', 'cleo', 'dora', 'eve'})"}, id="set order"),
        pytest.param({"label": "by_address()"}, id="sorted by id()"),
        pytest.param({"size": "time.time_ns()"}, id="wall clock"),
        pytest.param({"size": "hash('thing') % 1_000_003"}, id="hash of a text"),
    ],
)
def test_planted_bug_shows_between_processes(bug: dict[str, str], tmp_path: Path) -> None:
    assert len(across_processes(planted(tmp_path, **bug))) > 1


def test_planted_counter_shows_between_orders_only(tmp_path: Path) -> None:
    episodes = planted(tmp_path, size="next(COUNTER)")
    assert len(across_processes(episodes)) == 1, "each process counts alike"
    assert len(across_orders(episodes)) > 1


def test_planted_bug_makes_a_replay_in_another_process_diverge(tmp_path: Path) -> None:
    episodes = planted(tmp_path, label="','.join({'ada', 'ben', 'cleo', 'dora', 'eve'})")
    digests(hash_seed("1"), "save", str(tmp_path), json.dumps(episodes))
    file = str(tmp_path / "0.simrec")
    (record,) = read_file(file)
    assert digests(hash_seed("1"), "replay", file) == [record.digest]
    line, variables = command(hash_seed("4242"), "replay", file)
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for part in ("SH-DIV-105 CODE", "delta: recorded", "process: agent", "set order"):
        assert part in done.stderr
