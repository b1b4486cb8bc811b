"""Whose fault it was, and the proof: ablation and attribution."""
