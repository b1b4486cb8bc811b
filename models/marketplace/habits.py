"""The knobs of those around the agent: how many there are, and what they do how often."""

from __future__ import annotations

from simharness.api import knobs

TEAM = 20
"""Background users at load 1."""

KNOBS = (
    knobs.count("users.team", TEAM, "customers at load 1; more or fewer with the load", high=1000),
    knobs.duration("users.think", "15s", "mean pause of a customer between two things", low=1),
    knobs.duration("users.blocking", "0s", "mean pause between two times off; 0s: there are none"),
    knobs.duration("users.promoter", "0s", "pause of the waiting list's promoter; 0s: none"),
)
