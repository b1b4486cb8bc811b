"""What a report holds for the IDE: files, history, tests, and hosts that can be reached."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simharness.models.ide.grading.criteria import HIDDEN, criterion
from simharness.models.ide.grading.exam import Exam, Hidden
from simharness.models.ide.initial import Entry, Start, put
from simharness.models.ide.paths import NAME_MAX, PATH_MAX
from simharness.models.ide.repository.worktree import parents_of
from simharness.models.ide.stores import IdeStores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from simharness.api import Criterion

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
PAGE = "<!doctype html><title>{host}</title>\n"


class Written(IdeStores):
    """An IDE whose start is written down."""

    materials = ("files", "tests", "hidden_tests", "goal_tests", "history", "network")

    @classmethod
    def misplaced(cls, name: str, keys: Collection[str]) -> Iterator[tuple[str, str]]:
        """Name paths that no file of the repository can have, and hosts that are none."""
        for key in keys:
            if name == "network":
                if not HOST.fullmatch(key):
                    yield key, f"{key!a:.60} is no host, such as pypi.example"
            elif reason := unfit(key, keys):
                yield key, reason

    def stage(self, material: Mapping[str, Any]) -> None:
        """Lay out the repository."""
        put(
            self,
            Start(
                files=material.get("files", {}),
                history=entries(material.get("history", ())),
                tests=material.get("tests", {}),
                hidden_tests=material.get("hidden_tests", {}),
                pages={host: PAGE.format(host=host) for host in material.get("network", ())},
            ),
        )

    def judged(self, material: Mapping[str, Any]) -> tuple[Criterion, ...]:
        """Judge what was handed in by the goal's tests, which are the hidden ones unless named."""
        tests = material.get("goal_tests") or material.get("hidden_tests")
        exam = self.examined
        if not tests or exam is None:
            return ()
        if "goal_tests" in material:
            hidden = Hidden(solution={}, files=dict(tests))
            exam = Exam(self, exam.base, tuple(material.get("tests", ())), hidden)
        handed = exam.handed()
        checks = exam.hidden_checks(handed.files)
        return (criterion(HIDDEN, checks, handed.key, exam.keys()),)


def unfit(path: str, others: Collection[str]) -> str:
    """Say why no file can lie at a path; empty if one can."""
    names = path.split("/")
    if path.startswith("/"):
        return f"path {path!a:.80} is none from the root of the repository"
    if any(name in ("", ".", "..") for name in names):
        return f"path {path!a:.80} has an empty part, '.' or '..'"
    if names[0] == ".git":
        return "the repository's own data are not among its files"
    if len(path) > PATH_MAX or any(len(name) > NAME_MAX for name in names) or "\0" in path:
        return f"path {path!a:.80} is none that a file can have"
    clash = next((above for above in parents_of(path) if above in others), "")
    return f"it lies below {clash!a:.80}, which is a file" if clash else ""


def entries(history: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Give commits whose files are whole trees as commits of what they change."""
    trees: dict[str, Mapping[str, str]] = {}
    last = ""
    out: list[Entry] = []
    for told in history:
        branch = told.get("branch", Entry(message="").branch)
        before = trees.get(branch, trees.get(last, {}))
        tree: Mapping[str, str] = told["files"]
        changes: dict[str, str | None] = {p: None for p in before if p not in tree}
        changes |= {path: text for path, text in tree.items() if before.get(path) != text}
        given = {key: told[key] for key in ("author", "at", "branch", "leak") if key in told}
        files = dict(sorted(changes.items()))
        tags = tuple(told.get("tags", ()))
        out.append(Entry(message=told["message"], files=files, tags=tags, **given))
        trees[branch], last = tree, branch
    return out
