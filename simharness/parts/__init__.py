"""Reusable mechanisms: tables, transactions, locks, caches, workers, users."""
