"""Many episodes: run directories, summaries, load tests."""
