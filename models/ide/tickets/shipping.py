"""Shipping: a flat price against the multipliers of regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("shop", "shipping", "shipping costs"),
    ("store", "postage", "postage"),
    ("depot", "freight", "freight charges"),
    ("market", "delivery", "delivery charges"),
    ("parcels", "rates", "parcel rates"),
    ("mailroom", "carriage", "carriage prices"),
)
FUNCTIONS = ("cost", "price", "charge", "quote", "fee", "total_for")
REGIONS = (
    ("north", "south", "east", "west", "islands"),
    ("home", "near", "far", "overseas", "alps"),
    ("city", "county", "border", "coast", "highlands"),
    ("zone_a", "zone_b", "zone_c", "zone_d", "zone_e"),
    ("lisbon", "porto", "faro", "azores", "madeira"),
    ("inland", "valley", "delta", "harbour", "ridge"),
)
UNITS = (("grams", 1000, "kilogram"), ("grams", 500, "500 grams"), ("ounces", 16, "pound"))
EXTRAS = {
    # parameter, its documentation, the amount on top, the same in the solution
    "none": ("", "", "", ""),
    "express": (
        ", express=False",
        "An express parcel costs $extra cents more, the same in every $region.",
        " + ($EXTRA if express else 0)",
        " + $EXTRA * int(bool(express))",
    ),
    "long": (
        ", length=0",
        "A parcel that is longer than $longest cm costs $extra cents more, the same in every "
        "$region.",
        " + ($EXTRA if length > $longest else 0)",
        " + $EXTRA * int(not length <= $longest)",
    ),
}
TEMPLATE = '''"""What it costs to send something: $topic."""

$BASE = $base
$STEP = $step
$table
$extra_constant


def $function($weight, $region$parameter):
    """Give what a parcel costs, in cents.

    That is $base cents, and $step cents for each $unit_word or part of it. The sum of the
    two is multiplied by the percentage of the $region, and rounded to the nearest cent, half a cent
    upwards.$extra_doc

    Raises ValueError for a weight that isn't above zero, and KeyError for an unknown
    $region.
    """
    if $weight <= 0:
        raise ValueError("nothing to send")
    percent = $lookup
    steps = $started
    $sum
    return $rounded$extra_right
'''
SOLUTION = """from decimal import ROUND_HALF_UP, Decimal

SHARES = $shares


def $function($weight, $region$parameter):
    if not $weight > 0:
        raise ValueError($weight)
    share = Decimal(SHARES[$region]) / Decimal(100)
    steps, rest = divmod($weight, $unit)
    if rest > 0:
        steps += 1
    amount = Decimal($base)
    for _ in range(steps):
        amount += Decimal($step)
    cents = (amount * share).quantize(Decimal(1), rounding=ROUND_HALF_UP)
    return int(cents)$extra_solution
"""
CHOICES = {
    "lookup": ("$looked_up",),
    "started": ("-(-$weight // $unit)", "($weight + $unit - 1) // $unit"),
    "sum": (
        "hundredths = ($BASE + $STEP * steps) * percent",
        "whole = $BASE + $STEP * steps\nhundredths = whole * percent",
        "hundredths = $BASE * percent + $STEP * steps * percent",
    ),
    "rounded": ("(hundredths + 50) // 100", "(2 * hundredths + 100) // 200"),
}
FLAT = "hundredths = ($BASE + $STEP * steps) * 100"
WEIGHT_ONLY = "hundredths = $BASE * 100 + $STEP * steps * percent"
BASE_ONLY = "hundredths = $BASE * percent + $STEP * steps * 100"
BUGS = {
    "flat": Bug(
        {"lookup": "$looked_up", "sum": FLAT},
        (
            {"sum": WEIGHT_ONLY},
            {"sum": BASE_ONLY},
            {"rounded": "hundredths // 100"},
        ),
        (
            "Everybody pays the same for $topic, wherever it goes. The $region doesn't change "
            "anything.",
            "We have percentages for each $region and they have no effect: all pay the flat price.",
            "A parcel to the dearest $region costs no more than one to the cheapest.",
        ),
    ),
    "weight_only": Bug(
        {"sum": WEIGHT_ONLY},
        ({"sum": BASE_ONLY}, {"sum": FLAT}, {"rounded": "hundredths // 100"}),
        (
            "Light parcels cost nearly the same in every $region, which they shouldn't.",
            "The percentage of the $region seems to be taken of a part of the price only.",
        ),
    ),
    "base_only": Bug(
        {"sum": BASE_ONLY},
        ({"sum": WEIGHT_ONLY}, {"sum": FLAT}, {"started": "$weight // $unit"}),
        (
            "Heavy parcels cost nearly the same in every $region. They shouldn't.",
            "The heavier the parcel, the less it matters which $region it goes to.",
        ),
    ),
    "floor": Bug(
        {"rounded": "hundredths // 100"},
        (
            {"rounded": "round(hundredths / 100)"},
            {"rounded": "-(-hundredths // 100)"},
            {"sum": "hundredths = $BASE * percent // 100 * 100 + $STEP * steps * percent"},
            # With some prices half a cent is all that is ever left, and always of an odd cent.
            {"rounded": "(hundredths + 49) // 100"},
        ),
        (
            "Some prices are a cent too low. It depends on the $region and on the weight.",
            "The books say a cent more than we charge, for some parcels.",
        ),
    ),
    "even": Bug(
        {"rounded": "round(hundredths / 100)"},
        (
            {"rounded": "hundredths // 100"},
            {"rounded": "-(-hundredths // 100)"},
            {"rounded": "int(hundredths / 100 + 0.499)"},
        ),
        (
            "A few prices are a cent too low, others that look just like them are right.",
            "Half a cent sometimes goes up and sometimes down.",
        ),
    ),
    "dropped": Bug(
        {"started": "$weight // $unit"},
        (
            {"started": "$weight // $unit + 1"},
            {"started": "round($weight / $unit)"},
            {"started": "max(1, $weight // $unit)"},
        ),
        (
            "What is left over of a $unit_word is sent for nothing.",
            "A parcel that is a little over a $unit_word costs as much as one that isn't.",
        ),
    ),
    "one_more": Bug(
        {"started": "$weight // $unit + 1"},
        (
            {"started": "$weight // $unit"},
            {"started": "round($weight / $unit)"},
            {"started": "max(1, $weight // $unit)"},
        ),
        (
            "Parcels that weigh just what a step holds are charged for one step too many.",
            "For some weights $topic are too high by one $unit_word.",
        ),
    ),
}


def shipping(draw: Draw) -> Ticket:
    """Draw a ticket about what a parcel costs."""
    package, module, topic = draw.pick("place", PLACES)
    weight, unit, unit_word = draw.pick("unit", UNITS)
    regions = draw.some("regions", draw.pick("region words", REGIONS), draw.between("count", 3, 5))
    # By these a sum that ends in 5 is half a cent; by those it is less or more than half.
    tens, others = (70, 90, 110, 130, 150, 170, 190, 210, 230), (84, 87, 115, 133, 166, 205)
    percents = [draw.pick("percent", tens), draw.pick("percent", others)]
    left = [percent for percent in tens + others if percent not in percents]
    percents += draw.some("percents", left, len(regions) - 2)
    percents = draw.shuffled("order", percents)
    base, step = 10 * draw.between("base", 20, 90) + 5, 2 * draw.between("step", 15, 200) + 2
    percent_of = dict(zip(regions, percents, strict=True))
    extra = draw.pick("extra", tuple(EXTRAS))
    parameter, extra_doc, extra_right, extra_solution = EXTRAS[extra]
    upper = draw.percent("upper", 70)
    names = ("BASE", "STEP", "EXTRA", "PERCENT") if upper else ("base", "per_step", "extra", "by")
    region = draw.pick("region", ("region", "zone", "area", "destination"))
    longest = draw.pick("longest", (60, 80, 120, 150))
    function = draw.pick("function", FUNCTIONS)
    extra_cents = 5 * draw.between("extra cents", 30, 180)
    table, looked_up = table_of(draw, percent_of, region, names[3])
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "weight": weight,
        "unit": unit,
        "unit_word": unit_word,
        "region": region,
        "BASE": names[0],
        "STEP": names[1],
        "EXTRA": extra_cents if extra == "none" else names[2],
        "base": base,
        "step": step,
        "extra": extra_cents,
        "longest": longest,
        "table": table,
        "looked_up": looked_up,
        "shares": percent_of,
        "parameter": parameter,
        "extra_constant": "" if extra == "none" else f"{names[2]} = {extra_cents}",
        "extra_doc": "\n\n    " + extra_doc if extra_doc else "",
        "extra_right": extra_right,
        "extra_solution": extra_solution.replace("$EXTRA", str(extra_cents)),
    }
    target = f"{package}.{module}:{function}"
    halves = [
        (units * unit - draw.below("less", 3), name)
        for units in range(1, 41)
        for name in regions
        if (base + step * units) * percent_of[name] % 100 == 50
    ]

    def extras() -> dict[str, object]:
        if extra == "express":
            return {"express": True} if draw.percent("is express", 50) else {}
        if extra == "long":
            return {"length": longest + draw.between("over", -1, 2)}
        return {}

    def one(weight_given: int, name: str, **more: object) -> Probe:
        return call(target, weight_given, name, **more)

    def odd_weight(high: int) -> int:
        return unit * draw.below("whole", high) + draw.between("part", 1, unit - 1)

    probes = [one(odd_weight(30), name, **extras()) for name in regions for _ in range(3)]
    probes += [one(unit * draw.between("steps", 1, 40), name) for name in regions]
    probes += [one(given, name, **extras()) for given, name in draw.some("halves", halves, 8)]
    probes += [one(1, regions[0]), one(unit + 1, regions[1]), one(unit - 1, regions[2])]
    probes += [one(0, regions[0]), one(-unit, regions[1]), one(unit, "nowhere")]
    probes += [one(unit * draw.between("heavy", 100, 900), regions[1], **extras())]
    cases: list[Case] = []
    shown = draw.shuffled("shown regions", regions)
    for word, name in zip(("light", "small", "plain"), shown, strict=False):
        cases.append(Case(f"{word}_parcel_to_{name}", (one(odd_weight(3), name),)))
    for word, name in zip(("heavy", "large", "bulky"), shown, strict=False):
        heavy = unit * draw.between("shown steps", 4, 12)
        cases.append(Case(f"{word}_parcel_to_{name}", (one(heavy, name, **extras()),)))
    cases += [
        Case(f"price_of_{given}_{weight}_to_{name}", (one(given, name),))
        for given, name in draw.shuffled("shown halves", halves)[:14]
    ]
    cases.append(Case("nothing_to_send", (one(0, shown[0]),)))
    cases.append(Case(f"unknown_{region}", (one(unit, "elsewhere"),)))
    return make_ticket(
        draw,
        Sketch(
            family="shipping",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices=CHOICES,
            bugs=BUGS,
            solution=SOLUTION,
            title=(
                "Wrong $topic",
                "`$function` gives wrong prices",
                "$package: $topic don't add up",
                "Customers are charged wrong $topic",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(one(unit * k, name) for k in range(1, 60) for name in regions),
            visible=4,
        ),
    )


def table_of(draw: Draw, percent_of: dict[str, int], region: str, name: str) -> tuple[str, str]:
    """Write the percentages as one of several tables; gives it and how one is looked up."""
    form = draw.pick("table", ("lines", "line", "classes"))
    if form == "line":
        pairs = ", ".join(f'"{key}": {value}' for key, value in percent_of.items())
        return f"{name} = {{{pairs}}}", f"{name}[{region}]"
    if form == "lines":
        lines = "\n".join(f'    "{key}": {value},' for key, value in percent_of.items())
        return f"{name} = {{\n{lines}\n}}", f"{name}[{region}]"
    letters = {key: "ABCDE"[k] for k, key in enumerate(percent_of)}
    lines = "\n".join(f'    "{key}": "{letter}",' for key, letter in letters.items())
    rates = ", ".join(f'"{letters[key]}": {value}' for key, value in percent_of.items())
    classes = f"CLASS_OF = {{\n{lines}\n}}\n{name} = {{{rates}}}"
    return classes, f"{name}[CLASS_OF[{region}]]"
