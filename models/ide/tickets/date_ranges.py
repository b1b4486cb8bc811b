"""Ranges of dates: which ends count, and what two of them share."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("bookings", "stays", "stays"),
    ("rota", "shifts", "days on duty"),
    ("leave", "absences", "absences"),
    ("rental", "periods", "rental periods"),
    ("planner", "spans", "spans of days"),
)
ENDS = {
    # What the docstring says, what is added to the last day, the half-open end in the solution.
    "included": ("The first and the last day both count.", " + 1", "1"),
    "left": ("The first day counts, the last one doesn't.", "", "0"),
}
SHARED = '''"""Compares $topic."""


def $function($first, $second):
    """Give how many days two ranges of dates share.

    Each range is a pair of its first and its last day, as dates. $ends Ranges that don't meet share
    0 days.

    Raises ValueError for a range that ends before it begins.
    """
    for begin, end in ($first, $second):
        if end < begin:
            raise ValueError("a range ends before it begins")
    begin = $later
    end = $sooner
    return $count
'''
SHARED_SOLUTION = """from datetime import timedelta


def $function($first, $second):
    def days(begin, end):
        if begin > end:
            raise ValueError(begin)
        count = (end - begin).days + $closed
        return {begin + timedelta(days=n) for n in range(count)}

    return len(days(*$first) & days(*$second))
"""
WORKDAYS = '''"""Counts $topic."""

from datetime import timedelta

$FREE = $free_days


def $function($first, $second, $holidays=()):
    """Give how many working days there are from one date to another.

    $ends Days of the week in `$FREE` (Monday is 0) are free, and so are the dates in $holidays; a
    date that is both is left out once.

    Raises ValueError if $second is before $first.
    """
    if $second < $first:
        raise ValueError("the range ends before it begins")
    count = 0
    day = $first
    while $going:
        if $works:
            count += 1
        day += timedelta(days=1)
    return count
'''
WORKDAYS_SOLUTION = """from datetime import date


def $function($first, $second, $holidays=()):
    if $first > $second:
        raise ValueError($first)
    numbers = range($first.toordinal(), $second.toordinal() + $closed)
    free = {day.toordinal() for day in $holidays}
    open_days = [n for n in numbers if date.fromordinal(n).weekday() not in $free_days]
    return len(set(open_days) - free)
"""
MONTHS = '''"""Splits $topic."""

from datetime import date, timedelta


def $function($first, $second):
    """Split a range of dates into the pieces that lie in one calendar month each.

    Gives a list of pairs, in order: the first and the last day of each piece, both counted, as they
    are in the range itself. A range of one day is one piece.

    Raises ValueError if $second is before $first.
    """
    if $second < $first:
        raise ValueError("the range ends before it begins")
    pieces = []
    begin = $first
    while $more:
        $next_month
        last = $piece_end
        pieces.append((begin, last))
        begin = $begins
    return pieces
'''
MONTHS_SOLUTION = """from calendar import monthrange
from datetime import date


def $function($first, $second):
    if $first > $second:
        raise ValueError($first)
    low, high = $first.year * 12 + $first.month - 1, $second.year * 12 + $second.month - 1
    pieces = []
    for number in range(low, high + 1):
        year, month = number // 12, number % 12 + 1
        length = monthrange(year, month)[1]
        opening, closing = date(year, month, 1), date(year, month, length)
        pieces.append((max(opening, $first), min(closing, $second)))
    return pieces
"""
FUNCTIONS = {
    "shared": ("shared_days", "overlap", "days_in_common", "common_days"),
    "workdays": ("working_days", "workdays", "days_at_work", "business_days"),
    "months": ("by_month", "split_by_month", "monthly", "month_pieces"),
}


def date_ranges(draw: Draw) -> Ticket:
    """Draw a ticket about ranges of dates."""
    package, module, topic = draw.pick("place", PLACES)
    form = draw.pick("form", tuple(FUNCTIONS))
    function = draw.pick("function", FUNCTIONS[form])
    ends, plus, closed = ENDS[draw.pick("ends", tuple(ENDS))]
    weeks: tuple[tuple[int, ...], ...] = ((5, 6), (4, 5), (6,), (0, 6))
    free = draw.pick("free", weeks)
    first, second = draw.pick("words", (("first", "second"), ("start", "stop"), ("one", "other")))
    if form != "shared":
        first, second = draw.pick("ends words", (("start", "end"), ("since", "until"), ("a", "b")))
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "first": first,
        "second": second,
        "holidays": draw.pick("holidays", ("holidays", "closed_on", "off")),
        "ends": ends,
        "plus": plus,
        "closed": closed,
        "FREE": draw.pick("free name", ("FREE", "WEEKEND", "REST_DAYS")),
        "free_days": free,
    }
    target = f"{package}.{module}:{function}"
    year = draw.between("year", 2021, 2031)
    base = date(year, draw.between("month", 1, 12), draw.between("day", 1, 28))
    sketch = Sketch(
        family="date_ranges",
        package=package,
        module=module,
        function=function,
        topic=topic,
        template="",
        values=values,
        choices={},
        bugs={},
        solution="",
        title=(
            "Wrong months" if form == "months" else "`$function` counts wrongly",
            "Wrong results for $topic",
            "$package: dates at the edges",
            "`$function` and the last day",
        ),
        cases=(),
        probes=(),
    )
    match form:
        case "shared":
            sketch = shared(draw, target, base, sketch)
        case "workdays":
            sketch = workdays(draw, target, base, sketch, free)
        case _:
            sketch = months(draw, target, base, sketch)
    return make_ticket(draw, sketch)


def later(base: date, days: int) -> date:
    """Give the date some days after another."""
    return base + timedelta(days=days)


def shared(draw: Draw, target: str, base: date, sketch: Sketch) -> Sketch:
    """Draw ranges that meet, and those that don't."""
    values = sketch.values
    closed = values["closed"] == "1"
    count = "max((end - begin).days$plus, 0)"
    later_right = (
        "max($first[0], $second[0])",
        "$first[0] if $first[0] > $second[0] else $second[0]",
    )
    sooner_right = (
        "min($first[1], $second[1])",
        "$first[1] if $first[1] < $second[1] else $second[1]",
    )
    off = "max((end - begin).days, 0)" if closed else "max((end - begin).days + 1, 0)"
    bugs = {
        "ends": Bug(
            {"count": off},
            (
                {"count": "(end - begin).days$plus"},
                {
                    "count": "max((end - begin).days + 1, 1)"
                    if closed
                    else "max((end - begin).days, 1)"
                },
                {"count": "abs((end - begin).days)$plus"},
            ),
            (
                "It isn't clear to the program which days count: results are off by one.",
                "Somebody has changed which of the two ends counts, and now all is off by a day.",
            ),
        ),
        "negative": Bug(
            {"count": "(end - begin).days$plus"},
            (
                {"count": "abs((end - begin).days$plus)"},
                {
                    "count": "max((end - begin).days, 0)$plus"
                    if closed
                    else "max((end - begin).days, 1)"
                },
                {"count": off},
            ),
            (
                "Ranges that lie apart from each other give odd numbers.",
                "For ranges that have nothing to do with each other the answer is below zero.",
            ),
        ),
        "inside": Bug(
            {"sooner": "$second[1]"},
            ({"sooner": "$first[1]"}, {"later": "$second[0]"}, {"later": "$first[0]"}),
            (
                "Where one range lies within the other the answer is too large.",
                "It goes wrong when the second range is the longer one.",
            ),
        ),
        "begin": Bug(
            {"later": "$first[0]"},
            ({"later": "$second[0]"}, {"later": "min($first[0], $second[0])"}, {"count": off}),
            (
                "The order of the two ranges makes a difference, and it must not.",
                "If the second range begins later, too many days are counted.",
            ),
        ),
    }

    def one(a: int, b: int, c: int, d: int) -> Probe:
        return call(target, (later(base, a), later(base, b)), (later(base, c), later(base, d)))

    def length() -> int:
        return draw.between("length", 3, 40)

    def pairs() -> dict[str, tuple[int, int, int, int]]:
        a, n, m = draw.between("at", 0, 300), length(), length()
        gap, inner = draw.between("gap", 2, 30), draw.between("inner", 1, 2)
        return {
            "overlapping": (a, a + n + m, a + n, a + n + m + gap),
            "overlapping_first_later": (a + n, a + n + m + gap, a, a + n + m),
            "second_within_first": (a, a + n + m, a + inner, a + n),
            "first_within_second": (a + inner, a + n, a, a + n + m),
            "same_range": (a, a + n, a, a + n),
            "touching": (a, a + n, a + n, a + n + m),
            "touching_first_later": (a + n, a + n + m, a, a + n),
            "next_day": (a, a + n, a + n + 1, a + n + m),
            "apart": (a, a + n, a + n + gap, a + n + gap + m),
            "apart_first_later": (a + n + gap, a + n + gap + m, a, a + n),
            "single_day_within": (a + 1, a + 1, a, a + n),
            "same_single_day": (a, a, a, a),
        }

    backwards = one(9, 3, 0, 5), one(0, 5, 9, 8)
    probes = [one(*ends) for _ in range(2) for ends in pairs().values()]
    cases = [Case(name, (one(*ends),)) for name, ends in pairs().items()]
    return replace(
        sketch,
        template=SHARED,
        solution=SHARED_SOLUTION,
        choices={"count": (count,), "later": later_right, "sooner": sooner_right},
        bugs=bugs,
        cases=(*cases, Case("backwards", (backwards[0],))),
        probes=(*probes, *backwards),
    )


def workdays(draw: Draw, target: str, base: date, sketch: Sketch, free: tuple[int, ...]) -> Sketch:
    """Draw ranges with weekends and holidays in them."""
    closed = sketch.values["closed"] == "1"
    works = (
        "day.weekday() not in $FREE and day not in $holidays",
        "not (day.weekday() in $FREE or day in $holidays)",
    )
    swapped = "day < $second" if closed else "day <= $second"
    going = ("day <= $second",) if closed else ("day < $second",)
    moved = f"day.weekday() not in {tuple((day + 1) % 7 for day in free)} and day not in $holidays"
    bugs = {
        "ends": Bug(
            {"going": swapped},
            (
                {"going": f"{swapped} or day == $first"},
                {"going": going[0], "works": "day.weekday() not in $FREE"},
                {"works": "day.weekday() not in $FREE or day in $holidays"},
            ),
            (
                "The last day is treated in another way than we agreed on.",
                "Results are off by one, unless the range ends on a free day.",
            ),
        ),
        "holidays": Bug(
            {"works": "day.weekday() not in $FREE"},
            (
                {"works": "day not in $holidays"},
                {"works": "day.weekday() not in $FREE or day not in $holidays"},
                {"works": "day.weekday() not in $FREE and day != next(iter($holidays), None)"},
            ),
            (
                "Holidays are counted as if we worked on them.",
                "We pass the holidays, and they change nothing.",
            ),
        ),
        "both": Bug(
            {"works": "day.weekday() not in $FREE or day not in $holidays"},
            (
                {"works": "day.weekday() not in $FREE"},
                {"works": "day not in $holidays"},
                {"works": "(day.weekday() in $FREE) == (day in $holidays)"},
            ),
            ("Far too many days are counted.", "Neither free days nor holidays are left out."),
        ),
        "week": Bug(
            {"works": moved},
            (
                {"works": f"day.isoweekday() not in {free} and day not in $holidays"},
                {"works": f"day.weekday() < {min(free)} and day not in $holidays"}
                if free != (5, 6)
                else {"works": "day.weekday() < 6 and day not in $holidays"},
                {"works": "day.weekday() not in $FREE"},
            ),
            (
                "The wrong days of the week are taken for free.",
                "Working days are left out and free ones counted: it looks one day off.",
            ),
        ),
    }

    def one(a: int, b: int, holidays: tuple[int, ...] = ()) -> Probe:
        days = [later(base, day) for day in holidays]
        return call(target, later(base, a), later(base, b), *([days] if days else []))

    def drawn(name: str, low: int, high: int) -> Probe:
        a = draw.between("at", 0, 300)
        n = draw.between(name, low, high)
        off = draw.between("off", 1, 4)
        return one(a, a + n, tuple(a + draw.between("holiday", -2, n + 2) for _ in range(off)))

    a = draw.between("whole week", 0, 300)
    probes = [one(a + k, a + k) for k in range(7)] + [one(a, a + k) for k in range(1, 8)]
    probes += [drawn("short", 3, 9) for _ in range(6)] + [drawn("long", 10, 60) for _ in range(6)]
    # Each day of a week as a holiday, the free ones among them, and the last day.
    probes += [one(a, a + 13, (a + k, a + k)) for k in range(7)]
    probes += [one(a, a + 6, (a + 6,)), one(a + 5, a + 2), one(a, a, (a,))]
    first = later(base, a)
    day = f"{first.day:02}_{first.month:02}"
    cases = [Case(f"{k}_days_from_{day}", (one(a, a + k),)) for k in range(1, 9)]
    cases += [Case(f"short_{word}", (drawn("short", 3, 9),)) for word in ("one", "two", "three")]
    cases += [Case(f"long_{word}", (drawn("long", 20, 60),)) for word in ("one", "two", "three")]
    cases += [Case(f"holiday_on_day_{k + 1}", (one(a, a + 13, (a + k,)),)) for k in range(1, 7)]
    cases += [Case("backwards", (one(a + 4, a),))]
    return replace(
        sketch,
        template=WORKDAYS,
        solution=WORKDAYS_SOLUTION,
        choices={"going": going, "works": works},
        bugs=bugs,
        cases=tuple(cases),
        probes=tuple(probes),
    )


def months(draw: Draw, target: str, base: date, sketch: Sketch) -> Sketch:
    """Draw ranges that go over the ends of months and years."""
    next_month = (
        "following = (begin.replace(day=28) + timedelta(days=4)).replace(day=1)",
        "if begin.month == 12:\n    following = date(begin.year + 1, 1, 1)\n"
        "else:\n    following = date(begin.year, begin.month + 1, 1)",
    )
    bugs = {
        "end": Bug(
            {"piece_end": "following - timedelta(days=1)"},
            (
                {"piece_end": "min(following, $second)"},
                {"more": "begin < $second"},
                {"piece_end": "$second if following > $second else following"},
            ),
            (
                "The last piece goes on to the end of its month.",
                "The last piece ends later than the range.",
            ),
        ),
        "length": Bug(
            {"next_month": "following = begin.replace(day=1) + timedelta(days=31)"},
            (
                {"next_month": "following = begin + timedelta(days=30)"},
                {"next_month": "following = begin + timedelta(days=31 - begin.day + 1)"},
                {"piece_end": "following - timedelta(days=1)"},
            ),
            (
                "Months are taken to be equally long.",
                "Pieces don't end where the months do, in some months.",
            ),
        ),
        "last": Bug(
            {"more": "begin < $second"},
            (
                {"more": "begin < $second or not pieces"},
                {"piece_end": "following - timedelta(days=1)"},
                {"begins": "following + timedelta(days=1)"},
            ),
            (
                "A range that ends on the first of a month lacks that day.",
                "For a single day nothing comes out.",
            ),
        ),
        "begin": Bug(
            {"begins": "following + timedelta(days=1)"},
            (
                {"begins": "last + timedelta(days=2)"},
                {"begins": "last + timedelta(days=32)"},
                {"more": "begin < $second"},
            ),
            (
                "The first of each month goes missing.",
                "There are gaps of a day between the pieces.",
            ),
        ),
    }

    def one(a: date, b: date) -> Probe:
        return call(target, a, b)

    def span(low: int, high: int) -> Probe:
        a = later(base, draw.between("at", 0, 900))
        return one(a, later(a, draw.between("span", low, high)))

    first = base.replace(day=1)
    year = base.year
    probes = [span(0, 20) for _ in range(3)] + [span(25, 100) for _ in range(5)]
    probes += [span(300, 800) for _ in range(2)]
    probes += [one(base, base), one(first, first), one(base, later(base, -1))]
    probes += [one(date(year, m, 1), date(year + m // 12, m % 12 + 1, 1)) for m in (1, 2, 4, 12)]
    probes += [one(date(year, 1, 31), date(year, 3, 1)), one(date(2024, 2, 1), date(2024, 2, 29))]
    probes += [one(date(year, 11, 30), date(year + 1, 1, 31)), one(first, date(year + 1, 2, 28))]
    probes += [
        one(date(2024, 2, 29), date(2024, 3, 31)),
        one(date(year, 12, 31), date(year + 1, 1, 1)),
    ]
    cases = [Case(f"some_{word}", (span(25, 70),)) for word in ("weeks", "days", "months", "time")]
    cases += [
        Case("within_a_month", (one(date(year, 5, 3), date(year, 5, 3 + base.day // 2)),)),
        Case("over_new_year", (one(date(year, 12, base.day), date(year + 1, 1, 9)),)),
        Case("whole_month", (one(date(year, 6, 1), date(year, 6, 30)),)),
        Case("up_to_the_first", (one(date(year, 3, base.day), date(year, 4, 1)),)),
        Case("a_single_day", (one(base, base),)),
        Case("february", (one(date(year, 2, 1), date(year, 3, base.day)),)),
        Case("end_of_january", (one(date(year, 1, base.day), date(year, 2, 11)),)),
        Case("backwards", (one(base, later(base, -3)),)),
    ]
    return replace(
        sketch,
        template=MONTHS,
        solution=MONTHS_SOLUTION,
        choices={
            "next_month": next_month,
            "piece_end": ("min(following - timedelta(days=1), $second)",),
            "more": ("begin <= $second",),
            "begins": ("following", "last + timedelta(days=1)"),
        },
        bugs=bugs,
        cases=tuple(cases),
        probes=tuple(probes),
    )
