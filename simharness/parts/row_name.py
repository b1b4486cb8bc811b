"""Ids that are shown with a prefix: 7 in the tables, `TK-7` to everybody else.

The journal, its findings and the keys of goals name rows by their number, as `tickets:7`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simharness.errors import UsageError

LETTERS = re.compile(r"[A-Z]{1,8}")
NAME = re.compile(r"[A-Z]{1,8}-([1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class Prefix:
    """Marks an id that is shown with a prefix: `TicketId = Annotated[int, Prefix("TK")]`.

    It is for columns, `id` among them, for arguments of tools, and for either `| None`. Raises
    UsageError for a prefix that isn't one to eight capital letters.
    """

    letters: str

    def __post_init__(self) -> None:
        if LETTERS.fullmatch(self.letters) is None:
            raise UsageError(
                f"{self.letters!r} is no prefix of ids", "give one to eight capital letters, as TK"
            )

    def show(self, number: int) -> str:
        """Write an id, as `TK-7`."""
        return f"{self.letters}-{number}"

    def read(self, text: str) -> int | None:
        """Read an id that has this prefix; None for any other text."""
        found = NAME.fullmatch(text)
        return int(found[1]) if found and text.startswith(f"{self.letters}-") else None

    @property
    def pattern(self) -> str:
        """What matches its ids and nothing else, as JSON Schema has it."""
        return f"^{self.letters}-[1-9][0-9]{{0,17}}$"


def number_of(shown: object) -> int | None:
    """Give the number of an id as answers show it, with a prefix or without; None for no id."""
    if type(shown) is int:
        return shown
    found = NAME.fullmatch(shown) if isinstance(shown, str) else None
    return int(found[1]) if found else None
