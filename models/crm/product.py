"""The CRM: its tools put together with its scenarios, faults and profiles."""

from __future__ import annotations

from simharness.models.crm import invariants
from simharness.models.crm.faults import FAULTS
from simharness.models.crm.habits import KNOBS
from simharness.models.crm.profiles import PROFILES
from simharness.models.crm.rewards import REWARD_MODES
from simharness.models.crm.scenarios import SCENARIOS
from simharness.models.crm.showcases import SHOWCASES
from simharness.models.crm.tools.accounts import AccountTools
from simharness.models.crm.tools.activities import ActivityTools
from simharness.models.crm.tools.admin import AdminTools
from simharness.models.crm.tools.approvals import ApprovalTools
from simharness.models.crm.tools.contacts import ContactTools
from simharness.models.crm.tools.deals import DealTools


class Crm(AccountTools, ContactTools, DealTools, ActivityTools, ApprovalTools, AdminTools):
    """A mock CRM with other people in it."""

    name = "crm"
    semantics = 2
    profiles = PROFILES
    faults = FAULTS
    scenarios = SCENARIOS
    reward_modes = REWARD_MODES
    showcases = SHOWCASES
    own_knobs = KNOBS

    def invariants(self) -> list[str]:
        """Name what is broken: an open deal without a live owner, a deal won against the rules."""
        return invariants.broken(self)
