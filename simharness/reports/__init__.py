"""Bug reports as files that reproduce: read, played, checked, told, and written from episodes."""
