"""One episode, one digest: in every process, whatever its hash seed, locale, collector or Python.

A re-run in the same process can't tell: it shares the hash seed and the addresses. So every
comparison here is between fresh processes, and hash seeds are varied, never pinned. Bugs of the
kinds that these comparisons are for are planted in a small product, to prove that they are seen.

SIMHARNESS_PYTHONS=a:b names further interpreters to try, as paths.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from simharness.env import replay, run
from simharness.recording.reader import read_file
from simharness.selfcheck import pythons
from simharness.selfcheck.variants import VARIANTS, Axis, Variant
from tests.effort import times

SEEDS = range(times(1))

SCRIPT = Path(__file__).with_name("digests.py")
FAULT = "crm.invalidation-lost"

EpisodeSpec = tuple[str, int, str, int, str]
"""Scenario, seed, policy, load, fault."""

EPISODES: list[EpisodeSpec] = [
    ("crm/negotiation", seed, policy, load, fault)
    for seed in SEEDS
    for policy, load, fault in (
        ("expert", 1, ""),
        ("expert", 4, FAULT),
        ("random", 4, ""),
        ("random", 1, FAULT),
    )
]


def command(variant: Variant, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Give the command line and the environment of a process."""
    collector = f"--collector={variant.collector}"
    line = [variant.python, *variant.flags, str(SCRIPT), collector, *arguments]
    return line, variant.environment()


def digests(setting: Variant, *arguments: str) -> list[str]:
    """Run `digests.py` in a fresh process."""
    line, variables = command(setting, *arguments)
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def at_once(jobs: list[tuple[Variant, list[EpisodeSpec]]]) -> list[list[str]]:
    """Play in several fresh processes, two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(play, [job[0] for job in jobs], [job[1] for job in jobs]))


def play(setting: Variant, episodes: list[EpisodeSpec]) -> list[str]:
    return digests(setting, "play", json.dumps(episodes))


def hash_seed(value: str) -> Variant:
    return Variant(
        name=f"hash seed {value}", axis=Axis.HASH_SEED, variables={"PYTHONHASHSEED": value}
    )


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


def loose(variant: Variant) -> Variant:
    """Leave the hash seed to chance, unless it is what a variant is about."""
    if variant.axis is Axis.HASH_SEED:
        return variant
    return replace(variant, variables={"PYTHONHASHSEED": "random", **variant.variables})


FURTHER = (
    hash_seed("0"),
    Variant(name="locale C", variables={"LC_ALL": "C"}),
    Variant(name="zone of a table", variables={"TZ": "Pacific/Auckland"}),
    Variant(name="warnings are errors", flags=("-X", "dev", "-W", "error")),
    Variant(name="short ints only", flags=("-X", "int_max_str_digits=640")),
)
SETTINGS = {
    variant.name: loose(variant)
    for variant in (*VARIANTS, *FURTHER)
    if variant.axis is not Axis.ORDER
}


@pytest.mark.parametrize("name", SETTINGS)
def test_digests_are_those_of_any_other_process(name: str, expected: list[str]) -> None:
    assert play(SETTINGS[name], EPISODES) == expected


def test_settings_take_effect() -> None:
    """Without this, a setting that is spelt wrong would make its test pass for ever."""
    shown = {
        "hash seed 4242": ("import sys; print(hash('x') % 10007)", ""),
        "another time zone": ("import time; print(time.tzname[0])", "NZST"),
        "zone of a table": ("import os; print(os.environ['TZ'])", "Pacific/Auckland"),
        "optimised": ("print(__debug__)", "False"),
        "msgpack in Python": (
            "import msgpack; print(msgpack.Packer.__module__)",
            "msgpack.fallback",
        ),
        "another locale": ("import sys; print(sys.flags.utf8_mode)", "0"),
        "short ints only": ("import sys; print(sys.get_int_max_str_digits())", "640"),
    }
    for name, (code, wanted) in shown.items():
        setting = SETTINGS[name]
        told = {
            subprocess.run(
                [setting.python, *setting.flags, "-c", code],
                env={**setting.environment(), **more},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for more in ({}, {"PYTHONHASHSEED": "1"})
        }
        assert len(told) == 2 if name == "hash seed 4242" else told == {wanted}, name


def test_the_collector_is_set_in_the_process() -> None:
    for name, wanted in (("no collector", "False 0"), ("eager collector", "True 1")):
        line, variables = command(SETTINGS[name], "collector")
        done = subprocess.run(line, env=variables, capture_output=True, text=True, check=True)
        enabled, threshold = done.stdout.split()
        assert enabled == wanted.split()[0]
        assert threshold == "1" or wanted == "False 0"


def test_recording_of_one_process_replays_in_all_others(
    tmp_path: Path, expected: list[str]
) -> None:
    assert digests(hash_seed("7"), "save", str(tmp_path), json.dumps(EPISODES)) == expected
    files = [str(tmp_path / f"{number}.simrec") for number in range(len(EPISODES))]
    assert [replay(file).digest for file in files] == expected
    for name in ("hash seed 1", "optimised", "msgpack in Python"):
        assert digests(SETTINGS[name], "replay", *files) == expected


# --- other Pythons -------------------------------------------------------------------------------


def every_python() -> dict[str, str]:
    """Find the Pythons to try: those that a variable gives, and others of this machine."""
    given = filter(None, os.environ.get("SIMHARNESS_PYTHONS", "").split(os.pathsep))
    named = {f"given {number}": path for number, path in enumerate(given, 1)}
    return pythons.distinct({**named, **pythons.interpreters()})


PYTHONS = every_python()


def require_usable(python: str) -> Variant:
    """Give the setting of another interpreter; skips the test where it can't run the package."""
    variant = loose(Variant(name=python, axis=Axis.PYTHON, python=python))
    reason = pythons.probe(variant, ["crm/negotiation"])
    if reason:
        pytest.skip(f"{python}: {reason}")
    return variant


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
    # No literal: its order isn't the same compiled and loaded from bytecode, under one hash seed.
    episodes = planted(tmp_path, label="','.join(set('ada ben cleo dora eve'.split()))")
    digests(hash_seed("1"), "save", str(tmp_path), json.dumps(episodes))
    file = str(tmp_path / "0.simrec")
    (record,) = read_file(file)
    assert digests(hash_seed("1"), "replay", file) == [record.digest]
    line, variables = command(hash_seed("4242"), "replay", file)
    done = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for part in ("SH-DIV-105 CODE", "delta: recorded", "process: agent", "set order"):
        assert part in done.stderr
