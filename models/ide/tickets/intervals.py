"""Intervals: what is joined when they overlap or touch, and what is free between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("agenda", "busy", "busy times"),
    ("network", "blocks", "address blocks"),
    ("genome", "regions", "regions"),
    ("tv", "recordings", "recordings"),
    ("farm", "fields", "strips of fields"),
)
FUNCTIONS = {
    "merge": ("merge", "joined", "combine", "union", "collapse"),
    "gaps": ("gaps", "free_between", "holes", "unused", "openings"),
}
TOUCH = {
    # What the docstring says, how much further than its end an interval reaches for others.
    "touch": ("Intervals that only touch, as (1, 3) and (3, 5), are joined too.", "", 0),
    "apart": ("Intervals that only touch, as (1, 3) and (3, 5), stay apart.", "", -1),
    "next": (
        "The numbers are whole and both ends belong to an interval, so (1, 3) and (4, 6) are "
        "joined too.",
        " + 1",
        1,
    ),
}
MERGE = '''"""Joins $topic."""


def $function($spans):
    """Join intervals that overlap; gives a list of pairs of whole numbers, in order.

    Each interval is a pair of its begin and its end, in any order of intervals. $touch_doc The list
    that is given is left as it is.

    Raises ValueError for an interval whose end isn't above its begin.
    """
    $check
    $joined = []
    for begin, end in $ordered:
        if $joined and $meets:
            $extend
        else:
            $joined.append((begin, end))
    return $joined
'''
MERGE_SOLUTION = """def $function($spans):
    for begin, end in $spans:
        if not begin < end:
            raise ValueError((begin, end))
    left = [tuple(span) for span in $spans]
    changed = True
    while changed:
        changed = False
        for i, (a, b) in enumerate(left):
            for j in range(i):
                c, d = left[j]
                if max(a, c) - min(b, d) <= $reach:
                    left[j] = (min(a, c), max(b, d))
                    del left[i]
                    changed = True
                    break
            if changed:
                break
    return sorted(left)
"""
GAPS = '''"""Finds what is free among $topic."""


def $function($spans, low, high):
    """Give what is free from `low` to `high`: a list of pairs of whole numbers, in order.

    Each of the $spans is a pair of its begin, which belongs to it, and its end, which doesn't; they
    come in any order, may overlap, and may lie outside of `low` to `high` in part or wholly. Free
    intervals are as long as they can be, and none is empty. The list that is given is left as it
    is.

    Raises ValueError if `high` is below `low`, and for an interval whose end isn't above its begin.
    """
    if high < low:
        raise ValueError("high is below low")
    $check
    $joined = []
    at = low
    for begin, end in $ordered:
        if $free:
            $joined.append($gap)
        at = $move
    if $rest:
        $joined.append((at, high))
    return $joined
'''
GAPS_SOLUTION = """from itertools import groupby


def $function($spans, low, high):
    if low > high:
        raise ValueError((low, high))
    taken = set()
    for begin, end in $spans:
        if not begin < end:
            raise ValueError((begin, end))
        taken.update(range(max(begin, low), min(end, high)))
    free = [n for n in range(low, high) if n not in taken]
    runs = [[n for _, n in run] for _, run in groupby(enumerate(free), lambda p: p[1] - p[0])]
    return [(run[0], run[-1] + 1) for run in runs]
"""
CHECK = (
    'if any(end <= begin for begin, end in $spans):\n    raise ValueError("an empty interval")',
    "for begin, end in $spans:\n    if begin >= end:\n"
    '        raise ValueError("an interval ends before it begins")',
)
NO_ORDER = "$spans"
IN_PLACE = "$spans.sort() or $spans"


def intervals(draw: Draw) -> Ticket:
    """Draw a ticket about intervals."""
    package, module, topic = draw.pick("place", PLACES)
    form = draw.pick("form", tuple(FUNCTIONS))
    function = draw.pick("function", FUNCTIONS[form])
    touch_doc, more, reach = TOUCH[draw.pick("touch", tuple(TOUCH))]
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "spans": draw.pick("spans", ("spans", "intervals", "pairs", "ranges")),
        "joined": draw.pick("joined", ("out", "found", "result", "answer")),
        "touch_doc": touch_doc,
        "reach": reach,
    }
    target = f"{package}.{module}:{function}"
    ordered = ("sorted($spans)", "sorted($spans, key=lambda span: tuple(span))")
    by_end = "sorted($spans, key=lambda span: span[1])"
    by_begin = "sorted($spans, key=lambda span: span[0])"
    merging = form == "merge"
    choices: dict[str, tuple[str, ...]] = {"check": CHECK, "ordered": (*ordered, by_begin)}
    if merging:
        compare = "<" if reach < 0 else "<="
        meets = f"begin {compare} $joined[-1][1]{more}"
        wrong = {
            -1: (
                "begin <= $joined[-1][1]",
                "begin <= $joined[-1][1] + 1",
                "begin + 1 < $joined[-1][1]",
            ),
            0: (
                "begin < $joined[-1][1]",
                "begin <= $joined[-1][1] + 1",
                "begin + 1 < $joined[-1][1]",
            ),
            1: ("begin <= $joined[-1][1]", "begin < $joined[-1][1]", "begin <= $joined[-1][1] + 2"),
        }[reach]
        extends = (
            "$joined[-1] = ($joined[-1][0], max($joined[-1][1], end))",
            "first, last = $joined.pop()\n$joined.append((first, max(last, end)))",
        )
        shrinks = "$joined[-1] = ($joined[-1][0], end)"
        keeps = "$joined[-1] = ($joined[-1][0], $joined[-1][1])"
        choices |= {"meets": (meets,), "extend": extends}
        bugs = {
            "touch": Bug(
                {"meets": wrong[0]},
                ({"meets": wrong[1]}, {"meets": wrong[2]}, {"extend": shrinks}),
                (
                    "Intervals at each other's border aren't treated as agreed.",
                    "It is wrong where one interval ends and the next one begins.",
                ),
            ),
            "shrink": Bug(
                {"extend": shrinks},
                ({"extend": keeps}, {"ordered": by_end}, {"meets": wrong[0]}),
                (
                    "An interval within a larger one makes the larger one shorter.",
                    "The end of the result is too low where intervals lie within others.",
                ),
            ),
            "order": Bug(
                {"ordered": NO_ORDER},
                ({"ordered": by_end}, {"ordered": IN_PLACE}, {"ordered": "reversed($spans)"}),
                (
                    "It depends on the order of the intervals what comes out.",
                    "Intervals that overlap aren't joined if they come in an unlucky order.",
                ),
            ),
        }
        in_place_half = {"extend": shrinks}
    else:
        gap = ("(at, min(begin, high))",)
        choices |= {
            "free": ("at < min(begin, high)", "min(begin, high) > at"),
            "gap": gap,
            "move": ("max(at, end)", "end if end > at else at"),
            "rest": ("at < high", "high > at"),
        }
        bugs = {
            "move": Bug(
                {"move": "end"},
                ({"move": "max(at, begin)"}, {"ordered": by_end}, {"move": "max(at, end) + 1"}),
                (
                    "Times that are taken are given as free, where an interval lies in another.",
                    "Something that is taken is offered as free.",
                ),
            ),
            "outside": Bug(
                {"free": "at < begin", "gap": "(at, begin)"},
                (
                    {"free": "at < begin"},
                    {"free": "at < begin <= high", "gap": "(at, begin)"},
                    {"rest": "True"},
                ),
                (
                    "What lies above `high` is given as free.",
                    "The result goes beyond the upper limit that was asked for.",
                ),
            ),
            "empty": Bug(
                {"free": "at <= min(begin, high)"},
                (
                    {"free": "at <= begin", "gap": "(at, begin)"},
                    {"free": "True"},
                    {"rest": "at <= high"},
                ),
                (
                    "There are empty intervals in the result.",
                    "Between intervals that touch there is said to be something free.",
                ),
            ),
            "rest": Bug(
                {"rest": "at <= high"},
                ({"rest": "True"}, {"rest": "$spans and at < high"}, {"rest": "at < high - 1"}),
                (
                    "The last of the free intervals is empty, if all is taken up to the end.",
                    "At the upper end something is free that isn't.",
                ),
            ),
            "order": Bug(
                {"ordered": NO_ORDER},
                ({"ordered": by_end}, {"ordered": IN_PLACE}, {"ordered": "reversed($spans)"}),
                (
                    "It depends on the order of the intervals what is free.",
                    "Unsorted intervals give nonsense.",
                ),
            ),
        }
        in_place_half = {"move": "end"}
    bugs["check"] = Bug(
        {"check": ""},
        (
            {"check": CHECK[0].replace("<=", "<")},
            {"check": CHECK[0].replace("end <= begin", "end == begin")},
            in_place_half,
        ),
        (
            "Nonsense such as an interval that ends before it begins goes through.",
            "Empty intervals aren't refused any more.",
        ),
    )

    def one(*spans: tuple[int, int]) -> Probe:
        pairs = [list(span) for span in spans]
        return call(target, pairs) if merging else call(target, pairs, low, high)

    def some(count: int) -> list[tuple[int, int]]:
        begins = [draw.between("begin", low - 6, high + 4) for _ in range(count)]
        return [(begin, begin + draw.between("length", 1, 9)) for begin in begins]

    low = draw.between("low", 0, 40)
    high = low + draw.between("width", 25, 45)
    n = low + draw.between("from", 3, 9)
    m = n + draw.between("to", 4, 9)
    within = ((n, m), (n + 1, m - 2))
    told: dict[str, tuple[tuple[int, int], ...]] = {
        "within": within,
        "within_backwards": within[::-1],
        "touching": ((n, m), (m, m + 3)),
        "next_to_each_other": ((n, m), (m + 1, m + 4)),
        "two_apart": ((n, m), (m + 2, m + 5)),
        "overlapping": ((n, m), (m - 1, m + 4)),
        "unsorted": ((m, m + 2), (n, m + 1), (low, n + 1)),
        "same_twice": ((n, m), (n, m)),
        "apart_unsorted": ((m + 5, m + 6), (n, m)),
        "long_and_short": ((n, m + 8), (n + 1, n + 2), (n + 4, n + 5)),
        "same_begin": ((n, m), (n, m - 1), (n, m + 1)),
        "up_to_the_end": ((n, high),),
        "over_the_end": ((n, m), (high - 1, high + 6)),
        "above": ((n, m), (high + 2, high + 5)),
        "from_below": ((low - 5, low + 2), (n, m)),
        "all_of_it": ((low - 1, high + 1),),
        "at_the_end": ((n, m), (high, high + 3)),
    }
    odd = {"none": (), "empty_one": ((n, n),), "backwards": ((m, n),)}
    shifted = [
        tuple((a + draw.between("shift", 0, 1), b + 1) for a, b in spans) for spans in told.values()
    ]
    probes = [one(*spans) for spans in (*told.values(), *odd.values(), *shifted)]
    probes += [one(*some(k)) for k in (1, 2, 3, 4, 5, 6, 8, 10)]
    probes += [one((n + 2, n + 2)), one((m + 1, n)), one((n, m), (m + 3, m + 3)), one((m, m - 1))]
    probes += [one((m, high)), one((n, m), (m, high)), one((m, high), (n, m + 1))]
    cases = [Case(title, (one(*spans),)) for title, spans in (told | odd).items()]
    cases += [Case(f"{word}_drawn", (one(*some(4)),)) for word in ("some", "others")]
    return make_ticket(
        draw,
        Sketch(
            family="intervals",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=MERGE if merging else GAPS,
            values=values,
            choices=choices,
            bugs=bugs,
            solution=MERGE_SOLUTION if merging else GAPS_SOLUTION,
            title=(
                "Wrong $topic",
                "`$function` and intervals at the border",
                "$package: `$function` gives wrong intervals",
                "Intervals of $topic come out wrong",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(one(*some(3)) for _ in range(40)),
        ),
    )
