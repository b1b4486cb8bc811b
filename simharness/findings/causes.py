"""Which call an operation goes back to: deliveries, jobs and requests are reactions to others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.findings.story import once_a_story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simharness.findings.story import Story

Op = tuple[str, int]
"""An operation, as owner and number."""


@once_a_story
def causes_of(story: Story) -> Mapping[Op, Op]:
    """Give the operation that each reaction is one to."""
    found = (row.values for row in story.of("CAUSED"))
    return {(v["owner"], v["n"]): (v["by"], v["by_n"]) for v in found}


def root_of(causes: Mapping[Op, Op], op: Op) -> Op:
    """Give the call that an operation goes back to: itself, where nothing caused it."""
    while op in causes:
        op = causes[op]
    return op
