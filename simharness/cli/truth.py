"""What was true of an episode, and whose fault its outcome was, in plain lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import click

from simharness.blame.sightings import sightings
from simharness.cli.output import cut, reward_text, table, wrapped
from simharness.findings.story import AGENT, story_of_record
from simharness.findings.taxonomy import load as load_codes
from simharness.product.registry import load_scenario
from simharness.recording.rows import read_rows
from simharness.review.lanes import focus_of, grade_lane, move_lane
from simharness.review.text import visible
from simharness.units import SECOND, humanize

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from simharness.blame.sightings import Sighting
    from simharness.recording.reader import EpisodeRecord

MOVES_SHOWN = 12
WHO = {
    "closed": "the same policy asked again",
    "open": "the recorded calls verbatim",
    "unsolvable": "the reference policy from the first wrong observation on",
}
"""Who played a re-run, by its kind of proof."""
COLOURS = {"harness": "red", "model": "magenta", "ambiguous": "yellow", "ok": "green"}


def print_truth(record: EpisodeRecord) -> None:
    """Print stale reads, places and money, the goal, and the verdict of a recording."""
    product, scenario = load_scenario(str(record.header.get("scenario")))
    story = story_of_record(record, product, scenario.pass_mark)
    truth_table(sightings(read_rows(record), product))
    focus = set(focus_of(story, ()))
    tell_moves(about(move_lane(story, focus, (), []), keys_of(record.verdict)))
    tell_goal(grade_lane(story))
    tell_verdict(record.verdict)


def truth_lines(seen: Sequence[Sighting]) -> list[tuple[object, ...]]:
    """Give a line for each stale read: what was seen, what was true, for how long."""
    out: list[tuple[object, ...]] = []
    for s in seen:
        if s.age:
            # The newest change stands for all; the others are counted, and --json lists them.
            more = f" (+{len(s.differences) - 1})" if len(s.differences) > 1 else ""
            newest = s.differences[-1:]
            saw = "".join(f" {c} {short(a)}" for c, a, _ in newest)
            true = "".join(f" {c} {short(b)}{more}" for c, _, b in newest)
            out.append((s.step, f"{s.key} v{s.served}{saw}", f"v{s.true}{true}", humanize(s.age)))
    return out


def short(value: Any) -> str:
    """Show a cell in a few characters, none of which a terminal would obey."""
    return cut(visible(value if isinstance(value, str) else repr(value), keep=""), 28)


def truth_table(seen: Sequence[Sighting]) -> None:
    """Print the reads that were out of date."""
    lines = truth_lines(seen)
    if not lines:
        told = {0: "nothing was read", 1: "the one read was fresh"}
        click.echo(f"  {told.get(len(seen), f'all {len(seen)} reads were fresh')}")
        return
    table(("step", "saw", "true", "age"), lines)


def keys_of(verdict: Mapping[str, Any] | None) -> set[str]:
    """Name the rows that a recorded verdict's findings are about."""
    findings: Sequence[Mapping[str, Any]] = (verdict or {}).get("findings", ())
    return {str(key) for finding in findings for key in finding["keys"]}


def codes_of(verdict: Mapping[str, Any] | None) -> dict[int, list[str]]:
    """Name the codes that a recorded verdict found at each step."""
    out: dict[int, list[str]] = {}
    for finding in (verdict or {}).get("findings", ()):
        codes = out.setdefault(finding["step"], [])
        if finding["code"] not in codes:
            codes.append(finding["code"])
    return out


def about(moves: Sequence[Mapping[str, Any]], keys: Collection[str]) -> list[Mapping[str, Any]]:
    """Choose what happened to places and money: what the agent did, and what findings name."""
    return [m for m in moves if is_agents(m["by"]) or any(key in m["text"] for key in keys)]


def tell_moves(moves: Sequence[Mapping[str, Any]]) -> None:
    """Print what happened to places and money."""
    if not moves:
        return
    table(
        ("time", "places and money"),
        [(f"{m['t'] // SECOND}.{m['t'] % SECOND // 10_000:02d}s", m["text"]) for m in moves][
            :MOVES_SHOWN
        ],
    )
    if len(moves) > MOVES_SHOWN:
        click.echo(f"  and {len(moves) - MOVES_SHOWN} more: simharness view")


def is_agents(owner: str) -> bool:
    """Tell whether somebody is the agent, or acts for it, such as its gateway."""
    return AGENT in owner.split("/")


def tell_goal(grades: Sequence[Mapping[str, Any]]) -> None:
    """Print what was asked for and what of it was so."""
    judged = [grade for grade in grades if grade["role"] in ("goal", "footprint")]
    if not judged:
        return
    failed = [grade for grade in judged if not grade["holds"]]
    held = len(judged) - len(failed)
    rest = f"{held} of {len(judged)} criteria hold"
    if not failed:
        click.echo(f"  the goal is met: {rest}")
        return
    click.echo(click.style(f"  the goal is not met: {rest}, but not", fg="red"))
    for grade in failed:
        wrapped(f"{grade['predicate']}: {grade['evidence']}", indent=4)


def tell_others(verdict: Mapping[str, Any], primary: str) -> None:
    """Print what else was found: the first finding of each other code, and how many there are."""
    findings = cast("Sequence[Mapping[str, Any]]", verdict.get("findings", ()))
    first: dict[str, str] = {}
    for finding in findings:
        first.setdefault(str(finding["code"]), str(finding["explanation"]))
    times = Counter(str(finding["code"]) for finding in findings)
    first.pop(primary, None)
    if first:
        wrapped("found beside it:")
    for code, text in first.items():
        named = f"{code} {load_codes()[code].slug}" if code in load_codes() else code
        more = f" ({times[code]} times)" if times[code] > 1 else ""
        wrapped(f"{named}{more}: {text}", indent=4)


def tell_verdict(verdict: Mapping[str, Any] | None, complete: bool = True) -> None:
    """Print a recorded verdict: whose fault, by which code, why, the proof, what to do."""
    if verdict is None:
        makes = (
            "simharness audit makes one" if complete else "the recording ends before its episode"
        )
        click.echo(f"verdict: none is recorded; {makes}")
        return
    kind, primary, proof = (str(verdict.get(k, "")) for k in ("class", "primary", "proof"))
    code = load_codes().get(primary)
    sure = str(verdict.get("confidence", ""))
    if sure and proof not in ("", "none"):
        sure += f" ({proof})"
    parts = [kind, f"{primary} {code.slug}" if code else primary, sure]
    headline = ", ".join(part for part in parts if part)
    click.echo(f"verdict: {click.style(headline, fg=COLOURS.get(kind), bold=True)}")
    what, colon, rest = str(verdict.get("sentence", "")).partition(": ")
    events = rest.split(", ")
    if len(what + colon + rest) > 100 and len(events) > 1:
        wrapped(what + colon.rstrip())
        for event in events:
            wrapped(event, indent=4)
    elif what:
        wrapped(what + colon + rest)
    for arm in cast("Sequence[Mapping[str, Any]]", verdict.get("arms", ())):
        before, now = reward_text(arm["score_before"]), reward_text(arm["score"])
        what = "reward" if "reward" in arm["repaired"] else "goal"
        change = f"{what} {before} -> {now}" if before != now else f"{what} still {now}"
        wrapped(f"{', '.join(arm['repaired'])} true: {change} ({WHO[arm['proof']]})")
    tell_others(verdict, primary)
    if code is not None:
        wrapped(f"what to do: {code.remedy}")
