"""Scripted policies of the CRM: a reference for each scenario, and those that cope."""
