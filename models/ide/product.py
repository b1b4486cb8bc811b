"""The IDE: its tools put together with its profiles and knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.api import sandbox
from simharness.models.ide import invariants
from simharness.models.ide.faults import FAULTS
from simharness.models.ide.grading.grader import REWARD_MODES, SOUND_GRADING, Grading
from simharness.models.ide.habits import KNOBS as PEOPLE
from simharness.models.ide.own_knobs import KNOBS
from simharness.models.ide.profiles import PROFILES
from simharness.models.ide.scenarios import SCENARIOS
from simharness.models.ide.showcases import SHOWCASES
from simharness.models.ide.tools.editor import EditorTools
from simharness.models.ide.tools.running import RunningTools
from simharness.models.ide.written import Written

if TYPE_CHECKING:
    from collections.abc import Mapping

KEEPERS: Mapping[str, str] = {"was tested": "ci:checkout"}
"""What a broken invariant says, to the mechanism that should have kept it."""
SOUND: Mapping[str, Mapping[str, Any]] = {
    "ci:checkout": {"ci.checkout": "rev", "ci.flaky": 0},
    "secrets": {"history.leak": "none"},
    "output": {"terminal.cut": "told", "terminal.max_output": 30_000},
}
"""Knob values under which CI, history and terminal tell the truth, by how ablation names them."""


class Ide(EditorTools, RunningTools, Written, Grading):
    """A mock IDE: a repository that others push to as well, and a terminal."""

    name = "ide"
    keepers = KEEPERS
    profiles = PROFILES
    own_knobs = (*KNOBS, *PEOPLE)
    reward_modes = REWARD_MODES
    scenarios = SCENARIOS
    faults = FAULTS
    showcases = SHOWCASES
    shows_code = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.repairable += SOUND
        self.sound.update(SOUND)
        self.sound["reward"] = SOUND_GRADING

    @classmethod
    def missing(cls) -> str:
        """Name what has to be installed for code to be run."""
        return "" if sandbox.is_installed() else "simharness[ide]"

    def is_ref(self, ref: str) -> bool:
        """Tell whether a text may stand in the refs of `finish`: a row, or a test by its id."""
        return super().is_ref(ref) or "::" in ref

    def invariants(self) -> list[str]:
        """Name what is broken: main's history, commits that there aren't, CI results."""
        return [
            *invariants.append_only(self),
            *invariants.known_revs(self),
            *invariants.tested_revs(self),
        ]
