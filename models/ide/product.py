"""The IDE: its tools put together with its profiles and knobs."""

from __future__ import annotations

from simharness.models.ide import invariants
from simharness.models.ide.own_knobs import KNOBS
from simharness.models.ide.profiles import PROFILES
from simharness.models.ide.tools.editor import EditorTools
from simharness.models.ide.tools.running import RunningTools
from simharness.models.ide.tools.sharing import SharingTools


class Ide(EditorTools, SharingTools, RunningTools):
    """A mock IDE: a repository that others push to as well, and a terminal."""

    name = "ide"
    profiles = PROFILES
    own_knobs = KNOBS

    def invariants(self) -> list[str]:
        """Name what is broken: the history of main, names of commits that there aren't."""
        return [*invariants.append_only(self), *invariants.known_revs(self)]
