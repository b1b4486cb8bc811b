"""Reads the code of products for what makes a seed mean something else elsewhere."""
