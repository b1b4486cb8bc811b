"""A helpdesk with billing: tickets and their threads, orders, charges, refunds, and a gateway."""

from simharness.models.helpdesk.product import Helpdesk

__all__ = ["Helpdesk"]
