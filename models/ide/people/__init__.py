"""Who else works on the repository, each a process of its own."""
