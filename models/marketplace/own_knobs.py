"""The knobs of the marketplace's own: how it books, and what the people around the agent do."""

from __future__ import annotations

from simharness.api import ZONE_RULES, knobs

ISOLATIONS = ("lock", "unique", "hold", "lease", "none", "overwrite")

KNOBS = (
    knobs.choice(
        "booking.isolation",
        ISOLATIONS,
        "what keeps two calls from one place: a lock from check to insert, a constraint at the "
        "insert, an insert that checks itself, a lease of the slot, nothing, or an insert that "
        "writes over the hold of whoever was faster (defects)",
    ),
    knobs.flag("booking.recheck", True, "an approval looks whether places are free"),
    knobs.choice(
        "booking.approval", ("manual", "auto"), "whether a request waits for its provider's word"
    ),
    knobs.choice(
        "booking.remote",
        ("none", "before_insert", "after_commit"),
        "when a booking is written into the calendar elsewhere; before the insert is a defect",
    ),
    knobs.choice(
        "booking.compensate",
        ("guarded", "blind"),
        "whether a refused confirmation looks if a payment was used before giving it back",
    ),
    knobs.choice(
        "booking.on_webhook",
        ("guarded", "overwrite"),
        "whether an event of the gateway is held against what booking and hold have become; "
        "overwriting them is a defect",
    ),
    knobs.duration("hold.ttl", "5min", "how long a hold lasts", low=1),
    knobs.flag("hold.visible_to_search", True, "what is held is not shown as free"),
    knobs.choice(
        "hold.late_payment",
        ("reject", "accept"),
        "what is done with a payment after the hold's end; accepting it unseen is a defect",
    ),
    knobs.flag("hold.leak", False, "holds that end give nothing back (a defect)"),
    knobs.choice(
        "coupon.claim",
        ("atomic", "check_then_set"),
        "whether a coupon is counted as it stands at the commit, or at the check (a defect)",
    ),
    knobs.span("remote.latency", "0s", "wait of a write to the calendar elsewhere"),
    knobs.choice(
        "zones",
        ZONE_RULES,
        "which offset a local time gets: that of its instant; that of the start of its day, that "
        "of standard time, or none (defects)",
    ),
    knobs.flag(
        "slots.checked",
        True,
        "a slot that is made is held against its provider's hours, absences and other slots; else "
        "it is taken as it comes (a defect)",
    ),
    knobs.count("slots.horizon", 7, "days for which slots are derived from opening hours", low=1),
)
