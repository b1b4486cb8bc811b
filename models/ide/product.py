"""The IDE: its tools put together with its profiles and knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide import invariants
from simharness.models.ide.habits import KNOBS as PEOPLE
from simharness.models.ide.own_knobs import KNOBS
from simharness.models.ide.profiles import PROFILES
from simharness.models.ide.tools.editor import EditorTools
from simharness.models.ide.tools.running import RunningTools

if TYPE_CHECKING:
    from collections.abc import Mapping

KEEPERS: Mapping[str, str] = {"was tested": "ci:checkout"}
"""What a broken invariant says, to the mechanism that should have kept it."""
SOUND_CI: Mapping[str, Any] = {"ci.checkout": "rev", "ci.flaky": 0}


class Ide(EditorTools, RunningTools):
    """A mock IDE: a repository that others push to as well, and a terminal."""

    name = "ide"
    keepers = KEEPERS
    profiles = PROFILES
    own_knobs = (*KNOBS, *PEOPLE)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.repairable.append("ci:checkout")
        self.sound["ci:checkout"] = SOUND_CI

    def invariants(self) -> list[str]:
        """Name what is broken: main's history, commits that there aren't, CI results."""
        return [
            *invariants.append_only(self),
            *invariants.known_revs(self),
            *invariants.tested_revs(self),
        ]
