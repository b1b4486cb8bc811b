"""The scenarios of the marketplace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.marketplace.scenarios.book import Book
from simharness.models.marketplace.scenarios.earliest import Earliest
from simharness.models.marketplace.scenarios.group import Group
from simharness.models.marketplace.scenarios.reschedule import Reschedule
from simharness.models.marketplace.scenarios.waitlist import Waitlist

if TYPE_CHECKING:
    from simharness.api import Scenario

SCENARIOS: tuple[Scenario[Any], ...] = (
    Book(),
    Reschedule(),
    Group(),
    Earliest(),
    Waitlist(),
)
