"""Tax on invoices: what is rounded, when, and which way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("billing", "tax", "tax on invoices"),
    ("invoices", "vat", "value added tax"),
    ("ledger", "duties", "duties"),
    ("accounts", "levies", "levies on sales"),
    ("books", "sales_tax", "sales tax"),
)
FUNCTIONS = ("tax", "tax_of", "tax_due", "total_tax", "owed")
RATE_WORDS = (
    ("full", "reduced", "food", "books"),
    ("standard", "lower", "special", "travel"),
    ("goods", "services", "press", "hotels"),
    ("general", "middle", "low", "culture"),
)
GRANULARITIES = {
    "line": (
        "The tax on each line is rounded to whole cents, and the rounded amounts are added up.",
        (
            "return sum($rounded(net * $RATES[rate]) for net, rate in $lines)",
            "due = 0\nfor net, rate in $lines:\n"
            "    due += $rounded(net * $RATES[rate])\nreturn due",
        ),
    ),
    "rate": (
        "The lines of each rate are added up first; the tax on each of these sums is rounded to "
        "whole cents, and the rounded amounts are added up.",
        (
            "sums = {}\nfor net, rate in $lines:\n    sums[rate] = sums.get(rate, 0) + net\n"
            "return sum($rounded(net * $RATES[rate]) for rate, net in sums.items())",
            "due = 0\nfor rate in sorted({rate for _, rate in $lines}):\n"
            "    whole = sum(net for net, other in $lines if other == rate)\n"
            "    due += $rounded(whole * $RATES[rate])\nreturn due",
        ),
    ),
    "whole": (
        "Nothing is rounded before the end: the exact tax on all lines is added up and then "
        "rounded to whole cents, once.",
        (
            "return $rounded(sum(net * $RATES[rate] for net, rate in $lines))",
            "exact = 0\nfor net, rate in $lines:\n    exact += net * $RATES[rate]\n"
            "return $rounded(exact)",
        ),
    ),
}
FLOOR = "return parts // 10000"
UP = "return (parts + 5000) // 10000"
AWAY = (
    "sign = -1 if parts < 0 else 1\nreturn sign * ((abs(parts) + 5000) // 10000)",
    "if parts < 0:\n    return -$rounded(-parts)\nreturn (parts + 5000) // 10000",
)
EVEN = (
    "whole, rest = divmod(parts, 10000)\nif rest > 5000 or (rest == 5000 and whole % 2 == 1):\n"
    "    whole += 1\nreturn whole",
    "whole, rest = divmod(parts, 10000)\nif rest == 5000:\n    return whole + whole % 2\n"
    "return whole + (rest > 5000)",
)
TRUNCATED = "return -(-parts // 10000) if parts < 0 else parts // 10000"
ROUNDINGS = {
    "away": ("Half a cent goes away from zero.", AWAY, "ROUND_HALF_UP"),
    "even": ("Half a cent goes to the even cent.", EVEN, "ROUND_HALF_EVEN"),
}
TEMPLATE = '''"""Works out $topic."""

# In hundredths of a percent.
$RATES = {
    $rates
}


def $function($lines):
    """Give the tax on an invoice, in cents.

    Each of the $lines is a pair of its net amount in cents and the title of its rate. An amount
    below zero is a credit: its tax is below zero, and counts.

    $granularity $rounding

    Raises KeyError for a rate that there isn't.
    """
    $body


def $rounded(parts):
    """Round an amount in ten-thousandths of a cent to whole cents. $rounding"""
    $round
'''
SOLUTION = """from decimal import $mode, Decimal
from itertools import groupby

SHARES = $shares


def $function($lines):
    def cents(amount):
        return int(amount.quantize(Decimal(1), rounding=$mode))

    exact = [(rate, Decimal(net) * SHARES[rate] / 10000) for net, rate in $lines]
    if "$grain" == "line":
        groups = [[amount] for _, amount in exact]
    elif "$grain" == "rate":
        exact.sort(key=lambda pair: pair[0])
        groups = [[a for _, a in g] for _, g in groupby(exact, key=lambda pair: pair[0])]
    else:
        groups = [[amount for _, amount in exact]]
    return sum(cents(sum(group, Decimal(0))) for group in groups)
"""
GRAIN_STORY = (
    "The $topic on invoices with several lines is a cent or two off.",
    "Our sums and those of the tax office differ by cents, on long invoices only.",
    "One line is fine. As soon as there are more of them, cents are lost or won.",
)
ROUND_STORY = (
    "Some invoices are a cent off, even with a single line.",
    "The rounding of $topic isn't that of the rules.",
)
CREDIT_STORY = (
    "A credit for a whole invoice doesn't give back what was paid on it.",
    "What we give back on credits differs from what we took.",
)


def tax(draw: Draw) -> Ticket:
    """Draw a ticket about tax on an invoice."""
    package, module, topic = draw.pick("place", PLACES)
    grain = draw.pick("grain", tuple(GRANULARITIES))
    mode = draw.pick("mode", tuple(ROUNDINGS))
    titles = draw.some("titles", draw.pick("rate words", RATE_WORDS), draw.between("count", 2, 4))
    # By the first rates half a cent comes often, by the last ones seldom.
    rates = [draw.pick("half rate", (500, 1000, 1500, 2500, 250, 750))]
    rates += draw.some("rates", (1900, 700, 2000, 550, 2100, 810, 260, 1275), len(titles) - 1)
    rate_of = dict(zip(titles, draw.shuffled("order", rates), strict=True))
    half_rate = next(title for title in titles if rate_of[title] == rates[0])
    granularity, bodies = GRANULARITIES[grain]
    rounding, rounds, decimal_mode = ROUNDINGS[mode]
    function = draw.pick("function", FUNCTIONS)
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "lines": draw.pick("lines", ("lines", "items", "positions", "entries")),
        "RATES": draw.pick("table", ("RATES", "PERCENT", "TAX_RATES")),
        "rates": "\n".join(f'"{title}": {rate},' for title, rate in rate_of.items()),
        "rounded": draw.pick("rounded", ("rounded", "to_cents", "whole_cents", "in_cents")),
        "granularity": granularity,
        "rounding": rounding,
        "mode": decimal_mode,
        "grain": grain,
        "shares": rate_of,
    }
    others = [GRANULARITIES[key][1][0] for key in GRANULARITIES if key != grain]
    wrong_rounds = [FLOOR, UP, TRUNCATED, AWAY[0] if mode == "even" else EVEN[0]]
    bugs = {
        "grain": Bug(
            {"body": others[0]},
            ({"body": others[1]}, *({"round": text} for text in wrong_rounds[:2])),
            GRAIN_STORY,
        ),
        "other_grain": Bug(
            {"body": others[1]},
            ({"body": others[0]}, *({"round": text} for text in wrong_rounds[2:])),
            GRAIN_STORY,
        ),
        "floor": Bug(
            {"round": FLOOR}, tuple({"round": text} for text in wrong_rounds[1:]), ROUND_STORY
        ),
        "half": Bug(
            {"round": wrong_rounds[3]},
            tuple({"round": text} for text in (UP, FLOOR, TRUNCATED)),
            ROUND_STORY,
        ),
        "credit": Bug(
            {"round": UP},
            tuple({"round": text} for text in wrong_rounds if text != UP),
            CREDIT_STORY,
        ),
        "no_credit": Bug(
            {"body": bodies[0].replace("net *", "max(net, 0) *")},
            (
                {"body": bodies[0].replace("net *", "abs(net) *")},
                {"body": others[0]},
                {"round": UP},
            ),
            ("Credits on an invoice don't lower the $topic.", "Credits are taxed as if free."),
        ),
    }
    target = f"{package}.{module}:{function}"

    def amount() -> int:
        return draw.between("amount", 1, 40_000) * (-1 if draw.percent("is credit", 25) else 1)

    def half() -> tuple[int, str]:
        # Net amounts whose tax ends in half a cent, where the rate has any.
        step = next(n for n in range(1, 10_001) if n * rates[0] % 10_000 in (5000, 0))
        net = step * (2 * draw.below("half", 200) + 1)
        return (net, half_rate)

    def one(*lines: tuple[int, str]) -> Probe:
        return call(target, [list(line) for line in lines])

    def some(count: int) -> list[tuple[int, str]]:
        return [(amount(), draw.pick("rate", titles)) for _ in range(count)]

    probes = [one(*some(draw.between("lines", 2, 7))) for _ in range(10)]
    probes += [one(half()) for _ in range(4)]
    probes += [one((-net, rate)) for net, rate in (half() for _ in range(4))]
    probes += [one(*[half() for _ in range(k)]) for k in (2, 3, 5)]
    probes += [one(*[(-net, rate) for net, rate in (half(), half(), half())])]
    probes += [one(), one((0, titles[0])), one((100, "unheard of"))]
    probes += [one(half(), *some(2)), one(*some(1)), one(*some(12))]
    cases = [
        Case("no_lines", (one(),)),
        Case(
            "unknown_rate",
            (
                one(
                    (draw.between("net", 1, 999), "nothing"),
                ),
            ),
        ),
    ]
    cases += [Case(f"one_line_{k}", (one(*some(1)),)) for k in ("low", "high", "more")]
    cases += [Case(f"{word}_lines", (one(*some(k)),)) for k, word in enumerate(WORDS, 2)]
    cases += [Case(f"half_a_cent_{word}", (one(half()),)) for word in WORDS]
    for k, word in enumerate(WORDS, 2):
        lines = [half() for _ in range(k)]
        cases.append(Case(f"{word}_halves", (one(*lines),)))
        cases.append(Case(f"credit_of_{word}", (one(*[(-net, rate) for net, rate in lines]),)))
        cases.append(Case(f"{word}_and_credit", (one(*lines, (-amount(), titles[-1])),)))
    spare = [
        one((sign * net, title)) for net in range(1, 90) for title in titles for sign in (1, -1)
    ]
    spare += [one((net, half_rate), (net + 1, titles[0]), (7, half_rate)) for net in range(1, 90)]
    return make_ticket(
        draw,
        Sketch(
            family="tax",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={"body": bodies, "round": rounds},
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Cents are missing in the $topic",
                "`$function` is off by a cent",
                "Rounding of $topic",
                "$package: wrong tax on some invoices",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(spare),
        ),
    )


WORDS = ("two", "three", "four", "five")
