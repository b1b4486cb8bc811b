"""Tools about deals: their fields, their stages, their sums."""

from __future__ import annotations

from typing import Any

from simharness.api import (
    SECOND,
    Answer,
    Instant,
    Operation,
    Page,
    Refused,
    Transaction,
    every,
    paged,
    query,
    tool,
    where,
    write_tool,
)
from simharness.models.crm.rules import DISCOUNT_FREE, MOVES, OPEN_STAGES
from simharness.models.crm.stores import (
    CrmStores,
    PageNumber,
    WaitSeconds,
    found,
    require_currency,
    require_text,
)
from simharness.models.crm.tables import Amount, Deal, DealFields, OpenStage, Stage


class DealTools(CrmStores):
    """Read, make, change and move deals."""

    @tool
    def get_deal(self, op: Operation, deal_id: int) -> Answer[Deal]:
        """Read one deal."""
        return found((yield from self.deals.detail.read(op, deal_id)), "deal", deal_id)

    @tool
    def list_deals(
        self,
        op: Operation,
        stage: Stage | None = None,
        owner_id: int | None = None,
        page: PageNumber = 1,
    ) -> Answer[Page[Deal]]:
        """List deals, twenty to a page, optionally those of one stage or owner."""
        asked = query(every, where(stage=stage, owner_id=owner_id))
        rows = yield from self.deals.list.read(op, asked)
        return paged("deals", rows, page)

    @tool
    def search_deals(self, op: Operation, text: str, page: PageNumber = 1) -> Answer[Page[Deal]]:
        """Find deals by a text in title or next step, twenty to a page."""
        needle = text.lower()

        def matches(row: Deal) -> bool:
            return needle in row.title.lower() or needle in row.next_step.lower()

        rows = yield from self.deals.search.read(op, query(matches, text=text))
        return paged("deals", rows, page)

    @tool
    def deal_changes(
        self, op: Operation, since: Instant | None = None, wait: WaitSeconds = 0
    ) -> Answer[Page[Deal]]:
        """Read the deals changed at or after an instant, or else since your last call of this.

        Where there are none, wait up to so many seconds for the next change.
        """
        return Page("deals", (yield from self.deals.feed.read(op, since, wait * SECOND)))

    @tool
    def export_deals(
        self, op: Operation, since: Instant, inclusive: bool | None = None
    ) -> Answer[Page[Deal]]:
        """Export the deals changed since an instant, all on one page.

        With inclusive false those changed exactly then are left out, with true they are in it.
        """
        return Page("deals", (yield from self.deals.export.read(op, since, inclusive)))

    @write_tool
    def create_deal(
        self,
        op: Operation,
        account_id: int,
        title: str,
        amount: Amount,
        currency: str,
        stage: OpenStage = "prospecting",
    ) -> Answer[Deal]:
        """Open a deal with an active account; you own it."""
        require_text("title", title)
        require_currency(currency)
        yield self.database(op)
        account = found(self.accounts.true(account_id), "account", account_id)
        if not account.active:
            raise Refused("forbidden", f"account {account_id} is not active")
        # Whoever is nobody in particular opens it for the account's owner.
        owner = self.users.true(op.actor.identity or account.owner_id or 0)
        if owner is None or not owner.active:
            raise Refused("forbidden", "an open deal needs an active user to own it")
        tx = Transaction(op)
        key = tx.insert(
            self.deals.table,
            {
                "account_id": account_id,
                "title": title,
                "amount": amount,
                "currency": currency,
                "stage": stage,
                "owner_id": owner.id,
            },
        )
        tx.commit()
        return self.deals.table.rows[key]

    @write_tool
    def update_deal(
        self, op: Operation, deal_id: int, fields: DealFields, if_version: int | None = None
    ) -> Answer[Deal]:
        """Change fields of a deal.

        With if_version it is refused when the deal has another version by now.
        """
        require_text("title", fields.get("title"))
        require_currency(fields.get("currency"))
        edit = yield from self.deals.edit(op, deal_id, if_version)
        try:
            if edit.row.stage not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
            champion_id = fields.get("champion_id")
            if champion_id is not None and self.contacts.true(champion_id) is None:
                raise Refused(
                    "invalid_arguments", f"there is no contact {champion_id} to be the champion"
                )
            if "owner_id" in fields:
                self.require_owner(fields["owner_id"], "deal")
            if fields.get("legal") == "in_review" and edit.row.legal != "none":
                raise Refused("forbidden", f"legal has deal {deal_id} already: {edit.row.legal}")
            if fields.get("legal") == "none" and edit.row.legal != "none":
                raise Refused("forbidden", "only legal can take that back")
            changes: dict[str, object] = {**fields}
            if changes.get("discount_pct", edit.row.discount_pct) != edit.row.discount_pct:
                changes["approval"] = "none"  # an approval is for one discount
            tx = Transaction(op)
            edit.update(tx, changes)
            tx.commit()
        finally:
            edit.close()
        return self.deals.table.rows[deal_id]

    @write_tool
    def move_stage(
        self, op: Operation, deal_id: int, to_stage: Stage, if_version: int | None = None
    ) -> Answer[Deal]:
        """Move a deal to another stage, as far as the house rules let it."""
        edit = yield from self.deals.edit(op, deal_id, if_version)
        try:
            deal = edit.row
            if to_stage not in MOVES[deal.stage]:
                raise Refused("forbidden", f"a deal in {deal.stage} can't go to {to_stage}")
            if to_stage == "closed_won":
                self._require_winnable(deal)
            if to_stage == "closed_lost" and not deal.lost_reason:
                raise Refused("forbidden", "set lost_reason first")
            tx = Transaction(op)
            edit.update(tx, {"stage": to_stage})
            tx.commit()
        finally:
            edit.close()
        return self.deals.table.rows[deal_id]

    def _require_winnable(self, deal: Deal) -> None:
        champion = self.contacts.true(deal.champion_id or 0)
        if deal.legal != "cleared":
            raise Refused("forbidden", f"legal hasn't cleared the deal: {deal.legal}")
        if deal.discount_pct > DISCOUNT_FREE and deal.approval != "approved":
            raise Refused(
                "forbidden",
                f"a discount of {deal.discount_pct} percent needs approval: {deal.approval}",
            )
        if champion is None or champion.status != "active":
            raise Refused("forbidden", "the deal has no active champion")

    @tool
    def pipeline_summary(self, op: Operation) -> Answer[dict[str, Any]]:
        """Count the deals of each stage and add up their amounts, in minor units by currency."""
        rows = yield from self.deals.list.read(op, query())
        stages: dict[str, Any] = {}
        for row in rows:
            stage = stages.setdefault(row.stage, {"deals": 0, "amounts": {}})
            stage["deals"] += 1
            stage["amounts"][row.currency] = stage["amounts"].get(row.currency, 0) + row.amount
        return {"stages": {name: stages[name] for name in MOVES if name in stages}}
