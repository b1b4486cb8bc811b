"""Scripted policies of the helpdesk."""
