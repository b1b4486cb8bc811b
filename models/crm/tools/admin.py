"""Tools about the users: who they are, what they may do, and their end."""

from __future__ import annotations

from simharness.api import Answer, Operation, Refused, Transaction, tool, write_tool
from simharness.models.crm.stores import CrmStores, found
from simharness.models.crm.tables import Role, User


class AdminTools(CrmStores):
    """Read users; grant, revoke and deactivate."""

    @tool
    def get_user(self, op: Operation, user_id: int) -> Answer[User]:
        """Read one user of the CRM."""
        return found((yield from self.users.detail.read(op, user_id)), "user", user_id)

    @write_tool
    def grant(self, op: Operation, user_id: int, role: Role) -> Answer[User]:
        """Give a user another role beside the own one. Needs the role admin."""
        self.require_role(op, "admin")
        edit = yield from self.users.edit(op, user_id)
        try:
            user = edit.row
            if role in user.grants:
                raise Refused(
                    "conflict", f"user {user_id} has been granted {role}", version=user.version
                )
            tx = Transaction(op)
            edit.update(tx, {"grants": (*user.grants, role)})
            tx.commit()
        finally:
            edit.close()
        return self.users.table.rows[user_id]

    @write_tool
    def revoke(self, op: Operation, user_id: int, role: Role) -> Answer[User]:
        """Take a granted role back; a user's own role stays. Needs the role admin."""
        self.require_role(op, "admin")
        edit = yield from self.users.edit(op, user_id)
        try:
            user = edit.row
            if role not in user.grants:
                raise Refused(
                    "conflict", f"user {user_id} hasn't been granted {role}", version=user.version
                )
            tx = Transaction(op)
            edit.update(tx, {"grants": tuple(held for held in user.grants if held != role)})
            tx.commit()
        finally:
            edit.close()
        return self.users.table.rows[user_id]

    @write_tool
    def deactivate_user(self, op: Operation, user_id: int) -> Answer[User]:
        """Shut a user out who owns no open deal. Needs the role admin."""
        self.require_role(op, "admin")
        if user_id == op.actor.identity:
            raise Refused("forbidden", "you can't deactivate yourself")
        edit = yield from self.users.edit(op, user_id)
        try:
            user = edit.row
            if not user.active:
                raise Refused("conflict", f"user {user_id} is not active", version=user.version)
            deal = self.open_deal_of(user_id)
            if deal is not None:
                raise Refused(
                    "conflict", f"user {user_id} owns the open deal {deal.id}", deal_id=deal.id
                )
            tx = Transaction(op)
            edit.update(tx, {"active": False})
            tx.commit()
        finally:
            edit.close()
        return self.users.table.rows[user_id]
