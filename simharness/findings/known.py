"""What an agent could know at each of its calls: the ids, numbers and texts given to it by then."""

from __future__ import annotations

import importlib.resources
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, cast

from simharness.findings.turns import VERSION_ARGUMENTS, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simharness.findings.turns import Account, Turn

SCANNED = 20_000
"""Characters of one text that are searched; bounds in patterns keep that linear."""
NEAR = 200
"""Characters before a phrase in which a negation is looked for."""
MENTION = re.compile(r"([a-z][a-z_]{0,40})[ \t]{0,3}[:#]?[ \t]{0,3}#?(\d{1,18})\b")
"""A word and the number that follows it: `deal 42`, `deals:42`, `Deal #42`."""
IDENTIFIER = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,64}(\.[\w-]{1,64}){1,8}|[A-Za-z]{1,40}[-_:]\d{1,18}"
)
"""An address, or a word and a number: what names one thing."""

ALONE = re.compile(r"(?<![\w.@-])\d{1,18}(?![\w@])")
"""A number that is no part of a word, an address or a date."""
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


def own_id(value: object) -> int | None:
    """Give the id of the row that an answer is; None where it is none."""
    told = cast("Mapping[str, object]", value).get("id") if isinstance(value, Mapping) else None
    return told if type(told) is int else None


class Known:
    """What ids, numbers and texts an agent has been given so far."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._ids: dict[int, set[str]] = defaultdict(set)
        """Numbers that were given as an id, with the words that they were given under."""
        self._numbers: set[int] = set()
        """All numbers."""
        self._amounts: set[int] = set()
        """Numbers that are no ids and no versions."""
        self._groups: list[set[int]] = []
        """Amounts that were told together."""
        self._texts: list[str] = []
        self._pending: list[Turn] = []
        self.read(account.prompt)
        self.learn(account.brief)

    def before(self, turn: Turn) -> Known:
        """Take in what was told before a turn's step was sent; turns have to come in order."""
        while self._pending and self._pending[0].step < turn.step:
            told = self._pending.pop(0)
            self.learn(told.exchange.value)
            shown = [split(key) for key in self._account.shown_by(told)]
            for table, number in shown:
                self._ids[number].add(table)
            # What a key of idempotency had answered before is a row that nothing read or wrote now.
            own = own_id(told.exchange.value)
            if own is not None and own not in [number for _, number in shown]:
                self._ids[own].add("")
        self._pending.append(turn)
        return self

    def learn(self, value: object, name: str = "") -> None:
        """Take in an answer, or part of one."""
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value)
            amounts = {v for k, v in items.items() if type(v) is int and not names_row(k)}
            if amounts:
                self._groups.append(amounts)
            for key, inner in items.items():
                self.learn(inner, key)
        elif isinstance(value, list | tuple):
            for inner in cast("Sequence[object]", value):
                self.learn(inner, name)
        elif type(value) is int:
            self._numbers.add(value)
            if not names_row(name):
                self._amounts.add(value)
            if name.endswith(("_id", "_ids")):
                self._ids[value].add(name.rpartition("_id")[0])
            elif name.endswith(("ids", "refs", "_by")):
                self._ids[value].add("")
        elif isinstance(value, str):
            self.read(value)

    def read(self, text: str) -> None:
        """Take in a text: its numbers, and as ids those that follow a word."""
        self._texts.append(text.lower())
        named, alone = numbers_in(text)
        rows: list[int] = []
        for word, number, start in named:
            self._ids[number].add(word)
            if self.table(word):
                rows.append(start)
        for number, start in alone:
            if start not in rows:
                self._amounts.add(number)

    def table(self, word: str) -> str:
        """Give the table that a word means; empty for none."""
        return word if word in self._account.tables else self._account.table_of(word)

    def has_id(self, number: int, stem: str) -> bool:
        """Tell whether a number was given as an id of what `stem` means, or may have been."""
        table = self.table(stem)
        sources = [self.table(word) for word in self._ids.get(number, ())]
        return any(not table or not source or source == table for source in sources)

    def has_text(self, text: str) -> bool:
        """Tell whether a text occurs in what was told."""
        return any(text.lower() in told for told in self._texts)

    def has_version(self, number: int) -> bool:
        """Tell whether a number was given as anything."""
        return number in self._numbers or number in self._amounts

    def has_amount(self, number: int) -> bool:
        """Tell whether a number was given, and not as an id or version, or comes of two such.

        The two were told together; it is their sum, difference or product, or the one less or of
        the other in per cent.
        """
        if number in self._amounts or abs(number) <= 1:
            return True
        return any(
            number in (a + b, a - b, a * b, a * b // 100, a * (100 - b) // 100)
            for group in self._groups
            for a, b in permutations(group, 2)
        )


@lru_cache(maxsize=2048)
def numbers_in(
    text: str,
) -> tuple[tuple[tuple[str, int, int], ...], tuple[tuple[int, int], ...]]:
    """Give the numbers of a text, each with where it stands: those after a word, and those alone.

    An instant has none. Rows are told again and again, and their texts with them.
    """
    if INSTANT.fullmatch(text):
        return (), ()
    scanned = text[:SCANNED]
    named = MENTION.finditer(scanned.lower())
    alone = ALONE.finditer(scanned)
    return (
        tuple((match[1], int(match[2]), match.start(2)) for match in named),
        tuple((int(match[0]), match.start()) for match in alone),
    )


@lru_cache(maxsize=1024)
def names_row(name: str) -> bool:
    """Tell whether a number of this name is an id or a version."""
    return name in ("id", "ids", "page", "next_page", *VERSION_ARGUMENTS) or name.endswith(
        ("_id", "_ids", "_by")
    )


def leaves(
    args: Mapping[str, Any], schema: Mapping[str, Any]
) -> Iterator[tuple[str, object, bool]]:
    """Give the scalars of arguments with their names, and whether the schema bounds them."""
    for name, inner in args.items():
        described: Mapping[str, Any] = schema.get(name, {})
        (option, *_) = described.get("anyOf", (described,))
        if isinstance(inner, dict):
            yield from leaves(cast("dict[str, Any]", inner), option.get("properties", {}))
        elif isinstance(inner, list):
            for item in cast("list[object]", inner):
                yield name, item, "maximum" in option.get("items", {})
        else:
            yield name, inner, "maximum" in option


def identifier(name: str, text: str) -> bool:
    """Tell whether a text argument names one thing, so that somebody must have given it."""
    if IDENTIFIER.fullmatch(text):
        return True
    numbered = any(c.isdigit() for c in text) and " " not in text
    return numbered and name.endswith(("_id", "_ids", "refs"))


def mentions(texts: Iterable[str]) -> list[tuple[str, int]]:
    """List the words of some texts that a number follows, with that number."""
    return [
        (word, int(digits))
        for text in texts
        for word, digits in MENTION.findall(text[:SCANNED].lower())
    ]


@lru_cache(maxsize=1)
def phrases() -> dict[str, tuple[str, ...]]:
    """Read the phrases that texts are judged by, once. The result is shared, so don't change it."""
    # As a resource and not by its path: the package may lie in a zip file.
    file = importlib.resources.files("simharness.findings").joinpath("claims.toml")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: tuple(words) for name, words in data.items()}


def ends(value: str) -> bool:
    """Tell whether a value says that its row has come to its end."""
    return value.lower().startswith(phrases()["ended"])


def says(text: str, kind: str) -> str:
    """Give the first phrase of a kind in a text, unless the four words before it negate it."""
    lower = text[:SCANNED].lower().replace("\u2019", "'")
    negations = phrases()["negations"]
    found: list[tuple[int, str]] = []
    for phrase in phrases()[kind]:
        for match in re.finditer(rf"(?<!\w){re.escape(phrase)}(?!\w)", lower):
            before = re.split(r"[.!?;,\n]", lower[max(0, match.start() - NEAR) : match.start()])[-1]
            words = " ".join(before.split()[-4:])
            if not any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", words) for n in negations):
                found.append((match.start(), phrase))
    return min(found)[1] if found else ""
