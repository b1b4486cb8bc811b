"""Who else is at the helpdesk, each a process of its own."""
