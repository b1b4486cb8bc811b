"""Defects that a CRM's harness really has, each a patch of knobs."""

from __future__ import annotations

from simharness.api import Fault, Trigger

FAULTS = (
    Fault(
        id="crm.invalidation-lost",
        doc="under load the deal cache's invalidation queue overflows; entries live on for 30 min",
        # It bites only where the TTL outlasts the agent's patience (6 min), which outlasts the
        # customers' longest answer (150 s).
        knobs={
            "deals.detail.cache.ttl": "30min",
            "deals.detail.cache.invalidate": "async",
            "deals.detail.cache.invalidate_queue": 2,
            "deals.detail.cache.invalidate_rate": "2/h",
        },
        trigger=Trigger(load_above=2000),
    ),
    Fault(
        id="crm.no-fence",
        doc="a slow reader's fill lands after the invalidation and puts the old deal back",
        # With fills of milliseconds the window hardly opens; seconds make it one that users meet.
        knobs={
            "deals.detail.cache.ttl": "30min",
            "deals.detail.cache.fence": False,
            "put.latency": ["2s", "12s"],
        },
    ),
)
