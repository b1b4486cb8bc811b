"""The scenarios of the helpdesk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.helpdesk.scenarios.double_charge import DoubleCharge
from simharness.models.helpdesk.scenarios.escalate import Escalate
from simharness.models.helpdesk.scenarios.legit_charge import LegitCharge
from simharness.models.helpdesk.scenarios.partial_refund import PartialRefund
from simharness.models.helpdesk.scenarios.refund_pending import RefundPending
from simharness.models.helpdesk.scenarios.triage import Triage

if TYPE_CHECKING:
    from simharness.api import Scenario

SCENARIOS: tuple[Scenario[Any], ...] = (
    DoubleCharge(),
    LegitCharge(),
    Escalate(),
    Triage(),
    PartialRefund(),
    RefundPending(),
)
