"""The command git: the part of it that work on one repository needs."""
