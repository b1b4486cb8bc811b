"""How a well-run CRM is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["2ms", "12ms"],
        "put.latency": ["1ms", "5ms"],
        "api.workers": 8,
        "api.rate_limit": "20/s",
        "users.import": "90s",
        "users.sweep": "1min",
        "users.auth.cache.ttl": "5min",
        "users.detail.cache.ttl": "5min",
        "accounts.detail.cache.ttl": "10min",
        # Accounts are read from a replica, whose lag an answer tells.
        "accounts.replica.lag": ["20ms", "400ms"],
        "accounts.detail.route": "sticky",
        "accounts.detail.staleness": "1s",
        "accounts.detail.signals": ["as_of"],
        "accounts.list.cache.ttl": "60s",
        "accounts.search.cache.ttl": "60s",
        "contacts.detail.cache.ttl": "5min",
        # Searches ask an index that is seconds behind, which an answer tells.
        "contacts.search.route": "index",
        "contacts.search.index.lag": ["500ms", "2s"],
        "contacts.search.staleness": "3s",
        "contacts.search.read_your_writes": False,
        "contacts.search.signals": ["as_of"],
        "contacts.search.cache.ttl": "60s",
        "deals.detail.cache.ttl": "2min",
        "deals.list.cache.ttl": "60s",
        "deals.search.route": "index",
        "deals.search.index.lag": ["500ms", "2s"],
        "deals.search.staleness": "3s",
        "deals.search.read_your_writes": False,
        "deals.search.signals": ["as_of"],
        "deals.search.cache.ttl": "60s",
        "activities.list.cache.ttl": "60s",
        "approvals.detail.cache.ttl": "60s",
    },
}
