"""helpdesk/double-charge: the customer was charged twice, and is to have exactly that back."""

from __future__ import annotations

from simharness.models.helpdesk.scenarios.paid_twice import DOUBLES, PaidTwice


class DoubleCharge(PaidTwice):
    """Pay back what was taken twice."""

    id = "helpdesk/double-charge"
    doc = (
        "by the ledger exactly the duplicate is back, no more; the customer was answered in "
        "public once it was asked for, and the ticket is solved after it is back, or pending while "
        "a refund is under way; finish says done and names each charge that goes back; nothing "
        "else was changed"
    )
    causes = DOUBLES
    weights = (34, 24, 20, 22)
