"""Who else is in the marketplace, each a process of its own."""
