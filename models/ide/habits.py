"""The knobs of those around the agent: how many there are, and what they do how often."""

from __future__ import annotations

from simharness.api import knobs

TEAM = 20
"""Background users at load 1."""

KNOBS = (
    knobs.count("users.team", TEAM, "colleagues at load 1; more or fewer with the load", high=1000),
    knobs.duration("users.think", "25s", "mean pause of a colleague between two things", low=1),
    knobs.duration(
        "users.merging",
        "0s",
        "mean pause at load 1 between two merges into main, each of which moves it; 0s: none",
    ),
    knobs.duration(
        "users.sharing",
        "0s",
        "mean pause at load 1 between two visits to the agent's workspace, each of which holds a "
        "file for some seconds; 0s: none",
    ),
    knobs.duration(
        "users.bot",
        "0s",
        "pause of the bot that puts branches on top of main again; 0s: there is none",
    ),
)
