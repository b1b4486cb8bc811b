"""Episodes in the formats of other tools, and what each of them could not carry."""
