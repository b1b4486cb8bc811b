"""Inventory: what is on hand, reserved and free, as an object that people book on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide.tickets.sketch import Bug, Sketch, make_ticket, script
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Ticket

PLACES = (
    ("warehouse", "stock", "stock"),
    ("garage", "parts", "spare parts"),
    ("pharmacy", "shelves", "shelves"),
    ("library", "copies", "copies of books"),
    ("nursery", "plants", "plants for sale"),
)
CLASSES = ("Stock", "Inventory", "Store", "Holdings", "Shelf")
METHODS = (
    ("receive", "reserve", "release", "ship", "free", "on_hand"),
    ("add", "hold", "give_back", "take", "available", "total"),
    ("deliver", "book", "unbook", "send", "left", "present"),
    ("stock_up", "claim", "unclaim", "hand_out", "spare", "count"),
)
TEMPLATE = '''"""Keeps count of $topic."""


class $Class:
    """Counts items by their code: how many are there, and how many of them are reserved.

    What is reserved is still there until it is shipped. $buffer_doc
    """

    def __init__(self):
        self._there = {}
        self._reserved = {}

    def $receive(self, code, count):
        """Add items. Raises ValueError for a count below 1."""
        if count < 1:
            raise ValueError("nothing to add")
        self._there[code] = self._there.get(code, 0) + count

    def $on_hand(self, code):
        """Give how many items there are, reserved ones included; 0 for an unknown code."""
        return self._there.get(code, 0)

    def $free(self, code):
        """Give how many items can still be reserved, never less than 0."""
        return $free_count

    def $reserve(self, code, count):
        """Reserve items, all that are asked for or none; gives whether it could be done.

        Raises ValueError for a count below 1.
        """
        if count < 1:
            raise ValueError("nothing to reserve")
        $refuse
        $book
        return True

    def $release(self, code, count):
        """Give up a reservation of so many items. Raises ValueError if fewer are reserved."""
        $check_release
        self._reserved[code] = $released

    def $ship(self, code, count):
        """Send reserved items away. Raises ValueError if fewer are reserved."""
        if count > self._reserved.get(code, 0):
            raise ValueError("not reserved")
        $shipped
'''
SOLUTION = """class $Class:
    def __init__(self):
        self.events = []

    def _sum(self, code, **signs):
        return sum(signs.get(kind, 0) * n for kind, what, n in self.events if what == code)

    def _held(self, code):
        return self._sum(code, reserve=1, release=-1, ship=-1)

    def $receive(self, code, count):
        if not count > 0:
            raise ValueError(count)
        self.events.append(("receive", code, count))

    def $on_hand(self, code):
        return self._sum(code, receive=1, ship=-1)

    def $free(self, code):
        return max(self.$on_hand(code) - self._held(code) - $buffer, 0)

    def $reserve(self, code, count):
        if not count > 0:
            raise ValueError(count)
        possible = count <= self.$free(code)
        if possible:
            self.events.append(("reserve", code, count))
        return possible

    def $release(self, code, count):
        if self._held(code) < count:
            raise ValueError(count)
        self.events.append(("release", code, count))

    def $ship(self, code, count):
        if self._held(code) < count:
            raise ValueError(count)
        self.events.append(("ship", code, count))
"""
HELD = "self._reserved.get(code, 0)"
BOOK = (
    f"self._reserved[code] = {HELD} + count",
    "self._reserved.setdefault(code, 0)\nself._reserved[code] += count",
)
SHIPPED = (
    "self._reserved[code] -= count\nself._there[code] -= count",
    "for counts in (self._there, self._reserved):\n    counts[code] -= count",
)
REFUSE = (
    "if count > self.$free(code):\n    return False",
    "if self.$free(code) < count:\n    return False",
)
CHECK = (
    f'if count > {HELD}:\n    raise ValueError("not reserved")',
    f'if {HELD} < count:\n    raise ValueError("fewer are reserved")',
)
CODES = ("bolt", "nut", "pin", "cap", "rod", "disc", "hose", "seal", "gear", "belt")


def inventory(draw: Draw) -> Ticket:
    """Draw a ticket about what is in store."""
    package, module, topic = draw.pick("place", PLACES)
    name = draw.pick("class", CLASSES)
    receive, reserve, release, ship, free, on_hand = draw.pick("methods", METHODS)
    buffer = draw.pick("buffer", (0, 0, 1, 2, 3, 5))
    less = f" - {buffer}" if buffer else ""
    buffer_doc = (
        f"The last {buffer} items of each code are kept back: they can't be reserved."
        if buffer > 1
        else "The last item of each code is kept back: it can't be reserved."
        if buffer
        else "All items that aren't reserved can be."
    )
    values: dict[str, object] = {
        "topic": topic,
        "Class": name,
        "receive": receive,
        "reserve": reserve,
        "release": release,
        "ship": ship,
        "free": free,
        "on_hand": on_hand,
        "buffer": buffer,
        "buffer_doc": buffer_doc,
    }
    right = f"self._there.get(code, 0) - {HELD}{less}"
    bare = f"max(self._there.get(code, 0) - {HELD}, 0)"
    no_held = f"max(self._there.get(code, 0){less}, 0)"
    bugs = {
        "free": Bug(
            {"free_count": no_held},
            (
                {
                    "free_count": no_held,
                    "refuse": REFUSE[0].replace("free(code)", f"free(code) - {HELD}"),
                },
                {"free_count": f"max(self._there.get(code, 0) + {HELD}{less}, 0)"},
                {"free_count": f"max({right} - 1, 0)"},
            ),
            (
                "The same item can be reserved twice.",
                "We have promised more than there is.",
            ),
        ),
        "refuse": Bug(
            {"refuse": REFUSE[0].replace(">", ">=")},
            (
                {"refuse": ""},
                {"refuse": REFUSE[0].replace("return False", 'raise ValueError("too many")')},
                {"refuse": "if count > self.$on_hand(code):\n    return False"},
            ),
            (
                "The last item can't be reserved although it is free.",
                "Whoever wants all that is left is turned away.",
            ),
        ),
        "partial": Bug(
            {"refuse": "count = min(count, self.$free(code))\nif count < 1:\n    return False"},
            (
                {"refuse": ""},
                {"refuse": "if self.$free(code) < 1:\n    return False"},
                {"refuse": REFUSE[0].replace(">", ">=")},
            ),
            (
                "A reservation that is too large is made in part.",
                "It says yes to reservations for which there isn't enough.",
            ),
        ),
        "ship": Bug(
            {"shipped": "self._there[code] -= count"},
            (
                {"shipped": "self._there[code] -= count\nself._reserved[code] = 0"},
                {"shipped": "self._reserved[code] -= count"},
                {"shipped": "self._there[code] -= count\nself._reserved[code] -= 1"},
            ),
            (
                "After a shipment fewer items are free than before, by twice as many.",
                "What was sent away stays reserved for ever.",
            ),
        ),
        "release": Bug(
            {"released": "0"},
            (
                {"released": f"max({HELD} - count - 1, 0)"},
                {"released": f"{HELD} + count"},
                {"check_release": "", "released": f"max({HELD} - count, 0)"},
            ),
            (
                "Giving up a part of a reservation gives up all of it.",
                "Reservations vanish when somebody else gives up theirs.",
            ),
        ),
        "check": Bug(
            {"check_release": ""},
            (
                {"check_release": "", "released": f"max({HELD} - count, 0)"},
                {"check_release": "if code not in self._reserved:\n    raise ValueError(code)"},
                {"check_release": CHECK[0].replace(">", ">=")},
            ),
            (
                "One can give up more than has been reserved, and then there is too much.",
                "The number of free items is above the number of items.",
            ),
        ),
        "below_zero": Bug(
            {"free_count": right, "book": "self._reserved[code] = count"},
            (
                {"book": "self._reserved[code] = count"},
                {"free_count": no_held},
                {"book": f"self._reserved[code] = max({HELD}, count)"},
            ),
            (
                "A second reservation takes the place of the first.",
                "After two reservations only the later one counts.",
            ),
        ),
    }
    if buffer:
        bugs["buffer"] = Bug(
            {"free_count": bare},
            (
                {"free_count": right},
                {"free_count": bare, "refuse": REFUSE[0].replace(">", ">=")},
                {"free_count": f"max({right} - 1, 0)"},
            ),
            (
                "What we keep back has been promised to somebody.",
                "Nothing is kept back any more.",
            ),
        )
    target = f"{package}.{module}:{name}"
    codes = draw.some("codes", CODES, 3)

    def steps(count: int) -> list[tuple[Any, ...]]:
        """Draw bookings on a few codes."""
        code = draw.pick("first", codes)
        out: list[tuple[Any, ...]] = [(receive, code, draw.between("many", 3, 12) + buffer)]
        whats = (receive, reserve, reserve, reserve, release, ship, free, free, on_hand)
        for _ in range(count):
            what = draw.pick("what", whats)
            code = draw.pick("code", codes[:2])
            asked = (
                (what, code) if what in (free, on_hand) else (what, code, draw.between("n", 1, 6))
            )
            out.append(asked)
        return [*out, *((what, code) for code in codes[:2] for what in (free, on_hand))]

    probes = [probe for k in range(7) for probe in script(f"stock_{k}", target, (), steps(9 + k))]
    a, b = codes[:2]
    n = draw.between("shown many", 5, 20) + buffer
    k = draw.between("shown few", 2, 4)
    left = n - buffer
    told: dict[str, list[tuple[Any, ...]]] = {
        "reserved_twice": [(receive, a, n), (reserve, a, left - 1), (reserve, a, 2), (free, a)],
        "all_that_is_left": [(receive, a, n), (reserve, a, left), (free, a), (on_hand, a)],
        "too_many": [(receive, a, n), (reserve, a, left + 1), (free, a)],
        "far_too_many": [(receive, a, n), (reserve, a, 3 * n), (free, a), (on_hand, a)],
        "sent_away": [(receive, a, n), (reserve, a, k), (ship, a, k), (free, a), (on_hand, a)],
        "sent_in_part": [(receive, a, n), (reserve, a, k), (ship, a, k - 1), (free, a)],
        "given_up_in_part": [(receive, a, n), (reserve, a, k), (release, a, 1), (free, a)],
        "given_up_too_much": [(receive, a, n), (reserve, a, k), (release, a, k + 1), (free, a)],
        "two_reservations": [(receive, a, n), (reserve, a, k), (reserve, a, 1), (free, a)],
        "two_codes": [
            (receive, a, n),
            (receive, b, k),
            (reserve, a, 1),
            (on_hand, b),
            (on_hand, a),
        ],
        "nothing_there": [(free, a), (on_hand, b), (reserve, a, 1)],
        "nothing_to_add": [(receive, a, 0)],
        "just_added": [(receive, a, n), (on_hand, a), (free, a)],
    }
    hard: list[tuple[Any, ...]] = [step for part in told.values() for step in part]
    probes += script("all_in_a_row", target, (), hard)
    for title, asked in told.items():
        probes += script(
            title, target, (), [(what, code, *(m + 1 for m in rest)) for what, code, *rest in asked]
        )
    variable = draw.pick("variable", ("stock", "held", "store"))
    cases = [Case(title, script(variable, target, (), asked)) for title, asked in told.items()]
    return make_ticket(
        draw,
        Sketch(
            family="inventory",
            package=package,
            module=module,
            function=name,
            topic=topic,
            template=TEMPLATE,
            values=values,
            choices={
                "free_count": (f"max({right}, 0)",),
                "refuse": REFUSE,
                "book": BOOK,
                "check_release": CHECK,
                "released": (f"{HELD} - count",),
                "shipped": SHIPPED,
            },
            bugs=bugs,
            solution=SOLUTION,
            title=(
                "Wrong counts of $topic",
                "`$Class` loses count",
                "$package: reservations don't add up",
                "`$Class` and what is free",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            procedures=(receive, release, ship),
        ),
    )
