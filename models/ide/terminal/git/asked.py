"""What commands that show commits or differences are asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simharness.models.ide.repository.clone import GitError
from simharness.models.ide.repository.unified import CONTEXT
from simharness.models.ide.terminal.git.state import (
    Git,
    meant,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMS = {
    "-p": "patch", "-u": "patch", "--patch": "patch", "--stat": "stat",
    "--shortstat": "shortstat", "--name-only": "name-only", "--name-status": "name-status",
    "--numstat": "numstat", "--no-patch": "", "-s": "",
}  # fmt: skip


IGNORED = ("--no-color", "--color", "--color=never", "--no-renames", "--no-ext-diff", "--follow",
           "--decorate=no", "--no-decorate", "--full-history", "--no-pager")  # fmt: skip


@dataclass(slots=True)
class Asked:
    """What a command that shows commits or differences was asked for."""

    revs: list[str] = field(default_factory=list[str])
    specs: list[str] = field(default_factory=list[str])
    form: str | None = None
    context: int = CONTEXT
    whole: bool = False
    """Whether merges show what they changed, unless as a patch."""
    flags: dict[str, str] = field(default_factory=dict[str, str])
    """Other options, by name."""


def read(git: Git, words: Sequence[str], known: Sequence[str], takes: Sequence[str] = ()) -> Asked:
    """Read options, revisions and paths.

    Args:
        git: Who is asked.
        words: The arguments.
        known: Options without a value.
        takes: Options with one.

    Raises:
        GitError: For an option that there isn't.
    """
    asked = Asked()
    rest = list(words)
    separated = "--" in rest
    if separated:
        at = rest.index("--")
        rest, named = rest[:at], rest[at + 1 :]
        asked.specs = git.paths(named)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in FORMS:
            asked.form = FORMS[word]
        elif word in known:
            asked.flags[word] = ""
        elif word in IGNORED:
            continue
        elif re.fullmatch(r"-U[0-9]{1,6}|--unified=[0-9]{1,6}", word):
            asked.context = int(re.sub(r"\D", "", word))
            asked.form = asked.form or "patch"
        elif name in takes and name.startswith("--") and equals:
            asked.flags[name] = value
        elif word in takes:
            if not rest:
                raise GitError(f"error: switch `{word.lstrip('-')}' requires a value", 129)
            asked.flags[word] = rest.pop(0)
        elif word[:2] in takes and not word.startswith("--") and len(word) > 2:
            asked.flags[word[:2]] = word[2:]
        elif re.fullmatch(r"-[0-9]{1,9}", word) and "-n" in takes:
            asked.flags["-n"] = word[1:]
        elif word.startswith("-") and word != "-":
            raise GitError(f"fatal: unrecognized argument: {word}")
        elif separated or is_revision(git, word):
            asked.revs.append(word)
        else:
            place = git.path(word)
            there = git.tree.exists(place) or any(c in word for c in "*?[")
            if not there and not any(meant(path, place) for path in git.clone.index):
                git.rev(word)
            asked.specs.append(place)
    return asked


def is_revision(git: Git, word: str) -> bool:
    """Tell whether a word names a commit or a range of them."""
    parts = [part for part in re.split(r"\.\.\.?", word.removeprefix("^")) if part]
    return bool(parts) and all(git.clone.resolve(part) is not None for part in parts)
