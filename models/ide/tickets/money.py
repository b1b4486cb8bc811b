"""Money as text: signs, groups of digits, and currencies with more or fewer places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("receipts", "money", "amounts of money"),
    ("statements", "amounts", "amounts"),
    ("labels", "prices", "prices on labels"),
    ("payroll", "wages", "wages"),
    ("exchange", "display", "amounts on display"),
)
FUNCTIONS = ("show", "format_money", "as_text", "money_text", "printed")
# Symbol and places after the point.
CURRENCIES = {
    "EUR": ("€", 2),
    "USD": ("$", 2),
    "GBP": ("£", 2),
    "JPY": ("¥", 0),
    "KRW": ("₩", 0),
    "KWD": ("KD", 3),
    "TND": ("DT", 3),
    "CHF": ("Fr", 2),
    "CLP": ("CLP", 0),
    "BHD": ("BD", 3),
}
MARKS = {
    # Mark between groups, mark of the point, as the docstring names them.
    "commas": (",", ".", "a comma", "a point"),
    "points": (".", ",", "a point", "a comma"),
    "spaces": (" ", ",", "a space", "a comma"),
    "quotes": ("'", ".", "an apostrophe", "a point"),
}
SIGNS = {
    "minus": (
        "A minus stands before everything else for an amount below zero.",
        '"-" + text',
        '"-%s"',
    ),
    "brackets": (
        "An amount below zero stands in brackets, without a minus.",
        '"(" + text + ")"',
        '"(%s)"',
    ),
    "behind": (
        "A minus stands behind everything else for an amount below zero.",
        'text + "-"',
        '"%s-"',
    ),
}
SIDES = {
    "before": (
        "The symbol stands before the number, with nothing between them.",
        "symbol + number",
    ),
    "after": (
        "The symbol stands after the number, with a space between them.",
        'number + " " + symbol',
    ),
    "apart": (
        "The symbol stands before the number, with a space between them.",
        'symbol + " " + number',
    ),
}
TEMPLATE = '''"""Writes $topic."""

# By currency: the symbol, and how many places it has after the point.
$SYMBOLS = {
    $symbols
}


def $function($amount, $currency="$usual"):
    """Write an amount of money as text.

    The amount is a whole number of the smallest unit of the currency, such as cents. The number has
    as many places as `$SYMBOLS` says, behind $point_doc, and neither these nor that where they are
    none. $mark_doc stands between groups of three digits, counted from the right, of what is before
    the point. $side_doc $sign_doc

    Raises KeyError for a currency that there isn't.
    """
    symbol, places = $SYMBOLS[$currency]
    unit = 10**places
    $split
    $group
    $number
    text = $side
    return $signed
'''
SOLUTION = """TABLE = $table


def $function($amount, $currency="$usual"):
    symbol, places = TABLE[$currency]
    digits = str($amount).lstrip("-")
    while len(digits) <= places:
        digits = "0" + digits
    head, tail = (digits[:-places], digits[-places:]) if places else (digits, "")
    parts = []
    for k, digit in enumerate(reversed(head)):
        if k and k % 3 == 0:
            parts.append("$mark")
        parts.append(digit)
    number = "".join(reversed(parts))
    if tail:
        number = number + "$point" + tail
    text = $side
    return $pattern % text if $amount < 0 else text
"""


def money(draw: Draw) -> Ticket:
    """Draw a ticket about amounts as people read them."""
    package, module, topic = draw.pick("place", PLACES)
    function = draw.pick("function", FUNCTIONS)
    names = draw.some("twos", ("EUR", "USD", "GBP", "CHF"), 2)
    none = draw.pick("none", ("JPY", "KRW", "CLP"))
    three = draw.pick("three", ("KWD", "TND", "BHD"))
    usual = names[0]
    table = {name: CURRENCIES[name] for name in draw.shuffled("order", [*names, none, three])}
    mark, point, mark_doc, point_doc = MARKS[draw.pick("marks", tuple(MARKS))]
    sign_doc, signed, pattern = SIGNS[draw.pick("signs", tuple(SIGNS))]
    side_doc, side = SIDES[draw.pick("sides", tuple(SIDES))]
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "amount": draw.pick("amount", ("amount", "minor", "units")),
        "currency": draw.pick("currency", ("currency", "code", "of")),
        "SYMBOLS": draw.pick("table", ("SYMBOLS", "CURRENCIES", "MONEY")),
        "symbols": "\n".join(f'"{name}": ("{sign}", {n}),' for name, (sign, n) in table.items()),
        "table": table,
        "usual": usual,
        "mark": mark,
        "point": point,
        "mark_doc": mark_doc[0].upper() + mark_doc[1:],
        "point_doc": point_doc,
        "side_doc": side_doc,
        "sign_doc": sign_doc,
        "pattern": pattern,
    }
    splits = (
        "whole, rest = divmod(abs($amount), unit)",
        "whole = abs($amount) // unit\nrest = abs($amount) % unit",
    )
    swapped = f'f"{{whole:,}}".replace(",", "{mark}")' if mark != "," else 'f"{whole:,}"'
    groups = (
        f"grouped = {swapped}",
        'digits = str(whole)\ngrouped = ""\nwhile len(digits) > 3:\n'
        '    grouped = "$mark" + digits[-3:] + grouped\n    digits = digits[:-3]\n'
        "grouped = digits + grouped",
    )
    once = (
        "digits = str(whole)\ngrouped = digits\nif len(digits) > 3:\n"
        '    grouped = digits[:-3] + "$mark" + digits[-3:]'
    )
    left = (
        "digits = str(whole)\n"
        'grouped = "$mark".join(digits[k : k + 3] for k in range(0, len(digits), 3))'
    )
    late = groups[1].replace("> 3", "> 4")
    numbers = (
        'number = f"{grouped}$point{rest:0{places}}" if places else grouped',
        'number = grouped\nif places:\n    number += "$point" + str(rest).zfill(places)',
    )
    unpadded = 'number = f"{grouped}$point{rest}" if places else grouped'
    two = 'number = f"{grouped}$point{rest:02}" if places else grouped'
    dangling = 'number = f"{grouped}$point{rest:0{places}}"'
    stripped = 'number = f"{grouped}$point{rest:0{places}}" if rest else grouped'
    floor = "whole, rest = divmod($amount, unit)"
    hundred = "whole, rest = divmod(abs($amount), 100)"
    from_below = f"{signed} if $amount < -unit else text"
    bugs = {
        "sign": Bug(
            {"split": floor, "signed": "text"},
            (
                {"signed": "text"},
                {"split": floor},
                {"signed": f"{signed} if whole > 0 and $amount < 0 else text"},
            ),
            (
                "Amounts below zero look very odd.",
                "A debt is shown as another amount than it is.",
            ),
        ),
        "small_sign": Bug(
            {"signed": f"{signed} if $amount // unit < 0 and whole else text"},
            (
                {"signed": from_below},
                {"signed": f"{signed} if $amount <= 0 else text"},
                {"signed": signed},
            ),
            (
                "Small debts are shown as if they were ours to get.",
                "For some amounts below zero nothing tells that they are.",
            ),
        ),
        "padding": Bug(
            {"number": unpadded},
            (
                {"number": two},
                {"number": stripped},
                {"number": 'number = f"{grouped}$point{rest:<0{places}}" if places else grouped'},
            ),
            (
                "Five cents look like fifty.",
                "Zeros are missing behind the point.",
            ),
        ),
        "places": Bug(
            {"split": hundred, "number": two.replace(" if places else grouped", "")},
            (
                {"split": hundred},
                {"number": two},
                {"number": dangling},
            ),
            (
                f"Amounts in {none} and {three} are wrong by a factor.",
                "All currencies are taken to have two places.",
            ),
        ),
        "group_once": Bug(
            {"group": once},
            ({"group": left}, {"group": late}, {"group": groups[1].replace("-3", "-2")}),
            (
                "Large amounts are hard to read: there is only one mark in them.",
                "Millions aren't grouped as they should be.",
            ),
        ),
        "group_left": Bug(
            {"group": left},
            ({"group": once}, {"group": late}, {"group": "grouped = str(whole)"}),
            (
                "The digits of some amounts are grouped from the wrong end.",
                "Groups of digits are where nobody expects them.",
            ),
        ),
        "stripped": Bug(
            {"number": stripped},
            ({"number": unpadded}, {"number": dangling}, {"number": two}),
            (
                "Round amounts lack their places.",
                "Where there are no cents, they aren't shown at all; they should be.",
            ),
        ),
    }
    target = f"{package}.{module}:{function}"

    def one(amount: int, currency: str = usual) -> Probe:
        return call(target, amount, *([] if currency == usual else [currency]))

    def digits(count: int) -> int:
        return draw.between("digits", 10 ** (count - 1), 10**count - 1)

    every = (*names, none, three)
    probes = [one(digits(k), draw.pick("code", every)) for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12)]
    probes += [one(-digits(k), draw.pick("code", every)) for k in (1, 2, 3, 4, 5, 6, 8, 10)]
    for name in every:
        probes += [one(0, name), one(digits(1), name), one(-digits(1), name), one(-digits(2), name)]
        probes += [one(1000 * digits(2), name), one(10 * digits(6) + 5, name), one(digits(7), name)]
        probes += [one(-1000, name), one(digits(9), name), one(1001 * digits(3), name)]
    probes += [one(5, "XXX")]
    cases = [Case("unknown_currency", (one(digits(3), "ABC"),)), Case("nothing", (one(0),))]
    for name in every:
        word = name.lower()
        cases += [
            Case(f"smallest_{word}", (one(digits(1), name),)),
            Case(f"some_{word}", (one(digits(4), name),)),
            Case(f"many_{word}", (one(digits(7), name),)),
            Case(f"very_many_{word}", (one(digits(9), name),)),
            Case(f"round_{word}", (one(1000 * digits(1), name),)),
            Case(f"debt_in_{word}", (one(-digits(5), name),)),
            Case(f"small_debt_in_{word}", (one(-digits(2), name),)),
        ]
    return make_ticket(
        draw,
        Sketch(
            family="money",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "split": splits,
                "group": groups,
                "number": numbers,
                "side": (side,),
                "signed": (f"{signed} if $amount < 0 else text",),
            },
            bugs=bugs,
            solution=SOLUTION.replace("$side", side),
            title=(
                "$topic look wrong",
                "`$function` writes wrong amounts",
                "$package: how amounts are written",
                "Customers can't read their amounts",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
        ),
    )
