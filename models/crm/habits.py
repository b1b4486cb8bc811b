"""The knobs of the CRM's own: what the people and the machines around the agent do, how often."""

from __future__ import annotations

from simharness.api import knobs

TEAM = 20
"""Background users at load 1."""

KNOBS = (
    knobs.count("users.team", TEAM, "reps at load 1; more or fewer with the load", high=1000),
    knobs.duration("users.think", "40s", "mean pause of a rep between two things", low=1),
    knobs.duration("users.import", "0s", "time from the start to the nightly import; 0s: none"),
    knobs.duration("users.sweep", "0s", "pause of the sweeping integration; 0s: there is none"),
)
