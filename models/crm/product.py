"""The CRM: its stores, its tools and its invariants."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from simharness.api import (
    Answer,
    Bounds,
    Operation,
    Page,
    Product,
    Refused,
    Transaction,
    paged,
    query,
    store,
    tool,
    write_tool,
)
from simharness.models.crm.faults import FAULTS
from simharness.models.crm.profiles import PROFILES
from simharness.models.crm.rewards import REWARD_MODES
from simharness.models.crm.rules import DISCOUNT_FREE, MOVES, OPEN_STAGES
from simharness.models.crm.scenarios import SCENARIOS
from simharness.models.crm.showcases import SHOWCASES
from simharness.models.crm.tables import (
    Account,
    Activity,
    ActivityKind,
    ApprovalRequest,
    Contact,
    Deal,
    DealFields,
    Email,
    Quote,
    Stage,
    Template,
    User,
)

T = TypeVar("T")

PageNumber = Annotated[int, Bounds(1, 10_000)]
Percent = Annotated[int, Bounds(0, 100)]


class Crm(Product):
    """A mock CRM with other people in it."""

    name = "crm"
    semantics = 1
    profiles = PROFILES
    faults = FAULTS
    scenarios = SCENARIOS
    reward_modes = REWARD_MODES
    showcases = SHOWCASES

    users = store(User, views=("auth",))
    accounts = store(Account, views=("detail", "list"), unique=("domain",))
    contacts = store(Contact, views=("detail", "search"), unique=("email",))
    deals = store(Deal, views=("detail", "list"))
    activities = store(Activity, views=("list",))
    emails = store(Email, views=())
    quotes = store(Quote, views=())
    approvals = store(ApprovalRequest, views=("detail",))

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.undeliverable: list[tuple[str, int, int | None]] = []
        """Mails that were refused: who wrote, to which contact, about which deal."""

    # --- permissions ------------------------------------------------------------------------------

    def authorize(self, op: Operation) -> Answer[None]:
        """Let active users in. An actor that is nobody in particular acts with every right."""
        identity = op.actor.identity
        if identity:
            user = yield from self.users.auth.read(op, identity)
            if user is None or not user.active:
                raise Refused("unauthorized", "you are not an active user")

    # --- accounts and contacts --------------------------------------------------------------------

    @tool
    def get_account(self, op: Operation, account_id: int) -> Answer[Account]:
        """Read one account."""
        return found((yield from self.accounts.detail.read(op, account_id)), "account", account_id)

    @tool
    def list_accounts(self, op: Operation, page: PageNumber = 1) -> Answer[Page[Account]]:
        """List the accounts, twenty to a page."""
        rows = yield from self.accounts.list.read(op, query(every))
        return paged("accounts", rows, page)

    @tool
    def get_contact(self, op: Operation, contact_id: int) -> Answer[Contact]:
        """Read one contact."""
        return found((yield from self.contacts.detail.read(op, contact_id)), "contact", contact_id)

    @tool
    def search_contacts(
        self, op: Operation, email: str | None = None, text: str | None = None
    ) -> Answer[Page[Contact]]:
        """Find contacts by their exact email, or by a text in name, email or role.

        At least one is needed.
        """
        if email is None and text is None:
            raise Refused("invalid_arguments", "give email or text")
        needle = text.lower() if text is not None else ""

        def matches(row: Contact) -> bool:
            if email is not None and row.email != email:
                return False
            return (
                needle in row.full_name.lower()
                or needle in row.email.lower()
                or needle in row.role.lower()
            )

        rows = yield from self.contacts.search.read(op, query(matches, email=email, text=text))
        return paged("contacts", rows, 1)

    # --- deals ------------------------------------------------------------------------------------

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

        def matches(row: Deal) -> bool:
            return (stage is None or row.stage == stage) and (
                owner_id is None or row.owner_id == owner_id
            )

        rows = yield from self.deals.list.read(op, query(matches, stage=stage, owner_id=owner_id))
        return paged("deals", rows, page)

    @write_tool
    def update_deal(
        self, op: Operation, deal_id: int, fields: DealFields, if_version: int | None = None
    ) -> Answer[Deal]:
        """Change fields of a deal.

        With if_version it is refused when the deal has another version by now.
        """
        champion_id = fields.get("champion_id")
        if champion_id is not None and self.contacts.true(champion_id) is None:
            raise Refused(
                "invalid_arguments", f"there is no contact {champion_id} to be the champion"
            )
        if "owner_id" in fields:
            owner = self.users.true(fields["owner_id"])
            if owner is None or not owner.active:
                raise Refused(
                    "invalid_arguments",
                    f"there is no active user {fields['owner_id']} to own the deal",
                )
        if "discount_pct" in fields and not 0 <= fields["discount_pct"] <= 100:
            raise Refused("invalid_arguments", "discount_pct is a percentage from 0 to 100")
        edit = yield from self.deals.edit(op, deal_id, if_version)
        try:
            if edit.row.stage not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
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
        rows = yield from self.deals.list.read(op, query(every))
        stages: dict[str, Any] = {}
        for row in rows:
            stage = stages.setdefault(row.stage, {"deals": 0, "amounts": {}})
            stage["deals"] += 1
            stage["amounts"][row.currency] = stage["amounts"].get(row.currency, 0) + row.amount
        return {"stages": {name: stages[name] for name in MOVES if name in stages}}

    # --- activities, mail, quotes, approvals ------------------------------------------------------

    @tool
    def list_activities(self, op: Operation, deal_id: int) -> Answer[Page[Activity]]:
        """List what was done and is to be done for a deal."""

        def matches(row: Activity) -> bool:
            return row.deal_id == deal_id

        rows = yield from self.activities.list.read(op, query(matches, deal_id=deal_id))
        return paged("activities", rows, 1)

    @write_tool
    def add_note(self, op: Operation, deal_id: int, body: str) -> Answer[Activity]:
        """Write a note on a deal."""
        return (yield from self._log(op, deal_id, "note", "", body, done=True))

    @write_tool
    def log_activity(
        self, op: Operation, deal_id: int, kind: ActivityKind, subject: str, body: str
    ) -> Answer[Activity]:
        """Log a call, email, meeting or note on a deal, or a task that is to be done."""
        return (yield from self._log(op, deal_id, kind, subject, body, done=kind != "task"))

    def _log(
        self,
        op: Operation,
        deal_id: int,
        kind: ActivityKind,
        subject: str,
        body: str,
        *,
        done: bool,
    ) -> Answer[Activity]:
        if self.deals.true(deal_id) is None:
            raise Refused("not_found", f"no deal {deal_id}")
        return (
            yield from self.activities.insert(
                op,
                {
                    "deal_id": deal_id,
                    "kind": kind,
                    "subject": subject,
                    "body": body,
                    "author_id": op.actor.identity,
                    "at": self.world.instant,
                    "done": done,
                },
            )
        )

    @write_tool
    def send_email(
        self,
        op: Operation,
        contact_id: int,
        template: Template,
        subject: str,
        body: str,
        deal_id: int | None = None,
    ) -> Answer[Email]:
        """Send a mail to a contact; those who left or whose mail bounced can't be reached."""
        yield self.database(op)
        contact = self.contacts.true(contact_id)
        if contact is None:
            raise Refused("not_found", f"no contact {contact_id}")
        if deal_id is not None and self.deals.true(deal_id) is None:
            raise Refused("not_found", f"no deal {deal_id}")
        if contact.status != "active":
            self.undeliverable.append((op.owner, contact_id, deal_id))
            raise Refused(
                "undeliverable", f"contact {contact_id} can't be mailed: {contact.status}"
            )
        tx = Transaction(op)
        key = tx.insert(
            self.emails.table,
            {
                "contact_id": contact_id,
                "deal_id": deal_id,
                "template": template,
                "subject": subject,
                "body": body,
                "at": self.world.instant,
            },
        )
        tx.commit()
        return self.emails.table.rows[key]

    @write_tool
    def create_quote(self, op: Operation, deal_id: int, discount_pct: Percent) -> Answer[Quote]:
        """Offer the deal's amount less a discount."""
        yield self.database(op)
        deal = self.deals.true(deal_id)
        if deal is None:
            raise Refused("not_found", f"no deal {deal_id}")
        tx = Transaction(op)
        key = tx.insert(
            self.quotes.table,
            {
                "deal_id": deal_id,
                # Rounded down to the minor unit, in the customer's favour.
                "total": deal.amount * (100 - discount_pct) // 100,
                "currency": deal.currency,
                "discount_pct": discount_pct,
            },
        )
        tx.commit()
        return self.quotes.table.rows[key]

    @write_tool
    def request_approval(
        self, op: Operation, deal_id: int, discount_pct: Percent
    ) -> Answer[ApprovalRequest]:
        """Ask a manager to approve a discount on a deal; one request at a time."""
        edit = yield from self.deals.edit(op, deal_id)
        try:
            if edit.row.stage not in OPEN_STAGES:
                raise Refused("forbidden", f"deal {deal_id} is closed")
            if edit.row.approval == "pending":
                raise Refused(
                    "conflict", "a request for this deal is pending", version=edit.row.version
                )
            tx = Transaction(op)
            changes = {"approval": "pending", "discount_pct": discount_pct}
            edit.update(tx, changes)
            key = tx.insert(
                self.approvals.table, {"deal_id": deal_id, "discount_pct": discount_pct}
            )
            tx.commit()
        finally:
            edit.close()
        return self.approvals.table.rows[key]

    @tool
    def get_approval(self, op: Operation, approval_id: int) -> Answer[ApprovalRequest]:
        """Read one request for approval."""
        return found(
            (yield from self.approvals.detail.read(op, approval_id)), "approval", approval_id
        )

    # --- what must always hold --------------------------------------------------------------------

    def invariants(self) -> list[str]:
        """Name what is broken: an open deal without a live owner, a deal won against the rules."""
        users = self.users.table.rows
        broken: list[str] = []
        for deal in self.deals.table:
            if deal.stage in OPEN_STAGES:
                owner = users.get(deal.owner_id or 0)
                if owner is None or not owner.active:
                    broken.append(
                        f"deals:{deal.id} is open, its owner {deal.owner_id} is no active user"
                    )
            elif deal.stage == "closed_won":
                if deal.legal != "cleared":
                    broken.append(f"deals:{deal.id} is won and legal says {deal.legal}")
                if deal.discount_pct > DISCOUNT_FREE and deal.approval != "approved":
                    broken.append(
                        f"deals:{deal.id} is won at {deal.discount_pct} percent: {deal.approval}"
                    )
        return broken


def every(row: object) -> bool:
    """Match all rows."""
    return True


def found(row: T | None, kind: str, key: int) -> T:
    """Give the row, or refuse with `not_found`."""
    if row is None:
        raise Refused("not_found", f"no {kind} {key}")
    return row
