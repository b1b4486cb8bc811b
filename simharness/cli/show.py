"""`simharness show`."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from simharness.blame.sightings import Sighting, sightings
from simharness.blame.verdict import told as told_verdict
from simharness.cli.files import name_of, one_episode
from simharness.cli.lanes import print_lanes
from simharness.cli.output import (
    columns_of_terminal,
    counted,
    cut,
    emit_json,
    reward_number,
    reward_text,
    table,
)
from simharness.cli.truth import codes_of, keys_of, print_truth, tell_verdict, truth_table
from simharness.episode.inputs import read_inputs
from simharness.episode.messages import chat_messages
from simharness.episode.plan import load_text
from simharness.episode.versions import require_build
from simharness.errors import UsageError
from simharness.findings.story import AGENT, story_of_record
from simharness.product.registry import load_scenario
from simharness.recording.rows import Rows, Told, read_rows
from simharness.review.text import visible
from simharness.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.episode.step import Input
    from simharness.kernel.journal import Row
    from simharness.recording.reader import EpisodeRecord

DID_MIN = 60
"""Characters of an action in the list of steps."""
BESIDE_DID = 56
"""What the other columns of that list take; a wider terminal shows more of the action."""
LINE = 96
"""Characters of a line of one step in full."""


@click.command("show")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--episode", metavar="SCENARIO:SEED", help="One episode of a shard or run.")
@click.option(
    "--step",
    type=click.IntRange(min=1),
    metavar="N",
    help="One step in full, with its journal rows.",
)
@click.option("--all", "whole", is_flag=True, help="With --step: the rows of everybody else, too.")
@click.option(
    "--truth", is_flag=True, help="Every read of the agent beside the truth; a step tells its own."
)
@click.option(
    "--messages", is_flag=True, help="The episode as one line of chat JSONL (for transcript:FILE)."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    path: Path,
    episode: str | None,
    step: int | None,
    whole: bool,
    truth: bool,
    messages: bool,
    as_json: bool,
) -> int:
    """Show what the agent did and saw, and with --truth what was true."""
    if whole and step is None:
        raise UsageError("--all is for the rows of one step", "name it with --step N")
    if messages and (step is not None or truth):
        raise UsageError(
            "--messages is the whole episode as a chat", "leave --step and --truth out"
        )
    record = one_episode(path, episode)
    require_build(record)  # whose rows would else be taken for something that they aren't
    if messages:
        click.echo(json.dumps({"messages": chat_messages(record)}, separators=(",", ":")))
        return 0
    rows = read_rows(record)
    inputs = read_inputs(record)
    product, _ = load_scenario(str(record.header.get("scenario")))
    seen = sightings(rows, product)
    if step is not None and step not in {told.step for told in rows.steps}:
        raise UsageError(f"no step {step} in this recording", f"give 1 to {len(rows.steps)}")
    if as_json:
        emit_json(as_record(record, rows, inputs, seen))
        return 0
    heading(record, rows)
    if step is not None:
        one_step(rows, inputs, seen, step, whole=whole)
    elif truth:
        print_truth(record)
        return 0
    else:
        faults = list(map(str, faults_of(record)))
        print_lanes(story_of_record(record, product), seen, faults, keys_of(record.verdict))
        overview(rows, inputs, seen, codes_of(record.verdict))
    tell_verdict(record.verdict, record.complete)
    return 0


def heading(record: EpisodeRecord, rows: Rows) -> None:
    """Say which episode it is and how it ended."""
    header = record.header
    faults = ", ".join(map(str, faults_of(record))) or "no fault"
    last = rows.steps[-1] if rows.steps else None
    ended = last is not None and (last.terminated or last.truncated)
    reward = reward_text(last.reward) if last is not None and ended else "none"
    policy = record.info.get("policy", "unknown")
    load = header.get("load")
    shown = load_text(load) if isinstance(load, int) else "unknown"
    click.echo(f"{name_of(record)} · load {shown} · {faults} · policy {policy}")
    click.echo(f"  {counted(len(rows.steps), 'step')}, reward {reward}, digest {record.digest}")
    if record.problem:
        click.echo(click.style(f"  {record.problem}", fg="yellow"))


def faults_of(record: EpisodeRecord) -> list[object]:
    """Give the faults of a header."""
    faults = record.header.get("faults")
    return cast("list[object]", faults) if isinstance(faults, list) else []


def overview(
    rows: Rows, inputs: list[Input], seen: list[Sighting], codes: Mapping[int, Sequence[str]]
) -> None:
    """One line a step, with what was found at it."""
    stale = {s.step for s in seen if s.age}
    room = max(DID_MIN, (columns_of_terminal() or 0) - BESIDE_DID)
    lines: list[tuple[object, ...]] = []
    for told, given in zip(rows.steps, inputs, strict=False):
        lines.append(
            (
                told.step,
                format_duration(told.t),
                cut(did(given), room),
                got(told),
                " ".join([*(["STALE"] if told.step in stale else []), *codes.get(told.step, ())]),
            )
        )
    table(("step", "time", "did", "was told", ""), lines)


def did(given: Input) -> str:
    """Show an action in a line."""
    if given.kind == "calls":
        return visible(", ".join(f"{c.tool} {c.arguments}" for c in given.calls), keep="")
    return f"text: {visible(given.text, keep='')}" if given.kind == "text" else "went away"


def got(told: Told) -> str:
    """Show what a step was told in a few words."""
    if told.aborted:
        return "the harness failed"
    out: list[str] = []
    for ok, value in told.results:
        if not ok:
            out.append(f"error {value.get('code')}")
        elif isinstance(value, dict) and "id" in value and "version" in value:
            out.append(f"id {value['id']} v{value['version']}")
        elif isinstance(value, dict) and isinstance(ids := cast("Any", value).get("ids"), list):
            out.append(counted(len(cast("list[object]", ids)), "row"))
        else:
            out.append("ok")
    # A turn of many calls: equal answers are counted, and what is left is cut.
    times = Counter(out)
    shown = [text if n == 1 else f"{text} ({n} times)" for text, n in times.items()]
    return cut(", ".join(shown), 60)


def one_step(
    rows: Rows, inputs: list[Input], seen: list[Sighting], step: int, *, whole: bool
) -> None:
    """Print one step in full."""
    told = next(t for t in rows.steps if t.step == step)
    given = next(i for i in inputs if i.step == step)
    end = next((t.first for t in rows.steps if t.step == step + 1), len(rows.rows))
    click.echo(f"step {step}, sent {format_duration(given.at)}, answered {format_duration(told.t)}")
    for line in textwrap.wrap(did(given), LINE, break_on_hyphens=False):
        click.echo(f"  did: {line}")
    for _, value in told.results:
        text = json.dumps(value, ensure_ascii=True)
        for line in textwrap.wrap(text, LINE, break_on_hyphens=False):
            click.echo(f"  told: {line}")
    truth_table([s for s in seen if s.step == step])
    found = rows.rows[told.first : end]
    shown = found if whole else about_agent(found)
    for row in shown:
        click.echo(f"  {visible(str(row), keep='')}")
    if len(shown) < len(found):
        others = counted(len(found) - len(shown), "row")
        click.echo(f"  ({others} of others; --all shows them)")


def about_agent(rows: Sequence[Row]) -> list[Row]:
    """Give the agent's rows, and those of others that concern the rows that it read."""
    keys: set[tuple[str, object]] = set()
    for row in rows:
        if row.kind == "READ" and row.values["owner"] == AGENT and not is_auth(row):
            keys.add((row.values["view"].partition(".")[0], row.values["key"]))

    def concerns(row: Row) -> bool:
        v = row.values
        table = str(v.get("table") or v.get("view") or "").partition(".")[0]
        return v.get("owner") == AGENT or row.kind == "GRADE" or (table, v.get("key")) in keys

    return [row for row in rows if concerns(row)]


def is_auth(row: Row) -> bool:
    """Tell whether a read only checked permissions."""
    return str(row.values["view"]).endswith(".auth")


def as_record(
    record: EpisodeRecord, rows: Rows, inputs: list[Input], seen: list[Sighting]
) -> dict[str, Any]:
    """Give all that is shown as one map."""
    return {
        "episode": name_of(record),
        "header": dict(record.header),
        "digest": record.digest,
        "complete": record.complete,
        "problem": record.problem,
        "steps": [
            {
                "step": told.step,
                "sent": given.at,
                "t": told.t,
                "calls": [
                    {"id": c.id, "tool": c.tool, "arguments": c.arguments} for c in given.calls
                ],
                "text": given.text,
                "results": [{"ok": ok, "value": value} for ok, value in told.results],
                "reward": reward_number(told.reward),
            }
            for told, given in zip(rows.steps, inputs, strict=False)
        ],
        "reads": [sighting.record() for sighting in seen],
        "verdict": None if record.verdict is None else told_verdict(record.verdict),
    }
