"""The repository: files, commits with git's own names, differences and merges."""
