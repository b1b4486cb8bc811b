"""H114 and H115 over pages written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.findings.pages import torn_pages
from tests.findings.journal import Journal, deal, page, span

if TYPE_CHECKING:
    from simharness.findings.story import StepSpan

KEYS = (1, 2, 3, 4, 5, 6)


def told(*pages: Any, delivered: tuple[int, ...] = KEYS) -> list[tuple[str, tuple[str, ...]]]:
    """Give code and keys of what is found of pages of one query."""
    j = Journal()
    spans: list[StepSpan] = []
    for i, answer in enumerate(pages, 1):
        first = j.call(n=i << 16, tool="list_deals", writes=0)
        j.listing(*[x for key in delivered for x in (key, 1)], n=i << 16)
        j.answer(n=i << 16)
        spans.append(span((True, answer), step=i, first=first))
    return [(f.code, f.keys) for f in j.found(torn_pages, *spans)]


def cut(*keys: int, number: int = 1, next_page: int | None = None, **more: Any) -> Any:
    return page(*(deal(1, key=key) for key in keys), number=number, next_page=next_page, **more)


def test_pages_that_make_up_the_list_are_sound() -> None:
    assert told(cut(*KEYS)) == []
    assert told(cut(1, 2, 3, next_page=2), cut(4, 5, 6, number=2)) == []
    assert told(cut(4, 5, 6, number=2), cut(1, 2, 3, next_page=2)) == []
    assert told(cut(1, 2, 3, next_page=2), cut(1, 2, 3, next_page=2)) == []
    assert told(cut(), delivered=()) == []


def test_a_list_that_ends_early_and_does_not_say_so_is_cut() -> None:
    assert told(cut(1, 2, 3, 4, 5)) == [("H115", ("deals:6",))]
    assert told(cut()) == [("H115", tuple(f"deals:{key}" for key in KEYS))]
    assert told(cut(1, 2, 3, next_page=2), cut(4, 5, number=2)) == [("H115", ("deals:6",))]
    assert told(cut(4, 5, number=2)) == [("H115", ("deals:6",))]


def test_a_list_that_says_that_there_is_more_is_not_cut() -> None:
    assert told(cut(1, 2, next_page=2)) == []
    assert told(cut(1, 2, truncated=True)) == []
    assert told(cut(1, 2, truncated=False)) == [
        ("H115", ("deals:3", "deals:4", "deals:5", "deals:6"))
    ]


def test_a_page_behind_the_last_one_is_empty() -> None:
    assert told(cut(number=9)) == []


def test_a_page_that_repeats_an_id_is_torn() -> None:
    assert told(cut(1, 2, 2, 3, next_page=2)) == [("H114", ("deals:2",))]
    assert told(cut(1, 2, 3, next_page=2), cut(3, 4, 5, 6, number=2)) == [("H114", ("deals:3",))]


def test_a_page_that_skips_an_id_is_torn() -> None:
    assert told(cut(1, 3, next_page=2)) == [("H114", ("deals:2",))]
    assert told(cut(2, 3, next_page=2)) == [("H114", ("deals:1",))]
    assert told(cut(1, 2, next_page=2), cut(4, 5, 6, number=2)) == [("H114", ("deals:3",))]


def test_pages_of_a_list_that_has_changed_are_not_held_against_each_other() -> None:
    j = Journal()
    first = j.call(n=1 << 16, tool="list_deals", writes=0)
    j.listing(1, 1, 2, 1, 3, 1, n=1 << 16)
    second = j.call(n=2 << 16, tool="list_deals", writes=0)
    j.listing(0, 1, 1, 1, 2, 1, 3, 1, n=2 << 16)
    spans = (
        span((True, cut(1, 2, next_page=2)), first=first),
        span((True, cut(2, 3, number=2)), step=2, first=second),
    )
    assert j.codes(torn_pages, *spans) == []


def test_the_last_page_of_a_list_in_another_order_tells_nothing_by_itself() -> None:
    first, last = cut(6, 1, 3, next_page=2), cut(5, 2, 4, number=2)
    assert told(last) == []
    assert told(first, last) == []
    assert told(first, cut(5, 2, number=2)) == [("H115", ("deals:4",))]
    assert told(cut(5, 2, number=3)) == []


def test_a_list_in_another_order_has_all_of_it() -> None:
    assert told(cut(6, 5, 4, 3, 2, 1)) == []
    assert told(cut(6, 5, 4, 3, 1)) == [("H115", ("deals:2",))]


def test_what_is_found_of_a_page_is_told_with_its_values_and_once() -> None:
    j = Journal()
    first = j.call(tool="list_deals", writes=0)
    row = j.listing(*[x for key in KEYS for x in (key, 1)], query="stage=open")
    answer = j.answer(t=4)
    (finding,) = j.found(torn_pages, span((True, cut(1, 2)), first=first))
    assert (finding.t, finding.events) == (4, (row, answer))
    assert finding.evidence == {
        "view": "deals.list",
        "key": "deals:3",
        "query": "stage=open",
        "page": 1,
        "delivered": 6,
        "told": 2,
        "source": "primary",
    }
    assert finding.explanation == (
        "page 1 of list_deals ends before deals:3, deals:4, deals:5 and 1 more, "
        "which deals.list delivered, with no next page and no mark of it"
    )
    assert len(told(cut(1, 2), cut(1, 2))) == 1


def test_what_is_no_page_of_one_list_is_not_judged() -> None:
    j = Journal()
    j.call(tool="list_deals", writes=0)
    j.listing(1, 1, 2, 1)
    assert j.codes(torn_pages, span((True, {"deals": []}))) == []
    assert j.codes(torn_pages, span((False, cut()))) == []
    assert j.codes(torn_pages, span()) == []
    j.listing(1, 1)
    assert j.codes(torn_pages, span((True, cut()))) == []
