"""What all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from simharness.rollout.collector import seldom_collected

if TYPE_CHECKING:
    from collections.abc import Generator

# How fast examples come says something of the machine and nothing of the code.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.fixture(scope="session", autouse=True)
def seldom() -> Generator[None]:
    """Tests run episodes, and collecting their garbage as usual takes a fifth of the time."""
    with seldom_collected():
        yield
