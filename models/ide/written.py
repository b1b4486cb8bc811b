"""What a report holds for the IDE: files, history, tests, and hosts that can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide.grading.criteria import HIDDEN, criterion
from simharness.models.ide.grading.exam import Exam, Hidden
from simharness.models.ide.initial import Entry, Start, put
from simharness.models.ide.stores import IdeStores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Criterion

PAGE = "<!doctype html><title>{host}</title>\n"


class Written(IdeStores):
    """An IDE whose start is written down."""

    materials = ("files", "tests", "hidden_tests", "goal_tests", "history", "network")

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
