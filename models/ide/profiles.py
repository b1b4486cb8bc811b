"""How a well-run IDE is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["1ms", "6ms"],
        "put.latency": ["1ms", "5ms"],
        "ci.latency": ["5s", "40s"],
        "ci.workers": 2,
        "api.workers": 8,
        "api.rate_limit": "20/s",
        "tickets.detail.cache.ttl": "10min",
        "files.detail.cache.ttl": "2min",
        "files.list.cache.ttl": "60s",
        # Searches ask an index that is a moment behind, which an answer tells.
        "files.search.route": "index",
        "files.search.index.lag": ["50ms", "400ms"],
        "files.search.staleness": "1s",
        "files.search.read_your_writes": False,
        "files.search.signals": ["as_of"],
        "files.search.cache.ttl": "60s",
        "ci_jobs.detail.cache.ttl": "60s",
        "ci_jobs.list.cache.ttl": "60s",
        "branches.list.cache.ttl": "60s",
    },
}
