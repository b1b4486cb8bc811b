"""The tools of the helpdesk, by what they are about."""
