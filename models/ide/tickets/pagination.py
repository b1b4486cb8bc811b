"""Pagination: which items a page has, and what is before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("catalog", "pages", "pages of the catalog"),
    ("search", "results", "pages of search results"),
    ("api", "listing", "listings"),
    ("archive", "browse", "pages of the archive"),
    ("feed", "chunks", "pages of the feed"),
)
FUNCTIONS = ("page", "page_of", "paginate", "get_page", "one_page")
BEYOND = {
    # What the docstring says, the code behind the last page is known, and the same in the solution.
    "empty": (
        "A page beyond the last one has no items; the one before it is then the last page.",
        "",
        "",
    ),
    "clamp": (
        "If a page beyond the last one is asked for, the last one is given.",
        "$number = min($number, last)",
        "$number = numbers[-1] if $number > numbers[-1] else $number",
    ),
    "error": (
        "Raises LookupError for a page beyond the last one.",
        'if $number > last:\n    raise LookupError("no such page")',
        "if $number not in numbers:\n    raise LookupError($number)",
    ),
}
TEMPLATE = '''"""Cuts lists into $topic."""

$MOST = $most


def $function($items, $number=$first, $size=$usual):
    """Give one page of a list of items.

    Pages are numbered from $first. Each has $size items, the last one what is left; never more than
    $most, whatever is asked for. An empty list has one page, which is empty.

    Gives a dict: `$items_key`, `$number_key` (of this page), `$pages_key` (how many there are),
    `$before_key` and `$after_key` (the numbers of the pages next to it, or None). $beyond

    Raises ValueError for a $size below 1 and for a $number below $first.
    """
    if $size < 1 or $number < $first:
        raise ValueError("no such page")
    $cap
    pages = $count
    last = $last
    $limit
    start = $start
    return {
        "$items_key": $items[start : $stop],
        "$number_key": $number,
        "$pages_key": pages,
        "$before_key": $before,
        "$after_key": $after,
    }
'''
SOLUTION = """def $function($items, $number=$first, $size=$usual):
    if not ($size >= 1 and $number >= $first):
        raise ValueError(($number, $size))
    step = sorted(($size, $most))[0]
    left, chunks = list($items), []
    while left:
        chunks.append(left[:step])
        del left[:step]
    chunks = chunks or [[]]
    numbers = list(range($first, $first + len(chunks)))
    $limit_solution
    by_number = dict(zip(numbers, chunks))
    earlier = [n for n in numbers if n < $number]
    later = [n for n in numbers if n > $number]
    return {
        "$items_key": by_number.get($number, []),
        "$number_key": $number,
        "$pages_key": len(chunks),
        "$before_key": earlier[-1] if earlier else None,
        "$after_key": later[0] if later else None,
    }
"""
WORDS = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "yew")


def pagination(draw: Draw) -> Ticket:
    """Draw a ticket about the pages of a list."""
    package, module, topic = draw.pick("place", PLACES)
    function = draw.pick("function", FUNCTIONS)
    first = draw.pick("first", (1, 1, 0))
    most = draw.pick("most", (5, 6, 8, 9, 10, 12))
    usual = draw.between("usual", 2, most - 1)
    beyond, limit, limit_solution = BEYOND[draw.pick("beyond", tuple(BEYOND))]
    keys = draw.pick(
        "keys",
        (
            ("items", "page", "pages", "previous", "next"),
            ("rows", "number", "total_pages", "before", "after"),
            ("results", "at", "of", "back", "forward"),
            ("entries", "index", "count", "prev", "next"),
        ),
    )
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "items": draw.pick("items", ("items", "rows", "found", "things")),
        "number": draw.pick("number", ("number", "page_number", "at", "which")),
        "size": draw.pick("size", ("size", "per_page", "length", "limit_to")),
        "first": first,
        "most": most,
        "usual": usual,
        "MOST": draw.pick("most name", ("MOST", "SIZE_MAX", "MAX_PER_PAGE")),
        "beyond": beyond,
        "limit": limit,
        "limit_solution": limit_solution,
        "items_key": keys[0],
        "number_key": keys[1],
        "pages_key": keys[2],
        "before_key": keys[3],
        "after_key": keys[4],
    }
    start: tuple[str, ...]
    clipped = "min($number - 1, last) if $number > $first else None"
    if first == 1:
        start = ("($number - 1) * $size",)
        last, off = ("pages",), "$number * $size"
        has_more = "$number + 1 if $number <= last else None"
    else:
        start = ("$number * $size", "$size * $number")
        last, off = ("pages - 1",), "($number + 1) * $size"
        has_more = "$number + 1 if $number < pages else None"
    bugs = {
        "start": Bug(
            {"start": off},
            (
                {"start": f"{off} - 1"},
                {"start": f"max({off} - $size - 1, 0)"},
                {"stop": "start + $size - 1"},
            ),
            (
                "The first items never show up.",
                "Each page has the items of another one.",
            ),
        ),
        "count": Bug(
            {"count": "max(len($items) // $size, 1)"},
            (
                {"count": "len($items) // $size + 1"},
                {"count": "round(len($items) / $size) or 1"},
                {"count": "-(-len($items) // $size)"},
            ),
            (
                "What is left over after the last full page can't be reached.",
                "The number of pages is too low for many lists.",
            ),
        ),
        "count_full": Bug(
            {"count": "len($items) // $size + 1"},
            (
                {"count": "max(len($items) // $size, 1)"},
                {"count": "-(-len($items) // $size)"},
                {"count": "(len($items) - 1) // $size + 1"},
            ),
            (
                "Sometimes there is an empty page at the end.",
                "If the items fill their pages just so, one page too many is counted.",
            ),
        ),
        "after": Bug(
            {"after": has_more},
            (
                {"after": "$number + 1 if len($items) > start else None"},
                {"after": "$number + 1 if len($items[start : $stop]) == $size else None"},
                {"after": "$number + 1 if $number < last - 1 else None"},
            ),
            (
                "The last page says that there is one after it.",
                "Readers are sent on from the last page, to nowhere.",
            ),
        ),
        "before": Bug(
            {"before": "$number - 1"},
            (
                {"before": "$number - 1 if $number > 1 else None"}
                if first == 0
                else {"before": "$number - 1 if $number >= $first else None"},
                {"before": "max($number - 1, $first)"},
                {"before": "$number - 1 if start >= $size and $number > $first + 1 else None"},
            ),
            (
                "The first page claims that there is one before it.",
                "On the first page the way back leads out of the list.",
            ),
        ),
        "cap": Bug(
            {"cap": ""},
            (
                {"cap": "$size = min($size, $MOST - 1)"},
                {"cap": "if $size > $MOST:\n    $size = $usual"},
                {"cap": "", "stop": "start + min($size, $MOST)"},
            ),
            (
                "One can ask for pages of any size, and gets them.",
                "The limit to the size of a page isn't kept.",
            ),
        ),
    }
    target = f"{package}.{module}:{function}"

    def items(count: int) -> list[object]:
        if draw.percent("numbers", 50):
            low = draw.between("low", 1, 90)
            return [low + k for k in range(count)]
        return [f"{WORDS[k % 11]}{k // 11 or ''}" for k in range(count)]

    def one(count: int, number: int, size: int | None = None) -> Probe:
        return call(target, items(count), number, *([] if size is None else [size]))

    probes = [one(n, first, n) for n in (1, most, most - 1)]
    for size in draw.some("sizes", range(1, most + 1), 4):
        for full in (1, 2, 3):
            for part in (0, draw.between("part", 1, max(size - 1, 1))):
                count = full * size + part
                probes.append(one(count, first + draw.between("at", 0, full), size))
        probes.append(one(2 * size, first + 1, size))
        probes.append(one(3 * size + 1, first + 3, size))
    probes += [one(0, first), one(0, first, 2), one(0, first + 1), one(usual, first + 1)]
    probes += [one(3 * most, first, most + 1), one(3 * most, first + 1, 4 * most)]
    probes += [one(2 * most, first, most), one(usual + 1, first + 1), one(5, first, 0)]
    probes += [one(5, first - 1), one(usual * 2, first + 4), call(target, items(usual + 1))]
    cases = [
        Case("empty_list", (one(0, first),)),
        Case("page_size_zero", (one(4, first, 0),)),
        Case("page_too_low", (one(4, first - 1),)),
        Case("size_above_the_most", (one(most + 2, first, most + 3),)),
        Case("size_far_above_the_most", (one(most + 4, first + 1, 3 * most),)),
        Case("beyond_the_last", (one(3, first + 5, 2),)),
    ]
    for size in draw.some("shown sizes", range(1, min(most, 5)), 2):
        part = draw.between("shown part", 1, max(size - 1, 1))
        cases += [
            Case(f"first_of_{size}", (one(2 * size + part, first, size),)),
            Case(f"second_of_{size}", (one(2 * size, first + 1, size),)),
            Case(f"last_of_{size}", (one(2 * size + part, first + 2, size),)),
            Case(f"just_{size}", (one(size, first, size),)),
            Case(f"middle_of_{size}", (one(3 * size, first + 1, size),)),
        ]
    return make_ticket(
        draw,
        Sketch(
            family="pagination",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "cap": ("$size = min($size, $MOST)", "if $size > $MOST:\n    $size = $MOST"),
                "count": (
                    "max(-(-len($items) // $size), 1)",
                    "(max(len($items), 1) + $size - 1) // $size",
                    "(max(len($items), 1) - 1) // $size + 1",
                ),
                "last": last,
                "start": start,
                "stop": ("start + $size",),
                "before": (clipped,),
                "after": ("$number + 1 if $number < last else None",),
            },
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Wrong $topic",
                "`$function` and the last page",
                "Readers get lost in the $topic",
                "$package: `$function` gives a wrong page",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(
                call(target, list(range(count)), number, size)
                for count in range(14)
                for size in (1, 2, 3, most, most + 2)
                for number in range(first, first + 5)
            ),
        ),
    )
