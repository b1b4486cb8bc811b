"""When two contacts are one person: the house rules for names and roles."""

from __future__ import annotations

MAILBOX = "shared mailbox"
"""Role of an address behind which there are several people."""

PAIRS: dict[str, str] = {
    "Ada": "Adelaide",
    "Ben": "Benjamin",
    "Carla": "Carolina",
    "Greta": "Margareta",
    "Ines": "Agnes",
    "Lena": "Helena",
    "Nora": "Eleonora",
    "Rosa": "Rosalind",
    "Sami": "Samuel",
    "Tessa": "Theresa",
    "Vera": "Veronica",
    "Zoe": "Zoraida",
}
"""Short form of a first name to its long form."""

RENAMED = " is now called "
"""Stands between the old and the new name in a note on a deal."""

_LONG = {short.casefold(): long.casefold() for short, long in PAIRS.items()}


def parts_of(full_name: str) -> tuple[str, str]:
    """Split a name into first and last, without regard to case; "Abel, Ada" is Ada Abel."""
    last, comma, first = full_name.casefold().partition(",")
    if comma:
        return first.strip(), last.strip()
    first, _, last = full_name.casefold().strip().rpartition(" ")
    return first.strip(), last


def same_name(one: str, other: str) -> bool:
    """Tell whether two names may be one person's.

    The last names are equal; the first names are equal, a pair of `PAIRS`, or one is the other's
    initial.
    """
    (first, last), (second, last_too) = parts_of(one), parts_of(other)
    if last != last_too:
        return False
    first, second = _LONG.get(first, first), _LONG.get(second, second)
    return first == second or _initial(first, second) or _initial(second, first)


def _initial(short: str, name: str) -> bool:
    shorts = [key for key, long in _LONG.items() if long == name]
    return len(short) == 2 and short[1] == "." and short[0] in {n[0] for n in (name, *shorts) if n}


def same_role(one: str, other: str) -> bool:
    """Tell whether two roles may be one person's: equal, or one of them isn't known."""
    return MAILBOX not in (one, other) and (one == other or not one or not other)


def renaming(note: str) -> tuple[str, str] | None:
    """Read an old and a new name from a note, or None from one that tells of no new name."""
    old, told, new = note.rstrip(".").partition(RENAMED)
    return (old, new) if told else None
