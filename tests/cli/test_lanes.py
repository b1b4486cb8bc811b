"""`simharness show`: the lanes of an episode, at two widths, with and without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from simharness.cli.lanes import NAME_WIDTH, Canvas, lane_lines
from simharness.findings.story import story_of_record
from simharness.models.crm import Crm
from simharness.recording.reader import read_file
from simharness.recording.rows import read_rows

if TYPE_CHECKING:
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
    lanes = [line for line in told if not line.startswith("●")]  # but for the legend
    assert not any("◎" in line or "⊘" in line for line in lanes)
    assert next(line for line in lanes if line.startswith("grade")).endswith("✓")


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
