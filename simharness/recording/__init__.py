"""Recordings: what an episode was, as bytes in a `.simrec` file that replays bit for bit."""
