"""All detectors of the harness's side, in the order of proof; `model` has the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simharness.findings.calls import (
    leaked_internals,
    misleading_refusals,
    silent_timeouts,
    turned_clocks,
    untrue_outcomes,
)
from simharness.findings.clocks import turned_stamps
from simharness.findings.events import (
    lost_events,
    misapplied_events,
    repeated_jobs,
    unfounded_messages,
    unheard_failures,
)
from simharness.findings.evidence import leaked_answers, silent_cuts
from simharness.findings.history import lost_updates
from simharness.findings.holds import broken_holds, oversold_places
from simharness.findings.leases import broken_leases
from simharness.findings.locks import broken_lifetimes, broken_locks, starved_locks
from simharness.findings.money import (
    over_refunds,
    repeated_by_harness,
    wrong_amounts,
    wrong_books,
)
from simharness.findings.outcome import (
    broken_invariants,
    goal_at_reset,
    harness_failures,
    others_credit,
    unstable_grades,
    wrong_reward,
)
from simharness.findings.pages import torn_pages
from simharness.findings.phantoms import phantom_contents, phantom_versions
from simharness.findings.reads import (
    mismatched_rows,
    missed_records,
    silent_staleness,
    stale_reads,
    torn_lists,
    views_disagree,
)
from simharness.findings.shapes import (
    bad_shapes,
    changed_schemas,
    changed_shapes,
    misjudged_calls,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from simharness.findings.finding import Finding
    from simharness.findings.story import Story

HARNESS = (
    harness_failures,
    turned_clocks,
    turned_stamps,
    # What the agent was served.
    stale_reads,
    views_disagree,
    torn_lists,
    mismatched_rows,
    missed_records,
    torn_pages,
    silent_cuts,
    phantom_versions,
    phantom_contents,
    # What its calls did.
    silent_timeouts,
    untrue_outcomes,
    misleading_refusals,
    leaked_internals,
    leaked_answers,
    changed_schemas,
    misjudged_calls,
    bad_shapes,
    changed_shapes,
    # What everybody's writes did to each other.
    lost_updates,
    broken_locks,
    broken_lifetimes,
    starved_locks,
    broken_leases,
    broken_holds,
    oversold_places,
    misapplied_events,
    repeated_jobs,
    lost_events,
    unheard_failures,
    unfounded_messages,
    repeated_by_harness,
    over_refunds,
    wrong_amounts,
    wrong_books,
    # What it was paid for.
    broken_invariants,
    goal_at_reset,
    unstable_grades,
    wrong_reward,
    others_credit,
    # Allowed, and not said: ambiguous.
    silent_staleness,
)


def harness_findings(story: Story) -> list[Finding]:
    """Run the harness detectors."""
    return list(once(finding for detector in HARNESS for finding in detector(story)))


def once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Give each finding once per code, keys and rows; of one cause, all reads that saw it stay."""
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        what = finding.code, finding.keys, finding.events or finding.explanation
        if what not in seen:
            seen.add(what)
            yield finding
