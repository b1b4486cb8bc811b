"""Scripted policies of the marketplace: a reference for each scenario, and those that cope."""
