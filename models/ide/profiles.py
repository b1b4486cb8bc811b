"""How a well-run IDE is set up."""

from __future__ import annotations

PROFILES: dict[str, dict[str, object]] = {
    "bare": {},
    "production": {
        "api.latency": ["4ms", "30ms"],
        "db.latency": ["1ms", "6ms"],
        "put.latency": ["1ms", "5ms"],
        "ci.latency": ["2s", "8s"],
        "ci.workers": 4,
        "merge.latency": ["1s", "4s"],
        "api.workers": 8,
        "api.rate_limit": "20/s",
        "users.merging": "200s",
        "users.sharing": "100s",
        "users.bot": "30s",
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
        # Jobs are read from a replica, whose lag an answer tells.
        "ci_jobs.replica.lag": ["20ms", "400ms"],
        "ci_jobs.detail.route": "sticky",
        "ci_jobs.detail.staleness": "1s",
        "ci_jobs.detail.signals": ["as_of"],
        "ci_jobs.list.route": "sticky",
        "ci_jobs.list.staleness": "1s",
        "ci_jobs.list.signals": ["as_of"],
        "ci_jobs.detail.cache.ttl": "60s",
        "ci_jobs.list.cache.ttl": "60s",
        "branches.list.cache.ttl": "60s",
    },
}
