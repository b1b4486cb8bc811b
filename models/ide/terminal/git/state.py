"""What the commands of git share: trees, paths, and how they speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simharness.api import SECOND, format_instant
from simharness.models.ide.paths import absolute, inside
from simharness.models.ide.repository.clone import HEADS, Clone, GitError
from simharness.models.ide.repository.objects import FOLDER, File
from simharness.models.ide.terminal import wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simharness.models.ide.repository.objects import Commit
    from simharness.models.ide.repository.worktree import Worktree
    from simharness.models.ide.terminal.call import Call

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY_SECONDS = 86_400


@dataclass(slots=True)
class Git:
    """One call of git."""

    call: Call
    clone: Clone
    author: str
    quiet: bool = False
    """Whether only errors are told."""

    @property
    def tree(self) -> Worktree:
        """The working tree."""
        return self.call.tree

    @property
    def now(self) -> int:
        """Seconds since 1970."""
        return self.call.shell.now // SECOND

    def print(self, text: str) -> None:
        """Print lines."""
        self.call.print(text)

    def tell(self, text: str) -> None:
        """Print lines where errors go."""
        if not self.quiet:
            self.call.err.write(text)

    def report(self, text: str) -> None:
        """Print lines unless only errors are told."""
        if not self.quiet:
            self.print(text)

    # --- names ------------------------------------------------------------------------------------

    def rev(self, name: str) -> str:
        """Give the rev that a name means. Raises GitError."""
        rev = self.clone.resolve(name)
        if rev is None:
            raise GitError(
                f"fatal: ambiguous argument '{name}': unknown revision or path not in the working "
                "tree.\nUse '--' to separate paths from revisions, like this:\n"
                "'git <command> [<revision>...] -- [<file>...]'"
            )
        return rev

    def commit(self, name: str) -> Commit:
        """Give the commit that a name means. Raises GitError."""
        return self.clone.graph[self.rev(name)]

    def short(self, rev: str) -> str:
        """Give the rev as it is shown."""
        return self.clone.graph.short(rev)

    def path(self, name: str) -> str:
        """Give the path in the repository of a name. Raises GitError."""
        found = inside(absolute(self.call.shell.folder, name))
        if found is None:
            raise GitError(f"fatal: {name}: '{name}' is outside repository at '/repo'")
        return found

    def paths(self, names: Iterable[str]) -> list[str]:
        """Give the paths of names; patterns stay patterns."""
        return [self.path(name) for name in names]

    def shown(self, path: str) -> str:
        """Give a path as one sees it from where one stands."""
        here = inside(self.call.shell.folder) or ""
        if not here:
            return path
        if path.startswith(here + "/"):
            return path[len(here) + 1 :]
        return "../" * (here.count("/") + 1) + path

    # --- trees ------------------------------------------------------------------------------------

    def files(self) -> dict[str, File]:
        """Give the files of the working tree."""
        return self.tree.files

    def untracked(self) -> list[str]:
        """Name the files that the index doesn't have."""
        known = self.clone.index
        clashes = self.clone.clashes
        return [path for path in self.files() if path not in known and path not in clashes]

    def write(self, path: str, file: File | None) -> None:
        """Put a file into the working tree, or take it away."""
        tree, stamp = self.tree, self.call.shell.now
        old = tree.entries.get(path)
        if old is not None and (file is None or old.mode == FOLDER):
            tree.remove(path)
        if file is None:
            return
        for folder in folders_of(path):
            if tree.file(folder) is not None:
                tree.remove(folder)
        for inner in tree.below(path):
            tree.remove(inner)
        if old != file:
            tree.put(path, file, stamp)

    def switch_tree(self, old: Mapping[str, File], new: Mapping[str, File]) -> None:
        """Bring working tree and index from one commit's tree to another one's.

        What was changed besides stays. Whether that is possible has been looked at.
        """
        for path in sorted({**old, **new}):
            if old.get(path) != new.get(path):
                self.write(path, new.get(path))
                self.stage(path, new.get(path))

    def stage(self, path: str, file: File | None) -> None:
        """Put a file into the index, or take it away."""
        index = self.clone.index
        if file is None:
            index.pop(path, None)
        else:
            index[path] = file
        self.clone.clashes.pop(path, None)

    def obstacles(
        self, old: Mapping[str, File], new: Mapping[str, File]
    ) -> tuple[list[str], list[str]]:
        """Name what going to another tree would overwrite: changed files, and untracked ones."""
        files, index = self.files(), self.clone.index
        changed: list[str] = []
        unknown: list[str] = []
        for path in sorted({**old, **new}):
            before, after = old.get(path), new.get(path)
            if before == after:
                continue
            staged, here = index.get(path), files.get(path)
            if staged == after and here == after:
                continue
            if staged != before or (here != staged and (staged is not None)):
                if staged is None and before is None:
                    unknown.append(path)
                elif here is not None or staged != before:
                    changed.append(path)
            elif before is None and here is not None:
                unknown.append(path)
        return changed, unknown

    def require_way(
        self, old: Mapping[str, File], new: Mapping[str, File], what: str, do: str
    ) -> None:
        """Refuse to overwrite work. Raises GitError."""
        changed, unknown = self.obstacles(old, new)
        text = ""
        if changed:
            names = "".join(f"\t{path}\n" for path in changed)
            text += (
                f"error: Your local changes to the following files would be overwritten by {what}:"
                f"\n{names}Please commit your changes or stash them before you {do}.\n"
            )
        if unknown:
            names = "".join(f"\t{path}\n" for path in unknown)
            text += (
                "error: The following untracked working tree files would be overwritten by "
                f"{what}:\n{names}Please move or remove them before you {do}.\n"
            )
        if text:
            raise GitError(text + "Aborting", 1)


def folders_of(path: str) -> list[str]:
    """Give the folders above a path."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def selected(paths: Iterable[str], specs: Sequence[str]) -> list[str]:
    """Give those of some paths that are meant by pathspecs; all where there are none."""
    if not specs:
        return list(paths)
    return [path for path in paths if any(meant(path, spec) for spec in specs)]


def meant(path: str, spec: str) -> bool:
    """Tell whether a path is one that a pathspec means: it, what is below it, or by its pattern."""
    if not spec or path == spec or path.startswith(spec.rstrip("/") + "/"):
        return True
    special = any(c in spec for c in "*?[")
    return special and wildcard.matches(wildcard.tokens_of(spec), path)


def within(files: Mapping[str, File], specs: Sequence[str]) -> dict[str, File]:
    """Give those files that pathspecs mean."""
    return {path: files[path] for path in selected(files, specs)}


def date(at: int) -> str:
    """Write a time as git does, `Mon Mar 2 09:00:00 2026 +0000`."""
    text = format_instant(at * SECOND)
    day = DAYS[(at // DAY_SECONDS + 3) % 7]
    month, number = MONTHS[int(text[5:7]) - 1], int(text[8:10])
    return f"{day} {month} {number} {text[11:19]} {text[:4]} +0000"


def iso_date(at: int) -> str:
    """Write a time as `2026-03-02 09:00:00 +0000`."""
    text = format_instant(at * SECOND)
    return f"{text[:10]} {text[11:19]} +0000"


def indented(message: str) -> str:
    """Give a message as a log shows it."""
    return "".join(f"    {line}\n" if line else "    \n" for line in message.split("\n"))


def upstream(clone: Clone, branch: str) -> str | None:
    """Give the rev of the remote branch that a branch follows."""
    return clone.refs.get(f"refs/remotes/origin/{branch}")


def tracking(git: Git) -> str:
    """Say how the branch stands to the one that it follows."""
    clone = git.clone
    branch = clone.branch
    theirs = None if branch is None else upstream(clone, branch)
    mine = clone.rev
    if theirs is None or mine is None:
        return ""
    name = f"'origin/{branch}'"
    ahead = sum(1 for _ in clone.graph.log([mine], [theirs]))
    behind = sum(1 for _ in clone.graph.log([theirs], [mine]))
    if not ahead and not behind:
        return f"Your branch is up to date with {name}.\n"
    if not behind:
        return (
            f"Your branch is ahead of {name} by {ahead} commit{'s' * (ahead > 1)}.\n"
            '  (use "git push" to publish your local commits)\n'
        )
    if not ahead:
        return (
            f"Your branch is behind {name} by {behind} commit{'s' * (behind > 1)}, "
            'and can be fast-forwarded.\n  (use "git pull" to update your local branch)\n'
        )
    return (
        f"Your branch and {name} have diverged,\nand have {ahead} and {behind} different commits "
        'each, respectively.\n  (use "git pull" to merge the remote branch into yours)\n'
    )


def is_branch(clone: Clone, name: str) -> bool:
    """Tell whether there is a local branch of that name."""
    return HEADS + name in clone.refs


def is_ref(clone: Clone, name: str) -> bool:
    """Tell whether a name is that of a tag or of a branch of the server's."""
    return f"refs/tags/{name}" in clone.refs or f"refs/remotes/{name}" in clone.refs


def detached(git: Git) -> str:
    """Say where a HEAD stands that is on no branch."""
    clone = git.clone
    label, rev = clone.detached
    if not label:
        label, rev = git.short(clone.rev or ""), clone.rev or ""
    return f"HEAD detached {'at' if rev == clone.rev else 'from'} {label}"
