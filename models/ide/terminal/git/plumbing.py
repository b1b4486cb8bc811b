"""Commands of git that tell what is there: files, names, settings."""

from __future__ import annotations

from simharness.models.ide.repository.clone import GitError
from simharness.models.ide.terminal.git.state import (
    Git,
    selected,
)


def ls_files(git: Git, words: list[str]) -> int:
    """Name the files of the index."""
    if any(word.startswith("-") and word != "--" for word in words):
        raise GitError(f"error: unknown option `{words[0].lstrip('-')}'", 129)
    specs = git.paths([word for word in words if word != "--"] or ["."])
    for path in selected(sorted(git.clone.index), specs):
        git.print(f"{git.shown(path)}\n")
    return 0


def rev_parse(git: Git, words: list[str]) -> int:
    """Give revs in full."""
    short = brief = False
    for word in words:
        if word == "--short":
            short = True
        elif word == "--abbrev-ref":
            brief = True
        elif word == "--show-toplevel":
            git.print("/repo\n")
        elif word == "--is-inside-work-tree":
            git.print("true\n")
        elif brief:
            git.print((git.clone.branch or "HEAD" if word == "HEAD" else word) + "\n")
        else:
            found = git.clone.resolve(word)
            if found is None:
                git.print(word + "\n")
            rev = git.rev(word)
            git.print((git.short(rev) if short else rev) + "\n")
    return 0


def remote(git: Git, words: list[str]) -> int:
    """Name the remote."""
    if words in (["-v"], ["--verbose"]):
        for what in ("fetch", "push"):
            git.print(f"origin\thttps://git.ide.example/repo.git ({what})\n")
    elif not words:
        git.print("origin\n")
    else:
        raise GitError("error: the remotes of this repository can't be changed", 2)
    return 0


def config(git: Git, words: list[str]) -> int:
    """Give who one is; nothing can be set."""
    name, _, address = git.author.rpartition(" ")
    known = {"user.name": name, "user.email": address.strip("<>")}
    asked = [word for word in words if not word.startswith("-")]
    if len(asked) == 1:
        value = known.get(asked[0])
        if value is None:
            return 1
        git.print(value + "\n")
        return 0
    if "--list" in words or "-l" in words:
        git.print("".join(f"{key}={value}\n" for key, value in known.items()))
        return 0
    raise GitError("error: the configuration can't be changed here", 4)
