"""How the IDE judges what was handed in. What an agent wrote is run in the sandbox alone."""
