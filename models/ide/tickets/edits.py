"""How one text becomes another by edits as the tool `edit_file` makes them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: a text that stands in the file just once, and what takes its place."""

    old_text: str
    new_text: str


def edits(old: str, new: str) -> tuple[Edit, ...]:
    """Give the edits that turn `old` into `new`, one after the other, from top to bottom.

    Each takes whole lines, and as few around the change as make its place unique. No edits where
    the texts are equal; a text that is empty can only be written anew: then, too, there are none.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    out: list[Edit] = []
    current = list(before)
    shift = 0
    for tag, low, high, new_low, new_high in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal" or not before:
            continue
        start, stop = low + shift, high + shift
        put = after[new_low:new_high]
        top, bottom = start, stop
        while top == bottom or "".join(current).count("".join(current[top:bottom])) != 1:
            if bottom < len(current):
                bottom += 1
            if top > 0:
                top -= 1
        out.append(
            Edit(
                "".join(current[top:bottom]),
                "".join([*current[top:start], *put, *current[stop:bottom]]),
            )
        )
        current[start:stop] = put
        shift += len(put) - (high - low)
    return tuple(out)
