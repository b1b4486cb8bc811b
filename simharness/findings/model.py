"""What the model did wrong: M codes, from its calls, what it was told, the journal, the criteria.

They are candidates: which of them stand beside the harness's findings is for attribution to say. A
finding whose confidence is `suspected` is advisory and decides nothing: M512, and what the agent
made good itself or did without harm. One has hindered when it concerns a row that a failed
criterion rests on or speaks of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simharness.findings.coping import (
    REFUSING,
    duplicates,
    ended_row,
    ignored_age,
    ignored_conflict,
    no_recovery,
    wrong_order,
)
from simharness.findings.endings import ENDINGS
from simharness.findings.evidence import (
    answered_apart,
    belied,
    copied_answers,
    hard_coded,
    probes,
    tampered_tests,
)
from simharness.findings.finding import Confidence, Effect, Finding
from simharness.findings.known import Known, identifier, leaves, mentions
from simharness.findings.story import AGENT
from simharness.findings.turns import SPEECH, VERSION_ARGUMENTS, WAIT
from simharness.parts.row_name import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from simharness.findings.turns import Account, Turn

REPEATS = 3
"""Equal calls with equal answers that make a repetition."""
POLLS = 10
POLL_TICKS = 30 * 60 * 1_000_000
"""A poll, which has waits in between, counts from so many equal answers over so much time on."""
COUNTS = ("page", "seconds", "limit")
"""Arguments that count something, where no schema bounds them."""
REASONS = ("M312", "M611", "M612", "M613", "M710")
"""What says why a write was not allowed, or came out wrong."""
LATER = ("M313", "M511", "M513", "M514", "M510")
"""What explains less than any cause, best first."""


def findings_of(account: Account) -> list[Finding]:
    """Run all detectors of the model's side."""
    return [finding for detector in DETECTORS for finding in detector(account)]


def primary_of(findings: Sequence[Finding]) -> Finding | None:
    """Give the finding that explains a failed outcome best; None where all are advisory.

    What was done wrong comes before an act that is missing, that before a false claim, and the
    plain ending last. Of what was done wrong, what concerns the failed criteria comes first, then
    the earliest.
    """
    decisive = (f for f in findings if f.confidence is not Confidence.SUSPECTED)
    return min(decisive, key=rank, default=None)


def rank(finding: Finding) -> tuple[int, bool, bool, int, str]:
    """Order findings for `primary_of`."""
    code = finding.code
    place = LATER.index(code) + 1 if code in LATER else 0
    # Of a bad call nothing tells what it would have written: it hindered if nothing came after it.
    # That a write was out of order or a repetition says why it was not allowed, which is all that
    # M411 says, and a way around the task why it came out wrong.
    harmless = finding.effect is Effect.NONE and code not in ("M210", *REASONS)
    return place, harmless, code not in REASONS, finding.t, code


# --- what it made of what it was told ------------------------------------------------------------


def misread(account: Account) -> Iterator[Finding]:
    """M110: a version or number other than the fresh one that the row was last shown with."""
    known = Known(account)
    for turn in account.turns:
        so_far = known.before(turn)
        key = account.target(turn)
        shown = account.last(key, turn)
        if shown is None or not shown.fresh:
            continue
        for name, value in turn.args.items():
            told = shown.row.get("version" if name in VERSION_ARGUMENTS else name)
            if type(value) is not int or type(told) is not int or value == told:
                continue
            if name in VERSION_ARGUMENTS:
                wrong = not refused_with(account, turn, value)
            else:
                part = 0 < value < told and has_made(account, turn, name, value)
                wrong = name != "id" and not part and not so_far.has_amount(value)
            if wrong:
                yield account.noted(
                    "M110",
                    turn,
                    (key,),
                    f"{turn.tool} names {name} {value}, but {key} was last shown, fresh, with "
                    f"{told}",
                    advisory=account.made_good(turn),
                    argument=name,
                    given=value,
                    shown=told,
                )


def has_made(account: Account, turn: Turn, name: str, value: int) -> bool:
    """Tell whether a call made a row with a value of its own, as a refund of a part of a charge."""
    return any(
        commit.before == 0 and value == commit.changes.get(number)
        for commit in turn.commits
        for number in commit.changes
        if account.story.column(commit.table, number) == name
    )


def refused_with(account: Account, turn: Turn, version: int) -> bool:
    """Tell whether a conflict since the last look told a version or was about it: no misreading."""
    conflict = account.conflict(turn)
    return conflict is not None and version in (conflict.refusal.get("version"), conflict.version)


def ungrounded(account: Account) -> Iterator[Finding]:
    """M111: an id, number or address that stands in nothing that the agent had been given."""
    known = Known(account)
    flagged: set[tuple[str, object]] = set()
    for turn in account.turns:
        so_far = known.before(turn)
        shown = account.last(account.target(turn), turn)
        for name, value in strangers(account, turn, so_far):
            misread_instead = shown is not None and (
                name in VERSION_ARGUMENTS or type(shown.row.get(name)) is int
            )
            if turn.error == "unknown_tool" or misread_instead or (turn.tool, value) in flagged:
                continue
            flagged.add((turn.tool, value))
            table = account.table_of(name.removesuffix("_id"))
            yield account.noted(
                "M111",
                turn,
                (f"{table}:{number_of(value)}",) if table and number_of(value) is not None else (),
                f"{turn.tool} names {name} {value!r}, which stands in nothing that the agent was "
                "given",
                # To look for something harms nothing; what comes of it shows elsewhere.
                advisory=account.made_good(turn) or not (turn.writes or turn.tool in SPEECH),
                argument=name,
                value=value,
            )


def strangers(account: Account, turn: Turn, known: Known) -> Iterator[tuple[str, object]]:
    """Give the values of a call that nothing had told, with their names."""
    if turn.tool in SPEECH:
        refs = turn.args.get("refs")
        items = cast("list[object]", refs) if isinstance(refs, list) else []
        texts = [turn.text, *(ref for ref in items if isinstance(ref, str))]
        for word, number in mentions(texts):
            if (table := known.table(word)) and not known.has_id(number, word):
                yield "row", f"{table}:{number}"
        for ref in items:
            # A name with a prefix says its table by itself.
            table, _, name = ref.rpartition(":") if isinstance(ref, str) else ("", "", "")
            key = number_of(name)
            if key is not None and not known.has_text(name):
                yield "row", f"{table}:{key}" if table else name
        return
    for name, value, bounded in leaves(turn.args, account.schema(turn.tool)):
        if type(value) is int:
            if name in VERSION_ARGUMENTS:
                stranger = not known.has_version(value)
            elif name.endswith(("_id", "_ids")):
                stranger = not known.has_id(value, name.rpartition("_id")[0])
            else:
                stranger = not bounded and name not in COUNTS and not known.has_amount(value)
        else:
            stranger = (
                isinstance(value, str) and identifier(name, value) and not known.has_text(value)
            )
        if stranger:
            yield name, value


def ignored(account: Account) -> Iterator[Finding]:
    """M112: the same version again after a conflict, or a write to a row shown as ended."""
    for turn in account.writes:
        conflict = account.conflict(turn)
        version = turn.version
        if conflict is not None and version is not None and version == conflict.version:
            key = account.target(turn)
            yield account.noted(
                "M112",
                turn,
                (key,),
                f"{turn.tool} rests on version {version} of {key} again, although step "
                f"{conflict.step} was answered with a conflict: {conflict.why}",
                advisory=account.made_good(turn),
                version=version,
            )
        elif turn.error in REFUSING and (ended := ended_row(account, turn)) is not None:
            key, column, value = ended
            yield account.noted(
                "M112",
                turn,
                (key,),
                f"{turn.tool} was tried although {key} had been shown with {column} {value!r}: "
                f"{turn.why}",
                advisory=account.made_good(turn),
                column=column,
                value=value,
            )


# --- what it called ------------------------------------------------------------------------------


def bad_calls(account: Account) -> Iterator[Finding]:
    """M210: a call that no schema allows; advisory where the agent went on all the same.

    That is where a later call of that tool, or of an unknown tool any later write, went through.
    """
    by_n = {turn.n: turn for turn in account.turns}
    for row in account.story.of("BADCALL"):
        if row.values["owner"] != AGENT:
            continue
        tool, reason = row.values["tool"], row.values["reason"]
        step = account.story.step_of(row.index)
        later = [t for t in account.turns if t.step > step and t.ok]
        went_on = any(t.tool == tool or (reason == "unknown_tool" and t.writes) for t in later)
        turn = by_n.get(row.values["n"])
        why = f": {turn.why}" if turn is not None else ""
        yield Finding(
            code="M210",
            step=step,
            t=row.t,
            keys=(),
            evidence={"tool": tool, "reason": reason},
            events=(row.index,),
            explanation=f"the call of {tool!r} was refused as {reason}{why}",
            confidence=Confidence.SUSPECTED if went_on else Confidence.DETECTED,
        )


def repetition(account: Account) -> Iterator[Finding]:
    """M310: the same call, answered the same, again and again.

    A write that went through, another answer and a retryable refusal begin the count anew. A poll,
    whose equal answers have waits in between, counts only when it has gone on for `POLLS` answers
    and `POLL_TICKS`.
    """
    runs: dict[str, list[Turn]] = {}
    waits = 0
    pauses: dict[int, int] = {}
    """Waits before each call."""
    for turn in account.turns:
        pauses[turn.n] = waits
        if turn.tool == WAIT:
            waits += 1
        if turn.tool in (WAIT, *SPEECH):
            continue
        if turn.writes and turn.ok:
            runs.clear()
            continue
        run = runs.setdefault(turn.same, [])
        if run and (run[-1].ok, run[-1].exchange.value) != (turn.ok, turn.exchange.value):
            run.clear()
        if turn.retryable:
            continue
        run.append(turn)
        straight = run[-REPEATS:]
        unpaused = len(straight) == REPEATS and pauses[straight[0].n] == pauses[turn.n]
        polled = len(run) >= POLLS and turn.t - run[0].t >= POLL_TICKS
        if unpaused or polled:
            yield account.noted(
                "M310",
                turn,
                account.named(turn),
                f"{turn.tool} was called {len(run)} times with the same arguments and the same "
                f"answer, from step {run[0].step} to {turn.step}",
                calls=len(run),
                first=run[0].step,
            )
            run.clear()


DETECTORS: tuple[Callable[[Account], Iterator[Finding]], ...] = (
    misread,
    ungrounded,
    ignored,
    bad_calls,
    repetition,
    wrong_order,
    no_recovery,
    ignored_age,
    ignored_conflict,
    duplicates,
    hard_coded,
    tampered_tests,
    answered_apart,
    copied_answers,
    probes,
    belied,
    *ENDINGS,
)
"""All of them; those that look at the ending come last."""
