"""The scenarios of the marketplace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simharness.api import Scenario

SCENARIOS: tuple[Scenario[Any], ...] = ()
