"""What a mock product is made of.

Stores with views and contracts, tools, knobs, faults, scenarios, goals.
"""
