"""What the words of a command of git say: its options and the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import (
    GitError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


UNMERGED = """error: {} is not possible because you have unmerged files.
hint: Fix them up in the work tree, and then use 'git add/rm <file>'
hint: as appropriate to mark resolution and make a commit.
fatal: Exiting because of an unresolved conflict."""


def options(
    words: Sequence[str], plain: str, valued: str = ""
) -> tuple[dict[str, list[str]], list[str]]:
    """Read options: those of one letter or name without a value, and those with one.

    Args:
        words: The arguments.
        plain: Options without a value, with blanks between them.
        valued: Options with one.

    Returns:
        The values of each option, in order, and the rest; `--` stays in it.

    Raises:
        GitError: For an option that there isn't.
    """
    known, takes = plain.split(), valued.split()
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            return given, [*rest, "--", *queue]
        name, equals, value = word.partition("=")
        if name in takes and equals and name.startswith("--"):
            given.setdefault(name, []).append(value)
        elif word in takes:
            if not queue:
                raise GitError(f"error: switch `{word.lstrip('-')}' requires a value", 129)
            given.setdefault(word, []).append(queue.pop(0))
        elif word in known:
            given.setdefault(word, []).append("")
        elif (
            word.startswith("-")
            and len(word) > 2
            and word[1] != "-"
            and f"-{word[1]}"
            in (
                *known,
                *takes,
            )
        ):
            if f"-{word[1]}" in takes:
                given.setdefault(word[:2], []).append(word[2:])
            else:
                given.setdefault(word[:2], []).append("")
                queue.insert(0, "-" + word[2:])
        elif word.startswith("-") and word != "-":
            kind = "option" if word.startswith("--") else "switch"
            shown_word = word.lstrip("-") if kind == "option" else word[1]
            raise GitError(f"error: unknown {kind} `{shown_word}'", 129)
        else:
            rest.append(word)
    return given, rest


def without_dashes(rest: list[str]) -> list[str]:
    """Give the rest of the arguments without `--`."""
    return [word for word in rest if word != "--"]
