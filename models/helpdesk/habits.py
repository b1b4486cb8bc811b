"""The knobs of those around the agent: how many there are, and what they do how often."""

from __future__ import annotations

from simharness.api import knobs

TEAM = 20
"""Background users at load 1."""

KNOBS = (
    knobs.count("users.team", TEAM, "colleagues at load 1; more or fewer with the load", high=1000),
    knobs.duration("users.think", "20s", "mean pause of a colleague between two things", low=1),
    knobs.duration("users.writing", "0s", "mean pause of a customer who writes; 0s: nobody does"),
    knobs.duration("users.sla", "0s", "pause of the timer that raises late tickets; 0s: none"),
    knobs.flag("users.bank", False, "refunds of the start that are pending settle, or fail"),
)
