"""A deterministic simulation harness for agents that learn in mock products."""

__version__ = "0.1.0.dev0"
