"""Episode 87: Thursday 2 pm, three slots show open, and two who look before either books.

Nothing keeps the check and the insert of a hold together.
"""

from __future__ import annotations

from simharness.api import Showcase

SHOWCASES = (
    Showcase(
        number=87,
        title="Thursday 2 pm, three slots that show open, and one sold twice",
        scenario="marketplace/book",
        load="1",
        faults=("marketplace.no-slot-lock",),
        ablate="places:slots",
        label="places",
        config={
            "instance.service": "Language lesson",
            "instance.home": "Europe/Berlin",
            "instance.date": "2026-04-02",
            "instance.hour": 14,
            "instance.others": "none",
            "instance.coupon": "none",
            "instance.price_cap": "none",
            "instance.begun": "no",
            "instance.payment": "ok",
            "instance.luck": "good",
            "instance.event_0": "books",
            "instance.event_1": "none",
            "instance.event_2": "none",
            "instance.ms_0": 46_000,
        },
    ),
)
