"""A cache that forgets what hasn't been used for longest: an object with a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide.tickets.sketch import Bug, Sketch, make_ticket, script
from simharness.models.ide.tickets.suite import Case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.models.ide.tickets.draw import Draw
    from simharness.models.ide.tickets.ticket import Ticket

PLACES = (
    ("web", "cache", "cached answers"),
    ("images", "thumbnails", "kept thumbnails"),
    ("session", "recent", "recent sessions"),
    ("dns", "names", "known names"),
    ("tiles", "memory", "tiles in memory"),
)
CLASSES = ("Cache", "LruCache", "Recent", "Memory", "Keeper")
METHODS = (
    ("get", "put", "peek", "drop", "keys"),
    ("read", "store", "look", "remove", "titles"),
    ("fetch", "keep", "glance", "forget", "names"),
    ("find", "set", "peek", "discard", "order"),
)
LISTS = '''"""Keeps $topic."""


class $Class:
    """Holds up to $room entries; where there are more, those go that weren't used for longest.

    `$get` and `$put` use an entry, also a `$put` that gives an entry that is there another value;
    `$peek` doesn't use it. $old_doc
    """

    def __init__(self, $room):
        """Begin with nothing. Raises ValueError for a $room below 1."""
        if $room < 1:
            raise ValueError("no room")
        self._room = $room
        self._values = {}
        # Keys from the one used longest ago to the one used last.
        self._order = []

    def $get(self, key, default=None):
        """Give the value of a key, or the default where it isn't there."""
        if key not in self._values:
            return default
        $use_get
        return self._values[key]

    def $peek(self, key, default=None):
        """Give the value of a key without using it, or the default where it isn't there."""
        $use_peek
        return self._values.get(key, default)

    def $put(self, key, value):
        """Keep a value under a key."""
        $make_room
        $use_put
        self._values[key] = value

    def $drop(self, key):
        """Forget a key; gives whether it was there."""
        if key not in self._values:
            return False
        $forget
        return True

    def $keys(self):
        """List the keys, from the one used longest ago to the one used last."""
        return list(self._order)

    def _use(self, key):
        if key in self._order:
            self._order.remove(key)
        self._order.append(key)
'''
SOLUTION = '''class $Class:
    def __init__(self, $room):
        if not $room > 0:
            raise ValueError($room)
        self.limit = $room
        self.log = []

    def _entries(self):
        """Give value by key, in the order of use."""
        held = {}
        for what, key, value in self.log:
            if what == "drop":
                held.pop(key, None)
            elif what == "put":
                held.pop(key, None)
                held[key] = value
                if len(held) > self.limit:
                    del held[next(iter(held))]
            elif key in held:
                held[key] = held.pop(key)
        return held

    def $get(self, key, default=None):
        self.log.append(("get", key, None))
        return self._entries().get(key, default)

    def $peek(self, key, default=None):
        return self._entries().get(key, default)

    def $put(self, key, value):
        self.log.append(("put", key, value))

    def $drop(self, key):
        there = key in self._entries()
        self.log.append(("drop", key, None))
        return there

    def $keys(self):
        return list(self._entries())
'''
MAKE_ROOM = (
    "if key not in self._values and len(self._values) >= self._room:\n"
    "    del self._values[self._order.pop(0)]",
    "if key not in self._values:\n    while len(self._order) >= self._room:\n"
    "        oldest = self._order.pop(0)\n        del self._values[oldest]",
)
ALWAYS = "if len(self._values) >= self._room:\n    del self._values[self._order.pop(0)]"
NEWEST = MAKE_ROOM[0].replace("pop(0)", "pop()")
MORE = MAKE_ROOM[0].replace(">=", ">")
ONLY_NEW = "if key not in self._order:\n    self._order.append(key)"
FRONT = "if key in self._order:\n    self._order.remove(key)\nself._order.insert(0, key)"
FORGET = (
    "del self._values[key]\nself._order.remove(key)",
    "self._values.pop(key)\nself._order = [other for other in self._order if other != key]",
)
BUGS = {
    "get": Bug(
        {"use_get": ""},
        (
            {"use_get": FRONT},
            {"use_get": "if key != self._order[0]:\n    self._use(key)"},
            {"use_peek": "if key in self._values:\n    self._use(key)"},
        ),
        (
            "Entries that are read all the time are thrown out.",
            "What we ask for most often isn't there any more, sooner or later.",
        ),
    ),
    "put": Bug(
        {"use_put": ONLY_NEW},
        (
            {"use_put": FRONT},
            {"use_put": "if key in self._order:\n    return\nself._order.append(key)"},
            {"make_room": ALWAYS},
        ),
        (
            "An entry that has just been given a new value is thrown out.",
            "Writing an entry anew doesn't keep it alive.",
        ),
    ),
    "always": Bug(
        {"make_room": ALWAYS},
        (
            {"make_room": MORE},
            {"make_room": NEWEST},
            {"make_room": ALWAYS.replace("if len", "if key not in self._order[1:] and len")},
        ),
        (
            "A full cache loses entries when one of them gets a new value.",
            "Nothing new comes in, and still entries go missing.",
        ),
    ),
    "one_more": Bug(
        {"make_room": MORE},
        (
            {"make_room": MORE.replace(" > self._room", " >= self._room - 1 > 0")},
            {"make_room": ALWAYS},
            {"make_room": NEWEST},
        ),
        (
            "It holds one entry more than it has room for.",
            "More is kept than was allowed.",
        ),
    ),
    "newest": Bug(
        {"make_room": NEWEST},
        (
            {"make_room": ALWAYS},
            {"make_room": MORE},
            {"make_room": MAKE_ROOM[0].replace("pop(0)", "pop(len(self._order) // 2)")},
        ),
        (
            "The wrong entries are thrown out: new ones hardly survive.",
            "Once it is full, what comes in goes out again next.",
        ),
    ),
    "peek": Bug(
        {"use_peek": "if key in self._values:\n    self._use(key)"},
        (
            {"use_peek": "if key in self._values and len(self._order) > 2:\n    self._use(key)"},
            {"use_peek": "", "use_get": ""},
            {"use_peek": "if key in self._order[1:]:\n    self._use(key)"},
        ),
        (
            "Looking at an entry changes what is thrown out next. It must not.",
            "Our monitoring only looks, and by that it keeps old entries in.",
        ),
    ),
    "drop": Bug(
        {"forget": "del self._values[key]"},
        (
            {"forget": "del self._values[key]\nself._order.pop()"},
            {"forget": "del self._values[key]\nself._order.pop(0)"},
            {"forget": "self._values[key] = None\nself._order.remove(key)"},
        ),
        (
            "Keys that have been taken out are still listed.",
            "After an entry has been taken out things go wrong.",
        ),
    ),
}
WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kiwi", "lynx")


def lru_cache(draw: Draw) -> Ticket:
    """Draw a ticket about a cache."""
    package, module, topic = draw.pick("place", PLACES)
    name = draw.pick("class", CLASSES)
    get, put, peek, drop, keys = draw.pick("methods", METHODS)
    room = draw.pick("room", ("room", "capacity", "size", "most"))
    target = f"{package}.{module}:{name}"
    values: dict[str, object] = {
        "topic": topic,
        "Class": name,
        "get": get,
        "put": put,
        "peek": peek,
        "drop": drop,
        "keys": keys,
        "room": room,
        "old_doc": draw.pick(
            "doc",
            (
                "A key that isn't there can't be used.",
                "Asking for a key that isn't there changes nothing.",
            ),
        ),
    }
    words = draw.some("words", WORDS, 6)

    def steps(count: int, known: int) -> list[tuple[Any, ...]]:
        """Draw what the cache is asked for, by a few keys."""
        out: list[tuple[Any, ...]] = [
            (put, words[k], draw.between("value", 1, 99)) for k in range(known)
        ]
        for _ in range(count):
            what = draw.pick("what", (put, put, put, get, get, peek, drop, keys))
            key = draw.pick("key", words[: known + 2])
            if what == put:
                out.append((put, key, draw.between("value", 1, 99)))
            elif what == keys:
                out.append((keys,))
            elif what == get and draw.percent("with default", 20):
                out.append((get, key, 0))
            else:
                out.append((what, key))
        return [*out, (keys,)]

    probes = [
        probe
        for k, size in enumerate((1, 2, 3, 4, 2, 3, 3, 5))
        for probe in script(f"cache_{k}", target, (size,), steps(8 + k, size))
    ]
    probes += script("none", target, (0,), [])
    for k, size in enumerate((2, 3)):
        asked = told(draw, values, draw.shuffled("hidden words", words), size)
        for title, some in asked.items():
            probes += script(f"{title}_{k}", target, (size,), some)
    size = draw.pick("shown size", (2, 3))
    shown = told(draw, values, words, size)
    variable = draw.pick("variable", ("cache", "held", "kept"))
    cases = [
        Case(title, script(variable, target, (size,), asked)) for title, asked in shown.items()
    ]
    cases += [
        Case(f"mixed_{word}", script(variable, target, (size,), steps(5, size)))
        for word in ("once", "twice", "again")
    ]
    return make_ticket(
        draw,
        Sketch(
            family="lru_cache",
            package=package,
            module=module,
            function=name,
            topic=topic,
            template=LISTS,
            values=values,
            choices={
                "use_get": ("self._use(key)", "self._order.remove(key)\nself._order.append(key)"),
                "use_put": ("self._use(key)",),
                "use_peek": ("",),
                "make_room": MAKE_ROOM,
                "forget": FORGET,
            },
            bugs=BUGS,
            solution=SOLUTION,
            title=(
                "The wrong $topic are thrown out",
                "`$Class` forgets the wrong entries",
                "$package: `$Class` doesn't keep what is used",
                "Trouble with $topic",
            ),
            cases=tuple(cases),
            probes=tuple(probes),
            procedures=(put,),
        ),
    )


def told(
    draw: Draw, values: dict[str, object], words: Sequence[str], size: int
) -> dict[str, list[tuple[Any, ...]]]:
    """Tell what a cache of some size is asked for, by what it shows."""
    get, put, peek, drop, keys = (values[name] for name in ("get", "put", "peek", "drop", "keys"))
    a, b, c, d = words[:4]
    v = [draw.between("shown value", 1, 99) for _ in range(6)]
    full: list[tuple[Any, ...]] = [(put, key, v[k]) for k, key in enumerate(words[:size])]
    return {
        "keeps_what_was_read": [*full, (get, a), (put, d, v[3]), (get, a), (get, b), (keys,)],
        "keeps_what_was_written_anew": [*full, (put, a, v[4]), (put, d, v[3]), (get, a), (keys,)],
        "new_value_in_a_full_one": [*full, (put, words[size - 1], v[5]), (keys,), (get, a)],
        "looking_is_no_use": [*full, (peek, a), (put, d, v[3]), (peek, a), (keys,)],
        "oldest_goes": [*full, (put, d, v[3]), (get, a), (get, d), (keys,)],
        "taken_out": [*full, (drop, b), (drop, b), (keys,), (put, d, v[3]), (get, a)],
        "missing": [(get, a), (get, b, v[0]), (peek, c), (drop, d)],
        "fills_up": [*full, (keys,)],
        "one_value": [(put, a, v[0]), (get, a), (keys,)],
    }
