"""What all tasks of the marketplace have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.api import Scenario
from simharness.models.marketplace.base import EPOCH, base_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simharness.api import Row
    from simharness.models.marketplace.product import Marketplace  # noqa: F401


class MarketTask(Scenario["Marketplace"]):
    """A task that begins in the marketplace of the base."""

    epoch = EPOCH

    def base_rows(self) -> Mapping[str, Sequence[Row]]:
        """Give the marketplace."""
        return base_rows()
