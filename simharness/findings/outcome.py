"""What was paid against what was done, and by whom; what raised; how the agent ended.

H220, H510, H511, H512, H514, H515, H516, H517, H519, H810, M210, M510, M513, M514.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from simharness.findings.causes import causes_of, root_of
from simharness.findings.finding import Confidence, Effect, Finding
from simharness.findings.holds import broken_holds, oversold_places
from simharness.findings.story import AGENT, Story, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.findings.causes import Op
    from simharness.findings.story import Commit
    from simharness.kernel.journal import Row


def harness_failures(story: Story) -> Iterator[Finding]:
    """Find handlers that raised and episodes that the harness could not finish."""
    raised = story.of("RAISED")
    aborted = [span for span in story.steps if span.aborted]
    if raised:
        row = raised[0]
        yield Finding(
            code="H810",
            step=story.step_of(row.index),
            t=row.t,
            keys=(),
            evidence={
                "operation": name_of(row.values["owner"], row.values["n"]),
                "type": row.values["type"],
            },
            events=(row.index,),
            explanation=(
                f"the handler of {name_of(row.values['owner'], row.values['n'])} raised "
                f"{row.values['type']}"
            ),
            effect=Effect.HINDERED,
        )
    elif aborted:
        last = story.rows[-1] if story.rows else None
        yield Finding(
            code="H810",
            step=aborted[0].step,
            t=last.t if last else 0,
            keys=(),
            explanation="the harness failed within this step, so there is no reward",
            effect=Effect.HINDERED,
        )


def wrong_reward(story: Story) -> Iterator[Finding]:
    """Hold the reward that was paid against the goal's predicates, whether it passed or not.

    Where judging again came to something else, the first grade was stale and the second counts.
    """
    stale = list(stale_grades(story))
    yield from stale
    grades = regrades(story) or story.grades()
    last = story.steps[-1] if story.steps else None
    if not grades or last is None or last.reward is None:
        return
    done = all(row.values["holds"] for row in grades)
    paid = last.reward >= last.pass_mark
    # A goal is all or nothing: part of a reward, paid for one that isn't met, is a gradient too.
    partly = not done and not paid and last.reward > 0
    if (done == paid and not partly) or any(f.effect is not Effect.NONE for f in stale):
        return
    failed = [row for row in grades if not row.values["holds"]]
    shown = failed[0] if failed else grades[0]
    harmless = not failed or any(row.values["role"] != "footprint" for row in failed)
    evidence = {"reward": last.reward, "goal": done, "predicate": shown.values["predicate"]}
    reward = f"reward {last.reward / 1_000_000:g} was paid"
    code = "H510" if done else "H515" if partly else "H511" if harmless else "H516"
    found = f"{shown.values['predicate']} ({shown.values['evidence']})"
    if harmless:
        # What a criterion is called says what is asked for, so a failed one is called failed.
        met = "met" if done else "not met; failed"
        text = f"{reward} although the goal is {met}: {found}"
    else:
        text = f"{reward} although the agent did what it must not: {found}"
    yield Finding(
        code=code,
        step=last.step,
        t=shown.t,
        keys=(),
        evidence=evidence,
        events=(shown.index,),
        explanation=text,
        mechanism="reward",
        effect=Effect.HINDERED if done else Effect.HELPED,
    )


def regrades(story: Story) -> list[Row]:
    """Give the rows of the judgement without caches; none where it agreed."""
    return [row for row in story.of("GRADE") if row.values["role"] == "regrade"]


def unstable_grades(story: Story) -> Iterator[Finding]:
    """Find a grade that came to something else each time that the end was judged."""
    others = [row for row in story.of("GRADE") if row.values["role"] == "unstable"]
    grades = story.grades()
    last = story.steps[-1] if story.steps else None
    if not others or not grades or last is None:
        return
    by_name = {row.values["predicate"]: row for row in others}
    pairs = [(row, by_name.get(row.values["predicate"])) for row in grades]
    split = [(a, b) for a, b in pairs if b is None or a.values["holds"] != b.values["holds"]]
    row, other = (split or pairs)[0]
    then = other if other is not None else others[0]
    turns = all(r.values["holds"] for r in grades) != all(r.values["holds"] for r in others)
    paid = last.reward is not None and last.reward >= last.pass_mark
    wrong = turns and last.reward is not None
    yield Finding(
        code="H519",
        step=last.step,
        t=row.t,
        keys=(),
        evidence={"predicate": row.values["predicate"], "held": bool(row.values["holds"])},
        events=(row.index, then.index),
        explanation=(
            f"judged again in the same state, {row.values['predicate']} "
            f"({row.values['evidence']}) came to something else each time: "
            f"{then.values['predicate']} is {bool(then.values['holds'])} "
            f"({then.values['evidence']})"
        ),
        effect=(Effect.HELPED if paid else Effect.HINDERED) if wrong else Effect.NONE,
    )


def stale_grades(story: Story) -> Iterator[Finding]:
    """Find a grade that comes out otherwise when given again, or stands before the last commit."""
    grades, again = story.grades(), regrades(story)
    last = story.steps[-1] if story.steps else None
    if not grades or last is None:
        return
    before = all(row.values["holds"] for row in grades)
    after = all(row.values["holds"] for row in again)
    late = story.of("COMMIT")[-1:] if not again else []
    paid = last.reward is not None and last.reward >= last.pass_mark
    if again:
        by_name = {row.values["predicate"]: row for row in again}
        for row in grades:
            other = by_name.get(row.values["predicate"])
            if other is None or other.values["holds"] != row.values["holds"]:
                break
        else:
            row = grades[0]
            other = by_name[row.values["predicate"]]
        wrong = before != after and paid == before and last.reward is not None
        effect = (Effect.HELPED if paid else Effect.HINDERED) if wrong else Effect.NONE
        end = story.of("END")
        early = bool(end) and row.index < end[0].index
        first, then = ("at once", "later") if early else ("with caches", "without them")
        yield stale_grade(
            story,
            (row, other or again[0]),
            f"judged {first} {row.values['predicate']} is "
            f"{bool(row.values['holds'])} ({row.values['evidence']}), {then} "
            f"{bool(other is not None and other.values['holds'])} "
            f"({other.values['evidence'] if other is not None else 'not judged'})",
            effect,
        )
    elif late and late[0].index > grades[-1].index:
        v = late[0].values
        by = name_of(v["owner"], v["n"])
        text = f"the grade was given before {by} committed {v['table']}:{v['key']}"
        yield stale_grade(story, (grades[-1], late[0]), text, Effect.NONE)


def stale_grade(story: Story, rows: tuple[Row, Row], text: str, effect: Effect) -> Finding:
    """Build an H514."""
    return Finding(
        code="H514",
        step=story.steps[-1].step,
        t=rows[0].t,
        keys=(),
        evidence={"predicate": rows[0].values["predicate"], "held": bool(rows[0].values["holds"])},
        events=tuple(sorted(row.index for row in rows)),
        explanation=text,
        mechanism="reward",
        effect=effect,
    )


def goal_at_reset(story: Story) -> Iterator[Finding]:
    """Find goals that held before anything had been done."""
    rows = [row for row in story.of("GRADE") if row.values["role"] == "reset"]
    if not rows or not all(row.values["holds"] for row in rows):
        return
    last = story.steps[-1] if story.steps else None
    paid = last is not None and last.reward is not None and last.reward >= last.pass_mark
    yield Finding(
        code="H512",
        step=0,
        t=rows[0].t,
        keys=(),
        evidence={"predicates": [row.values["predicate"] for row in rows]},
        events=tuple(row.index for row in rows),
        explanation=(
            f"the goal held at the start: {rows[0].values['predicate']} "
            f"({rows[0].values['evidence']})"
        ),
        mechanism="reward",
        effect=Effect.HELPED if paid else Effect.NONE,
    )


KEY = re.compile(r"\b[a-z_]+:\d+\b")


def broken_invariants(story: Story) -> Iterator[Finding]:
    """Find declared invariants that the committed state broke at the end."""
    rows = story.of("INVARIANT")
    # What has a code of its own is that, and no H220 beside it.
    told: set[tuple[str, str]] = set()
    if rows:
        told = {(f.evidence["slot_id"], f.mechanism) for f in oversold_places(story)}
        told |= {(f.evidence["hold_id"], f.mechanism) for f in broken_holds(story)}
    for row in rows:
        text: str = row.values["text"]
        keys = tuple(dict.fromkeys(KEY.findall(text)))
        keeper = next((kept for said, kept in story.surface.keepers if said in text), "")
        if keys and (keys[0], keeper) in told:
            continue
        last = last_commit(story, keys[0]) if keys else None
        yield Finding(
            code="H220",
            step=story.step_of(row.index),
            t=row.t,
            keys=keys,
            evidence={"invariant": text},
            events=(row.index,) if last is None else (last.row, row.index),
            explanation=f"an invariant is broken: {text}",
            mechanism=keeper,
        )


# --- whose work it was ----------------------------------------------------------------------------


def others_credit(story: Story) -> Iterator[Finding]:
    """Find criteria that rest on what a background user wrote last.

    What a reaction writes (a settlement, a webhook, a job) is the work of whoever caused it. Only
    users count that make calls of their own: what else commits without a CALL may have been caused
    by the agent, and the rows don't tell. A column that counts the rows of other tables is decided
    by all who wrote those, and by nobody last. Where a criterion fails, the agent must have written
    the same before; whether that would have done is not on record.
    """
    causes = causes_of(story)
    # An event of the gateway is the work of whoever asked it, also if somebody else delivers it.
    about = {(r.values["owner"], r.values["n"]): r.values["ref"] for r in story.of("APPLIED")}
    asked: dict[str, Op] = {}
    for request in story.of("GATEWAY"):
        v = request.values
        asked.setdefault(v["ref"], root_of(causes, (v["owner"], v["n"])))

    def author(commit: Commit) -> Op:
        op = commit.owner, commit.n
        return asked.get(about.get(op, "")) or root_of(causes, op)

    last = story.steps[-1] if story.steps else None
    paid = last is not None and last.reward is not None and last.reward >= last.pass_mark
    for row in story.grades():
        holds = bool(row.values["holds"])
        for key in row.values["keys"]:
            writes = [c for c in writes_of(story, key) if not only_counts(story, c)]
            if not writes or key.partition(".")[2] in counts_of(story, key):
                continue
            final = writes[-1]
            by = author(final)
            if by[0] == AGENT or by not in story.calls:
                continue
            own = [c for c in writes if author(c)[0] == AGENT]
            if not holds and not own:
                continue
            done = "holds" if holds else "fails"
            since = f", after the agent had written it as v{own[-1].after}" if own else ""
            yield Finding(
                code="H517",
                step=story.step_of(row.index),
                t=row.t,
                keys=(key.partition(".")[0],),
                evidence={
                    "key": key,
                    "by": name_of(*by),
                    "predicate": row.values["predicate"],
                    "holds": holds,
                },
                events=(*(c.row for c in own[-1:]), final.row, row.index),
                explanation=(
                    f"{row.values['predicate']} {done} by what {name_of(*by)} wrote: it set {key} "
                    f"last{since}"
                ),
                effect=Effect.HELPED if holds and paid else Effect.NONE,
                confidence=Confidence.DETECTED if holds else Confidence.SUSPECTED,
            )


def writes_of(story: Story, key: str) -> list[Commit]:
    """Give the commits that wrote `table:id` or `table:id.column`; none for an unknown column."""
    name, _, column = key.partition(".")
    table, _, number = name.partition(":")
    commits = story.commits.get((table, int(number)), []) if number.isdecimal() else []
    if not column:
        return commits
    names = story.surface.columns.get(table, ())
    if column not in names:
        return []
    at = names.index(column)
    return [c for c in commits if at in c.delta[::2]]


def counts_of(story: Story, key: str) -> tuple[str, ...]:
    """Give the columns of a key's table that count the rows of other tables."""
    return story.surface.counts.get(key.partition(":")[0], ())


def only_counts(story: Story, commit: Commit) -> bool:
    """Tell whether a commit changed nothing of its row but such columns."""
    counts = story.surface.counts.get(commit.table, ())
    changed = {story.column(commit.table, number) for number in commit.changes}
    return bool(changed) and changed <= {*counts}


def last_commit(story: Story, key: str) -> Commit | None:
    """Give the last commit of a row."""
    commits = writes_of(story, key)
    return commits[-1] if commits else None


# --- the agent's own ------------------------------------------------------------------------------
