"""What the page explains beside the codes: the marks of its timeline, and its words."""

from __future__ import annotations

MARKS: dict[str, str] = {
    ".stem": "sent, with a line to the answer",
    ".step-mark.read.true": "answer",
    ".step-mark.write.true": "write",
    ".step-mark.error": "refused",
    ".step-mark.exception": "the harness failed",
    ".step-mark.text, .step-mark.stop": "text, or went away",
    ".step-mark.lag": "old, in contract",
    ".step-mark.broken": "older than the contract allows",
    "g.reach.good": "in reach",
    "g.reach.bad": "out of reach",
    "path.lag": "belief out of date",
    ".density": "calls of others",
    ".touch": "change by others",
    ".flow": "what was missed",
    ".cache-read.other": "read",
    ".cache-read.cached": "read from the cache",
    ".whisker": "how long it was out of date",
    ".cache.miss": "not in the cache",
    ".cache.fill": "put into the cache",
    ".cache.fenced": "fill refused, as older than the last invalidation",
    ".cache.expire": "entry expired",
    ".cache.invalidate": "invalidated",
    ".cache.drop": "invalidation lost",
    ".lock.hold": "held",
    ".lock.wait": "waited",
    ".lock.lease": "leased",
    ".move.checked": "looked for a place",
    ".move.hold": "took it",
    ".move.holdend": "its end",
    ".move.gateway": "payment asked",
    ".move.gatewayend": "payment answered",
    ".move.ledger": "money moved",
    ".fault-bar": "fault in force",
    ".flag.held": "goal met",
    ".flag.failed": "goal not met",
}
"""What each kind of mark means, by its selector in the drawing, in the order of the lanes."""

GLOSSARY: dict[str, str] = {
    "proved": "The episode was run again with the suspected mechanism telling the truth, and the "
    "outcome flipped. In a closed loop the same policy was asked again, in an open one the "
    "recorded calls were sent again. What is only detected or suspected was not proved so.",
    "reward true, places:slots true": "In the re-run this mechanism told the truth, and all else "
    "was as before: the reward followed from the goal, the places were counted soundly, the cache "
    "showed what is stored.",
    "hindered, helped": "What a finding did to the outcome: without it the agent would have "
    "reached the goal, or would not have been paid.",
    "harness, model, ambiguous, external": "Who answers for the outcome: the simulation, the "
    "agent, nobody can tell, or something outside both.",
    "contaminated": "Something of the harness was found, whether or not it changed the outcome.",
    "quarantined": "Left out of scores and of what is trained on, until a review says otherwise.",
    "valid for training": "Nothing of the harness was found in it.",
    "not for training": "Something of the harness was found in it, so what was seen or paid may "
    "be wrong.",
    "strata": "The episodes of one scenario, load, fault or tool. Each is held against the limit "
    "on its own, so that a defect that shows in a few can't hide among the many.",
    "load": "How many background users there are, as a multiple of one team.",
    "footprint": "What the agent may touch. Such a criterion fails if it changed anything else.",
    "State Δ": "What was committed between the answer before this step and its own.",
    "planted": "A fault that was switched on for this episode, on purpose.",
}
"""Words of the page, in the order in which they are met."""
