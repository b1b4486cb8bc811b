"""All detectors, in the order of proof: reads, rewards and exceptions first, the model's own last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.findings.outcome import bad_calls, failed_ending, harness_failures, wrong_reward
from simharness.findings.reads import stale_reads

if TYPE_CHECKING:
    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

HARNESS = (harness_failures, stale_reads, wrong_reward)
MODEL = (bad_calls, failed_ending)


def harness_findings(story: Story) -> list[Finding]:
    """Run the harness detectors."""
    return [finding for detector in HARNESS for finding in detector(story)]


def model_findings(story: Story) -> list[Finding]:
    """Run the model detectors; which of them stand is for attribution to say."""
    return [finding for detector in MODEL for finding in detector(story)]
