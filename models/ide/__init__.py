"""A repository with a terminal, a CI server and colleagues who push."""

from simharness.models.ide.product import Ide

__all__ = ["Ide"]
