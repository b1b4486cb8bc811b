"""Cached answers know which of them a change concerns, as a look at all of them would tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from simharness.parts.answers import Answers, Entry
from simharness.parts.row import Row
from simharness.parts.where import Where

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Crate(Row):
    dock: int = 0
    owner: str | None = None
    weight: int = 0


columns = {
    "dock": st.integers(0, 1),
    "owner": st.sampled_from([None, "ann"]),
    "weight": st.integers(0, 2),
}
crates = st.builds(Crate, id=st.integers(1, 5), **columns)
texts = st.sampled_from("abcdef")
keeping = st.tuples(
    st.just("keep"),
    texts,
    st.lists(crates, max_size=4, unique_by=lambda row: row.id),
    st.fixed_dictionaries({}, optional={"dock": columns["dock"], "owner": columns["owner"]}),
    st.integers(0, 2),
)
forgetting = st.tuples(st.just("forget"), texts)
changing = st.tuples(st.just("change"), crates, st.none() | crates, st.booleans(), st.booleans())


def heavy(weight: int) -> Callable[[Crate], bool]:
    return lambda row: row.weight >= weight


def concerns(entry: Entry, key: int, old: Crate | None, new: Crate | None, whole: bool) -> bool:
    if any(row.id == key for row in entry.value):
        return True
    return whole and any(row is not None and entry.matches(row) for row in (old, new))


@given(st.lists(st.one_of(keeping, forgetting, changing, st.just(("clear",))), max_size=25))
def test_a_change_concerns_the_answers_that_hold_the_row_or_would(steps: list[Any]) -> None:
    answers = Answers()
    plain: dict[Any, Entry] = {}
    for what, *details in steps:
        if what == "keep":
            text, rows, equal, weight = details
            where = Where(equal)
            entry = Entry(tuple(rows), 0, 0, 1, 0, where.predicate(heavy(weight)), where)
            answers[text] = plain[text] = entry
        elif what == "forget" and details[0] in plain:
            del answers[details[0]], plain[details[0]]
        elif what == "clear":
            answers.clear()
            plain.clear()
        elif what == "change":
            row, other, made, whole = details
            key, old, new = row.id, None if made else row, row if made else other
            found = answers.concerned(key, old, new, whole=whole)
            wanted = [t for t, e in plain.items() if concerns(e, key, old, new, whole)]
            assert sorted(found, key=str) == sorted(wanted)
            for text in wanted:
                del answers[text], plain[text]
        assert dict(answers) == plain
