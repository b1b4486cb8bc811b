"""Conversion of units: factors, offsets, kinds that don't fit, and rounding."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("lab", "units", "units of measure"),
    ("recipes", "measures", "kitchen measures"),
    ("workshop", "scales", "scales"),
    ("weather", "readings", "readings"),
    ("cargo", "quantities", "quantities"),
)
FUNCTIONS = ("convert", "in_unit", "express", "in_units", "converted")
# Units by kind: factor to the first unit of the kind.
KINDS = {
    "length": (
        ("mm", "1"),
        ("cm", "10"),
        ("m", "1000"),
        ("inch", "25.4"),
        ("ft", "304.8"),
        ("yd", "914.4"),
    ),
    "mass": (("g", "1"), ("kg", "1000"), ("oz", "28.3495"), ("lb", "453.592"), ("t", "1000000")),
    "volume": (
        ("ml", "1"),
        ("l", "1000"),
        ("cup", "236.588"),
        ("pint", "473.176"),
        ("gal", "3785.41"),
    ),
    "time": (("s", "1"), ("min", "60"), ("h", "3600"), ("day", "86400"), ("week", "604800")),
    "data": (("byte", "1"), ("kb", "1000"), ("kib", "1024"), ("mb", "1000000"), ("mib", "1048576")),
    "energy": (("j", "1"), ("cal", "4.184"), ("kj", "1000"), ("kcal", "4184"), ("wh", "3600")),
}
# Degrees of each in kelvin: factor, and what is added after it.
DEGREES = {"k": ("1", "0"), "c": ("1", "273.15"), "r": ("0.8", "218.52")}
TEMPLATE = '''"""Converts $topic."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

# For each unit its kind, its factor to the basic unit of the kind, and what is added after that.
$UNITS = {
    $units
}


def $function($amount, $source, $target):
    """Give an amount of one unit in another one, as a Decimal.

    The amount is a Decimal, an int or a text such as "2.5". A unit is worth its factor times the
    amount plus its offset, in the basic unit of its kind. The result has $digits places after the
    point; $half_doc.

    Raises KeyError for a unit that there isn't, and ValueError for two units of different kinds and
    for an amount that is below zero, except where the units are of the kind `$signed`.
    """
    kind, factor, offset = $UNITS[$source]
    other_kind, other_factor, other_offset = $UNITS[$target]
    $check
    $sign
    basic = $to_basic
    result = $from_basic
    return $rounded
'''
SOLUTION = """from decimal import Decimal
from itertools import permutations
from fractions import Fraction

TABLE = $table


def $function($amount, $source, $target):
    kind, *line = TABLE[$source]
    goal, *other = TABLE[$target]
    given = Fraction(str($amount))
    if kind != goal or (given < 0 and kind != "$signed"):
        raise ValueError($amount)
    (a, b), (c, d) = (tuple(map(Fraction, pair)) for pair in (line, other))
    scaled = (a * given + b - d) / c * 10**$digits
    sign = -1 if scaled < 0 else 1
    whole, rest = divmod(abs(scaled), 1)
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and ($away or whole % 2 == 1)):
        whole += 1
    return Decimal(sign * int(whole)).scaleb(-$digits)
"""


def units(draw: Draw) -> Ticket:
    """Draw a ticket about amounts in other units."""
    package, module, topic = draw.pick("place", PLACES)
    function = draw.pick("function", FUNCTIONS)
    kinds = draw.some("kinds", tuple(KINDS), draw.between("count", 2, 3))
    chosen = {kind: draw.some("units", KINDS[kind], 3) for kind in kinds}
    digits = draw.pick("digits", (1, 2, 3))
    away = draw.percent("away", 60)
    degrees = draw.some("degrees", tuple(DEGREES), draw.pick("how many", (2, 3)))
    if "k" not in degrees or "c" not in degrees:
        degrees = ["k", "c", *[name for name in degrees if name == "r"]]
    table = {name: (kind, factor, "0") for kind, some in chosen.items() for name, factor in some}
    table |= {name: ("warmth", *DEGREES[name]) for name in degrees}
    rows = [
        f'"{name}": ("{kind}", Decimal("{factor}"), Decimal("{offset}")),'
        for name, (kind, factor, offset) in table.items()
    ]
    mode, other_mode = (
        ("ROUND_HALF_UP", "ROUND_HALF_EVEN") if away else ("ROUND_HALF_EVEN", "ROUND_HALF_UP")
    )
    one_digit = str(Decimal(1).scaleb(-digits))
    one_less = str(Decimal(1).scaleb(-digits + 1))
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "amount": draw.pick("amount", ("amount", "quantity", "number")),
        "source": draw.pick("source", ("source", "given_in", "from_unit")),
        "target": draw.pick("target", ("target", "wanted_in", "to_unit")),
        "UNITS": draw.pick("table", ("UNITS", "FACTORS", "TABLE")),
        "units": "\n".join(rows),
        "table": table,
        "digits": digits,
        "half_doc": "half of the last place goes away from zero"
        if away
        else "half of the last place goes to the even digit",
        "signed": "warmth",
        "away": away,
        "mode": mode,
    }
    check = 'if kind != other_kind:\n    raise ValueError("units of different kinds")'
    sign = 'if Decimal($amount) < 0 and kind != "$signed":\n    raise ValueError("below zero")'
    to_basic = ("Decimal($amount) * factor + offset", "factor * Decimal($amount) + offset")
    from_basic = ("(basic - other_offset) / other_factor",)
    rounded = f'result.quantize(Decimal("{one_digit}"), rounding={mode})'
    last = f'Decimal("{one_digit}")'
    shorter = f'result.quantize(Decimal("{one_less}"), rounding={mode})'
    half_up = f'(result + {last} / 2).quantize({last}, rounding="ROUND_FLOOR")'
    bugs = {
        "inverse": Bug(
            {"from_basic": "basic * other_factor - other_offset"},
            (
                {"from_basic": "basic / other_factor - other_offset"},
                {"from_basic": "basic / factor - other_offset"},
                {"to_basic": "Decimal($amount) / factor + offset"},
            ),
            (
                "From a larger unit to a smaller one the result is too small, and the other way.",
                "Only conversions into the basic unit of a kind are right.",
            ),
        ),
        "offset_order": Bug(
            {
                "to_basic": "(Decimal($amount) + offset) * factor",
                "from_basic": "basic / other_factor - other_offset",
            },
            (
                {"to_basic": "Decimal($amount) * factor", "from_basic": "basic / other_factor"},
                {"from_basic": "(basic + other_offset) / other_factor"},
                {"to_basic": "Decimal($amount) * factor - offset"},
            ),
            (
                "Some temperatures come out wrong; lengths and the like are fine.",
                "Offsets and factors aren't used in the order that is written down.",
            ),
        )
        if "r" in degrees
        else Bug(
            {"from_basic": "basic / other_factor"},
            (
                {"from_basic": "(basic + other_offset) / other_factor"},
                {"to_basic": "Decimal($amount) * factor", "from_basic": "basic / other_factor"},
                {"to_basic": "Decimal($amount) * factor - offset"},
            ),
            ("Temperatures come out too high.", "The offset is left in where it should go."),
        ),
        "no_offset": Bug(
            {"to_basic": "Decimal($amount) * factor"},
            (
                {"to_basic": "Decimal($amount) * factor - offset"},
                {"from_basic": "basic / other_factor"},
                {"to_basic": "Decimal($amount) * factor", "from_basic": "basic / other_factor"},
            ),
            ("Temperatures are far too low.", "An offset is forgotten on the way."),
        ),
        "half": Bug(
            {"rounded": rounded.replace(mode, other_mode)},
            (
                {"rounded": f"round(result, {digits})" if away else half_up},
                {"rounded": rounded.replace(mode, '"ROUND_DOWN"')},
                {"rounded": rounded.replace(mode, '"ROUND_UP"')},
            ),
            (
                "Some results are wrong in their last place.",
                "Where a result lies just between two numbers, we get the wrong one.",
            ),
        ),
        "digits": Bug(
            {"rounded": rounded.replace(f'"{one_digit}"', f'"{one_less}"')},
            (
                {"rounded": f"{shorter}.quantize({last})"},
                {"rounded": f"round(float(result), {digits})"},
                {"rounded": "result"},
            ),
            ("Results aren't exact enough.", "A place after the point is missing."),
        ),
        "kinds": Bug(
            {"check": ""},
            (
                {"check": "if kind != other_kind:\n    return None"},
                {"check": check.replace("ValueError", "KeyError")},
                {"check": check, "sign": ""},
            ),
            (
                "One can convert things into each other that have nothing in common.",
                "Mixing up the units of two kinds goes by without an error.",
            ),
        ),
        "sign": Bug(
            {"sign": ""},
            (
                {"sign": sign.replace(' and kind != "$signed"', "")},
                {"sign": sign.replace("< 0", "<= 0")},
                {"sign": sign.replace("raise ValueError", "raise KeyError")},
            ),
            (
                "Amounts below zero are taken where there can't be any.",
                "Nobody has noticed that an amount was negative.",
            ),
        ),
    }
    where = f"{package}.{module}:{function}"

    def one(amount: object, source: str, target: str) -> Probe:
        return call(where, amount, source, target)

    def pair(kind: str) -> tuple[str, str]:
        first, second = draw.some("pair", [name for name, _ in chosen[kind]], 2)
        return first, second

    def amount() -> object:
        whole = draw.between("whole", 0, 400)
        part = draw.between("part", 0, 999)
        form = draw.pick("form", ("int", "text", "decimal"))
        return (
            whole
            if form == "int"
            else f"{whole}.{part:03}"
            if form == "text"
            else Decimal(f"{whole}.{part:03}")
        )

    def half(name: str) -> tuple[str, str, str]:
        units_of_last = 2 * draw.between("halves", 0, 400) + 1
        return str(Decimal(units_of_last * 5).scaleb(-digits - 1)), name, name

    def warm() -> tuple[object, str, str]:
        first, second = draw.some("degrees pair", degrees, 2)
        return draw.between("warmth", -60, 400), first, second

    first_kind, second_kind = kinds[:2]
    alone = chosen[first_kind][0][0]
    cold = str(Decimal(-(2 * draw.between("cold halves", 1, 90) + 1) * 5).scaleb(-digits - 1))
    probes = [one(amount(), *pair(draw.pick("kind", kinds))) for _ in range(12)]
    probes += [one(*warm()) for _ in range(5)] + [one(*half(alone)) for _ in range(5)]
    probes += [
        one(draw.between("below", -50, -1), "c", "k"),
        one(cold, "c", "c"),
        one(0, *pair(first_kind)),
    ]
    probes += [one(-1, *pair(first_kind)), one("-0.5", *pair(second_kind)), one(1, "stone", alone)]
    probes += [one(1, alone, "cubit"), one(3, alone, chosen[second_kind][0][0]), one(5, alone, "k")]
    probes += [one(-3, "k", "c"), one(0, "c", "k"), one(0, "k", "c")]
    cases = [Case("unknown_unit", (one(1, "furlong", alone),))]
    for word in ("some", "more", "other", "few"):
        kind = draw.pick("shown kind", kinds)
        first, second = pair(kind)
        cases += [
            Case(f"{first}_in_{second}", (one(amount(), first, second),)),
            Case(f"{word}_degrees", (one(*warm()),)),
            Case(f"{word}_halves", (one(*half(alone)),)),
            Case(
                f"{word}_{second}_to_{first}", (one(draw.between("plain", 1, 60), second, first),)
            ),
        ]
    for word, kind in zip(("lack", "debt"), (first_kind, second_kind), strict=True):
        cases.append(Case(f"{word}_of_{kind}", (one(-draw.between("lack", 1, 9), *pair(kind)),)))
    cases.append(
        Case(
            "kinds_that_differ",
            (one(draw.between("mixed", 1, 9), alone, chosen[second_kind][1][0]),),
        )
    )
    cases.append(Case("warmth_is_no_length", (one(draw.between("mixed", 1, 9), "c", alone),)))
    return make_ticket(
        draw,
        Sketch(
            family="units",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "check": (check,),
                "sign": (sign,),
                "to_basic": to_basic,
                "from_basic": from_basic,
                "rounded": (
                    rounded,
                    rounded.replace("result.quantize(", "Decimal.quantize(result, "),
                ),
            },
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Wrong conversion of $topic",
                "`$function` gives wrong amounts",
                "$package: amounts in other units",
                "Amounts aren't converted as they should be",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(
                one(str(Decimal(n).scaleb(-digits - 1)), a, b)
                for n in (*range(-95, -5, 5), *range(5, 400, 5))
                for a, b in (*permutations(degrees, 2), (alone, alone), pair(first_kind))
            ),
        ),
    )
