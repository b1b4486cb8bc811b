"""Who takes over the deals of somebody who leaves: the terms, in code and in words."""

from __future__ import annotations

from typing import NamedTuple

RULES = ("one", "industry", "amount", "stage", "account")
KEPT_STAGE = "negotiation"
"""Stage of the deals that a manager keeps, by the rule `stage`."""
SIGNED_OFF = "signed off"
"""Subject of the note that somebody who leaves writes last."""


class Terms(NamedTuple):
    """The terms of one handover; users are named by their ids."""

    rule: str
    leaver: int
    successor: int
    other: int = 0
    """Who gets what the successor doesn't; 0 where the rule knows nobody else."""
    industries: tuple[str, ...] = ()
    threshold: int = 0
    """Amount in minor units."""

    @property
    def asks_account(self) -> bool:
        """Tell whether the rule looks at the account of a deal."""
        return self.rule in ("industry", "account")

    def heir(self, stage: str, amount: int, industry: str, account_owner: int | None) -> int:
        """Give who gets a deal of these facts."""
        match self.rule:
            case "industry":
                return self.successor if industry in self.industries else self.other
            case "amount":
                return self.successor if amount >= self.threshold else self.other
            case "stage":
                return self.other if stage == KEPT_STAGE else self.successor
            case "account":
                own = account_owner is None or account_owner == self.leaver
                return self.successor if own else account_owner or 0
            case _:
                return self.successor

    @property
    def text(self) -> str:
        """The rule in words."""
        match self.rule:
            case "industry":
                return (
                    f"A deal whose account is in {' or '.join(self.industries)} goes to user "
                    f"{self.successor}, any other to user {self.other}."
                )
            case "amount":
                return (
                    f"A deal with an amount of {self.threshold} or more (minor units) goes to user "
                    f"{self.successor}, any other to user {self.other}."
                )
            case "stage":
                return (
                    f"A deal in {KEPT_STAGE} is kept by user {self.other}, a manager; any other "
                    f"goes to user {self.successor}."
                )
            case "account":
                return (
                    "A deal goes to the owner of its account; where that is user "
                    f"{self.leaver}, to user {self.successor}."
                )
            case _:
                return f"They all go to user {self.successor}."
