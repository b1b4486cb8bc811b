"""The review page: a run, or one recording, as one HTML file that needs no server."""
