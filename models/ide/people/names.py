"""Colleagues by name, with the branch and the notes of each."""

from __future__ import annotations

from typing import NamedTuple

FIRST = ("Kit", "Noor", "Jan", "Ines", "Theo", "Mara", "Olu", "Wen", "Pia", "Sam", "Rosa", "Emil")
LAST = ("Marsh", "Haddad", "Vogel", "Costa")


class Colleague(NamedTuple):
    """Somebody who pushes."""

    author: str
    """Name and address, as commits have them."""
    branch: str
    notes: str
    """Path of the file that they write in."""


def colleague(k: int) -> Colleague:
    """Give the k-th colleague, from 1; there are as many as are asked for."""
    first, last = FIRST[(k - 1) % len(FIRST)], LAST[(k - 1) // len(FIRST) % len(LAST)]
    round_ = (k - 1) // (len(FIRST) * len(LAST))
    handle = f"{first}-{last}".lower() + (f"-{round_ + 1}" if round_ else "")
    return Colleague(
        author=f"{first} {last} <{handle}@ide.example>",
        branch=f"{handle}/notes",
        notes=f"docs/notes/{handle}.md",
    )
