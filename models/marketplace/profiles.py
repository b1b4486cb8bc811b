"""How a well-run marketplace is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["2ms", "12ms"],
        "put.latency": ["1ms", "5ms"],
        "remote.latency": ["40ms", "400ms"],
        "api.workers": 8,
        "api.rate_limit": "20/s",
        "booking.isolation": "lock",
        "booking.remote": "after_commit",
        # Cards are charged at once, and settled a little later.
        "gateway.latency": ["200ms", "2s"],
        "gateway.settle_after": "20s",
        "gateway.sweep": "60s",
        "webhook.delay": ["50ms", "2s"],
        "slots.horizon": 10,
        "users.blocking": "2min",
        "users.promoter": "20s",
        "services.list.cache.ttl": "10min",
        "providers.list.cache.ttl": "5min",
        # One slot is read from a replica, whose lag an answer tells.
        "slots.replica.lag": ["20ms", "400ms"],
        "slots.detail.route": "sticky",
        "slots.detail.staleness": "1s",
        "slots.detail.signals": ["as_of"],
        "slots.detail.cache.ttl": "2min",
        # Searches ask an index that is seconds behind, which an answer tells.
        "slots.search.route": "index",
        "slots.search.index.lag": ["500ms", "2s"],
        "slots.search.staleness": "3s",
        "slots.search.read_your_writes": False,
        "slots.search.signals": ["as_of"],
        "slots.search.cache.ttl": "60s",
        "bookings.detail.cache.ttl": "2min",
        "bookings.list.cache.ttl": "60s",
        "payments.detail.cache.ttl": "2min",
    },
}
