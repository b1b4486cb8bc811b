"""The kernel: simulated time, order and randomness."""
