"""The taxonomy and the detectors: pure functions of journal rows."""
