"""How a well-run helpdesk is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["2ms", "12ms"],
        "put.latency": ["1ms", "5ms"],
        "gateway.latency": ["200ms", "1500ms"],
        "gateway.settle_after": "90s",
        "gateway.sweep": "3min",
        # Events come late, twice, and in any order.
        "webhook.delay": ["100ms", "4s"],
        "webhook.duplicates": 1,
        "webhook.order": "any",
        "api.workers": 8,
        "api.rate_limit": "20/s",
        "ticket.auto_close": "24h",
        "users.writing": "90s",
        "users.sla": "45s",
        "users.bank": True,
        "agents.auth.cache.ttl": "5min",
        "agents.detail.cache.ttl": "5min",
        "customers.detail.cache.ttl": "10min",
        # Orders are read from a replica, whose lag an answer tells.
        "orders.replica.lag": ["20ms", "400ms"],
        "orders.detail.route": "sticky",
        "orders.detail.staleness": "1s",
        "orders.detail.signals": ["as_of"],
        "orders.detail.cache.ttl": "2min",
        "tickets.detail.cache.ttl": "2min",
        "tickets.list.cache.ttl": "60s",
        # Searches ask an index that is seconds behind, which an answer tells.
        "tickets.search.route": "index",
        "tickets.search.index.lag": ["500ms", "2s"],
        "tickets.search.staleness": "3s",
        "tickets.search.read_your_writes": False,
        "tickets.search.signals": ["as_of"],
        "tickets.search.cache.ttl": "60s",
        "messages.list.cache.ttl": "60s",
        "charges.detail.cache.ttl": "2min",
        "charges.list.cache.ttl": "60s",
        "refunds.detail.cache.ttl": "2min",
        "refunds.list.cache.ttl": "60s",
        "policies.search.cache.ttl": "10min",
    },
}
