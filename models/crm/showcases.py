"""Episode 42: deal #42 in negotiation, invalidations lost under load.

The agent's reads lag the truth by minutes.
"""

from __future__ import annotations

from simharness.api import Showcase

SHOWCASES = (
    Showcase(
        number=42,
        title="a deal that legal has cleared, and a cache that won't say so",
        scenario="crm/negotiation",
        load="4",
        faults=("crm.invalidation-lost",),
        ablate="cache:deals.detail",
        label="cache",
        config={
            "instance.deal": 42,
            "instance.legal": "in_review",
            "instance.legal_answer": "cleared",
            "instance.legal_after": 45,
            "instance.discount": "free",
            "instance.discount_pct": 10,
            "instance.champion": "stays",
            "instance.budget": "stays",
        },
    ),
)
