"""Model-side findings: which of them explains a failed outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simharness.findings.finding import Finding


def primary_of(findings: Sequence[Finding]) -> Finding | None:
    """Give the finding that explains a failed outcome best."""
    return next((f for f in findings if not f.code.startswith("M2")), findings[0] if findings else None)
