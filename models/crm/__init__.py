"""A customer relationship tool: accounts, contacts, deals, and the people who work on them."""

from simharness.models.crm.product import Crm

__all__ = ["Crm"]
