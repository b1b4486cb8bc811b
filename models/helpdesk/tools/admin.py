"""Tools about the agents: who they are, and their end."""

from __future__ import annotations

from simharness.api import Answer, Operation, Refused, Transaction, tool, write_tool
from simharness.models.helpdesk.stores import HelpdeskStores, found
from simharness.models.helpdesk.tables import Agent


class AdminTools(HelpdeskStores):
    """Read agents; shut one out."""

    @tool
    def get_agent(self, op: Operation, agent_id: int) -> Answer[Agent]:
        """Read one agent of the helpdesk."""
        return found((yield from self.agents.detail.read(op, agent_id)), "agent", agent_id)

    @write_tool
    def deactivate_agent(self, op: Operation, agent_id: int) -> Answer[Agent]:
        """Shut an agent out. Needs the role lead or admin."""
        self.require_role(op, "lead", "admin")
        if agent_id == op.actor.identity:
            raise Refused("forbidden", "you can't deactivate yourself")
        edit = yield from self.agents.edit(op, agent_id)
        try:
            if not edit.row.active:
                raise Refused(
                    "conflict", f"agent {agent_id} is not active", version=edit.row.version
                )
            tx = Transaction(op)
            edit.update(tx, {"active": False})
            tx.commit()
        finally:
            edit.close()
        return self.agents.table.rows[agent_id]
