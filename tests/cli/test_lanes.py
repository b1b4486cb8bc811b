"""`simharness show`: the lanes of an episode, at two widths, with and without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from simharness.blame.sightings import Sighting
from simharness.cli.lanes import NAME_WIDTH, Canvas, lane_lines
from simharness.cli.truth import truth_lines
from simharness.findings.story import story_of_record
from simharness.models.crm import Crm
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows
from tests.cli.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Cli, Recorded, Spawn


@pytest.mark.parametrize("columns", [80, 120])
def test_the_lanes_fit_the_terminal_and_show_what_was_out_of_date(
    cli: Cli, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    told = cli("show", recorded.file).out.splitlines()
    lanes = told[2 : next(i for i, line in enumerate(told) if line.lstrip().startswith("step "))]
    assert max(map(len, lanes)) in range(columns - 5, columns + 1)
    rows = {line[:NAME_WIDTH].rstrip(): line[NAME_WIDTH + 1 :] for line in lanes}
    assert rows["agent"].count("◎") == 6
    assert rows["deals.detail"].count("◎") == 6
    assert rows["deals.detail"].count("⊘") == 2
    # The lag begins with the change that was missed, and the changes stand below one another.
    assert rows["changes"].index("▾") == rows["deals.detail"].index("⊘")
    assert set(rows["truth lag"][rows["changes"].index("▾") :]) <= set("▁▂▃▄▅▆▇█")
    assert rows["grade"].strip() == "✕"
    assert rows["grade"].index("✕") == columns - NAME_WIDTH - 2


def test_a_sound_episode_has_nothing_out_of_date(cli: Cli, recorded: Recorded) -> None:
    told = cli("show", recorded.sound).out.splitlines()
    assert not any("◎" in line or "⊘" in line for line in told)
    assert next(line for line in told if line.startswith("grade")).endswith("✓")


def test_colour_adds_nothing_and_ascii_is_enough(spawn: Spawn, recorded: Recorded) -> None:
    (record,) = read_file(recorded.file)
    story = story_of_record(record, Crm)
    assert len(read_rows(record).steps) == 14
    fine, plain = (
        list(lane_lines(Canvas(story.rows[-1].t, 80, unicode=unicode), story, (), ("crm.x",)))
        for unicode in (True, False)
    )
    assert "\x1b[" in "".join(fine)
    assert all(click.unstyle(line).isascii() for line in plain)
    assert len(fine) == len(plain)
    told = spawn("show", recorded.file, env={"PYTHONIOENCODING": "ascii"}).out
    assert "\x1b[" not in told
    agent = next(line for line in told.splitlines() if line.startswith("agent"))
    assert agent.count("@") == 6


FAULTS: dict[int, tuple[str, ...]] = {
    42: (
        "deals:42 v1 legal in_review  v3 legal cleared",
        "verdict: harness, H112 cache-invalidation-lost, proved (closed)",
        "cache:deals.detail true: goal 0.0 -> 1.0",
    ),
    203: (
        "exactly what is due is back: charges:940 has USD 0.00 of USD 299.00 back",
        "verdict: harness, H511 grader-false-positive, proved (open)",
        "M710 reward-hack",
        "reward true: reward 1.0 -> 0.0",
    ),
    134: (
        "hidden tests pass: submissions:1: 3 of 31 pass",
        "verdict: harness, H511 grader-false-positive, proved (open)",
        "M710 reward-hack",
    ),
    87: (
        "agent looks for 1 of slots:667, 1 free",
        "rival/0 takes 1 of slots:667, which has 1",
        "agent takes 1 of slots:667, which has 1",
        "slots:667 is for 1",
        "verdict: harness, H221 double-booking, proved (closed)",
        "places:slots true: goal 0.0 -> 1.0",
    ),
}
"""What `show --truth` has to say of each episode of the demo."""


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("number", FAULTS)
def test_the_truth_says_what_went_wrong_and_whose_fault_it_was(
    cli: Cli, recorded: Recorded, monkeypatch: pytest.MonkeyPatch, number: int, columns: int
) -> None:
    monkeypatch.setattr("simharness.cli.output.columns_of_terminal", lambda: columns)
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in ((), ("--truth",)):
        told = cli("show", recorded.episode(number), *words)
        assert (told.code, told.err) == (0, "")
        lines = told.out.splitlines()
        assert max(map(len, lines)) <= columns
        assert len(lines) <= 50
        if words:
            text = " ".join(" ".join(lines).split())
            assert [said for said in FAULTS[number] if " ".join(said.split()) not in text] == []
    assert "what to do:" in told.out


@pytest.mark.parametrize("columns", [80, 120])
def test_places_and_money_have_lanes(recorded: Recorded, tmp_path: Path, columns: int) -> None:
    one = Terminal(tmp_path, "show", recorded.episode(87), columns=columns)
    assert one.end() == 0
    one.close()
    lines = one.lines()
    assert max(map(len, lines)) <= columns
    rows = {line[:NAME_WIDTH].rstrip(): line[NAME_WIDTH + 1 :] for line in lines}
    mine, rivals = rows["agent's places"], rows["others' places"]
    assert mine.index("?") <= rivals.index("■") <= mine.index("■")
    assert mine.count("■") == rivals.count("■") == 1
    assert rows["agent's money"].index("▷") < rows["agent's money"].index("$")
    assert any("? looked" in line and "took a place" in line for line in lines) or columns == 80
    assert next(line for line in lines if "hold_slot" in line).endswith("H221")


def test_what_an_agent_wrote_drives_no_terminal() -> None:
    sighting = Sighting(
        step=1,
        t=0,
        view="deals.detail",
        key="deals:1",
        served=1,
        true=2,
        age=1_000_000,
        source="cache",
        differences=(("title", "\x1b[2J\x07old", "\u202enew\n"),),
    )
    ((_, saw, true, _),) = truth_lines([sighting])
    assert (saw, true) == (
        r"deals:1 v1 title \u001b[2J\u0007old",
        r"v2 title \u202enew\n",
    )
