"""Discounts: in which order they stack, and how far down they may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.tickets.sketch import Bug, Sketch, call, make_ticket
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Probe, Ticket

PLACES = (
    ("checkout", "discounts", "discounts"),
    ("till", "reductions", "reductions"),
    ("cart", "coupons", "coupons"),
    ("sales", "rebates", "rebates"),
    ("pricing", "offers", "special offers"),
)
FUNCTIONS = ("price_after", "reduced", "final_price", "to_pay", "discounted")
ROUND = {
    "down": (
        "down to whole cents",
        ("left * (100 - percent) // 100", "left - -(-left * percent // 100)"),
        "floor",
    ),
    "up": (
        "up to whole cents",
        ("-(-left * (100 - percent) // 100)", "left - left * percent // 100"),
        "ceil",
    ),
}
TEMPLATE = '''"""Takes $topic off prices."""

$LEAST = $least


def $function($price, $percents=(), $fixed=0, $member=False):
    """Give what is left to pay of a price in cents after all $topic.

    $percents are percentages. Each is taken of what the ones before it have left, $order_doc, and
    after each one the price is rounded $round_doc. $member_doc Then $fixed cents are taken off.

    All $topic together never bring the price below $least percent of the original one (rounded up
    to whole cents), which is given instead if they would.

    Raises ValueError for a percentage that isn't from 0 to 100, and for amounts below zero.
    """
    if $price < 0 or $fixed < 0 or any(not 0 <= percent <= 100 for percent in $percents):
        raise ValueError("no such discount")
    left = $price
    $steps
    return $floor
'''
SOLUTION = """from fractions import Fraction
from math import ceil, floor


def $function($price, $percents=(), $fixed=0, $member=False):
    if min($price, $fixed, *$percents, 0) < 0 or max([0, *$percents]) > 100:
        raise ValueError($price)
    chain = sorted($percents, reverse=True) if $sorts else list($percents)
    member = [$member_percent] if $member else []
    chain = member + chain if $member_first else chain + member
    amount = Fraction($price)
    for share in chain:
        amount = Fraction($rounding(amount * (1 - Fraction(share, 100))))
    bound = ceil(Fraction($price * $least, 100))
    return int(max(amount - $fixed, bound))
"""
LOOP = "for percent in $walk:\n    left = $one"
MEMBER = "if $member:\n    percent = $member_percent\n    left = $one"
FIXED = "left -= $fixed"


def discounts(draw: Draw) -> Ticket:
    """Draw a ticket about what is left of a price."""
    package, module, topic = draw.pick("place", PLACES)
    function = draw.pick("function", FUNCTIONS)
    round_doc, ones, rounding = ROUND[draw.pick("round", tuple(ROUND))]
    sorts = draw.percent("sorts", 40)
    member_first = draw.percent("member first", 45)
    member_percent = draw.pick("member percent", (3, 4, 5, 6, 7, 9))
    least = draw.pick("least", (10, 15, 20, 25, 30, 35))
    walks = ("sorted($percents, reverse=True)",) if sorts else ("$percents",)
    when = "before all of these" if member_first else "after all of these"
    member_word = draw.pick("member", ("member", "club", "staff", "loyal"))
    values: dict[str, object] = {
        "topic": topic,
        "function": function,
        "price": draw.pick("price", ("price", "cents", "full_price")),
        "percents": draw.pick("percents", ("percents", "shares", "rates")),
        "fixed": draw.pick("fixed", ("fixed", "voucher", "off")),
        "member": member_word,
        "LEAST": draw.pick("least name", ("LEAST", "LEAST_PERCENT", "MINIMUM_SHARE")),
        "least": least,
        "order_doc": "the largest one first" if sorts else "in the order in which they are given",
        "round_doc": round_doc,
        "member_doc": f"With ${{member}} {member_percent} percent more are taken off in the same "
        f"way, {when}.",
        "member_percent": member_percent,
        "member_first": member_first,
        "sorts": sorts,
        "rounding": rounding,
    }
    order = (MEMBER, LOOP, FIXED) if member_first else (LOOP, MEMBER, FIXED)
    steps = ("\n".join(order),)
    bound = "-(-$price * $LEAST // 100)"
    floors = (f"max(left, {bound})", f"left if left > {bound} else {bound}")
    summed = "left = left * (100 - min(sum($percents), 100)) // 100"
    swapped = "\n".join((order[1], order[0], FIXED))
    fixed_first = "\n".join((FIXED, *order[:2]))
    only_floor = "$price * $LEAST // 100"
    other_one = ROUND["up" if rounding == "floor" else "down"][1][0]
    nearest = "(left * (100 - percent) + 50) // 100"
    other_walk = "$percents" if sorts else "sorted($percents, reverse=True)"
    bugs = {
        "summed": Bug(
            {"steps": steps[0].replace(LOOP, summed)},
            (
                {
                    "steps": steps[0].replace(
                        LOOP, LOOP.replace("$one", "left - $price * percent // 100")
                    )
                },
                {"steps": fixed_first},
                {"walk": "sorted($percents)"},
            ),
            (
                "With two $topic customers pay too little.",
                "Percentages are added up before they are taken off.",
            ),
        ),
        "fixed_first": Bug(
            {"steps": fixed_first},
            (
                {"steps": "\n".join((order[0], FIXED, order[1]))},
                {"steps": swapped},
                {"floor": "left"},
            ),
            (
                "Fixed amounts come off at the wrong moment.",
                "A fixed amount and a percentage together: the customer pays too much.",
            ),
        ),
        "floor": Bug(
            {"floor": "left"},
            (
                {"floor": "max(left, 0)"},
                {"floor": "max(left, $LEAST)"},
                {"floor": f"max(left, {only_floor})"},
            ),
            (
                "One can stack $topic until nothing is left to pay.",
                "We have sold things below the least price that we allow.",
            ),
        ),
        "floor_base": Bug(
            {"floor": "max(left, -(-left * $LEAST // 100))"},
            (
                {"floor": "max(left, 0)"},
                {"floor": f"max(left, {only_floor})"},
                {"floor": "max(left, $LEAST)"},
            ),
            (
                "The least price isn't worked out from the original one.",
                "The lower bound of prices has no effect.",
            ),
        ),
        "rounding": Bug(
            {"one": other_one},
            (
                {"one": nearest},
                {"one": "round(left * (100 - percent) / 100)"},
                {"floor": f"max(left, {only_floor})"},
            ),
            ("Prices are a cent off in most cases.", "Cents are rounded the wrong way."),
        ),
        "member": Bug(
            {"steps": swapped},
            (
                {"steps": "\n".join((LOOP, FIXED))},
                {"steps": "\n".join((LOOP, FIXED, MEMBER))},
                {"one": other_one},
            ),
            (
                "For those with `$member` some prices are a cent off.",
                "The order in which the `$member` discount comes isn't kept.",
            ),
        ),
        "order": Bug(
            {"walk": other_walk},
            (
                {"walk": "sorted($percents)"},
                {"walk": "reversed($percents)"},
                {"walk": "$percents[:1]"},
            ),
            (
                "Several $topic aren't taken in the right order, which costs a cent now and then.",
                "The result depends on the order of $topic in another way than it should.",
            ),
        ),
    }
    target = f"{package}.{module}:{function}"

    def one(*args: object, **more: object) -> Probe:
        return call(target, *args, **more)

    def price() -> int:
        return draw.between("price", 99, 50_000)

    def percents(count: int) -> list[int]:
        return [draw.between("percent", 1, 35) for _ in range(count)]

    member = {member_word: True}
    fixed_name = str(values["fixed"])
    probes = [one(price(), percents(2)) for _ in range(4)] + [
        one(price(), percents(3)) for _ in range(4)
    ]
    probes += [one(price(), percents(2), **member) for _ in range(5)]
    probes += [one(price(), percents(1), draw.between("fixed", 1, 40)) for _ in range(4)]
    probes += [one(price(), percents(2), draw.between("fixed", 1, 40), **member) for _ in range(3)]
    probes += [one(price(), [draw.between("high", 60, 99), *percents(2)]) for _ in range(3)]
    probes += [
        one(draw.between("low", 1, 99), [], draw.between("much", 100, 900)) for _ in range(3)
    ]
    probes += [
        one(price()),
        one(0, [10], 5),
        one(price(), [100]),
        one(price(), [0]),
        one(price(), [101]),
    ]
    probes += [one(price(), [-1]), one(-5), one(price(), [], -1), one(price(), [], **member)]
    cases = [
        Case("no_discount", (one(price()),)),
        Case("percentage_too_high", (one(price(), [draw.between("too high", 101, 140)]),)),
        Case("negative_price", (one(-price()),)),
        Case(f"{member_word}_alone", (one(100 * draw.between("round price", 3, 90), **member),)),
    ]
    for word in ("small", "usual", "large", "odd", "even", "plain"):
        cases += [
            Case(f"two_on_{word}", (one(price(), percents(2)),)),
            Case(f"one_on_{word}", (one(price(), percents(1)),)),
            Case(f"three_for_{member_word}_{word}", (one(price(), percents(3), **member),)),
            Case(f"one_for_{member_word}_{word}", (one(price(), percents(1), **member),)),
            Case(
                f"{fixed_name}_on_{word}",
                (one(price(), percents(1), draw.between("cents", 1, 30)),),
            ),
            Case(f"least_of_{word}", (one(price(), [draw.between("most", 80, 99), 20]),)),
        ]
    spare = [
        one(price_given, [a, b], 3, **more)
        for price_given in range(1001, 1101, 7)
        for a, b in ((3, 7), (7, 3), (11, 29), (29, 11), (70, 5))
        for more in ({}, member)
    ]
    return make_ticket(
        draw,
        Sketch(
            family="discounts",
            package=package,
            module=module,
            function=function,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={"steps": steps, "walk": walks, "one": ones, "floor": floors},
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Prices after $topic are wrong",
                "`$function` takes off the wrong amount",
                "$package: several $topic at once",
                "What is left to pay isn't right",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            spare=tuple(spare),
        ),
    )
