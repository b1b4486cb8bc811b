"""What a mock product is made of: stores with views and contracts, tools, knobs, faults, scenarios, goals."""
