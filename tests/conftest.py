"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How fast examples come says something of the machine and nothing of the code.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
