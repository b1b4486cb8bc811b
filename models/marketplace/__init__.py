"""A marketplace of services: providers, their slots, and those who book and pay them."""

from simharness.models.marketplace.product import Marketplace

__all__ = ["Marketplace"]
