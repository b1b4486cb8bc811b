"""How the agent coped with refusals and unknown outcomes: M312, M610, M611, M612, M613."""

from __future__ import annotations

import json
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from simharness.findings.causes import causes_of, root_of
from simharness.findings.known import ends
from simharness.findings.money import movements, repeated_movements
from simharness.findings.reads import served_keys
from simharness.findings.story import AGENT
from simharness.findings.turns import SPEECH, WAIT, split
from simharness.product.tool import AS_OF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.finding import Finding
    from simharness.findings.money import Moved
    from simharness.findings.story import Story
    from simharness.findings.turns import Account, Turn

KEY_ARGUMENTS = ("idempotency_key", "request_key", "client_token", "request_id", "key")
FORBIDDEN = (
    "forbidden",
    "precondition",
    "precondition_failed",
    "failed_precondition",
    "invalid_state",
    "not_allowed",
)
REFUSING = (*FORBIDDEN, "undeliverable", "gone")
SIGNALLED = ("conflict", "locked", "unavailable", "rate_limited", "unknown_outcome")
WAITED_FOR = ("handed_over", "impossible")
"""Outcomes that an agent draws from what it was shown."""
RETRIES = 2
"""Tries after the first that are enough: who then stops has not ignored the trouble."""


def ended_row(account: Account, turn: Turn) -> tuple[str, str, str] | None:
    """Give a row named by a call and last shown, rightly, as ended: key, column, value."""
    for key in account.named(turn):
        shown = account.last(key, turn)
        if shown is None or not shown.fresh:
            continue
        if account.others((key,), account.begin(shown.turn), account.answered(turn)):
            continue
        for column, value in shown.row.items():
            if isinstance(value, str) and " " not in value and ends(value):
                return key, column, value
    return None


def wrong_order(account: Account) -> Iterator[Finding]:
    """M312: a write refused because something else has to come first, as the agent could know.

    Not where others changed a row that the call names since the agent last looked.
    """
    for turn in account.writes:
        if turn.error not in FORBIDDEN or ended_row(account, turn) or account.changed_unseen(turn):
            continue
        yield account.noted(
            "M312",
            turn,
            account.named(turn),
            f"{turn.tool} came before its turn and was refused: {turn.why}",
            advisory=account.made_good(turn),
            error=turn.error,
        )


def no_recovery(account: Account) -> Iterator[Finding]:
    """M610: a refusal that asked for another try or look, after which the agent did neither.

    A look that was refused in its turn is one, and is judged itself; the last of `RETRIES` tries
    more need no other.
    """
    if not account.failed:
        return
    out_of_budget = account.end is not None and account.end.values["reason"] == "budget"
    for turn in account.turns:
        if not asks_again(turn) or turn.tool in (WAIT, *SPEECH):
            continue
        key = account.target(turn)
        later = list(account.after(turn))
        tried = any(t.tool == turn.tool and account.target(t) == key for t in later)
        # A list of what belongs to the row is a look too, and so is one that was refused.
        looked = any(s.turn.step > turn.step for s in account.shown(key)) or any(
            key and not t.writes and (t.ok or asks_again(t)) and account.target(t) == key
            for t in later
        )
        reacted = tried or looked or refused_before(account, turn) >= RETRIES
        if not (reacted or (out_of_budget and not later)):
            yield account.noted(
                "M610",
                turn,
                account.named(turn),
                f"{turn.tool} was refused with {turn.error} ({turn.why}) and was neither tried "
                "again nor followed by another look",
                error=turn.error,
            )


def ignored_age(account: Account) -> Iterator[Finding]:
    """M610: an agent gave up on a row by an answer that was out of date, and said as of when.

    Within the contract, and without more than `RETRIES` further looks: who looks on and on has not
    ignored it.
    """
    if account.end is None or account.end.values["outcome"] not in WAITED_FOR:
        return
    for key in sorted(account.lacking):
        looks = [shown.turn for shown in account.shown(key)]
        old = list(takewhile(partial(told_old, key), reversed(looks)))
        if old and len({turn.step for turn in old}) <= RETRIES:
            value: Any = old[0].exchange.value
            yield account.noted(
                "M610",
                old[0],
                (key,),
                f"{old[0].tool} showed {key} as of {value[AS_OF]}, it had changed since, and the "
                "agent gave up without another look",
                as_of=value[AS_OF],
            )


def told_old(key: str, turn: Turn) -> bool:
    """Tell whether an answer showed a row out of date, within the contract, and said as of when."""
    value = turn.exchange.value
    if not isinstance(value, dict) or AS_OF not in value:
        return False
    table, number = split(key)
    return any(
        (row.values["view"].rpartition(".")[0], shown) == (table, number)
        and served != true
        and age <= row.values["bound"]
        for row in turn.exchange.reads
        for shown, served, true, age in served_keys(row)
    )


def asks_again(turn: Turn) -> bool:
    """Tell whether a call was refused in a way that asks for another try or look."""
    return turn.retryable or turn.error in SIGNALLED


def refused_before(account: Account, turn: Turn) -> int:
    """Count the earlier steps at which a call was tried in vain, since it last went through."""
    steps: set[int] = set()
    for earlier in account.turns:
        same = earlier.tool == turn.tool and account.target(earlier) == account.target(turn)
        if same and earlier.step < turn.step:
            if asks_again(earlier):
                steps.add(earlier.step)
            else:
                steps.clear()
    return len(steps)


def ignored_conflict(account: Account) -> Iterator[Finding]:
    """M612: a row overwritten after a conflict without another look at it."""
    for turn in account.writes:
        conflict = account.conflict(turn)
        key = account.target(turn)
        if conflict is None or not turn.ok or not account.committed(turn, key):
            continue
        version = turn.version
        how = "without a version" if version is None else f"with version {version} of the refusal"
        yield account.noted(
            "M612",
            turn,
            (key,),
            f"{turn.tool} overwrote {key} {how}, after the conflict at step {conflict.step} and "
            "without reading it again",
            version=version,
            conflict=conflict.step,
        )


def duplicates(account: Account) -> Iterator[Finding]:
    """M611 and M613: the same write, which makes a new row, twice although nothing had changed.

    M613: the first had been answered, or the tool takes a key that tells repeats apart and the
    second came under another or none. M611: the first had no certain answer, and there is no such
    key. A write in other words is another write. Where a gateway was asked, only what it moved
    counts, and not what the harness moved twice.
    """
    earlier: dict[str, Turn] = {}
    moved = moved_by_agent(account.story)
    for turn in account.writes:
        made = [f"{c.table}:{c.key}" for c in turn.commits if c.before == 0]
        made = made or [each.ref for each in moved.get(turn.n, ())]
        if not made or (turn.n in moved and not moved[turn.n]):
            continue
        named = {k: v for k, v in turn.args.items() if k not in KEY_ARGUMENTS}
        call = f"{turn.tool} {json.dumps(named, sort_keys=True)}"
        first = earlier.get(call)
        earlier[call] = turn
        if first is None:
            continue
        keys = account.named(turn)
        looked = any(first.step < s.turn.step < turn.step for k in keys for s in account.shown(k))
        if looked and account.changed_since_look(first, account.begin(turn)):
            continue  # something had changed, the agent saw it and decided anew
        keyed = any(
            name in account.schema(turn.tool) or name in turn.args for name in KEY_ARGUMENTS
        )
        rows = [f"{c.table}:{c.key}" for c in first.commits if c.before == 0]
        rows = (rows or [each.ref for each in moved.get(first.n, ())]) + made
        answer = "had succeeded" if first.ok else f"was answered with {first.error}"
        yield account.noted(
            "M613" if first.ok or keyed else "M611",
            turn,
            rows,
            f"{turn.tool} was repeated although step {first.step} {answered(answer, rows)}",
            first=first.step,
            answer=first.error or "ok",
        )


def moved_by_agent(story: Story) -> dict[int, list[Moved]]:
    """Give what moved once by each call of the agent's that asked a gateway."""
    requests = story.of("GATEWAY")
    if not requests:
        return {}
    causes = causes_of(story)
    roots = (root_of(causes, (r.values["owner"], r.values["n"])) for r in requests)
    out: dict[int, list[Moved]] = {n: [] for owner, n in roots if owner == AGENT}
    again = {each.again.row.index for each in repeated_movements(story)}
    for moved in movements(story):
        if moved.root[0] == AGENT and moved.row.index not in again:
            out.setdefault(moved.root[1], []).append(moved)
    return out


def answered(answer: str, rows: list[str]) -> str:
    """Say how the first was answered and what there is now."""
    return f"{answer}: now there are {' and '.join(rows)}"
