"""The counts of a server in the text format of Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simharness.adapters.sessions import Sessions

COUNTED = {
    "opened": ("sessions_opened", "sessions that were opened"),
    "expired": ("sessions_expired", "sessions that were idle for too long"),
    "refused": ("requests_refused", "requests for which there was no room"),
    "begun": ("episodes_begun", "episodes that have begun"),
    "ended": ("episodes_ended", "episodes that came to their end, or were cut"),
    "left": ("episodes_left", "episodes that their clients left"),
    "harness": ("episodes_harness", "episodes that the harness failed"),
}
"""Count to its metric and what that says."""


class Counted(Collector):
    """Reads the counts when they are asked for."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def collect(self) -> Iterator[Metric]:
        """Give every metric."""
        sessions = self._sessions
        counts = sessions.counts
        yield GaugeMetricFamily("simharness_sessions", "open sessions", len(sessions))
        most = sessions.limits.sessions
        yield GaugeMetricFamily("simharness_sessions_max", "most open sessions", most)
        healthy = not sessions.trouble
        yield GaugeMetricFamily("simharness_healthy", "whether episodes may begin", int(healthy))
        for name, (metric, about) in COUNTED.items():
            yield CounterMetricFamily(f"simharness_{metric}", about, getattr(counts, name))
        errors = CounterMetricFamily(
            "simharness_requests_errors",
            "requests that were answered with an error",
            labels=["status"],
        )
        for status, count in sorted(counts.errors.copy().items()):
            errors.add_metric([str(status)], count)
        yield errors
        yield SummaryMetricFamily(
            "simharness_step_seconds",
            "real time of steps",
            count_value=counts.steps,
            sum_value=counts.step_seconds,
        )


def exposition(sessions: Sessions) -> tuple[bytes, str]:
    """Give the metrics, and the type of their text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Counted(sessions))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4
