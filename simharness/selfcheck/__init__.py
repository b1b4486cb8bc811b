"""The same episodes in processes that differ in what must not matter, and why they came apart."""
