"""The scenarios of the IDE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.ide.scenarios.conflict import Conflict
from simharness.models.ide.scenarios.fix import Fix
from simharness.models.ide.scenarios.flaky import FlakyTest
from simharness.models.ide.scenarios.impossible import Impossible
from simharness.models.ide.scenarios.refactor import Refactor

if TYPE_CHECKING:
    from simharness.api import Scenario

SCENARIOS: tuple[Scenario[Any], ...] = (
    Fix(),
    Conflict(),
    FlakyTest(),
    Refactor(),
    Impossible(),
)
