"""Task families of the CRM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simharness.models.crm.scenarios.approval import Approval
from simharness.models.crm.scenarios.dedupe import Dedupe
from simharness.models.crm.scenarios.handoff import Handoff
from simharness.models.crm.scenarios.hygiene import Hygiene
from simharness.models.crm.scenarios.negotiation import Negotiation

if TYPE_CHECKING:
    from simharness.api import Scenario

SCENARIOS: tuple[Scenario[Any], ...] = (Negotiation(), Dedupe(), Approval(), Hygiene(), Handoff())
