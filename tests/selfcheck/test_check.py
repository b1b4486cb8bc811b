"""Culprits that only a comparison of processes can see are seen, and their kind is ranked first.

All are played in one selfcheck, a scenario each: a process costs more than its episodes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from simharness.errors import HarnessError, UsageError
from simharness.models.crm import Crm
from simharness.rollout.request import Request
from simharness.selfcheck.check import Report, selfcheck
from simharness.selfcheck.processes import play
from simharness.selfcheck.variants import VARIANTS, Axis, Order, Variant
from tests.cli.conftest import heed_interrupts
from tests.determinism.culprits import ACROSS, CLEAN, CULPRITS, marked_line, product, sizing
from tests.effort import times

if TYPE_CHECKING:
    from pathlib import Path

EQUAL_PROCESSES = (
    "time",
    "time-bound",
    "time-getattr",
    "datetime",
    "random",
    "numpy-random",
    "uuid",
    "secrets",
    "urandom",
    "process",
    "id",
    "repr",
    "exception-text",
)
"""Culprits that two equal processes differ by."""

OWN: dict[str, tuple[str, Axis]] = {
    "local-time": (sizing("time.localtime(0).tm_hour", "import time"), Axis.TIME_ZONE),
    "encoding": (
        product(
            """
def label() -> str:
    return locale.getpreferredencoding(False)
""",
            "import locale",
        ),
        Axis.LOCALE,
    ),
    "assertion": (
        product(
            """
def size() -> int:
    made = [1]
    assert made.append(1) is None
    return len(made)
"""
        ),
        Axis.OPTIMISED,
    ),
    "weakref-callback": (
        product(
            """
class Cell:
    def __init__(self) -> None:
        self.me = self


def size() -> int:
    freed: list[object] = []
    held = [weakref.ref(Cell(), freed.append) for _ in range(50)]
    return len(freed) + 100 * len(held)
""",
            "import weakref",
        ),
        Axis.COLLECTOR,
    ),
}
"""Culprits of kinds that the others have none of."""

EXPECTED: dict[str, Axis] = {
    **dict.fromkeys(EQUAL_PROCESSES, Axis.REPEAT),
    **{name: Axis(axis) for name, axis in ACROSS.items() if name != "id-order"},
    "locale": Axis.LOCALE,
    **{name: axis for name, (_, axis) in OWN.items()},
}
SOURCES = {
    **{name: text for name, text in CULPRITS.items() if name in EXPECTED or name == "id-order"},
    **{name: text for name, (text, _) in OWN.items()},
    "clean": CLEAN,
}


def installed(folder: Path, sources: dict[str, str]) -> dict[str, str]:
    """Write products; give the scenario of each."""
    out: dict[str, str] = {}
    for name, source in sources.items():
        path = folder / f"{name.replace('-', '_')}.py"
        path.write_text(source, encoding="utf-8")
        out[name] = f"{path}:Tiny/scene"
    return out


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return installed(tmp_path_factory.mktemp("culprits"), SOURCES)


@pytest.fixture(scope="module")
def report(scenarios: dict[str, str]) -> Report:
    return selfcheck(Request(scenarios=tuple(scenarios.values()), seeds=range(2), loads=("0",)))


@pytest.mark.parametrize("name", EXPECTED)
def test_each_kind_of_culprit_is_caught_and_its_cause_ranked_first(
    name: str, report: Report, scenarios: dict[str, str]
) -> None:
    causes = report.causes(scenarios[name])
    assert causes, "nothing came apart"
    assert causes[0].axis is EXPECTED[name]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name in CULPRITS])
def test_the_guilty_line_stands_beside_the_first_cause(
    name: str, report: Report, scenarios: dict[str, str]
) -> None:
    places = report.causes(scenarios[name])[0].places
    assert [place.line for place in places] == [marked_line(SOURCES[name])]
    assert places[0].path.endswith(f"{name.replace('-', '_')}.py")


def test_an_order_by_address_is_caught_and_named(report: Report, scenarios: dict[str, str]) -> None:
    """Addresses depend on the hash seed here, and in a large process on chance as well."""
    cause = report.causes(scenarios["id-order"])[0]
    assert cause.axis in (Axis.HASH_SEED, Axis.REPEAT)
    assert "id()" in cause.sentence


def test_a_clean_product_beside_culprits_is_identical(
    report: Report, scenarios: dict[str, str]
) -> None:
    assert [one.name for one in report.variants] == [one.name for one in VARIANTS]
    assert scenarios["clean"] not in report.scenarios()
    assert report.identical >= 2


def test_the_first_difference_is_told_by_row_and_column(
    report: Report, scenarios: dict[str, str]
) -> None:
    one = report.shown_best(scenarios["set-order"])
    difference = one.difference
    assert one.variant.axis is Axis.HASH_SEED
    assert (difference.kind, difference.code) == ("CODE", "SH-DIV-105")
    assert (difference.step, difference.table, difference.stream) == (1, "things", "")
    assert difference.process.startswith("agent")
    assert difference.t is not None
    assert "COMMIT" in difference.recorded
    assert "COMMIT" in difference.produced
    ((name, recorded, produced),) = difference.fields
    assert name == "delta"
    for names in (recorded, produced):
        assert all(who in names for who in ("ada", "bob", "cleo", "dan", "eve", "fay"))
    assert recorded != produced
    told = "\n".join(difference.tell())
    assert f"delta: recorded {recorded}, produced {produced}" in told
    assert "simulated time" in told
    assert "first table whose digest differs: things" in told


def test_only_the_guilty_axis_differs_where_one_is_guilty(
    report: Report, scenarios: dict[str, str]
) -> None:
    """The parent's or the base's hash seed must not reach the variants of another axis."""
    for name in ("set-order", "hash", "module-counter", "locale", "local-time"):
        assert [cause.axis for cause in report.causes(scenarios[name])] == [EXPECTED[name]]


def test_our_products_are_identical() -> None:
    wanted = {Axis.REPEAT, Axis.HASH_SEED, Axis.COLLECTOR, Axis.ORDER}
    variants = [one for one in VARIANTS if one.axis in wanted]
    names = tuple(scenario.id for scenario in Crm.scenarios)
    faults = tuple(fault.id for fault in Crm.faults)
    request = Request(
        scenarios=names, seeds=range(times(1)), faults=(faults,), policies=("random",)
    )
    found = selfcheck(request, variants=variants)
    assert found.diverged == []
    assert found.identical == len(found.episodes) == times(len(names))
    assert [one.name for one in found.variants] == [one.name for one in variants]


# --- what can't be tried -------------------------------------------------------------------------


def test_a_variant_that_would_be_the_base_again_is_skipped_by_name(tmp_path: Path) -> None:
    (scenario,) = installed(tmp_path, {"clean": CLEAN}).values()
    orders = [one for one in VARIANTS if one.axis is Axis.ORDER]
    found = selfcheck(Request(scenarios=(scenario,), seeds=range(1), loads=("0",)), variants=orders)
    assert [one.order for one in found.variants] == [Order.TWICE]
    assert found.skipped == [
        ("episodes backward", "needs two episodes"),
        ("an episode alone", "needs two episodes"),
    ]


def test_a_counter_shows_in_a_single_episode(tmp_path: Path) -> None:
    sources = {"counter": CULPRITS["module-counter"]}
    (scenario,) = installed(tmp_path, sources).values()
    twice = [one for one in VARIANTS if one.order is Order.TWICE]
    found = selfcheck(Request(scenarios=(scenario,), seeds=range(1), loads=("0",)), variants=twice)
    assert [cause.axis for cause in found.causes(scenario)] == [Axis.ORDER]


# --- what goes wrong -----------------------------------------------------------------------------

ALIVE = """
def size() -> int:
    {}
    return 1
"""


def test_episodes_that_break_alike_are_said_to_have_broken(tmp_path: Path) -> None:
    failing = product(ALIVE.format("1 // 0"))
    scenarios = installed(tmp_path, {"failing": failing, "clean": CLEAN})
    variants = [one for one in VARIANTS if one.axis is Axis.OPTIMISED]
    request = Request(scenarios=tuple(scenarios.values()), seeds=range(2), loads=("0",))
    report = selfcheck(request, variants=variants)
    assert (report.identical, len(report.episodes)) == (4, 4)
    assert report.broken == tuple(f"{scenarios['failing']}:{seed}" for seed in range(2))
    assert report.record()["broken"] == [*report.broken]


@pytest.mark.parametrize(
    ("deed", "imports", "said"),
    [
        ("os._exit(3)", "import os", "ended with code 3: no reason given"),
        ("os.kill(os.getpid(), 9)", "import os", "ended with signal 9"),
        ("os._exit(0)", "import os", "answered '', which is no JSON"),
    ],
)
def test_a_process_that_crashes_is_named_with_its_command(
    tmp_path: Path, deed: str, imports: str, said: str
) -> None:
    source = product(ALIVE.format(f"if not __debug__:\n        {deed}"), imports)
    (scenario,) = installed(tmp_path, {"broken": source}).values()
    variants = [one for one in VARIANTS if one.axis is Axis.OPTIMISED]
    request = Request(scenarios=(scenario,), seeds=range(1), loads=("0",))
    with pytest.raises(HarnessError) as caught:
        selfcheck(request, variants=variants)
    assert caught.value.message.startswith(f"selfcheck: the process 'optimised' {said}")
    assert "PYTHONHASHSEED=0" in caught.value.hint
    assert "-O -m simharness.selfcheck.child" in caught.value.hint
    assert scenario in caught.value.hint


def test_a_process_that_hangs_is_named_and_stopped(tmp_path: Path) -> None:
    (scenario,) = installed(
        tmp_path, {"slow": product(ALIVE.format("time.sleep(60)"), "import time")}
    ).values()
    (variant,) = (one for one in VARIANTS if one.axis is Axis.OPTIMISED)
    request = Request(scenarios=(scenario,), seeds=range(1), loads=("0",))
    running: list[subprocess.Popen[str]] = []
    with pytest.raises(HarnessError, match="process 'optimised' gave no answer in 1 s") as caught:
        play(variant, request, tmp_path / "out", 1, running)
    assert "-O -m simharness.selfcheck.child" in caught.value.hint
    assert [process.returncode for process in running] == [-signal.SIGKILL]


def test_a_process_that_prints_garbage_is_named(tmp_path: Path) -> None:
    (scenario,) = installed(tmp_path, {"clean": CLEAN}).values()
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho '{\"episodes\": 3}'\n", encoding="utf-8")
    script.chmod(0o755)
    garbling = Variant(name="garbling", axis=Axis.PYTHON, python=str(script))
    with pytest.raises(HarnessError, match=r"'garbling' answered .* which holds no digests"):
        selfcheck(Request(scenarios=(scenario,), seeds=range(1)), variants=[garbling])


def test_a_difference_on_another_python_alone_is_told_as_such(tmp_path: Path) -> None:
    source = sizing('len(os.environ.get("SPELLING", ""))', "import os")
    (scenario,) = installed(tmp_path, {"spelt": source}).values()
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\nSPELLING=new exec {sys.executable} "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    again = [one for one in VARIANTS if one.axis is Axis.REPEAT]
    request = Request(scenarios=(scenario,), seeds=range(1), loads=("0",))
    found = selfcheck(request, {"other": str(other), "gone": "/no/such"}, variants=again)
    assert [one.name for one in found.variants] == ["base again", "other"]
    assert found.skipped == [("gone", "it can't be started: No such file or directory")]
    assert [cause.axis for cause in found.causes(scenario)] == [Axis.PYTHON]
    lines = (found.command, found.diverged[0].command)
    answers = [subprocess.check_output(line, shell=True, text=True) for line in lines]
    assert answers[0] != answers[1], "what is told to be run again outlives the check"


def test_ctrl_c_stops_the_processes_too(tmp_path: Path) -> None:
    began = tmp_path / "began"
    source = product(
        f"""
def size() -> int:
    open({str(began)!r}, "w").write(str(os.getpid()))
    time.sleep(60)
    return 1
""",
        "import os\nimport time",
    )
    (scenario,) = installed(tmp_path, {"sleepy": source}).values()
    words = ["selfcheck", scenario, "--load", "0", "--pythons", "none"]
    # A session of its own, so that the signal reaches the one process that it is sent to.
    process = subprocess.Popen(
        [sys.executable, "-m", "simharness", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    while not (began.exists() and began.read_text()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    child = int(began.read_text())
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert process.returncode == 130, told
    assert told.split() == [b"stopped"]
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_what_a_product_prints_is_not_taken_for_the_answer(tmp_path: Path) -> None:
    source = product(ALIVE.format('print("hello")'))
    (scenario,) = installed(tmp_path, {"chatty": source}).values()
    again = [one for one in VARIANTS if one.axis is Axis.REPEAT]
    request = Request(scenarios=(scenario,), seeds=range(1), loads=("0",))
    assert selfcheck(request, variants=again).identical == 1


def test_a_request_that_cant_be_run_starts_no_process(tmp_path: Path) -> None:
    (scenario,) = installed(tmp_path, {"clean": CLEAN}).values()
    with pytest.raises(UsageError, match="no policy"):
        selfcheck(Request(scenarios=(scenario,), seeds=range(1), policies=("nobody",)))
    with pytest.raises(UsageError, match="'openai:m' answers otherwise each time"):
        selfcheck(Request(scenarios=(scenario,), seeds=range(1), policies=("openai:m",)))
