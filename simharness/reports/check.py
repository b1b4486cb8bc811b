"""Holds what was found against what a report expects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from simharness.errors import UsageError
from simharness.findings.causes import causes_of, root_of
from simharness.kernel.calendar import parse_instant
from simharness.reports.play import play_case
from simharness.reports.report import NO_REWARD
from simharness.units import humanize, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simharness.findings.finding import Finding
    from simharness.kernel.journal import Row
    from simharness.product.product import Product
    from simharness.reports.play import Played
    from simharness.reports.report import Case, Check, Expectation, Report

ADVISORY = ("M512", "A120")
"""Codes that `strict` lets pass."""
IMPLIED = {"H112": "H110"}
"""A code that stands for a kind of another: a lost invalidation is a stale read whose cause is
known. Whoever expects the other one has it met, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one case came out; it holds when nothing is listed."""

    played: Played
    missing: Sequence[str]
    """What was expected and isn't so, with what was found in its place."""
    unexpected: Sequence[str]
    """What was found and must not be."""

    @property
    def held(self) -> bool:
        """Whether the case came out as the report says."""
        return not self.missing and not self.unexpected


def check_report(report: Report) -> list[Result]:
    """Play a report and its controls, and hold each against what the file says of it."""
    return [check_case(case) for case in (report.case, *report.controls)]


def check_case(case: Case) -> Result:
    """Play one case and hold it against what the file says of it."""
    played = play_case(case)
    found = list(with_implied(played.findings))
    met, missing = matched(played, case.expect, found)
    for label, check in case.checks.items():
        missing += told(played, label, check)
    missing += verdict_of(played)
    return Result(played=played, missing=missing, unexpected=list(unexpected(played, found, met)))


def with_implied(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Give the findings, and those that they imply."""
    for finding in findings:
        yield finding
        if finding.code in IMPLIED:
            yield replace(finding, code=IMPLIED[finding.code])


# --- expectations ---------------------------------------------------------------------------------


def matched(
    played: Played, expect: Sequence[Expectation], found: Sequence[Finding]
) -> tuple[list[Finding], list[str]]:
    """Give each expectation a finding of its own, as far as there are any.

    Gives the findings that met one, and what is missing.
    """
    fits = [[i for i, finding in enumerate(found) if meets(played, one, finding)] for one in expect]
    owner: dict[int, int] = {}

    def place(wanted: int, tried: set[int]) -> bool:
        for i in fits[wanted]:
            if i not in tried:
                tried.add(i)
                if i not in owner or place(owner[i], tried):
                    owner[i] = wanted
                    return True
        return False

    missing = [
        missed(played, one, found) for n, one in enumerate(expect) if not place(n, set[int]())
    ]
    return [found[i] for i in owner], missing


def meets(played: Played, wanted: Expectation, finding: Finding) -> bool:
    """Tell whether a finding is one that is expected."""
    return (
        finding.code.startswith(tuple(wanted.codes))
        and (not wanted.action or wanted.action in places_of(played, finding))
        and fits(wanted.evidence, finding.evidence, played.case.product, played.case.epoch)
    )


def missed(played: Played, wanted: Expectation, found: Sequence[Finding]) -> str:
    """Say what is missing, and what comes nearest."""
    if wanted.action in played.skipped:
        return f"{wanted.shown}: {wanted.action} was skipped ({played.skipped[wanted.action]})"
    near = [f for f in found if f.code.startswith(tuple(wanted.codes))]
    if not near:
        return f"{wanted.shown}: no such finding"
    return f"{wanted.shown}: found {'; '.join(summary(played, f) for f in near[:3])}"


def summary(played: Played, finding: Finding) -> str:
    """Tell a finding in one line: code, where, evidence."""
    at = " or ".join(places_of(played, finding))
    evidence = ", ".join(f"{k} = {shown(k, v)}" for k, v in finding.evidence.items())
    return f"{finding.code}{f' at {at}' if at else ''} {{{evidence}}}"


def shown(name: str, value: object) -> str:
    """Show a value of evidence as a report would give it."""
    return f'"{humanize(value)}"' if name in SPANS and type(value) is int else repr(value)


NEAR = 8
"""Rows before and after one that names nobody, in which whoever wrote it is looked for."""
JUDGED = ("INVARIANT", "BOOKS", "GRADE", "END")
"""Rows that are written when all is over: no action's."""
SPANS = ("age", "by")
"""Evidence that is a length of time."""


def places_of(played: Played, finding: Finding) -> tuple[str, ...]:
    """Name the actions at which a finding is found.

    The one that wrote the last of its rows, or caused what did; where none did, those of the
    agent's step, or what was under way or had just been answered.
    """
    rows = played.story.rows
    for index in sorted(finding.events, reverse=True):
        label = author(played, rows[index])
        if rows[index].kind in JUDGED:
            continue
        if label is None and "owner" not in rows[index].values:
            # Such as the end of a hold: it stands beside the commit that it is part of.
            around = rows[max(0, index - NEAR) : index + NEAR]
            near = [row for row in around if row.t == rows[index].t]
            near.sort(key=lambda row: (abs(row.index - index), row.index > index))
            label = next((found for row in near if (found := author(played, row))), None)
        if label is not None:
            return (label,)
    of_step = [
        label
        for (owner, n), label in played.actions.items()
        if owner == played.episode.agent.name and n >> 16 == finding.step
    ]
    if finding.step and of_step:
        return tuple(of_step)
    return tuple(label for label, a in played.answers.items() if a.sent <= finding.t <= a.t)


def author(played: Played, row: Row) -> str | None:
    """Name the action that a row of the journal belongs to, or goes back to."""
    values = row.values
    if "owner" not in values or "n" not in values:
        return None
    op = root_of(causes_of(played.story), (values["owner"], values["n"]))
    return played.actions.get((values["owner"], values["n"]), played.actions.get(op))


# --- values ---------------------------------------------------------------------------------------


def fits(wanted: Any, found: Any, product: type[Product], epoch: int) -> bool:
    """Tell whether evidence is what a file says: maps and lists as subsets, times as times."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return False
        items, there = cast("dict[str, Any]", wanted), cast("dict[str, Any]", found)
        return all(k in there and fits(v, there[k], product, epoch) for k, v in items.items())
    if isinstance(wanted, list):
        listed = cast("list[object]", wanted)
        told = cast("Sequence[Any]", found) if isinstance(found, list | tuple) else ()
        return all(any(fits(w, f, product, epoch) for f in told) for w in listed)
    if type(wanted) in (int, float) and type(found) in (int, float):
        return bool(wanted == found)
    if type(wanted) is int and isinstance(found, str):
        # The id of a row for its whole name.
        return found.rpartition(":")[2] == str(wanted)
    if isinstance(wanted, str):
        same = wanted == found or same_name(wanted, found, product)
        return same or same_time(wanted, found, epoch)
    return type(wanted) is type(found) and bool(wanted == found)


def same_name(wanted: str, found: object, product: type[Product]) -> bool:
    """Tell whether both name the same row, or an actor, without the number of its call."""
    if not isinstance(found, str):
        return False
    return product.row_name(wanted) == product.row_name(found) or found.split("#")[0] == wanted


def same_time(wanted: str, found: object, epoch: int) -> bool:
    """Tell whether a text names the same length of time, or the same instant, as ticks."""
    if type(found) is not int:
        return False
    readers: tuple[tuple[Callable[[str], int], int], ...] = (
        (parse_duration, 0),
        (parse_instant, epoch),
        (parse_instant, 0),
    )
    for read, since in readers:
        try:
            if read(wanted) - since == found:
                return True
        except UsageError:
            continue
    return False


def part_of(wanted: Any, found: Any) -> bool:
    """Tell whether an answer is what a file says.

    Maps match as subsets, also inside lists; lists by length and order; instants as instants.
    """
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return False
        items, there = cast("dict[str, Any]", wanted), cast("dict[str, Any]", found)
        return all(k in there and part_of(v, there[k]) for k, v in items.items())
    if isinstance(wanted, list):
        if not isinstance(found, list | tuple):
            return False
        listed, items_there = cast("list[object]", wanted), list(cast("Sequence[Any]", found))
        return len(listed) == len(items_there) and all(map(part_of, listed, items_there))
    if isinstance(wanted, str) and isinstance(found, str) and wanted != found:
        try:
            return parse_instant(wanted) == parse_instant(found)
        except UsageError:
            return False
    return type(wanted) is type(found) and bool(wanted == found)


# --- what else must be so -------------------------------------------------------------------------


def told(played: Played, label: str, check: Check) -> Iterator[str]:
    """Hold an action's answer against what it must be."""
    if check.returns is None and check.error is None:
        return
    answer = played.answers.get(label)
    if label in played.skipped:
        if label not in played.case.inherited:
            yield f"{label}: left out ({played.skipped[label]})"
    elif answer is None:
        yield f"{label}: never answered"
    elif check.error is not None:
        code = None if answer.ok else answer.value["code"]
        if code != check.error:
            yield f"{label}: error {check.error!r}, found {brief(answer.value, answer.ok)}"
    elif not answer.ok:
        yield f"{label}: an answer, found {brief(answer.value, ok=False)}"
    elif not part_of(check.returns, answer.value):
        yield f"{label}: returns {check.returns!r}, found {brief(answer.value, ok=True)}"


def brief(value: Any, ok: bool) -> str:
    """Show an answer in one line."""
    if not ok:
        return f"error {value['code']!r} ({value['message']})"
    text = repr(value)
    return text if len(text) <= 400 else text[:397] + "..."


def verdict_of(played: Played) -> Iterator[str]:
    """Hold the verdict against what it must be."""
    wanted, found = played.case.verdict, played.verdict
    if wanted.kind is not None and wanted.kind != found.kind:
        yield f"class {wanted.kind}, found {found.headline}: {found.sentence}"
    if wanted.primary is not None and wanted.primary != found.primary:
        yield f"primary {wanted.primary}, found {found.primary or 'none'}"
    if wanted.effect is not None and wanted.effect != found.effect:
        yield f"effect {wanted.effect}, found {found.effect}"
    if wanted.reward is not None:
        reward = None if wanted.reward == NO_REWARD else wanted.reward
        if reward != played.reward:
            paid = NO_REWARD if played.reward is None else played.reward
            yield f"reward {wanted.reward}, found {paid}"


def unexpected(played: Played, found: Sequence[Finding], met: Sequence[Finding]) -> Iterator[str]:
    """Give what must not be there: forbidden codes, and findings of the harness out of the blue.

    A companion of something expected, which shares a row with it, is no news.
    """
    case = played.case
    primary = [f for f in played.findings if f.code == case.verdict.primary]
    known = {index for f in (*met, *primary) for index in f.events}
    for finding in found:
        if finding.code.startswith(tuple(case.forbid)):
            yield f"{summary(played, finding)} (forbidden)"
            continue
        if finding in met or finding in primary or implied(finding, found):
            continue
        harness = finding.code.startswith("H")
        if harness and not case.allow_other and not known & {*finding.events}:
            yield f"{summary(played, finding)}: {finding.explanation}"
        elif case.strict and not harness and finding.code not in ADVISORY:
            yield f"{summary(played, finding)} (strict)"


def implied(finding: Finding, found: Sequence[Finding]) -> bool:
    """Tell whether a finding was only added because another one implies it."""
    return any(
        IMPLIED.get(other.code) == finding.code
        and other.events == finding.events
        and other.keys == finding.keys
        for other in found
    )
