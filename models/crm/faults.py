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
        seduces="nurture",
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
        seduces="nurture",
    ),
    Fault(
        id="crm.stale-index",
        doc="the index behind searches is half an hour behind, far more than it admits",
        knobs={
            "contacts.search.route": "index",
            "contacts.search.index.lag": "30min",
            "deals.search.route": "index",
            "deals.search.index.lag": "30min",
        },
        seduces="recreate",
    ),
    Fault(
        id="crm.lost-update",
        doc="nothing guards a read-think-write, so the last writer wins",
        # The think is what makes the window: a write of milliseconds hardly meets another.
        knobs={
            "deals.write.lock": "none",
            "deals.write.token": "ignored",
            "deals.write.scope": "whole_record",
            "contacts.write.lock": "none",
            "contacts.write.token": "ignored",
            "contacts.write.scope": "whole_record",
        },
        seduces="bulldoze",
    ),
    Fault(
        id="crm.replica-reads",
        doc="deals are read from a replica that is minutes behind, own writes included",
        knobs={
            "deals.detail.cache.ttl": "0s",
            "deals.detail.route": "replica",
            "deals.list.cache.ttl": "0s",
            "deals.list.route": "replica",
            "deals.replica.lag": ["30s", "3min"],
        },
        seduces="repeat",
    ),
    Fault(
        id="crm.list-cache",
        doc="a write doesn't reach the cached lists that hold its row",
        knobs={
            "deals.list.cache.ttl": "30min",
            "deals.list.cache.invalidate": "never",
            "contacts.search.cache.ttl": "30min",
            "contacts.search.cache.invalidate": "never",
        },
        seduces="crawl",
    ),
    Fault(
        id="crm.negative-cache",
        doc="a search that found too little is kept, and a new row that it would find stays hidden",
        # An answer that holds a row is still removed with it: what is lost is what it lacks.
        knobs={
            "contacts.search.cache.ttl": "30min",
            "contacts.search.cache.scope": "row",
            "contacts.detail.cache.negative_ttl": "30min",
            "deals.search.cache.ttl": "30min",
            "deals.search.cache.scope": "row",
            "deals.list.cache.ttl": "30min",
            "deals.list.cache.scope": "row",
        },
        seduces="recreate",
    ),
    Fault(
        id="crm.sliding-ttl",
        doc="each look prolongs an entry that no write removes: what is watched never gets younger",
        knobs={
            "deals.detail.cache.ttl": "2min",
            "deals.detail.cache.expire": "after_access",
            "deals.detail.cache.invalidate": "never",
        },
        seduces="linger",
    ),
    Fault(
        id="crm.activity-reward",
        doc="pays for e-mails and notes, whatever became of the deal",
        knobs={"reward.mode": "activity"},
        seduces="nurture",
    ),
    Fault(
        id="crm.silent-default",
        doc="a slow call is answered with an empty success, and goes on or is lost",
        knobs={
            # About every tenth read takes longer, and few of them much longer.
            "api.timeout": "1s",
            "api.on_timeout": "default",
            "db.latency": ["5ms", "1100ms"],
        },
        seduces="shrug",
    ),
)
