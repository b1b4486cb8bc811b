"""helpdesk/legit-charge: it only looks as if too much was charged, or it is so."""

from __future__ import annotations

from simharness.models.helpdesk.scenarios.paid_twice import DOUBLES, LEGIT, PaidTwice


class LegitCharge(PaidTwice):
    """Refuse a refund that isn't due, and pay one that is."""

    id = "helpdesk/legit-charge"
    doc = (
        "where nothing is due nothing was paid back, the customer was answered in public, the "
        "ticket is solved, and finish says refused and names the rule and the charges; where a "
        "charge is a duplicate, what helpdesk/double-charge asks for; nothing else was changed"
    )
    causes = (*LEGIT, *DOUBLES)
    weights = (18, 15, 15, 12, 14, 10, 8, 8)
