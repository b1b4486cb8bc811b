"""How a well-run CRM is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["2ms", "12ms"],
        "put.latency": ["1ms", "5ms"],
        "api.workers": 8,
        "users.import": "90s",
        "users.sweep": "1min",
        "users.auth.cache.ttl": "5min",
        "users.detail.cache.ttl": "5min",
        "accounts.detail.cache.ttl": "10min",
        "accounts.list.cache.ttl": "60s",
        "accounts.search.cache.ttl": "60s",
        "contacts.detail.cache.ttl": "5min",
        "contacts.search.cache.ttl": "60s",
        "deals.detail.cache.ttl": "2min",
        "deals.list.cache.ttl": "60s",
        "deals.search.cache.ttl": "60s",
        "activities.list.cache.ttl": "60s",
        "approvals.detail.cache.ttl": "60s",
    },
}
