"""Scripted policies of the IDE's scenarios."""
